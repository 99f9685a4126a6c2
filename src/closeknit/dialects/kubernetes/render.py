"""What becomes of PodGroups and Workloads: themselves, and the pods that a group still lacks."""

from __future__ import annotations

from typing import Any

from closeknit.apis.scheduling_k8s_io_v1alpha2 import PodGroup
from closeknit.dialects.core.kinds import without_server_fields
from closeknit.dialects.family import Rendered
from closeknit.dialects.kubernetes.compile import compile_pod_group
from closeknit.dialects.kubernetes.express import to_pods
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.workload import PlaceableWorkload


def as_written(stored: Stored[Any], _: View) -> Rendered:
    """The object as it is, without what servers add."""
    written = stored.written
    metadata = without_server_fields({"namespace": stored.namespace, **written["metadata"]})
    kind = {key: written[key] for key in ("apiVersion", "kind")}
    return Rendered(({**kind, "metadata": metadata, "spec": written["spec"]},))


def group_with_pods(stored: Stored[PodGroup], view: View) -> Rendered:
    """A group as it is, and the pods that it still lacks."""
    return Rendered((*as_written(stored, view).objects, *missing_pods(stored, view).objects))


def missing_pods(stored: Stored[PodGroup], view: View) -> Rendered:
    """The pods of a group that neither run nor exist."""
    (workload,) = compile_pod_group(stored, view).workloads or (None,)
    if not isinstance(workload, PlaceableWorkload):
        return Rendered()
    pods = (pod for pod in to_pods(workload.request) if "nodeName" not in pod["spec"])
    return Rendered(
        tuple(
            pod
            for pod in pods
            if not view.has(Key("", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"]))
        )
    )
