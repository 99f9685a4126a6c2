"""What contradicts itself in an assignment, reported before anything of the size that it claims is made.

A slice of two billion equal domains is a line of text, so numbers are checked while they are
only numbers. The bounds are Kueue's own; and as each domain has a pod, there are never more
of them than pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.core.pods import MOST_PODS
from closeknit.dialects.core.topologies import number_problems
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem, Range
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kueue as sentences

MOST_SLICES = 1000
MOST_IN_SLICE = 100_000
_MOST_LISTED = 100_000


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
