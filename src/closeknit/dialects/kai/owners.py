"""Who belongs to whom: pods to PodGroups, and PodGroups to the Jobs and the like that KAI makes them of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from closeknit.apis.batch_v1 import Job
from closeknit.apis.core_v1 import Pod
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.apis.kai_keys import GROUP_ANNOTATION
from closeknit.apis.kubeflow_org_v1 import PyTorchJob
from closeknit.apis.leaderworkerset_x_k8s_io_v1 import LeaderWorkerSet
from closeknit.apis.pod_makers import PodMaker
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.core.notes import instead_of, not_in_sight
from closeknit.dialects.core.owner_references import is_owned_by, keys_named
from closeknit.dialects.core.pod_makers import speaks_for_itself
from closeknit.dialects.core.pods import Stage
from closeknit.dialects.kai.implicit_groups import ImplicitGroup, pod_group_key
from closeknit.dialects.kai.jobs import (
    job_groups,
    job_owner,
    job_set_groups,
    job_set_owner,
    job_set_without_alike,
)
from closeknit.dialects.kai.joining import groups_named, joins
from closeknit.dialects.kai.leader_worker_sets import leader_worker_set_groups, leader_worker_set_owner
from closeknit.dialects.kai.made_groups import NOT_GROUPED, maker_groups, maker_owner
from closeknit.dialects.kai.owner_fields import Owner
from closeknit.dialects.kai.pytorch_jobs import pytorch_job_groups, pytorch_job_owner
from closeknit.dialects.kai.topologies import FAMILY
from closeknit.dialects.ownership import claim_of, exists, pod_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kai as sentences

OWNERS: Mapping[
    type[Any], tuple[Callable[[Stored[Any]], Owner], Callable[[Owner], Iterator[ImplicitGroup]]]
] = {
    Job: (job_owner, job_groups),
    JobSet: (job_set_owner, job_set_groups),
    LeaderWorkerSet: (leader_worker_set_owner, leader_worker_set_groups),
    PyTorchJob: (pytorch_job_owner, pytorch_job_groups),
    PodMaker: (maker_owner, maker_groups),
}
"""What KAI groups by itself: how to read it, and the PodGroups that are made of it."""


def _owners_of(group: Stored[PodGroup]) -> Iterator[Key]:
    for owner in group.content.metadata.owner_references:
        yield from keys_named(owner, group.key.namespace)


GROUPS_BY_OWNER = Index("kai-pod-groups-by-owner", PodGroup, _owners_of)
"""PodGroups by the keys of their owners."""


def owner_of(pod: Stored[Pod]) -> Key | None:
    """The PodGroup that a pod names as its own."""
    group = pod.content.metadata.annotations.get(GROUP_ANNOTATION)
    return pod_group_key(pod.namespace, group) if group else None


def as_owner(stored: Stored[Any]) -> Owner:
    """A Job or the like with its templates."""
    return OWNERS[stored.shape][0](stored)


def owner_named(view: View, key: Key) -> Owner | None:
    """The Job or the like of this key, with its templates."""
    stored = view.get(key)
    return as_owner(stored) if stored is not None else None


def implicit_groups(view: View, key: Key) -> tuple[ImplicitGroup, ...]:
    """The PodGroups that KAI would make of an owner, except those that exist: these are read themselves."""
    return _groups(view, key, alike_once=False) or ()


def condensed_groups(view: View, key: Key) -> tuple[ImplicitGroup, ...] | None:
    """The same with one of all parts that differ in their names alone; None where it has no such parts.

    Where nothing is wrong with these, nothing is wrong with any of them.
    """
    return _groups(view, key, alike_once=True)


def _groups(view: View, key: Key, *, alike_once: bool) -> tuple[ImplicitGroup, ...] | None:
    stored = view.get(key)
    if stored is None:
        return ()
    by_table = isinstance(stored.content, PodMaker)
    if by_table and (key.kind in NOT_GROUPED or not speaks_for_itself(view, stored)):
        return ()
    owner = view.derive(owner_named, key)
    if owner is None or not owner.is_grouped_by_kai or joins(stored, view):
        return ()
    owned = [group.name for group in view.found(GROUPS_BY_OWNER.name, key) if is_owned_by(group, stored)]
    few = _condensed(owner) if alike_once else owner
    if few is None:
        return None
    return tuple(
        made
        for made in OWNERS[stored.shape][1](few)
        if not view.has(made.key) and not any(name.endswith(made.outline.suffix) for name in owned)
    )


def _condensed(owner: Owner) -> Owner | None:
    """The owner with one of all parts that differ in their names alone; None where it has no such parts."""
    if not isinstance(owner.stored.content, JobSet):
        return None
    few = job_set_without_alike(owner.stored.content)
    return None if few is None else as_owner(replace(owner.stored, content=few))


def makes(view: View) -> frozenset[Key]:
    """The PodGroups that KAI would make, which pods may name already."""
    return frozenset(
        made.key
        for shape in OWNERS
        for stored in view.of(shape)
        for made in view.derive(implicit_groups, stored.key)
    )


def check_pod(pod: Stored[Pod], view: View) -> Iterator[Problem]:
    """A pod whose PodGroup is not there, and who is nobody else's: nobody would ever place it."""
    claim = claim_of(view, pod.key)
    if claim.family != FAMILY or exists(view, claim.key):
        return
    read = view.derive(pod_of, pod.key)
    if read is None or read.lost or read.stage in (Stage.SUCCEEDED, Stage.FAILED):
        return
    yield _no_such_group(view, claim.key, ("metadata", "annotations", GROUP_ANNOTATION))


def check_joining(stored: Stored[Any], view: View) -> Iterator[Problem]:
    """An owner that leaves the grouping of its pods to a PodGroup which is not there."""
    if view.schedulers is None and joins(stored, view) and not as_owner(stored).queues_in_kueue:
        for group in dict.fromkeys(view.derive(groups_named, stored.key)):
            if not exists(view, group):
                yield _no_such_group(view, group, ("spec",))


def _no_such_group(view: View, group: Key, path: Path) -> Problem:
    allowed = instead_of(group.name, view, lambda: _pod_groups(view, group.namespace))
    unknown = sentences.NO_SUCH_POD_GROUP.at(
        path, group=group.name, namespace=group.namespace, allowed=allowed
    )
    return not_in_sight(unknown, view, allowed.allowed)


def _pod_groups(view: View, namespace: str) -> Iterator[str]:
    """The PodGroups that are in a namespace, or are made of what is there."""
    made = (key for family in view.families if family.makes is not None for key in view.derive(family.makes))
    return (key.name for key in (*view.keys(PodGroup), *made) if key.namespace == namespace)
