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
from closeknit.simulator.scenario import ORIGINAL_SITE, Scenario, Site, SiteVariant

Told = Callable[[str, int], None]
"""Hears of which run how many gangs have ended."""


def compared(
    scenario: Scenario, policies: Sequence[str], merge_racks: int = 1, told: Told = lambda _, __: None
) -> list[Figures]:
    """Figures of every policy; with ``merge_racks`` also on racks of which so many neighbours are one."""
    found: list[Figures] = []
    for variant, changed in variants(scenario, merge_racks):
        histories = [
            _replayed(changed, policy, partial(told, run_name(policy, variant))) for policy in policies
        ]
        until = window(changed, histories)
        found.extend(
            measured(changed, history, policy, variant, until)
            for policy, history in zip(policies, histories, strict=True)
        )
    return found


def run_name(policy: str, variant: SiteVariant) -> str:
    """What a run is called beside others."""
    return policy if variant.is_original else f"{policy}, {variant.name}"


def variants(scenario: Scenario, merge_racks: int) -> Iterator[tuple[SiteVariant, Scenario]]:
    """The scenario as it is, and where that is asked for with merged racks."""
    yield ORIGINAL_SITE, scenario
    if merge_racks > 1:
        word = scenario.site.word(scenario.site.rack)
        yield (
            SiteVariant(f"{merge_racks} {word}s as one"),
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
