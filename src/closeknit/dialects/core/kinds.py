"""The kinds that belong to no dialect because all of them need them, and their neighbours."""

from __future__ import annotations

from closeknit.apis import core_v1, scheduling_k8s_io_v1
from closeknit.dialects.wire.kinds import Kind

KINDS = (
    Kind("", "Node", ("v1",), core_v1.Node, namespaced=False),
    Kind("", "Pod", ("v1",), core_v1.Pod),
    Kind("scheduling.k8s.io", "PriorityClass", ("v1",), scheduling_k8s_io_v1.PriorityClass, namespaced=False),
)

PASSED_OVER = {
    "": frozenset(
        {
            "Binding",
            "ComponentStatus",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        }
    ),
    "scheduling.k8s.io": frozenset({"CompositePodGroup", "PodGroup", "Workload"}),
}
"""Known kinds of the same API groups that nobody here reads."""
