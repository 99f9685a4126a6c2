"""Pods that no rule about other pods tells apart have the same *role*.

They take the same, ask the same of the pods around them, and are meant by the same selectors. Where
rules count, a request is compiled by roles instead of shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from closeknit.engine.ledger import Ledger
from closeknit.engine.node_fits import PodShape
from closeknit.hub.neighbours import Neighbour


@dataclass(frozen=True, slots=True)
class Role:
    """Pods that no rule tells apart."""

    shape: PodShape
    neighbour: Neighbour
    """That of one of them; the others are meant by the same selectors."""


def roles_of(
    ledger: Ledger, shape_of: Mapping[str, PodShape], neighbours: Mapping[str, Neighbour]
) -> tuple[list[Role], dict[str, int]]:
    """The roles of a request, each once, and the number of each pod set's."""
    rules = sorted({rule for each in neighbours.values() for rule in each.rules}, key=repr)
    running = ledger.holdings.neighbours
    looks: dict[Neighbour, object] = {}
    for each in set(neighbours.values()):
        meant = tuple(i for i, rule in enumerate(rules) if each.selected(rule.selector))
        kept_away = sorted(repr(rule) for rule, _ in running.against(each)) if running.keep_away else []
        looks[each] = (repr(sorted(map(repr, each.rules))), meant, tuple(kept_away))
    names: dict[tuple[PodShape, object], list[str]] = {}
    for name, shape in shape_of.items():
        names.setdefault((shape, looks[neighbours[name]]), []).append(name)
    ordered = sorted(names.items(), key=lambda each: (each[0][0].sort_key, repr(each[0][1])))
    roles = [Role(shape, neighbours[min(alike)]) for (shape, _), alike in ordered]
    return roles, {name: number for number, (_, alike) in enumerate(ordered) for name in alike}
