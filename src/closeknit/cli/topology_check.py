"""What is odd about a topology on its nodes: nothing here is wrong, all of it surprises people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from closeknit.hub.cluster import Cluster
from closeknit.hub.natural_order import natural
from closeknit.hub.topology import DomainPath, Topology
from closeknit.scheduler.wording import counted, listed, place, printable


@dataclass(frozen=True, slots=True)
class Finding:
    """One oddity: what sort, at which level, and on what."""

    kind: str
    """unlabelled, crossing, single or unused."""
    level: str
    message: str
    nodes: tuple[str, ...] = ()


def findings(cluster: Cluster, topology: Topology) -> Iterator[Finding]:
    """Everything odd about one topology, coarsest level first."""
    paths = [(topology.path(node.labels), node) for node in cluster.nodes]
    for depth, level in enumerate(topology.labels):
        # A node is reported once, at the first level whose label it lacks.
        lacking = sorted((node.name for path, node in paths if len(path) == depth), key=natural)
        if lacking:
            yield Finding(
                "unlabelled",
                level,
                f"{counted(len(lacking), 'node')} without the label {printable(level)}, so in no domain of"
                f" that level or a finer one: {listed([printable(name) for name in lacking])}.",
                tuple(lacking),
            )
        domains = {path[: depth + 1] for path, _ in paths if len(path) > depth}
        yield from _crossing(level, domains)
        if len(domains) == 1:
            yield Finding(
                "single",
                level,
                f"{printable(level)} has one domain, {place(next(iter(domains)))}:"
                " a workload that asks for it asks for nothing.",
            )
        elif not domains and cluster.nodes:
            yield Finding(
                "unused", level, f"{printable(level)} has no domain: to require it can never be satisfied."
            )


def _crossing(level: str, domains: set[DomainPath]) -> Iterator[Finding]:
    """A label value under several parents names several domains, because a domain is its path."""
    values = Counter(path[-1] for path in domains)
    for value in sorted((value for value, number in values.items() if number > 1), key=natural):
        parents = sorted(place(path[:-1]) for path in domains if path[-1] == value)
        yield Finding(
            "crossing",
            level,
            f"{printable(level)} {printable(value)} lies under {counted(len(parents), 'parent')},"
            f" which makes as many domains: {listed(parents)}.",
        )
