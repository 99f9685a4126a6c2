"""Which pods were made for which set and gang, whoever else has a claim on them.

A pod that Grove made for KAI names a PodGroup as well, and then KAI is the first to claim it. What it
belongs to is told by its labels all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.apis.core_v1 import Pod
from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.apis.wire import Wire
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.grove.naming import PART_OF, POD_GANG, is_managed
from closeknit.dialects.kai.keys import GROUP_ANNOTATION
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.paths import within
from closeknit.hub.problems import as_told, shown

DEPLOYMENT = "nvidia.com/dynamo-graph-deployment-name"
"""The label of what was made for a deployment of Dynamo."""


def pods_by_set(pods: Mapping[str, tuple[ReadPod, ...]]) -> dict[str, tuple[ReadPod, ...]]:
    """The pods of each PodCliqueSet, by the name of its workload."""
    return _gathered((_set_of(pod), pod) for pod in _every(pods))


def pods_by_gang(pods: Mapping[str, tuple[ReadPod, ...]]) -> dict[str, tuple[ReadPod, ...]]:
    """The pods that name a PodGang, by the name of its workload."""
    return _gathered((_gang_of(pod), pod) for pod in _every(pods))


def set_of(metadata: ObjectMeta) -> str:
    """The name of the PodCliqueSet that an object was made for; empty where none is told.

    The owner tells, or else the labels. The name of the object does not: how Grove makes names has changed.
    """
    owners = (one.name for one in metadata.owner_references if one.kind == "PodCliqueSet")
    labelled = metadata.labels.get(PART_OF, "") if is_managed(metadata.labels) else ""
    return next(owners, labelled)


def lone_gangs(manifests: View) -> Iterator[Stored[PodGang]]:
    """The PodGangs that are workloads themselves: the set that each was made for is not there, and neither is
    a PodGroup that was made of it.
    """
    sets, groups = _named(manifests, PodCliqueSet), _named(manifests, PodGroup)
    for gang in manifests.of(PodGang):
        made_for = (gang.namespace, set_of(gang.content.metadata))
        if made_for not in sets and (gang.namespace, gang.name) not in groups:
            yield gang


def stray_pods(manifests: View) -> Iterator[Reported]:
    """Pods that Grove made for a PodGroup, where there is nothing left that could bring it about.

    Told once for each PodGroup, at the first of its pods.
    """
    gangs = _named(manifests, PodGroup, PodGang)
    sets = _named(manifests, PodCliqueSet)
    deployments = _named(manifests, alpha.DynamoGraphDeployment, beta.DynamoGraphDeployment)
    strays: dict[tuple[str, str], list[Stored[Pod]]] = {}
    for pod in manifests.of(Pod):
        metadata, here = pod.content.metadata, pod.namespace
        name = metadata.annotations.get(GROUP_ANNOTATION)
        if not name or not is_managed(metadata.labels):
            continue
        made_for = {(here, name)} & gangs or {(here, set_of(metadata))} & sets
        if made_for or (here, metadata.labels.get(DEPLOYMENT, "")) in deployments:
            continue
        if pod.content.status.phase not in ("Succeeded", "Failed"):
            strays.setdefault((here, name), []).append(pod)
    for (here, name), pods in strays.items():
        number = "1 pod names" if len(pods) == 1 else f"{len(pods)} pods name"
        message = (
            f"{number} {shown(name)}, but there is no such PodGroup or PodGang in namespace"
            f" {shown(here)}, and no PodCliqueSet {shown(set_of(pods[0].content.metadata))} to make it of."
        )
        yield pods[0].report(
            as_told(within("metadata.annotations", GROUP_ANNOTATION), f"{message} Add one of them.")
        )


def _named(manifests: View, *shapes: type[Wire]) -> set[tuple[str, str]]:
    return {(one.namespace, one.name) for shape in shapes for one in manifests.keys(shape)}


def _every(pods: Mapping[str, tuple[ReadPod, ...]]) -> Iterator[ReadPod]:
    return (pod for members in pods.values() for pod in members)


def _set_of(pod: ReadPod) -> str:
    labels = pod.manifest.content.metadata.labels
    owner = labels.get(PART_OF)
    return workload_name(pod.manifest.namespace, owner) if owner and is_managed(labels) else ""


def _gang_of(pod: ReadPod) -> str:
    metadata = pod.manifest.content.metadata
    gang = metadata.labels.get(POD_GANG) or metadata.annotations.get(GROUP_ANNOTATION)
    return workload_name(pod.manifest.namespace, gang) if gang else ""


def _gathered(pods: Iterable[tuple[str, ReadPod]]) -> dict[str, tuple[ReadPod, ...]]:
    found: dict[str, list[ReadPod]] = {}
    for name, pod in pods:
        if name:
            found.setdefault(name, []).append(pod)
    return {name: tuple(members) for name, members in found.items()}
