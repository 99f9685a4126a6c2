"""How many pods go to which domain, in the two forms in which Kueue writes it down.

The older one lists every domain. The newer one cuts the list into slices and says only once
what the domains of a slice share: a level's value, or both ends of it, and the number of pods. Either
can be made from the other, and nothing is lost on the way, the order of the domains included.

A slice of two billion equal domains is a line of text, so what contradicts itself is reported while numbers
are only numbers, before anything of the size that they claim is made. The bounds are Kueue's own; and as
each domain has a pod, there are never more of them than pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import TypeAlias

import msgspec

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.core.pods import MOST_PODS
from closeknit.dialects.core.topologies import number_problems
from closeknit.hub.paths import Path
from closeknit.hub.problems import InvalidError, Problem, Range
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.topology import HOSTNAME, DomainPath, Topology

_Domains: TypeAlias = Sequence[tuple[DomainPath, int]]
"""The values of the levels, and the number of pods."""

MOST_SLICES = 1000
MOST_IN_SLICE = 100_000
_MOST_LISTED = 100_000
_LONGEST_END = 63
_MOST_DASHES = 8


@dataclass(frozen=True, slots=True)
class Assigned:
    """Pods by domain."""

    levels: tuple[str, ...]
    domains: tuple[tuple[DomainPath, int], ...]


def assigned(domains: Iterable[DomainPath], topology: Topology) -> Assigned:
    """Pods by domain, from the domain of each pod, which has a value for every level of the topology.

    Domains stand in the order of their values at all levels, so that pods that are taken from them in order
    fill one rack before the next. Hosts say it all where they are the lowest level, so only they are named
    then, as in Kueue.
    """
    counts = sorted(Counter(domains).items())
    if topology.labels[-1] != HOSTNAME:
        return Assigned(topology.labels, tuple(counts))
    return Assigned((HOSTNAME,), tuple((domain[-1:], pods) for domain, pods in counts))


def to_domains(given: Assigned) -> wire.TopologyAssignment:
    """The older form."""
    domains = tuple(
        wire.TopologyDomainAssignment(values=values, count=pods) for values, pods in given.domains
    )
    return wire.TopologyAssignment(levels=given.levels, domains=domains)


def to_slices(given: Assigned) -> wire.TopologyAssignment:
    """The newer form, cut in one piece or into runs of names that begin alike, whichever is smaller."""
    domains, starts = given.domains, range(0, len(given.domains), MOST_IN_SLICE)
    cuts: list[list[_Domains]] = [[domains[i : i + MOST_IN_SLICE] for i in starts], *_runs(domains)]
    made = [
        wire.TopologyAssignment(
            levels=given.levels, slices=tuple(_slice(piece, len(given.levels)) for piece in cut)
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
        counts = piece.pod_counts.individual or (piece.pod_counts.universal or 0,) * piece.domain_count
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
        values_per_level=tuple(_level([values[i] for values, _ in domains]) for i in range(levels)),
        pod_counts=wire.TopologyAssignmentSlicePodCounts(
            universal=counts[0] if alike else None, individual=None if alike else tuple(counts)
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
            roots=tuple(value[prefix:end] for value in values),
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


def assignment_problems(given: wire.TopologyAssignment) -> Iterator[Problem]:
    """Everything that is wrong with an assignment, in whichever form it is written."""
    if given.domains and given.slices:
        yield sentences.DOMAINS_AND_SLICES.at(("domains",))
        return
    yield from number_problems(given.levels, ("levels",), "")
    domains = len(given.domains)
    if domains > _MOST_LISTED:
        yield sentences.AT_MOST.at(("domains",), given=domains, most=_MOST_LISTED, done="listed")
    for i, domain in enumerate(given.domains):
        if len(domain.values) != len(given.levels):
            yield sentences.ONE_FOR_EACH_LEVEL.at(("domains", i, "values"), given=len(domain.values))
        yield from _pod_problems([(("domains", i, "count"), domain.count)])
    yield from _slices_problems(given)


def _slices_problems(given: wire.TopologyAssignment) -> Iterator[Problem]:
    if len(given.slices) > MOST_SLICES:
        slices = len(given.slices)
        yield sentences.AT_MOST.at(("slices",), given=slices, most=MOST_SLICES, done="given")
    possible = True
    for i, piece in enumerate(given.slices):
        path: Path = ("slices", i)
        if not 1 <= piece.domain_count <= MOST_IN_SLICE:
            possible = False
            value, allowed = piece.domain_count, Range(1, MOST_IN_SLICE)
            yield core.OUT_OF_RANGE.at((*path, "domainCount"), value=value, allowed=allowed)
        yield from _value_problems(piece, len(given.levels), path)
        yield from _count_problems(piece, path)
    total = sum(piece.domain_count for piece in given.slices)
    if possible and total > MOST_PODS:
        yield sentences.TOO_MANY_DOMAINS.at(("slices",), domains=total, most=MOST_PODS)


def _value_problems(piece: wire.TopologyAssignmentSlice, levels: int, path: Path) -> Iterator[Problem]:
    path = (*path, "valuesPerLevel")
    if len(piece.values_per_level) != levels:
        yield sentences.ONE_FOR_EACH_LEVEL.at(path, given=len(piece.values_per_level))
    for i, level in enumerate(piece.values_per_level):
        if (level.universal is None) == (level.individual is None):
            yield sentences.ONE_OF_TWO.at((*path, i))
        elif level.individual is not None:
            yield from _length_problems(level.individual.roots, piece, (*path, i, "individual", "roots"))


def _count_problems(piece: wire.TopologyAssignmentSlice, path: Path) -> Iterator[Problem]:
    counts, path = piece.pod_counts, (*path, "podCounts")
    if (counts.universal is None) == (counts.individual is None):
        yield sentences.ONE_OF_TWO.at(path)
    if counts.universal is not None:
        yield from _pod_problems([((*path, "universal"), counts.universal)])
    if counts.individual is not None:
        where = (*path, "individual")
        yield from _length_problems(counts.individual, piece, where)
        yield from _pod_problems(((*where, i), pods) for i, pods in enumerate(counts.individual))


def _length_problems(
    given: Sequence[object], piece: wire.TopologyAssignmentSlice, path: Path
) -> Iterator[Problem]:
    count = piece.domain_count
    # Of a number of domains that cannot be, nobody wants to hear how many values it takes.
    if len(given) != count and 1 <= count <= MOST_IN_SLICE:
        are = "is 1" if len(given) == 1 else f"are {len(given)}"
        domains = f"{count} domain{'s' * (count != 1)}"
        yield sentences.ONE_FOR_EACH_DOMAIN.at(path, given=are, domains=domains)


def _pod_problems(counts: Iterable[tuple[Path, int]]) -> Iterator[Problem]:
    for path, pods in counts:
        if not 1 <= pods <= MOST_PODS:
            yield sentences.PODS_OUT_OF_RANGE.at(path, number=pods, most=MOST_PODS)
