"""Runs a scenario under several policies, as it is and on another topology, and measures all alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from closeknit.hub.copying import replace
from closeknit.hub.nodes import Node
from closeknit.simulator import real_scheduler
from closeknit.simulator.history import History
from closeknit.simulator.measures import Figures, measured, window
from closeknit.simulator.policies import OURS, POLICIES
from closeknit.simulator.replay import Replay
from closeknit.simulator.scenario import Scenario, Site

AS_IT_IS = "as it is"
Told = Callable[[str, int], None]
"""Hears of which run how many gangs have ended."""


def compared(
    scenario: Scenario, policies: Sequence[str], merge_racks: int = 1, told: Told = lambda _, __: None
) -> list[Figures]:
    """Figures of every policy; with ``merge_racks`` also on racks of which so many neighbours are one."""
    found: list[Figures] = []
    for site, variant in variants(scenario, merge_racks):
        histories = [_replayed(variant, policy, partial(told, run_name(policy, site))) for policy in policies]
        until = window(variant, histories)
        found.extend(
            measured(variant, history, policy, site, until)
            for policy, history in zip(policies, histories, strict=True)
        )
    return found


def run_name(policy: str, site: str) -> str:
    """What a run is called beside others."""
    return policy if site == AS_IT_IS else f"{policy}, {site}"


def variants(scenario: Scenario, merge_racks: int) -> Iterator[tuple[str, Scenario]]:
    """The scenario as it is, and where that is asked for with merged racks."""
    yield AS_IT_IS, scenario
    if merge_racks > 1:
        word = scenario.site.word(scenario.site.rack)
        yield (
            f"{merge_racks} {word}s as one",
            replace(scenario, site=with_merged_racks(scenario.site, merge_racks)),
        )


def with_merged_racks(site: Site, number: int) -> Site:
    """The same nodes with so many neighbouring racks of a block as one; what is left over stays as it is."""
    label = site.rack
    if label is None:
        return site
    depth = site.topology.index(label)
    assert depth is not None
    racks: dict[tuple[str, ...], dict[str, str]] = {}
    """By what is around it, the new name of each rack."""
    nodes: list[Node] = []
    for node in site.nodes:
        path = site.topology.path(node.labels)
        if len(path) > depth:
            names = racks.setdefault(path[:depth], {})
            rack = path[depth]
            if rack not in names:
                first = list(names)[len(names) // number * number :]
                names[rack] = names[first[0]] if first else rack
            nodes.append(replace(node, labels={**node.labels, label: names[rack]}))
        else:
            nodes.append(node)
    return Site.of(site.topology, nodes, site.resource, scale=site.scale, about=site.about)


def _replayed(scenario: Scenario, policy: str, told: Callable[[int], None]) -> History:
    if policy == OURS:
        return real_scheduler.replay(scenario, told)
    return Replay(scenario, POLICIES[policy], told).run()
