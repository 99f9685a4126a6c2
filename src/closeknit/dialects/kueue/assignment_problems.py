"""What contradicts itself in an assignment, told before anything of the size that it claims is made.

A slice of two billion equal domains is a line of text, so numbers are checked while they are
only numbers. The bounds are Kueue's own; and as each domain has a pod, there are never more
of them than pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from closeknit.apis import kueue_x_k8s_io_v1beta1 as v1beta1
from closeknit.apis import kueue_x_k8s_io_v1beta2 as v1beta2
from closeknit.dialects.kueue.batches import MOST_PODS
from closeknit.hub.problems import Problem, as_told

MOST_SLICES = 1000
MOST_IN_SLICE = 100_000
_MOST_LISTED = 100_000
_MOST_LEVELS = 16
_ONE_OF = "Give exactly one of universal and individual."


def problems_of_domains(given: v1beta1.TopologyAssignment) -> Iterator[Problem]:
    """Everything that is wrong with the older form."""
    yield from _level_problems(given.levels)
    if len(given.domains) > _MOST_LISTED:
        yield as_told("domains", f"There are {len(given.domains)}. At most {_MOST_LISTED} can be listed.")
    for i, domain in enumerate(given.domains):
        if len(domain.values) != len(given.levels):
            message = f"There are {len(domain.values)}. Give one for each of levels."
            yield as_told(f"domains[{i}].values", message)
        yield from _pod_problems([(f"domains[{i}].count", domain.count)])


def problems_of_slices(given: v1beta2.TopologyAssignment) -> Iterator[Problem]:
    """Everything that is wrong with the newer form."""
    yield from _level_problems(given.levels)
    if len(given.slices) > MOST_SLICES:
        yield as_told("slices", f"There are {len(given.slices)}. At most {MOST_SLICES} can be given.")
    possible = True
    for i, piece in enumerate(given.slices):
        path = f"slices[{i}]"
        if not 1 <= piece.domain_count <= MOST_IN_SLICE:
            possible = False
            message = f"{piece.domain_count} is out of range. Allowed are 1 to {MOST_IN_SLICE}."
            yield as_told(f"{path}.domainCount", message)
        yield from _value_problems(piece, len(given.levels), path)
        yield from _count_problems(piece, path)
    total = sum(piece.domain_count for piece in given.slices)
    if possible and total > MOST_PODS:
        message = (
            f"There are {total} domains in all, each with a pod. At most {MOST_PODS} pods can be placed."
        )
        yield as_told("slices", message)


def _level_problems(levels: Sequence[str]) -> Iterator[Problem]:
    if not 1 <= len(levels) <= _MOST_LEVELS:
        yield as_told("levels", f"There are {len(levels)}. Allowed are 1 to {_MOST_LEVELS}.")


def _value_problems(piece: v1beta2.TopologyAssignmentSlice, levels: int, path: str) -> Iterator[Problem]:
    if len(piece.values_per_level) != levels:
        message = f"There are {len(piece.values_per_level)}. Give one for each of levels."
        yield as_told(f"{path}.valuesPerLevel", message)
    for i, level in enumerate(piece.values_per_level):
        where = f"{path}.valuesPerLevel[{i}]"
        if (level.universal is None) == (level.individual is None):
            yield as_told(where, _ONE_OF)
        elif level.individual is not None:
            yield from _length_problems(level.individual.roots, piece, f"{where}.individual.roots")


def _count_problems(piece: v1beta2.TopologyAssignmentSlice, path: str) -> Iterator[Problem]:
    counts = piece.pod_counts
    if (counts.universal is None) == (counts.individual is None):
        yield as_told(f"{path}.podCounts", _ONE_OF)
    if counts.universal is not None:
        yield from _pod_problems([(f"{path}.podCounts.universal", counts.universal)])
    if counts.individual is not None:
        where = f"{path}.podCounts.individual"
        yield from _length_problems(counts.individual, piece, where)
        yield from _pod_problems((f"{where}[{i}]", pods) for i, pods in enumerate(counts.individual))


def _length_problems(
    given: Sequence[object], piece: v1beta2.TopologyAssignmentSlice, path: str
) -> Iterator[Problem]:
    count = piece.domain_count
    # Of a number of domains that cannot be, nobody wants to hear how many values it takes.
    if len(given) != count and 1 <= count <= MOST_IN_SLICE:
        are = "is 1" if len(given) == 1 else f"are {len(given)}"
        domains = f"{count} domain{'s' * (count != 1)}"
        yield as_told(path, f"There {are} for {domains}. Give one for each.")


def _pod_problems(counts: Iterator[tuple[str, int]] | Sequence[tuple[str, int]]) -> Iterator[Problem]:
    for path, pods in counts:
        if not 1 <= pods <= MOST_PODS:
            yield as_told(path, f"{pods} is out of range. Allowed are 1 to {MOST_PODS} pods.")
