"""Decide what an object of Grove's belongs to: pods, gangs and PodGroups to sets, pods to gangs.

A pod that Grove made for KAI names a PodGroup as well, and then KAI is the first to claim it. Which set and
gang it was made for is in its labels all the same, so these are indexed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis.core_v1 import Pod
from closeknit.apis.dynamo_keys import DEPLOYMENT
from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.apis.grove_keys import MANAGED_BY, OPERATOR, PART_OF, POD_GANG
from closeknit.apis.kai_keys import GROUP_ANNOTATION
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.core.owner_references import names_kind
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.kai.implicit_groups import pod_group_key
from closeknit.dialects.ownership import pod_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import grove as sentences


def set_key(namespace: str, name: str) -> Key:
    """The key of a PodCliqueSet."""
    return Key("grove.io", "PodCliqueSet", namespace, name)


def deployment_key(namespace: str, name: str) -> Key:
    """The key of a DynamoGraphDeployment."""
    return Key("nvidia.com", "DynamoGraphDeployment", namespace, name)


def gang_key(namespace: str, name: str) -> Key:
    """The key of a PodGang."""
    return Key("scheduler.grove.io", "PodGang", namespace, name)


def owner_of(pod: Stored[Pod]) -> Key | None:
    """The PodCliqueSet that a pod was made for."""
    name = _labelled_set(pod.content.metadata.labels)
    return set_key(pod.namespace, name) if name else None


def set_of(metadata: ObjectMeta) -> str:
    """The name of the PodCliqueSet that an object was made for; empty where it is not known.

    It is that of the owner, or else in the labels. The name of the object shows nothing: how Grove makes
    names has changed.
    """
    owners = (one.name for one in metadata.owner_references if names_kind(one, "grove.io", "PodCliqueSet"))
    return next(owners, _labelled_set(metadata.labels))


def _labelled_set(labels: Mapping[str, str]) -> str:
    return labels.get(PART_OF, "") if labels.get(MANAGED_BY) == OPERATOR else ""


def _gang_named(pod: Stored[Pod]) -> str:
    metadata = pod.content.metadata
    return metadata.labels.get(POD_GANG) or metadata.annotations.get(GROUP_ANNOTATION, "")


# ------------------------------------------------------------------------------------------ indexes


def _pod_owners(pod: Stored[Pod]) -> Iterator[Key]:
    if (owner := owner_of(pod)) is not None:
        yield owner
        if group := pod.content.metadata.annotations.get(GROUP_ANNOTATION):
            yield pod_group_key(pod.namespace, group)
    if gang := _gang_named(pod):
        yield gang_key(pod.namespace, gang)


def _pod_group_owners(group: Stored[PodGroup]) -> Iterator[Key]:
    if name := _labelled_set(group.content.metadata.labels):
        yield set_key(group.namespace, name)


def _gang_owners(gang: Stored[PodGang]) -> Iterator[Key]:
    if name := set_of(gang.content.metadata):
        yield set_key(gang.namespace, name)


_PODS, _POD_GROUPS, _GANGS = "grove-pods", "grove-pod-groups", "grove-gangs"
INDEXES = (
    Index(_PODS, Pod, _pod_owners, of_metadata=True),
    Index(_POD_GROUPS, PodGroup, _pod_group_owners, of_metadata=True),
    Index(_GANGS, PodGang, _gang_owners, of_metadata=True),
)
"""Pods by the key of their set, their gang and their PodGroup; PodGroups and PodGangs by that of a set."""


def pods_made_for(view: View, owner: Key) -> tuple[ReadPod, ...]:
    """The pods of a set or a gang, whoever else claims them, without those whose node has gone."""
    return tuple(
        pod
        for each in view.found(_PODS, owner)
        if (pod := view.derive(pod_of, each.key)) is not None and not pod.lost
    )


def is_handed_on(view: View, pod_clique_set: Key) -> bool:
    """Whether PodGroups were made for a set already; these are workloads then, and ask for the same pods."""
    return bool(view.found(_POD_GROUPS, pod_clique_set))


def is_on_its_own(view: View, gang: Stored[PodGang]) -> bool:
    """Whether a PodGang is a workload itself: neither the set that it was made for is there, nor a PodGroup
    that was made of it.
    """
    made_for = set_key(gang.namespace, set_of(gang.content.metadata))
    return not view.has(made_for) and not view.has(pod_group_key(gang.namespace, gang.name))


def has_gangs_on_their_own(view: View, pod_clique_set: Key) -> bool:
    """Whether a set that need not be there has PodGangs that are workloads themselves."""
    return any(is_on_its_own(view, gang) for gang in view.found(_GANGS, pod_clique_set))


def deployment_notes(view: View, pod_clique_set: Stored[PodCliqueSet]) -> Iterator[Problem]:
    """Whether a set is taken for that of a DynamoGraphDeployment because of its name alone.

    The operator's own set would have this name, so there is room for one of the two, and it is one workload.
    """
    name, metadata = pod_clique_set.name, pod_clique_set.content.metadata
    owners = {
        one.name
        for one in metadata.owner_references
        if names_kind(one, "nvidia.com", "DynamoGraphDeployment")
    }
    if (
        name not in owners
        and metadata.labels.get(DEPLOYMENT) != name
        and view.has(deployment_key(pod_clique_set.namespace, name))
    ):
        yield sentences.TAKEN_FOR_DEPLOYMENTS.at(("metadata", "name"), name=name, label=DEPLOYMENT)


# -------------------------------------------------------------------------------------- stray pods


@dataclass(frozen=True, slots=True)
class _Strays:
    """Pods that name a PodGroup which nothing can bring about."""

    first: Key
    pods: int
    made_for: str
    """The set of the first one."""


def stray_pod_problems(pod: Stored[Pod], view: View) -> Iterator[Problem]:
    """A pod that Grove made for a PodGroup, where there is nothing left that could bring it about.

    Reported once for each PodGroup, at the first of its pods.
    """
    name = pod.content.metadata.annotations.get(GROUP_ANNOTATION)
    if not name or owner_of(pod) is None:
        return
    strays = view.derive(_strays_of, pod.namespace, name)
    if strays is not None and strays.first == pod.key:
        yield sentences.STRAY_PODS.at(
            ("metadata", "annotations", GROUP_ANNOTATION),
            pods="1 pod names" if strays.pods == 1 else f"{strays.pods} pods name",
            name=name,
            namespace=pod.namespace,
            set=strays.made_for,
        )


def _strays_of(view: View, namespace: str, group: str) -> _Strays | None:
    key = pod_group_key(namespace, group)
    if view.has(key) or view.has(gang_key(namespace, group)):
        return None
    strays = [
        pod
        for pod in view.found(_PODS, key)
        if pod.content.status.phase not in ("Succeeded", "Failed") and not _has_maker(view, pod)
    ]
    return _Strays(strays[0].key, len(strays), set_of(strays[0].content.metadata)) if strays else None


def _has_maker(view: View, pod: Stored[Pod]) -> bool:
    """Whether the set or the deployment that a pod was made for is there."""
    metadata = pod.content.metadata
    deployment = metadata.labels.get(DEPLOYMENT, "")
    makers = set_key(pod.namespace, set_of(metadata)), deployment_key(pod.namespace, deployment)
    return any(map(view.has, makers))
