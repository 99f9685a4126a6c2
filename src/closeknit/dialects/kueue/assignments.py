"""How many pods go to which domain, in the two forms in which Kueue writes it down.

The older one lists every domain. The newer one cuts the list into slices and says only once
what the domains of a slice share: a level's value, or both ends of it, and the number of pods. Either
can be made from the other, and nothing is lost on the way, the order of the domains included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import TypeAlias

import msgspec

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.kueue.assignment_rules import MOST_IN_SLICE, MOST_SLICES, assignment_problems
from closeknit.hub.outcome import Placed
from closeknit.hub.problems import InvalidError
from closeknit.hub.topology import HOSTNAME, DomainPath, Topology

_Domains: TypeAlias = Sequence[tuple[DomainPath, int]]
"""The values of the levels, and the number of pods."""

_LONGEST_END = 63
_MOST_DASHES = 8


@dataclass(frozen=True, slots=True)
class Assigned:
    """Pods by domain."""

    levels: tuple[str, ...]
    domains: tuple[tuple[DomainPath, int], ...]


def assigned(placed: Placed, pod_sets: Iterable[str], topology: Topology) -> Assigned:
    """What a placement means for pod sets of the hub, which together are one of Kueue's.

    Hosts say it all where they are the lowest level, so only they are named then, as in Kueue.
    Domains stand in the order of their values.
    """
    names = set(pod_sets)
    hosts = topology.labels[-1] == HOSTNAME
    counts: dict[DomainPath, int] = {}
    for assignment in placed.assignments:
        if assignment.pod_set in names:
            domain = assignment.domain[-1:] if hosts else assignment.domain
            counts[domain] = counts.get(domain, 0) + 1
    return Assigned((HOSTNAME,) if hosts else topology.labels, tuple(sorted(counts.items())))


def to_domains(given: Assigned) -> wire.TopologyAssignment:
    """The older form."""
    domains = [
        wire.TopologyDomainAssignment(values=list(values), count=pods) for values, pods in given.domains
    ]
    return wire.TopologyAssignment(levels=list(given.levels), domains=domains)


def to_slices(given: Assigned) -> wire.TopologyAssignment:
    """The newer form, cut in one piece or into runs of names that begin alike, whichever is smaller."""
    domains, starts = given.domains, range(0, len(given.domains), MOST_IN_SLICE)
    cuts: list[list[_Domains]] = [[domains[i : i + MOST_IN_SLICE] for i in starts], *_runs(domains)]
    made = [
        wire.TopologyAssignment(
            levels=list(given.levels), slices=[_slice(piece, len(given.levels)) for piece in cut]
        )
        for cut in cuts
    ]
    return min(made, key=lambda each: len(msgspec.json.encode(each)))


def from_written(given: wire.TopologyAssignment) -> Assigned:
    """Read either form; raises ``InvalidError`` with everything that contradicts itself."""
    if problems := list(assignment_problems(given)):
        raise InvalidError(problems)
    domains: list[tuple[DomainPath, int]] = [(tuple(each.values), each.count) for each in given.domains]
    for piece in given.slices:
        columns = [_values(level, piece.domain_count) for level in piece.values_per_level]
        counts = piece.pod_counts.individual or [piece.pod_counts.universal or 0] * piece.domain_count
        domains.extend(zip(zip(*columns, strict=True), counts, strict=True))
    return Assigned(tuple(given.levels), tuple(domains))


def _runs(
    domains: _Domains,
) -> Iterator[list[_Domains]]:
    """The cut by the longest beginnings of names that make few enough runs.

    Machines are numbered within racks and racks within blocks, each behind a dash: the
    beginning is what stands before the last dash, the one before it, and so on.
    """
    for dashes in range(1, _MOST_DASHES + 1):

        def beginning(domain: tuple[DomainPath, int], dashes: int = dashes) -> DomainPath:
            *above, last = domain[0]
            return (*above, last.rsplit("-", dashes)[0])

        runs = [list(run) for _, run in groupby(domains, key=beginning)]
        if 1 < len(runs) <= MOST_SLICES and max(map(len, runs)) <= MOST_IN_SLICE:
            yield list(runs)
            return


def _slice(domains: _Domains, levels: int) -> wire.TopologyAssignmentSlice:
    counts = [count for _, count in domains]
    alike = min(counts) == max(counts)
    return wire.TopologyAssignmentSlice(
        domain_count=len(domains),
        values_per_level=[_level([values[i] for values, _ in domains]) for i in range(levels)],
        pod_counts=wire.TopologyAssignmentSlicePodCounts(
            universal=counts[0] if alike else None, individual=None if alike else counts
        ),
    )


def _level(values: list[str]) -> wire.TopologyAssignmentSliceLevelValues:
    least, most = min(values), max(values)
    if least == most:
        return wire.TopologyAssignmentSliceLevelValues(universal=least)
    # What the least and the most have in common, all between them have as well.
    shortest = min(map(len, values))
    prefix = min(_shared(least, most), shortest - 1, _LONGEST_END)
    backwards = [value[:prefix:-1] for value in values]
    suffix = min(_shared(min(backwards), max(backwards)), shortest - prefix - 1, _LONGEST_END)
    end = -suffix if suffix else None
    return wire.TopologyAssignmentSliceLevelValues(
        individual=wire.TopologyAssignmentSliceLevelIndividualValues(
            prefix=least[:prefix] or None,
            suffix=least[len(least) - suffix :] or None,
            roots=[value[prefix:end] for value in values],
        )
    )


def _shared(first: str, second: str) -> int:
    """How many characters two texts begin with together."""
    return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(first, second, strict=False)))


def _values(level: wire.TopologyAssignmentSliceLevelValues, count: int) -> list[str]:
    if level.individual is None:
        return [level.universal or ""] * count
    prefix, suffix = level.individual.prefix or "", level.individual.suffix or ""
    return [f"{prefix}{root}{suffix}" for root in level.individual.roots]
