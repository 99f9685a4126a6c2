"""The kinds that all families need and none owns, and the parts of objects that families write alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from closeknit.apis import core_v1, scheduling_k8s_io_v1
from closeknit.apis import resource_k8s_io_v1 as devices
from closeknit.apis import storage_k8s_io_v1 as storage
from closeknit.apis.resource_nvidia_com_v1beta1 import ComputeDomain
from closeknit.apis.topology_node_k8s_io_v1alpha2 import NodeResourceTopology
from closeknit.apis.wire import words
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.copying import replace
from closeknit.hub.paths import Path
from closeknit.hub.quantities import written
from closeknit.hub.resources import Resources

_DEVICES = ("v1", "v1beta2", "v1beta1")
KINDS = (
    Kind("", "Node", ("v1",), core_v1.Node, namespaced=False),
    Kind("", "Pod", ("v1",), core_v1.Pod),
    Kind("scheduling.k8s.io", "PriorityClass", ("v1",), scheduling_k8s_io_v1.PriorityClass, namespaced=False),
    *(
        replace(each, optional=True)
        for each in (
            Kind("", "Namespace", ("v1",), core_v1.Namespace, namespaced=False),
            Kind("", "PersistentVolume", ("v1",), core_v1.PersistentVolume, namespaced=False),
            Kind("", "PersistentVolumeClaim", ("v1",), core_v1.PersistentVolumeClaim),
            Kind("storage.k8s.io", "StorageClass", ("v1",), storage.StorageClass, namespaced=False),
            Kind("storage.k8s.io", "CSINode", ("v1",), storage.CsiNode, namespaced=False),
            Kind("resource.k8s.io", "DeviceClass", _DEVICES, devices.DeviceClass, namespaced=False),
            Kind("resource.k8s.io", "ResourceSlice", _DEVICES, devices.ResourceSlice, namespaced=False),
            Kind("resource.k8s.io", "ResourceClaim", _DEVICES, devices.ResourceClaim),
            Kind("resource.k8s.io", "ResourceClaimTemplate", _DEVICES, devices.ResourceClaimTemplate),
            Kind("resource.nvidia.com", "ComputeDomain", ("v1beta1",), ComputeDomain),
            Kind(
                "topology.node.k8s.io",
                "NodeResourceTopology",
                ("v1alpha2",),
                NodeResourceTopology,
                namespaced=False,
            ),
        )
    ),
)

PASSED_OVER = {
    "": words("""
        Binding ComponentStatus ConfigMap Endpoints Event LimitRange PodTemplate
        ReplicationController ResourceQuota Secret Service ServiceAccount
    """),
    "scheduling.k8s.io": words("CompositePodGroup"),
    "storage.k8s.io": words("CSIDriver CSIStorageCapacity VolumeAttachment VolumeAttributesClass"),
    "resource.k8s.io": words("DeviceTaintRule ResourcePoolStatusRequest"),
    "resource.nvidia.com": words("ComputeDomainClique"),
}
"""Known kinds of the same API groups that nobody here reads."""


_BY_SERVERS = frozenset({"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"})


def new_object(api_version: str, kind: str, metadata: dict[str, Any], spec: object) -> dict[str, Any]:
    """An object as plain data, ready to be written."""
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def indexed_job(pods: int, template: dict[str, Any]) -> dict[str, Any]:
    """The spec of a Job whose pods all run at once."""
    return {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template}


ANY_NODE = {"kubernetes.io/os": "linux"}
"""A flavor with a topology must have a label, and this one is on every node that could run the pods."""


def resource_group(asked: Resources, flavors: Iterable[str]) -> dict[str, Any]:
    """The quota of a ClusterQueue: each of the flavors has all that is asked for."""
    resources = [{"name": name, "nominalQuota": written(name, units)} for name, units in asked.items()]
    return {
        "coveredResources": list(asked),
        "flavors": [{"name": flavor, "resources": resources} for flavor in flavors],
    }


def value_at(content: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The mapping that stands at a path; empty where there is none."""
    value: Any = content
    for step in path:
        if isinstance(value, list):
            value = value[step] if isinstance(step, int) and step < len(value) else {}
        else:
            value = value.get(step, {}) if isinstance(value, Mapping) else {}
    return value if isinstance(value, Mapping) else {}


def without_server_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without what API servers add."""
    return {key: value for key, value in metadata.items() if key not in _BY_SERVERS}


def owner_references(api_version: str, kind: str, name: str, uid: str) -> dict[str, Any]:
    """The field ``ownerReferences`` with one controller, which cannot be named without a uid."""
    if not uid:
        return {}
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
    return {"ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}]}
