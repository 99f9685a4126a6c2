"""Claims to devices and volumes for random requests, and the objects that say them to our readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

import msgspec

from closeknit.apis import core_v1
from closeknit.apis import resource_k8s_io_v1 as resource
from closeknit.apis import storage_k8s_io_v1 as storage
from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.dialects.core.allocated import devices_beside
from closeknit.dialects.core.claims import resolved
from closeknit.dialects.core.volumes import attachable
from closeknit.dialects.ownership import indexes_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Store
from closeknit.dialects.store.view import View
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.drawing import HOSTNAME
from closeknit.hub.request import PodSet, Reference, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName
from closeknit.testing.claims import Claims, Device, Need, Volume
from closeknit.testing.random_clusters import LEVELS, POOL

_DRIVER = "gpu.example.com"
_DISKS = "disk.example.com"
_MODELS = ("a", "b", "c")
_MEMORY = (40, 80)
_TAINT = {"key": "worn", "value": "yes", "effect": "NoSchedule"}

Spec: TypeAlias = dict[str, Any]


def random_claims(rng: Random, cluster: Cluster, request: Request) -> Claims:
    """Claims of some pod sets without running pods: devices, volumes, or both."""
    free = [pods.name for pods in request.root.pod_sets() if not pods.bound]
    if not free:
        return Claims()
    chosen = rng.sample(free, min(len(free), rng.choice((1, 2, 3, 9))))
    kinds = rng.choice(("devices", "devices", "volumes", "both"))
    devices: dict[str, tuple[Device, ...]] = {}
    needs: dict[str, tuple[Need, ...]] = {}
    volumes: dict[str, tuple[Volume, ...]] = {}
    limits: dict[str, int] = {}
    if kinds != "volumes":
        most = rng.choice((2, 4, 8))
        for node in cluster.nodes:
            devices[node.name] = tuple(_device(rng) for _ in range(rng.randint(most // 2, most)))
        several = [_need(rng) for _ in range(rng.choice((1, 2, 3)))]
        devices, several = _with_alternatives(_fork(rng), devices, several)
        for name in chosen:
            needs[name] = tuple(rng.sample(several, min(len(several), rng.choice((1, 1, 2)))))
    if kinds != "devices":
        for node in cluster.nodes:
            if rng.random() < 0.7:
                limits[node.name] = rng.choice((0, 1, 2, 3, 4, 6))
        for name in chosen:
            volumes[name] = tuple(_volume(rng, cluster) for _ in range(rng.choice((1, 1, 2))))
    return Claims(devices, needs, volumes, limits)


def _fork(rng: Random) -> Random:
    """Other dice that leave these as they are."""
    made = Random()
    made.setstate(rng.getstate())
    return made


def _with_alternatives(
    rng: Random, devices: dict[str, tuple[Device, ...]], needs: list[Need]
) -> tuple[dict[str, tuple[Device, ...]], list[Need]]:
    """Some needs with alternatives: one device of any kind, or several of one where nodes have one kind."""
    kind = rng.random()
    if kind > 0.3:
        return devices, needs
    first, *others = rng.sample(_MODELS, rng.choice((2, 2, 3)))
    if kind > 0.15:
        memory = rng.choice((0, *_MEMORY))
        either = tuple(replace(needs[0], count=1, model=each, memory=memory) for each in others)
        return devices, [Need(1, first, or_else=either), *needs[1:]]
    devices = {
        node: tuple(replace(each, model=model) for each in own)
        for node, own in devices.items()
        for model in [rng.choice(_MODELS)]
    }
    counts = {each: rng.choice((1, 1, 2, 3)) for each in _MODELS}
    either = tuple(Need(counts[each], each) for each in others)
    alike = [replace(each, model=each.model or rng.choice(_MODELS)) for each in needs[1:]]
    return devices, [Need(counts[first], first, or_else=either), *alike]


def _device(rng: Random) -> Device:
    tainted, held = rng.random() < 0.1, rng.random() < 0.1
    return Device(rng.choice(_MODELS), rng.choice(_MEMORY), tainted=tainted, held=held)


def _need(rng: Random) -> Need:
    model = rng.choice((None, None, *_MODELS))
    return Need(rng.choice((1, 1, 1, 2)), model, rng.choice((0, *_MEMORY)), tolerates=rng.random() < 0.2)


def _volume(rng: Random, cluster: Cluster) -> Volume:
    """A volume that one of the nodes reaches, or all; each pod has its own, or all share one."""
    label = rng.choice((None, None, HOSTNAME, POOL, *LEVELS))
    there = sorted({node.labels[label] for node in cluster.nodes if label in node.labels} if label else ())
    if label is None or not there:
        return Volume(attached=True)
    values = tuple(sorted(rng.sample(there, rng.randint((len(there) + 1) // 2, len(there)))))
    return Volume(label, values, attached=rng.random() < 0.5)


# ------------------------------------------------------------------------------ as our readers see it


def counted(cluster: Cluster, request: Request, claims: Claims) -> tuple[Cluster, Request]:
    """The same with all that is claimed as our readers say it: as resources and node filters."""
    view = View(Store(indexes_of(())))
    for made in _objects(claims):
        view.put(made)
    topology = None if request.topology is None else cluster.topology(request.topology)
    root = request.root.mapped(lambda pods: replace(pods, claims=tuple(_references(claims, pods))))
    said, problems = resolved(
        view, "default", replace(request, root=root), topology.labels if topology is not None else ()
    )
    if problems:
        raise RuntimeError(f"Claims that can be counted exactly are said to be rough: {problems}.")
    nodes = []
    for node in cluster.nodes:
        more = devices_beside(view, node.name, node.allocatable) + Resources(attachable(view, node.name))
        nodes.append(replace(node, allocatable=node.allocatable + more))
    return replace(cluster, nodes=tuple(nodes)), said


def _references(claims: Claims, pods: PodSet) -> Iterator[Reference]:
    if pods.name in claims.needs:
        yield Reference("ResourceClaimTemplate", f"{pods.name}-devices")
    for i, each in enumerate(claims.volumes.get(pods.name, ())):
        name = f"{pods.name}-{i}"
        template = f'{{"storageClassName":"{name}"}}' if each.attached else ""
        yield Reference("PersistentVolumeClaim", "" if template else name, template)


def _objects(claims: Claims) -> Iterator[Stored[Any]]:
    """Slices, a class, templates, claims that have devices, volumes with their claims and classes, limits."""
    if claims.devices:
        select = [{"cel": {"expression": f"device.driver == '{_DRIVER}'"}}]
        yield _stored(resource.DeviceClass, "resource.k8s.io/v1", "gpus", spec={"selectors": select})
    for node, devices in claims.devices.items():
        yield _slice(node, devices)
        held = [
            {"request": "main", "driver": _DRIVER, "pool": node, "device": f"d{i}"}
            for i, each in enumerate(devices)
            if each.held
        ]
        if held:
            status = {"allocation": {"devices": {"results": held}}}
            yield _stored(
                resource.ResourceClaim,
                "resource.k8s.io/v1",
                f"held-{node}",
                "default",
                spec={},
                status=status,
            )
    for name, needs in claims.needs.items():
        spec = {"devices": {"requests": [_request(i, need) for i, need in enumerate(needs)]}}
        yield _stored(
            resource.ResourceClaimTemplate,
            "resource.k8s.io/v1",
            f"{name}-devices",
            "default",
            spec={"spec": spec},
        )
    for name, volumes in claims.volumes.items():
        for i, each in enumerate(volumes):
            yield from _volume_objects(f"{name}-{i}", each)
    for node, limit in claims.limits.items():
        driver = {"name": _DISKS, "nodeID": node, "allocatable": {"count": limit}}
        yield _stored(storage.CsiNode, "storage.k8s.io/v1", node, spec={"drivers": [driver]})


def _slice(node: str, devices: Sequence[Device]) -> Stored[Any]:
    listed = [
        {
            "name": f"d{i}",
            "attributes": {"model": {"string": each.model}},
            "capacity": {"memory": {"value": f"{each.memory}Gi"}},
            "taints": [_TAINT] if each.tainted else [],
        }
        for i, each in enumerate(devices)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": _DRIVER, "nodeName": node, "pool": pool, "devices": listed}
    return _stored(resource.ResourceSlice, "resource.k8s.io/v1", f"{node}-gpus", spec=spec)


def _request(number: int, need: Need) -> Spec:
    if not need.or_else:
        return {"name": f"r{number}", "exactly": _asked(need)}
    several = (need, *need.or_else)
    return {
        "name": f"r{number}",
        "firstAvailable": [{"name": f"k{i}", **_asked(each)} for i, each in enumerate(several)],
    }


def _asked(need: Need) -> Spec:
    selectors = []
    if need.model is not None:
        selectors.append(f"device.attributes['{_DRIVER}'].model == '{need.model}'")
    if need.memory:
        least = f"quantity('{need.memory}Gi')"
        selectors.append(f"device.capacity['{_DRIVER}'].memory.compareTo({least}) >= 0")
    exactly: Spec = {
        "deviceClassName": "gpus",
        "allocationMode": "ExactCount",
        "count": need.count,
        "selectors": [{"cel": {"expression": each}} for each in selectors],
    }
    if need.tolerates:
        exactly["tolerations"] = [{"key": _TAINT["key"], "operator": "Exists"}]
    return exactly


def _volume_objects(name: str, volume: Volume) -> Iterator[Stored[Any]]:
    values = {"key": volume.label, "values": list(volume.values)}
    if volume.attached:
        allowed = [{"matchLabelExpressions": [values]}] if volume.label is not None else []
        yield _stored(
            storage.StorageClass,
            "storage.k8s.io/v1",
            name,
            provisioner=_DISKS,
            volumeBindingMode="WaitForFirstConsumer",
            allowedTopologies=allowed,
        )
        return
    terms = [{"matchExpressions": [{**values, "operator": "In"}]}]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    claim = {"accessModes": ["ReadWriteMany"], "volumeName": name}
    yield _stored(core_v1.PersistentVolume, "v1", name, spec=affinity)
    yield _stored(core_v1.PersistentVolumeClaim, "v1", name, "default", spec=claim)


def _stored(
    shape: type[KubernetesObject], version: str, name: str, namespace: str = "", **fields: Any
) -> Stored[Any]:
    named = ObjectName(version, _KINDS.get(shape, shape.__name__), namespace, name)
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    whole = {"apiVersion": version, "kind": named.kind, "metadata": metadata, **fields}
    return Stored(named.key, named, msgspec.convert(whole, shape))


_KINDS: Mapping[type[KubernetesObject], str] = {storage.CsiNode: "CSINode"}
