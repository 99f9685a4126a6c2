"""The state of a gang, as seen from its pods and from whether it ever ran.

| state | pods of the minimum | ran before | what the scheduler does |
|---|---|---|---|
| ``Incomplete`` | some do not exist, none runs | | reports ``NotReady``, and binds nothing |
| ``Waiting`` | all exist, none runs | | decides it in queue order |
| ``PartiallyBound`` | some run | no | places the rest near them; else evicts them (see below) |
| ``Complete`` | all run | | nothing; pods above the minimum may wait |
| ``Stale`` | some run | yes | announces their eviction; places replacements near them; else evicts them |

| from | event | to |
|---|---|---|
| ``Incomplete`` | the missing pods are created | ``Waiting`` |
| ``Waiting`` | the minimum is bound | ``Complete`` |
| ``Waiting`` | a part is bound, and the rest is refused or lost in a crash | ``PartiallyBound`` |
| ``PartiallyBound``, ``Stale`` | the rest is bound | ``Complete`` |
| ``Complete`` | pods of the minimum are deleted, fail or lose their node | ``Stale`` |
| ``PartiallyBound`` | no room for the rest, and this scheduler had just bound the part | evicted at once |
| ``PartiallyBound``, ``Stale`` | the grace period is over, and no replacement is on its way | evicted |
| ``PartiallyBound``, ``Stale`` | a disruption budget refuses an eviction | the same; retried with a backoff |
| any | its last running pod is gone | ``Incomplete`` or ``Waiting``, and it never ran |

A gang with subgroups is below its minimum if a subgroup with running pods is: only the pods of the largest
such groups are evicted.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from closeknit.hub.request import Group
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.needs import satisfied


class Incomplete(msgspec.Struct, frozen=True, gc=False):
    """Pods of the minimum do not exist yet, and no pod runs."""

    missing_pods: int


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """All pods of the minimum exist, and none runs; or it is invalid, and no pod runs."""


class Complete(msgspec.Struct, frozen=True, gc=False):
    """The minimum runs; of an invalid workload, no pod is known to be missing."""


class _BelowMinimum(msgspec.Struct, frozen=True, gc=False):
    running: tuple[str, ...]
    """The names of the running pods of groups below their minimum."""
    evicted_at: float | None
    """When these are evicted unless the rest is bound; None for never."""
    refused: int = 0
    """How many evictions the server did not accept at the last attempt, as because of disruption budgets."""


class PartiallyBound(_BelowMinimum, frozen=True, gc=False):
    """A part of the minimum runs, and the whole never did."""


class Stale(_BelowMinimum, frozen=True, gc=False):
    """The minimum ran, and has lost pods."""


BelowMinimum: TypeAlias = PartiallyBound | Stale
GangState: TypeAlias = Incomplete | Waiting | PartiallyBound | Complete | Stale

WHOLE = ""
"""Stands for the whole gang among the names of its groups."""


class Parts(msgspec.Struct, frozen=True, gc=False):
    """Which groups of a gang run, and which run in part."""

    formed: frozenset[str]
    """Groups whose minimum runs: ``WHOLE`` and names of subgroups."""
    broken: frozenset[str]
    """The largest groups that have running pods and are below their minimum."""
    running: tuple[str, ...]
    """The names of the running pods of the latter."""


_WHOLE_RUNS = Parts(frozenset({WHOLE}), frozenset(), ())
_NOTHING_RUNS = Parts(frozenset(), frozenset(), ())


def parts_of(workload: Workload) -> Parts:
    """Split a workload into the groups whose minimum runs and those that run in part."""
    if not workload.running:
        return _NOTHING_RUNS
    if not isinstance(workload, PlaceableWorkload):
        if not workload.missing_pods:
            return _NOTHING_RUNS
        # Pods that must run with these do not exist, so all that run belong to a gang below its minimum.
        return Parts(frozenset(), frozenset({WHOLE}), tuple(pod.name for pod in workload.running))
    root = workload.request.root
    if not any(isinstance(member, Group) for member in root.members) and satisfied(root):
        return _WHOLE_RUNS
    formed: set[str] = set()
    broken: list[Group] = []
    _split(root, formed, broken)
    if not broken:
        return Parts(frozenset({*formed, WHOLE}), frozenset(), ())
    groups = {member.name for top in broken for member, _ in top.walk() if isinstance(member, Group)}
    return Parts(
        frozenset({*formed, *((WHOLE,) if satisfied(root) else ())}),
        frozenset(WHOLE if top is root else top.name for top in broken),
        tuple(pod.name for pod in workload.running if pod.group in groups),
    )


def _split(group: Group, formed: set[str], broken: list[Group]) -> None:
    if not any(pods.bound for pods in group.pod_sets()):
        return
    if not satisfied(group):
        broken.append(group)
        return
    formed.add(group.name)
    for member in group.members:
        if isinstance(member, Group):
            _split(member, formed, broken)


def running_pods_below_minimum(workload: Workload) -> tuple[str, ...]:
    """The names of the running pods in groups below their minimum; empty for a complete gang."""
    return parts_of(workload).running
