"""The objects of a case for Kueue: flavors, ClusterQueues, local queues, nodes and Jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from closeknit.hub.copying import replace
from closeknit.kube.resources import NODES, Resource
from tests.peers import manifests
from tests.peers.manifests import NAMESPACE, Json, amounts, obj
from tests.peers.records import Case, Flavor, Queue, Unit

LOCAL_QUEUES: Final = Resource(
    "kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue", subresources=("status",)
)
_VERSION: Final = "kueue.x-k8s.io/v1beta2"
_CLUSTER_QUEUES = Resource(
    "kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False, subresources=("status",)
)
_FLAVORS = Resource("kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False)
_TOPOLOGIES = Resource("kueue.x-k8s.io", "v1beta2", "topologies", "Topology", namespaced=False)
_CLASSES = Resource(
    "kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False
)


def surroundings(case: Case) -> Iterator[tuple[Resource, Json]]:
    """What is there before the first Job."""
    for priority in sorted({unit.priority for unit in case.units}):
        yield _CLASSES, obj(_VERSION, "WorkloadPriorityClass", _class(priority), value=priority)
    for name, levels in case.topologies.items():
        spec = {"levels": [{"nodeLabel": level} for level in levels]}
        yield _TOPOLOGIES, obj(_VERSION, "Topology", name, spec=spec)
    for node in case.nodes:
        yield NODES, manifests.node(node)
    for flavor in case.flavors:
        yield _FLAVORS, obj(_VERSION, "ResourceFlavor", flavor.name, spec=_flavor(flavor))
    for queue in case.queues:
        yield _CLUSTER_QUEUES, obj(_VERSION, "ClusterQueue", queue.name, spec=_cluster_queue(queue))
        for name, stop in ((queue.name, "None"), (held_queue(queue.name), "Hold")):
            made = obj(_VERSION, "LocalQueue", name, spec={"clusterQueue": queue.name, "stopPolicy": stop})
            made["metadata"]["namespace"] = NAMESPACE
            yield LOCAL_QUEUES, made


def held_queue(queue: str) -> str:
    """The local queue of Jobs that are held back until those run that run at the start."""
    return f"{queue}-held"


def runs(unit: Unit) -> bool:
    """Whether a Job runs at the start."""
    return any(pods.ran is not None for pods in unit.pods)


def pod(unit: Unit) -> Json:
    """A pod that belongs to no queue and has its node."""
    ((made, spec),) = manifests.unit_objects(unit)[1]
    made["spec"] |= {"nodeName": spec.node, "schedulerName": "default-scheduler"}
    made["spec"].pop("priorityClassName", None)
    return made


def job(unit: Unit, *, held: bool = False) -> Json:
    """A Job in its local queue."""
    (pods,) = unit.pods
    ((made, _),) = manifests.unit_objects(_single(unit))[1]
    template = made["spec"]
    template["restartPolicy"] = "Never"
    del template["schedulerName"]
    template.pop("priorityClassName", None)
    labels = {
        "kueue.x-k8s.io/queue-name": held_queue(unit.queue) if held else unit.queue,
        "kueue.x-k8s.io/priority-class": _class(unit.priority),
    }
    annotations = {}
    if unit.minimum is not None:
        annotations["kueue.x-k8s.io/job-min-parallelism"] = str(unit.minimum)
    job = obj(
        "batch/v1",
        "Job",
        unit.name,
        spec={
            "suspend": True,
            "completionMode": "Indexed",
            "completions": pods.count,
            "parallelism": pods.count,
            "template": {"metadata": {"annotations": _topology(unit)}, "spec": template},
        },
    )
    job["metadata"] |= {"namespace": NAMESPACE, "labels": labels, "annotations": annotations}
    return job


def assigned(assignment: Mapping[str, Any] | None) -> Iterator[tuple[str, int]]:
    """The domains of the lowest level in a topology assignment, each with its number of pods."""
    for part in (assignment or {}).get("slices") or ():
        values = part["valuesPerLevel"][-1]
        if "universal" in values:
            names = [values["universal"]] * part["domainCount"]
        else:
            each = values["individual"]
            names = [f"{each.get('prefix', '')}{root}{each.get('suffix', '')}" for root in each["roots"]]
        counts = part["podCounts"]
        numbers = counts.get("individual") or [counts["universal"]] * len(names)
        yield from zip(names, numbers, strict=True)


def _single(unit: Unit) -> Unit:
    (pods,) = unit.pods
    return replace(unit, kind="pod", pods=[replace(pods, count=1, node="")])


def _class(priority: int) -> str:
    return f"priority-{priority}".replace("--", "-minus-")


def _topology(unit: Unit) -> dict[str, str]:
    close = unit.close
    if close is None:
        return {}
    if close.unconstrained:
        return {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}
    kind, level = ("required", close.required) if close.required else ("preferred", close.preferred)
    return {f"kueue.x-k8s.io/podset-{kind}-topology": level}


def _flavor(flavor: Flavor) -> Json:
    return {
        "nodeLabels": flavor.labels,
        **({"topologyName": flavor.topology} if flavor.topology else {}),
        "tolerations": [{"key": key, "operator": "Exists"} for key in flavor.tolerates],
    }


def _cluster_queue(queue: Queue) -> Json:
    groups: dict[tuple[str, ...], list[Json]] = {}
    for name, nominal in queue.flavors.items():
        quota = amounts(nominal)
        resources = [{"name": resource, "nominalQuota": amount} for resource, amount in quota.items()]
        groups.setdefault(tuple(quota), []).append({"name": name, "resources": resources})
    return {
        "namespaceSelector": {},
        "queueingStrategy": "StrictFIFO" if queue.strict else "BestEffortFIFO",
        "resourceGroups": [
            {"coveredResources": list(covered), "flavors": flavors} for covered, flavors in groups.items()
        ],
        "preemption": {"withinClusterQueue": queue.within_cluster_queue or "Never"},
    }
