"""What a PodGroup says by itself, without its pods: these come and go more often, and change nothing of it.

Most PodGroups are made from one template and differ in their names alone, so what follows from a spec is
worked out once for all PodGroups that have it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.dialects.compiling import known_topologies
from closeknit.dialects.core.assumed_pods import Assumed, assumed_pods
from closeknit.dialects.core.priority import created, preempts, priority_of
from closeknit.dialects.kai.constraints import Constraints, constraints
from closeknit.dialects.kai.members import DEFAULT
from closeknit.dialects.kai.queueing import (
    check_declared_run_time,
    grace_period,
    preemption_delay,
    queued,
    written_grace_period,
    written_preemptibility,
    written_preemption_delay,
)
from closeknit.dialects.kai.queues import queue_problems
from closeknit.dialects.kai.rules import field_problems, minimum_problems
from closeknit.dialects.kai.subgroups import Tree, tree
from closeknit.dialects.kai.topologies import FAMILY
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.workload import WorkloadBase

PRIORITIES: Mapping[str, int] = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
"""The classes that KAI's installation brings."""
_LARGEST_SHARED = 4096
"""Characters of a spec that is looked up among those known; it is kept as long as a PodGroup has it."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(wire.PodGroupSpec).decode


class SpecTerms(msgspec.Struct, frozen=True, gc=False):
    """What follows from the spec of a PodGroup, whatever its name."""

    subgroups: Tree
    levels: Constraints
    leaves: Mapping[str, int]
    """How many pods of each leaf must run at once; empty where that is only judged."""
    priority: int
    preempts: bool
    problems: tuple[Problem, ...]
    wrong_priority: tuple[Problem, ...]
    wrong_queue: tuple[Problem, ...]


class GroupTerms(msgspec.Struct, frozen=True, gc=False):
    """What a PodGroup says by itself."""

    workload: WorkloadBase
    of_spec: SpecTerms
    assumed: Assumed
    problems: tuple[Problem, ...]
    """Those of its spec included."""


def group_terms(view: View, key: Key) -> GroupTerms:
    """Read a PodGroup without its pods."""
    stored = view.get(key)
    assert stored is not None
    group: wire.PodGroup = stored.content
    exists = bool(group.metadata.uid) or key in view.existing
    # One text for all that have it.
    written = sys.intern(_encode(group.spec).decode())
    if len(written) <= _LARGEST_SHARED:
        terms = view.derive(spec_terms, written, exists)
    else:
        terms = _terms_of(view, group.spec, exists=exists)
    found = [*terms.problems, *field_problems(stored.written), *terms.wrong_priority]
    since = created(stored, found)
    check_declared_run_time(stored, found)
    subgroups = terms.subgroups
    assumed = assumed_pods(
        group.metadata.annotations, lambda: subgroups.leaves() if subgroups.subgroups else [DEFAULT], found
    )
    workload = queued(
        view,
        WorkloadBase(
            stored.object,
            FAMILY,
            priority=terms.priority,
            preempts=terms.preempts,
            created=since,
            grace_period=grace_period(written_grace_period(stored)),
            preemption_delay=preemption_delay(written_preemption_delay(stored)),
        ),
        group.spec.queue,
        written_preemptibility(stored),
    )
    return GroupTerms(workload, terms, assumed, tuple(found))


def spec_terms(view: View, written: str, exists: bool) -> SpecTerms:  # noqa: FBT001 (an argument that is derived for has no name)
    """Read a spec, as JSON, of PodGroups that a cluster has admitted already or has not."""
    return _terms_of(view, _decode(written), exists=exists)


def _terms_of(view: View, spec: wire.PodGroupSpec, *, exists: bool) -> SpecTerms:
    found: list[Problem] = []
    subgroups = tree(spec, found)
    found.extend(minimum_problems(spec, subgroups, exists=exists))
    known = view.derive(known_topologies, FAMILY, Topology)
    levels = constraints(spec, subgroups, known, {}, found)
    path = ("spec", "priorityClassName")
    wrong_priority: list[Problem] = []
    priority = priority_of(view, spec.priority_class_name, path, wrong_priority, PRIORITIES)
    leaves = {} if view.judging else leaves_of(spec, subgroups)
    wrong_queue = tuple(queue_problems(view, spec.queue, ("spec", "queue")))
    return SpecTerms(
        subgroups,
        levels,
        leaves,
        priority,
        preempts(view, spec.priority_class_name),
        tuple(found),
        tuple(wrong_priority),
        wrong_queue,
    )


def pods_awaited(group: wire.PodGroup) -> int:
    """How many pods a PodGroup must have at least; where it has subgroups, that takes a closer look."""
    if group.spec.sub_groups or group.spec.subgroups:
        return 1
    return 1 if group.spec.min_member is None else group.spec.min_member


def leaves_of(spec: wire.PodGroupSpec, subgroups: Tree) -> dict[str, int]:
    """The minimum of all that has pods: the leaves, or the PodGroup itself if it has no subgroups."""
    if not subgroups.subgroups:
        return {"": 1 if spec.min_member is None else max(spec.min_member, 0)}
    given = subgroups.subgroups
    return {leaf: least if (least := given[leaf].min_member or 0) > 0 else 0 for leaf in subgroups.leaves()}
