"""Where a topology constraint may stand in a PodCliqueSet: the set, its scaling groups, its cliques."""

from __future__ import annotations

from typing import NamedTuple

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.core.levels import Part, Wish
from closeknit.hub.paths import Path

SET = ""
"""Stands for the PodCliqueSet itself among the places of constraints."""


class Place(NamedTuple):
    """Where a constraint may stand."""

    path: Path
    """Of the constraint itself."""
    given: wire.TopologyConstraint | None
    parent: str | None
    """The place that this one inherits from; None for the PodCliqueSet."""

    def part(self) -> Part:
        """The domains that it names."""
        given = self.given
        if given is None:
            return Part(self.parent)
        if given.pack is None:
            return Part(self.parent, given.pack_domain)
        return Part(self.parent, given.pack.required or given.pack_domain, given.pack.preferred)

    def field(self, wish: Wish) -> Path:
        """Where the domain is named that it requires or prefers."""
        pack = self.given.pack if self.given is not None else None
        if wish == "required" and (pack is None or not pack.required):
            return (*self.path, "packDomain")
        return (*self.path, "pack", wish)


def places(given: wire.PodCliqueSet) -> dict[str, Place]:
    """All places of a PodCliqueSet by name, parents first; cliques and scaling groups carry a prefix.

    Of several with one name, which is a mistake, all but the first carry their number as well.
    """
    template = given.spec.template
    found = {SET: Place(("spec", "template", "topologyConstraint"), template.topology_constraint, None)}
    above: dict[str, str] = {}
    for i, group in enumerate(template.pod_clique_scaling_groups):
        name = of_group(group.name)
        path: Path = ("spec", "template", "podCliqueScalingGroups", i, "topologyConstraint")
        found[name if name not in found else f"{name} {i}"] = Place(path, group.topology_constraint, SET)
        for clique in group.clique_names:
            above.setdefault(clique, name)
    for i, each in enumerate(template.cliques):
        path = ("spec", "template", "cliques", i, "topologyConstraint")
        name = of_clique(each.name)
        place = Place(path, each.topology_constraint, above.get(each.name, SET))
        found[name if name not in found else f"{name} {i}"] = place
    return found


def of_clique(name: str) -> str:
    """The place of a clique's constraint."""
    return f"clique {name}"


def of_group(name: str) -> str:
    """The place of a scaling group's constraint."""
    return f"group {name}"
