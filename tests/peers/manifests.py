"""The objects of a case: nodes, queues, groups, pods and what they need, as users write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from closeknit.kube.resources import NODES, POD_GROUPS, PRIORITY_CLASSES, Resource
from tests.peers.records import Amount, Budget, Case, Close, Group, Node, Pods, Queue, Unit

Json: TypeAlias = dict[str, Any]
NAMESPACE: Final = "default"
UNIT: Final = "peers.closeknit.dev/unit"
"""The label of a pod that names its unit."""
HOST: Final = "kubernetes.io/hostname"
_SCHEDULER: Final = "closeknit"
_TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)
_QUEUES = Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False, subresources=("status",))
_KAI_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", subresources=("status",))
_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", subresources=("status",))
_NAMES: Final = {"gpu": "nvidia.com/gpu"}
_PODS_OF_A_NODE: Final = 110


def surroundings(case: Case) -> Iterator[tuple[Resource, Json]]:
    """What is there before the first unit."""
    for priority, preempts in sorted({each for unit in case.units for each in _priorities(unit)}):
        fields = _given(value=priority, preemptionPolicy="" if preempts else "Never")
        name = _class(priority, preempts=preempts)
        yield PRIORITY_CLASSES, obj("scheduling.k8s.io/v1", "PriorityClass", name, **fields)
    for name, levels in case.topologies.items():
        spec = {"levels": [{"nodeLabel": level} for level in levels]}
        yield _TOPOLOGIES, obj("kai.scheduler/v1alpha1", "Topology", name, spec=spec)
    for queue in case.queues:
        yield _QUEUES, _queue(queue)
    for each in case.nodes:
        yield NODES, node(each)
    for budget in case.budgets:
        yield _BUDGETS, _budget(budget)


def unit_objects(unit: Unit) -> tuple[tuple[Resource, Json] | None, list[tuple[Json, Pods]]]:
    """The group of a unit, if it has one, and its pods, each with what it was made of."""
    specs = [pods for pods in unit.pods for _ in range(pods.count)]
    alone = unit.kind == "pod" and len(specs) == 1
    pods = [
        (_pod(unit, spec, unit.name if alone else f"{unit.name}-{number}"), spec)
        for number, spec in enumerate(specs)
    ]
    match unit.kind:
        case "kai":
            return (_KAI_GROUPS, _kai_group(unit, len(specs))), pods
        case "kubernetes":
            return (POD_GROUPS, _pod_group(unit)), pods
        case _:
            return None, pods


def obj(version: str, kind: str, name: str, **fields: Any) -> Json:
    """An object of the API."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def _priorities(unit: Unit) -> Iterator[tuple[int, bool]]:
    yield unit.priority, unit.preempts
    for pods in unit.pods:
        if pods.priority is not None:
            yield pods.priority, unit.preempts


def _class(priority: int, *, preempts: bool = True) -> str:
    return f"priority-{priority}{'' if preempts else '-never'}".replace("--", "-minus-")


def amounts(given: Mapping[str, Amount]) -> dict[str, str]:
    """Amounts by the name that Kubernetes has for a resource."""
    return {_NAMES.get(name, name): str(amount) for name, amount in given.items()}


def node(record: Node) -> Json:
    """A node that is ready."""
    offers = amounts({"pods": _PODS_OF_A_NODE, **record.offers})
    made = obj(
        "v1",
        "Node",
        record.name,
        spec={"taints": [{"key": key, "effect": "NoSchedule"} for key in record.taints]},
        status={
            "capacity": offers,
            "allocatable": offers,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )
    made["metadata"]["labels"] = {HOST: record.name, **record.labels}
    return made


def _queue(queue: Queue) -> Json:
    resources = {
        name: {
            "quota": queue.quota.get(name, -1),
            "limit": queue.limit.get(name, -1),
            "overQuotaWeight": queue.weight.get(name, 1),
        }
        for name in ("gpu", "cpu", "memory")
    }
    spec = _given(
        parentQueue=queue.parent,
        priority=queue.priority,
        resources=resources,
        preemptMinRuntime=queue.preempt_min_runtime,
        reclaimMinRuntime=queue.reclaim_min_runtime,
    )
    return obj("scheduling.run.ai/v2", "Queue", queue.name, spec=spec)


def _budget(budget: Budget) -> Json:
    spec = _given(
        selector={"matchLabels": budget.labels},
        minAvailable=budget.min_available,
        maxUnavailable=budget.max_unavailable,
    )
    made = obj("policy/v1", "PodDisruptionBudget", budget.name, spec=spec)
    made["metadata"]["namespace"] = NAMESPACE
    return made


def _kai_group(unit: Unit, pods: int) -> Json:
    minimum = unit.minimum
    if minimum is None and unit.min_groups is None and not unit.groups:
        minimum = pods
    spec = _given(
        queue=unit.queue,
        priorityClassName=_class(unit.priority, preempts=unit.preempts),
        preemptibility=_preemptibility(unit.preemptible),
        minMember=minimum,
        minSubGroup=unit.min_groups,
        subGroups=[_subgroup(group) for group in unit.groups],
        topologyConstraint=_close(unit.close),
        preemptionDelay=unit.preemption_delay,
        stalenessGracePeriod=unit.staleness,
    )
    made = obj("scheduling.run.ai/v2alpha2", "PodGroup", unit.name, spec=spec)
    made["metadata"]["namespace"] = NAMESPACE
    return made


def _subgroup(group: Group) -> Json:
    return _given(
        name=group.name,
        parent=group.parent,
        minMember=group.minimum,
        minSubGroup=group.min_groups,
        topologyConstraint=_close(group.close),
    )


def _close(close: Close | None) -> Json | None:
    if close is None:
        return None
    return _given(
        topology=close.topology, requiredTopologyLevel=close.required, preferredTopologyLevel=close.preferred
    )


def _preemptibility(preemptible: bool | None) -> str:
    return "" if preemptible is None else "preemptible" if preemptible else "non-preemptible"


def _pod_group(unit: Unit) -> Json:
    policy: Json = {"basic": {}} if unit.minimum is None else {"gang": {"minCount": unit.minimum}}
    spec = _given(
        schedulingPolicy=policy,
        priority=unit.priority,
        schedulingConstraints={"topology": [{"key": unit.close.required}]} if unit.close else None,
        disruptionMode="Pod" if unit.single else "PodGroup",
    )
    made = obj("scheduling.k8s.io/v1alpha2", "PodGroup", unit.name, spec=spec)
    made["metadata"]["namespace"] = NAMESPACE
    return made


def _pod(unit: Unit, pods: Pods, name: str) -> Json:
    labels = {UNIT: unit.name, **pods.labels}
    annotations = {}
    if unit.kind == "kai":
        annotations["pod-group-name"] = unit.name
        if pods.group:
            labels["kai.scheduler/subgroup-name"] = pods.group
        if pods.order is not None:
            labels["kai.scheduler/task-priority"] = str(pods.order)
    priority = unit.priority if pods.priority is None else pods.priority
    spec = _given(
        schedulerName=_SCHEDULER,
        containers=[_container(pods)],
        affinity=_affinity(pods),
        nodeSelector=pods.selector,
        overhead=amounts(pods.overhead),
        priorityClassName="" if unit.kind == "kai" else _class(priority, preempts=unit.preempts),
        schedulingGroup={"podGroupName": unit.name} if unit.kind == "kubernetes" else None,
        topologySpreadConstraints=_spread(pods),
        tolerations=[{"key": key, "operator": "Exists"} for key in pods.tolerates],
    )
    made = obj("v1", "Pod", name, spec=spec)
    made["metadata"] |= {"namespace": NAMESPACE, "labels": labels, "annotations": annotations}
    return made


def _container(pods: Pods) -> Json:
    needs = amounts(pods.needs)
    extended = {name: amount for name, amount in needs.items() if "/" in name}
    ports = [{"containerPort": pods.port, "hostPort": pods.port}] if pods.port is not None else []
    return {
        "name": "main",
        "image": "pause",
        "resources": _given(requests=needs, limits=extended),
        **_given(ports=ports),
    }


def _affinity(pods: Pods) -> Json:
    nodes = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": HOST, "operator": "In", "values": pods.nodes}]}
            ]
        }
    }
    terms: dict[bool, list[Json]] = {False: [], True: []}
    for each in pods.affinity:
        terms[each.anti].append(
            {"labelSelector": {"matchLabels": each.labels}, "topologyKey": each.topology_key}
        )
    return _given(
        nodeAffinity=nodes if pods.nodes else None,
        podAffinity=_required(terms[False]),
        podAntiAffinity=_required(terms[True]),
    )


def _required(terms: list[Json]) -> Json | None:
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms} if terms else None


def _spread(pods: Pods) -> list[Json]:
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": pods.labels},
        }
        for key in pods.spread
    ]


def _given(**fields: Any) -> Json:
    """Fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], {})}
