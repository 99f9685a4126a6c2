"""How many pods go to which domain, in the two forms in which Kueue writes it down.

The older one lists every domain. The newer one cuts the list into slices and says only once
what the domains of a slice share: a level's value, or both ends of it, and the number of pods. Either
can be made from the other, and nothing is lost on the way, the order of the domains included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec

from closeknit.apis import kueue_x_k8s_io_v1beta1 as v1beta1
from closeknit.apis import kueue_x_k8s_io_v1beta2 as v1beta2
from closeknit.dialects.kueue.assignment_rules import (
    MOST_IN_SLICE,
    MOST_SLICES,
    problems_of_domains,
    problems_of_slices,
)
from closeknit.hub.outcome import Placed
from closeknit.hub.problems import InvalidError
from closeknit.hub.topology import HOSTNAME, DomainPath, Topology

_LONGEST_END = 63
_MOST_DASHES = 8


@dataclass(frozen=True, slots=True)
class Assigned:
    """Pods by domain."""

    levels: tuple[str, ...]
    domains: tuple[tuple[DomainPath, int], ...]
    """The values of the levels, and the number of pods."""


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


def to_domains(given: Assigned) -> v1beta1.TopologyAssignment:
    """The older form."""
    return v1beta1.TopologyAssignment(
        levels=list(given.levels),
        domains=[
            v1beta1.TopologyDomainAssignment(values=list(values), count=count)
            for values, count in given.domains
        ],
    )


def from_domains(given: v1beta1.TopologyAssignment) -> Assigned:
    """Read the older form; raises ``InvalidError`` with everything that contradicts itself."""
    problems = list(problems_of_domains(given))
    if problems:
        raise InvalidError(problems)
    return Assigned(
        tuple(given.levels), tuple((tuple(domain.values), domain.count) for domain in given.domains)
    )


def to_slices(given: Assigned) -> v1beta2.TopologyAssignment:
    """The newer form, cut in one piece or into runs of names that begin alike, whichever is smaller."""
    cuts = [list(_pieces(given.domains, MOST_IN_SLICE))]
    cuts.extend(_runs(given.domains))
    made = [
        v1beta2.TopologyAssignment(
            levels=list(given.levels), slices=[_slice(piece, len(given.levels)) for piece in cut]
        )
        for cut in cuts
    ]
    return min(made, key=lambda each: len(msgspec.json.encode(each)))


def from_slices(given: v1beta2.TopologyAssignment) -> Assigned:
    """Read the newer form; raises ``InvalidError`` with everything that contradicts itself."""
    problems = list(problems_of_slices(given))
    if problems:
        raise InvalidError(problems)
    domains: list[tuple[DomainPath, int]] = []
    for piece in given.slices:
        columns = [_values(level, piece.domain_count) for level in piece.values_per_level]
        counts = piece.pod_counts.individual or [piece.pod_counts.universal or 0] * piece.domain_count
        domains.extend(zip(zip(*columns, strict=True), counts, strict=True))
    return Assigned(tuple(given.levels), tuple(domains))


def _pieces(
    domains: Sequence[tuple[DomainPath, int]], size: int
) -> Iterator[Sequence[tuple[DomainPath, int]]]:
    return (domains[i : i + size] for i in range(0, len(domains), size))


def _runs(
    domains: Sequence[tuple[DomainPath, int]],
) -> Iterator[list[Sequence[tuple[DomainPath, int]]]]:
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


def _slice(domains: Sequence[tuple[DomainPath, int]], levels: int) -> v1beta2.TopologyAssignmentSlice:
    counts = [count for _, count in domains]
    alike = min(counts) == max(counts)
    return v1beta2.TopologyAssignmentSlice(
        domain_count=len(domains),
        values_per_level=[_level([values[i] for values, _ in domains]) for i in range(levels)],
        pod_counts=v1beta2.TopologyAssignmentSlicePodCounts(
            universal=counts[0] if alike else None, individual=None if alike else counts
        ),
    )


def _level(values: list[str]) -> v1beta2.TopologyAssignmentSliceLevelValues:
    least, most = min(values), max(values)
    if least == most:
        return v1beta2.TopologyAssignmentSliceLevelValues(universal=least)
    # What the least and the most have in common, all between them have as well.
    shortest = min(map(len, values))
    prefix = _shared(least, most, min(shortest - 1, _LONGEST_END))
    backwards = [value[:prefix:-1] for value in values]
    suffix = _shared(min(backwards), max(backwards), min(shortest - prefix - 1, _LONGEST_END))
    end = -suffix if suffix else None
    return v1beta2.TopologyAssignmentSliceLevelValues(
        individual=v1beta2.TopologyAssignmentSliceLevelIndividualValues(
            prefix=least[:prefix] or None,
            suffix=least[len(least) - suffix :] or None,
            roots=[value[prefix:end] for value in values],
        )
    )


def _shared(first: str, second: str, most: int) -> int:
    """How many characters two texts begin with together, up to a limit."""
    length = 0
    while length < most and first[length] == second[length]:
        length += 1
    return length


def _values(level: v1beta2.TopologyAssignmentSliceLevelValues, count: int) -> list[str]:
    if level.individual is None:
        return [level.universal or ""] * count
    prefix, suffix = level.individual.prefix or "", level.individual.suffix or ""
    return [f"{prefix}{root}{suffix}" for root in level.individual.roots]
