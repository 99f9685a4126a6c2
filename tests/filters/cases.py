"""A table of pods and nodes for each filter of kube-scheduler: which nodes each pod may have.

The unit tests ask our reader and engine, the test on a real control plane asks kube-scheduler itself.
All cases stand in one cluster: the nodes of each carry a label that its pods select.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
CASE = "example.com/case"
"""The label that parts the nodes of one case from those of others."""
SCHEDULER = "closeknit"


@dataclass(frozen=True, slots=True)
class Case:
    """One filter at work."""

    filter: str
    """The plugin of kube-scheduler."""
    promise: str
    nodes: Sequence[Object]
    pod: Mapping[str, Any]
    """The spec of the pod that waits."""
    want: frozenset[str]
    """The nodes that it may have."""
    others: Sequence[Object] = ()
    """Whatever else there is: pods that run, volumes, claims."""
    held: bool = False
    """Whether the pod is not looked at, so that it has no node although some would do."""


def node(name: str, *, spec: Object | None = None, labels: Mapping[str, str] = {}, **offers: str) -> Object:
    """A node that offers 4 cores and 8Gi unless told otherwise."""
    offered = {"cpu": "4", "memory": "8Gi", "pods": "110", **{_resource(key): v for key, v in offers.items()}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": spec or {},
        "status": {"allocatable": offered, "capacity": offered},
    }


def _resource(key: str) -> str:
    return {"gpu": "nvidia.com/gpu", "storage": "ephemeral-storage"}.get(key, key)


def pod(name: str, spec: Mapping[str, Any], **more: Any) -> Object:
    """A pod, of a container that asks for nothing unless told otherwise."""
    container = {"name": "main", "image": "example.com/image"}
    containers = [{**container, **each} for each in spec.get("containers", [{}])]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **more},
        "spec": {"schedulerName": SCHEDULER, **spec, "containers": containers},
    }


def asking(requests: Mapping[str, str] = {}, limits: Mapping[str, str] = {}, **more: Any) -> Object:
    """A container that asks for this."""
    return {"resources": {"requests": dict(requests), "limits": dict(limits)}, **more}


def init(name: str, requests: Mapping[str, str], *, stays: bool = False) -> Object:
    """An init container, or a sidecar that stays."""
    more = {"restartPolicy": "Always"} if stays else {}
    return {"name": name, "image": "example.com/image", "resources": {"requests": dict(requests)}, **more}


def port(number: int, protocol: str = "TCP", address: str = "") -> Object:
    """A container that takes a port of its node."""
    at = {"hostIP": address} if address else {}
    return {"ports": [{"containerPort": number, "hostPort": number, "protocol": protocol, **at}]}


def _taint(key: str, effect: str, value: str = "") -> Object:
    return {"key": key, "effect": effect, "value": value}


def _require(*terms: Object) -> Object:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _label(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def case(  # noqa: PLR0917 (a row of a table)
    filter: str,  # noqa: A002 (the word of kube-scheduler)
    promise: str,
    nodes: Sequence[Object],
    pod: Mapping[str, Any],
    want: str,
    others: Sequence[Object] = (),
    *,
    held: bool = False,
) -> Case:
    """A case whose wanted nodes are listed by name, with spaces between."""
    return Case(filter, promise, nodes, pod, frozenset(want.split()), others, held)


CORDONED = {"unschedulable": True}
TOLERATED = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}

NODE_CASES = (
    case(
        "SchedulingGates",
        "a pod with a gate waits until the gate is opened",
        [node("gate-a")],
        {"schedulingGates": [{"name": "example.com/gate"}]},
        "gate-a",
        held=True,
    ),
    case(
        "NodeUnschedulable",
        "a cordoned node takes no pod",
        [node("cordon-a"), node("cordon-b", spec=CORDONED)],
        {},
        "cordon-a",
    ),
    case(
        "NodeUnschedulable",
        "a cordoned node takes a pod that tolerates it",
        [node("cordon-c"), node("cordon-d", spec=CORDONED)],
        {"tolerations": [TOLERATED]},
        "cordon-c cordon-d",
    ),
    case(
        "NodeName",
        "a pod that names its node is bound already: what it takes is not free for others",
        [node("named-a"), node("named-b")],
        {"containers": [asking({"cpu": "3"})]},
        "named-b",
        [pod("named-by-hand", {"nodeName": "named-a", "containers": [asking({"cpu": "2"})]})],
    ),
    case(
        "TaintToleration",
        "NoSchedule and NoExecute keep a pod out, PreferNoSchedule does not",
        [
            node("taint-a", spec={"taints": [_taint("k", "NoSchedule")]}),
            node("taint-b", spec={"taints": [_taint("k", "NoExecute")]}),
            node("taint-c", spec={"taints": [_taint("k", "PreferNoSchedule")]}),
            node("taint-d"),
        ],
        {},
        "taint-c taint-d",
    ),
    case(
        "TaintToleration",
        "a toleration is compared by key, value and effect",
        [
            node("taint-e", spec={"taints": [_taint("k", "NoSchedule", "x")]}),
            node("taint-f", spec={"taints": [_taint("k", "NoSchedule", "y")]}),
            node("taint-g", spec={"taints": [_taint("k", "NoExecute", "x")]}),
            node("taint-h", spec={"taints": [_taint("k", "NoSchedule", "x"), _taint("m", "NoExecute")]}),
        ],
        {"tolerations": [{"key": "k", "operator": "Equal", "value": "x", "effect": "NoSchedule"}]},
        "taint-e",
    ),
    case(
        "TaintToleration",
        "a toleration without a key tolerates everything",
        [node("taint-i", spec={"taints": [_taint("k", "NoSchedule", "x"), _taint("m", "NoExecute")]})],
        {"tolerations": [{"operator": "Exists"}]},
        "taint-i",
    ),
    case(
        "NodeAffinity",
        "one of the terms must match, and the node selector as well",
        [
            node("near-a", labels={"disk": "ssd", "size": "8"}),
            node("near-b", labels={"disk": "ssd", "size": "2"}),
            node("near-c", labels={"disk": "hdd", "size": "8"}),
            node("near-d", labels={"disk": "ssd"}),
        ],
        {
            "nodeSelector": {"disk": "ssd"},
            "affinity": _require(_label("size", "Gt", "4"), _label("size", "DoesNotExist")),
        },
        "near-a near-d",
    ),
    case(
        "NodeAffinity",
        "a field is matched by the node's name",
        [node("near-e"), node("near-f"), node("near-g", labels={"disk": "ssd"})],
        {
            "affinity": _require(
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["near-e"]}]},
                _label("disk", "NotIn", "hdd")
                | {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["near-f"]}]},
            )
        },
        "near-e near-g",
    ),
    case(
        "NodePorts",
        "a port of all addresses meets every other of its number and protocol",
        [node("port-a"), node("port-b"), node("port-c"), node("port-d")],
        {"containers": [port(8080)]},
        "port-c port-d",
        [
            pod("port-one", {"nodeName": "port-a", "containers": [port(8080, address="10.0.0.1")]}),
            pod("port-two", {"nodeName": "port-b", "containers": [port(8080, address="0.0.0.0")]}),
            pod("port-three", {"nodeName": "port-c", "containers": [port(8080, "UDP")]}),
        ],
    ),
    case(
        "NodePorts",
        "a port of one address meets that address and all addresses",
        [node("port-e"), node("port-f"), node("port-g"), node("port-h")],
        {"containers": [port(8080, address="10.0.0.1")]},
        "port-f port-h",
        [
            pod("port-four", {"nodeName": "port-e", "containers": [port(8080, address="10.0.0.1")]}),
            pod("port-five", {"nodeName": "port-f", "containers": [port(8080, address="10.0.0.2")]}),
            pod("port-six", {"nodeName": "port-g", "containers": [port(8080)]}),
        ],
    ),
    case(
        "NodeResourcesFit",
        "requests, overhead and the number of pods are counted",
        [node("fit-a"), node("fit-b", cpu="2"), node("fit-c", pods="1"), node("fit-d", memory="2Gi")],
        {"containers": [asking({"cpu": "1"}), asking({"cpu": "1", "memory": "1Gi"}, name="second")],
         "overhead": {"cpu": "500m", "memory": "1Gi"}, "runtimeClassName": "heavy"},
        "fit-a fit-d",
        [
            {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"},
             "handler": "heavy", "overhead": {"podFixed": {"cpu": "500m", "memory": "1Gi"}}},
            pod("fit-full", {"nodeName": "fit-c"}),
        ],
    ),
    case(
        "NodeResourcesFit",
        "init containers take turns, sidecars stay",
        [node("fit-e", cpu="3"), node("fit-f", cpu="3500m"), node("fit-g", cpu="4")],
        {
            "initContainers": [
                init("one", {"cpu": "3"}),
                init("side", {"cpu": "500m"}, stays=True),
                init("two", {"cpu": "3"}),
            ],
            "containers": [asking({"cpu": "2"})],
        },
        "fit-f fit-g",
    ),
    case(
        "NodeResourcesFit",
        "what the pod as a whole asks for replaces the sum of its containers",
        [node("fit-h", cpu="2"), node("fit-i", cpu="3"), node("fit-j", cpu="1")],
        {"resources": {"requests": {"cpu": "3"}}, "containers": [asking({"cpu": "1"})]},
        "fit-i",
    ),
    case(
        "NodeResourcesFit",
        "a device and scratch space are resources like others, and a finished pod has given them back",
        [node("fit-k", gpu="2", storage="10Gi"), node("fit-l", gpu="1", storage="10Gi"),
         node("fit-m", gpu="2", storage="1Gi"), node("fit-n", gpu="2", storage="10Gi")],
        {"containers": [asking({"ephemeral-storage": "2Gi"}, {"nvidia.com/gpu": "2"})]},
        "fit-k",
        [
            pod("fit-used", {"nodeName": "fit-n", "schedulerName": "another",
                             "containers": [asking(limits={"nvidia.com/gpu": "1"})]}),
            pod("fit-done", {"nodeName": "fit-k", "containers": [asking(limits={"nvidia.com/gpu": "1"})]})
            | {"status": {"phase": "Succeeded"}},
        ],
    ),
)  # fmt: skip


def _anti(app: str, key: str = "kubernetes.io/hostname", **more: Any) -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _near(app: str, *keys: str) -> Object:
    terms = [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}} for key in keys]
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _spread(app: str, key: str, skew: int = 1, **more: Any) -> Object:
    return {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
        **more,
    }


def _runs(name: str, at: str, app: str, **spec: Any) -> Object:
    return pod(name, {"nodeName": at, **spec}, labels={"app": app})


def _zoned(stem: str, zones: str) -> list[Object]:
    """Nodes a, b and so on, each in the zone of its letter; a dash stands for none."""
    return [
        node(f"{stem}-{chr(97 + i)}", labels={} if zone == "-" else {f"{stem}-zone": zone})
        for i, zone in enumerate(zones)
    ]


NEIGHBOUR_CASES = (
    case(
        "InterPodAffinity",
        "a pod keeps away from the nodes of those it must not meet",
        _zoned("anti", "xxy"),
        {"affinity": _anti("anti-db")},
        "anti-b anti-c",
        [_runs("anti-one", "anti-a", "anti-db")],
    ),
    case(
        "InterPodAffinity",
        "and from their zones; a node without the label has none",
        _zoned("apart", "xxy-"),
        {"affinity": _anti("apart-db", "apart-zone")},
        "apart-c apart-d",
        [_runs("apart-one", "apart-a", "apart-db")],
    ),
    case(
        "InterPodAffinity",
        "pods of other namespaces count where they are listed",
        _zoned("listed", "xy"),
        {"affinity": _anti("listed-db", namespaces=["kube-system"])},
        "listed-a listed-b",
        [_runs("listed-one", "listed-a", "listed-db")],
    ),
    case(
        "InterPodAffinity",
        "company must be in the zone, by all terms, and a node without the label has none",
        _zoned("beside", "xxy-"),
        {"affinity": _near("beside-db", "beside-zone", "kubernetes.io/hostname")},
        "beside-a",
        [_runs("beside-one", "beside-a", "beside-db"), _runs("beside-two", "beside-d", "beside-db")],
    ),
    case(
        "InterPodAffinity",
        "nobody is there who could be company",
        _zoned("lonely", "xy"),
        {"affinity": _near("lonely-db", "lonely-zone")},
        "",
    ),
    case(
        "PodTopologySpread",
        "the zone with the most pods takes no more",
        _zoned("even", "xxyz-"),
        {"topologySpreadConstraints": [_spread("even-db", "even-zone")]},
        "even-c even-d",
        [_runs(f"even-{i}", at, "even-db") for i, at in enumerate(["even-a", "even-b"])],
    ),
    case(
        "PodTopologySpread",
        "fewer zones than asked for count as if one were empty",
        _zoned("few", "xy"),
        {"topologySpreadConstraints": [_spread("few-db", "few-zone", minDomains=3)]},
        "few-a few-b",
        [_runs(f"few-{i}", at, "few-db") for i, at in enumerate(["few-a", "few-b"])],
    ),
)
