"""Random nodes and pods that use every filter, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.filters.cases import CORDONED, TOLERATED, Object, asking, init, node, pod, port
from tests.filters.claims import (
    DRIVER,
    GPUS,
    LARGE,
    MODEL_B,
    NEW,
    ZONE,
    claim,
    claiming,
    csi_node,
    device,
    device_class,
    either_of,
    mounting,
    on_nodes,
    request,
    resource_slice,
    storage_class,
    volume,
    volume_claim,
)

MODEL_C = f"device.attributes['{DRIVER}'].model == 'c'"
FAST = "example.com/fast"
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


def random_objects(rng: Random, nodes: int, pods: int) -> list[Object]:
    """A cluster with pods that run, and pods that wait."""
    return [
        GPUS,
        device_class("fast", "device.driver == 'fast.example.com'", resource=FAST),
        storage_class("zonal", "disk.example.com", "z1", "z2"),
        *(obj for i in range(nodes) for obj in _node(rng, f"node-{i}")),
        *(obj for i in range(pods) for obj in _running(rng, f"running-{i}", f"node-{rng.randrange(nodes)}")),
        *(obj for i in range(pods) for obj in _waiting(rng, f"waiting-{i}", nodes)),
    ]


def _node(rng: Random, name: str) -> Iterator[Object]:
    labels = {ZONE: rng.choice(("z1", "z2", "z3")), "disk": rng.choice(("ssd", "hdd"))}
    if rng.random() < 0.7:
        labels["size"] = str(rng.randrange(8))
    spec: dict[str, Any] = dict(CORDONED) if rng.random() < 0.1 else {}
    if rng.random() < 0.3:
        taint = {"key": "dedicated", "value": rng.choice("ab"), "effect": rng.choice(_EFFECTS)}
        spec["taints"] = [taint]
    made = node(name, spec=spec, labels=labels, cpu=rng.choice(("2", "4", "8")), pods=rng.choice(("2", "9")))
    kind = rng.random()
    if kind < 0.3:
        for part in ("allocatable", "capacity"):
            made["status"][part] = {**made["status"][part], FAST: str(rng.randrange(1, 4))}
    elif kind < 0.6:
        devices = [device(str(i)) for i in range(rng.randrange(1, 4))]
        yield resource_slice(name, devices, "fast.example.com")
    yield made
    if rng.random() < 0.6:
        devices = [
            device(str(i), rng.choice("abc"), rng.choice(("40Gi", "80Gi")))
            for i in range(rng.randrange(1, 5))
        ]
        yield resource_slice(name, devices)
        if rng.random() < 0.5:
            yield claim(f"held-{name}", request("gpus"), allocated=[(name, rng.choice(devices)["name"])])
    if rng.random() < 0.5:
        yield csi_node(name, rng.randrange(1, 3))


def _running(rng: Random, name: str, on: str) -> Iterator[Object]:
    spec: dict[str, Any] = {"nodeName": on, "containers": [asking({"cpu": rng.choice(("100m", "1", "2"))})]}
    if rng.random() < 0.3:
        spec["containers"].append({"name": "ports", **_port(rng)})
    if rng.random() < 0.2:
        yield from _bound_volume(name)
        spec |= mounting(name)
    more: Object = {"status": {"phase": "Succeeded"}} if rng.random() < 0.1 else {}
    yield pod(name, spec) | more


def _port(rng: Random) -> Object:
    return port(
        rng.choice((8080, 9090)), rng.choice(("TCP", "UDP")), rng.choice(("", "10.0.0.1", "10.0.0.2"))
    )


def _bound_volume(name: str, **more: Any) -> Iterator[Object]:
    yield volume(f"{name}-volume", name, **more)
    yield volume_claim(name, f"{name}-volume")


def _waiting(rng: Random, name: str, nodes: int) -> Iterator[Object]:
    asked = asking({"cpu": rng.choice(("100m", "1", "3")), "memory": rng.choice(("1Gi", "6Gi"))})
    spec: dict[str, Any] = {"containers": [asked]}
    if rng.random() < 0.2:
        spec["initContainers"] = [init("side", {"cpu": "1"}, stays=True), init("first", {"cpu": "3"})]
    if rng.random() < 0.1:
        spec["resources"] = {"requests": {"cpu": "4", "memory": "7Gi"}}
    if rng.random() < 0.3:
        spec["containers"].append({"name": "ports", **_port(rng)})
    if rng.random() < 0.4:
        spec["tolerations"] = [
            rng.choice((TOLERATED, {"operator": "Exists"}, {"key": "dedicated", "value": "a"}))
        ]
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"disk": rng.choice(("ssd", "hdd"))}
    if rng.random() < 0.3:
        spec["affinity"] = _affinity(rng, nodes)
    kind = rng.random()
    if kind < 0.3:
        yield from _claims(rng, name, nodes)
        spec |= claiming(name)
    elif kind < 0.4:
        spec["containers"][0]["resources"].setdefault("limits", {})[FAST] = str(rng.randrange(1, 4))
    kind = rng.random()
    if kind < 0.15:
        reach = [f"node-{rng.randrange(nodes)}" for _ in range(nodes // 4)]
        yield from _bound_volume(name, **on_nodes(*sorted(set(reach))))
        spec |= mounting(name)
    elif kind < 0.25:
        yield volume_claim(name, class_name="zonal")
        spec |= mounting(name)
    yield pod(name, spec)


def _affinity(rng: Random, nodes: int) -> Object:
    names = {"key": "metadata.name", "operator": "NotIn", "values": [f"node-{rng.randrange(nodes)}"]}
    terms = [
        {"matchExpressions": [{"key": "size", "operator": rng.choice(("Gt", "Lt")), "values": ["3"]}]},
        {"matchExpressions": [{"key": ZONE, "operator": rng.choice(("In", "NotIn")), "values": ["z1"]}]},
        {"matchExpressions": [{"key": "size", "operator": "DoesNotExist"}], "matchFields": [names]},
    ]
    required = {"nodeSelectorTerms": rng.sample(terms, rng.randrange(1, 3))}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _claims(rng: Random, name: str, nodes: int) -> Iterator[Object]:
    selectors = [LARGE, MODEL_B, NEW, f"device.driver == '{DRIVER}'"]
    first = request("gpus", rng.randrange(1, 3), *rng.sample(selectors, rng.randrange(3)))
    if rng.random() < 0.2:
        yield claim(name, either_of("gpus", rng.randrange(1, 3), *rng.sample((LARGE, MODEL_B, MODEL_C), 2)))
    elif rng.random() < 0.4:
        second = request("gpus", 1, rng.choice(selectors), name="other")
        yield claim(name, first, second)
    elif rng.random() < 0.2:
        # A device that no slice lists is nobody else's, and its node is the only one.
        yield claim(name, first, allocated=[(f"node-{rng.randrange(nodes)}", "elsewhere")])
    else:
        yield claim(name, first)
