"""What pods claim that are about to be bound, or cannot be: what to make ready, and what to give back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.dialects.core.allocating import allocations
from closeknit.dialects.core.binding_volumes import (
    Preparation,
    VolumeBinding,
    chosen_volumes,
    is_bound,
)
from closeknit.dialects.core.devices import GROUP, Id
from closeknit.dialects.core.free_volumes import reaches
from closeknit.dialects.core.pods import claims_of
from closeknit.dialects.core.reserving import Reservation, written_devices
from closeknit.dialects.core.volumes import SELECTED_NODE
from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.request import Reference
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.commit import Bind


def claimed(state: ClusterState, pods: Iterable[Bind]) -> dict[Key, list[Bind]]:
    """The claims of pods that are to be bound, and who shares each; nothing for most pods."""
    found: dict[Key, list[Bind]] = {}
    for bind in pods:
        pod = state.pod(bind.pod)
        for each in claims_of(pod.content) if pod is not None else ():
            if each.kind == "ResourceClaim":
                found.setdefault(Key(GROUP, each.kind, bind.pod.namespace, each.name), []).append(bind)
            elif each.kind == "PersistentVolumeClaim":
                key = Key("", each.kind, bind.pod.namespace, each.name)
                stored = state.view.get(key)
                if stored is not None and not is_bound(stored.content):
                    found.setdefault(key, []).append(bind)
    return found


def preparations(
    state: ClusterState, claims: dict[Key, list[Bind]]
) -> tuple[Sequence[Preparation], Sequence[Problem]]:
    """What makes claims ready for their pods; problems where that cannot be."""
    found: list[Preparation] = []
    to_allocate: dict[str, list[Key]] = {}
    to_bind: dict[str, list[Key]] = {}
    for key, binds in claims.items():
        stored = state.view.get(key)
        if stored is None:
            continue
        if key.kind == "PersistentVolumeClaim":
            to_bind.setdefault(binds[0].node, []).append(key)
        elif (allocation := stored.content.status.allocation) is None:
            to_allocate.setdefault(binds[0].node, []).append(key)
        else:
            found.append(_reservation(stored, binds, _devices(allocation)))
    being_given = state.beliefs.devices() if to_allocate else frozenset()
    for node, keys in to_allocate.items():
        given, problems = allocations(state.view, node, keys, being_given)
        if problems:
            return (), problems
        for key, written in given.items():
            stored = state.view.get(key)
            assert stored is not None
            found.append(_reservation(stored, claims[key], written_devices(written), written))
    taken: set[str] = set()
    for node, keys in to_bind.items():
        volumes, problems = chosen_volumes(state.view, node, keys, state.beliefs.volumes() | taken)
        if problems:
            return (), problems
        taken.update(volumes.values())
        for key, volume in volumes.items():
            stored = state.view.get(key)
            assert stored is not None
            pods = tuple((each.pod.name, each.uid) for each in claims[key])
            found.append(VolumeBinding(key, stored.content.metadata.uid, node, pods, volume))
    return found, ()


def volume_ready(state: ClusterState, what: VolumeBinding, nodes: Iterable[str]) -> bool | str:
    """Whether a claim has its volume, in reach of these nodes; or why it will not be so."""
    stored = state.view.get(what.claim)
    if stored is None:
        return f"PersistentVolumeClaim {what.claim.name} has gone."
    if not is_bound(stored.content):
        return False
    reached = {node: reaches(state.view, stored.content.spec.volume_name, node) for node in nodes}
    if None in reached.values():
        return False
    beyond = sorted(node for node, there in reached.items() if not there)
    return (
        f"The volume of PersistentVolumeClaim {what.claim.name} is not reached from {beyond[0]}."
        if beyond
        else True
    )


def _reservation(
    stored: Stored[wire.ResourceClaim],
    binds: Iterable[Bind],
    devices: frozenset[Id],
    written: Mapping[str, Any] | None = None,
) -> Reservation:
    pods = tuple((each.pod.name, each.uid) for each in binds)
    exclusive = written_devices(written, exclusive=True) if written is not None else frozenset()
    return Reservation(stored.key, stored.content.metadata.uid, devices, pods, written, exclusive)


def _devices(allocation: wire.Allocation) -> frozenset[Id]:
    return frozenset((each.driver, each.pool, each.device) for each in allocation.devices.results)


def to_give_back(state: ClusterState, workload: PlaceableWorkload) -> Iterator[Preparation]:
    """What pods of a unit that wait have got and nobody else uses: it keeps them where they find no room."""
    sets = [pods for pods in workload.request.root.pod_sets() if pods.claims]
    if not sets:
        return
    waiting = {
        pod.content.metadata.uid: pod
        for pods in sets
        for name in pods.pods
        if state.is_open(key := Key("", "Pod", workload.object.namespace, name))
        and (pod := state.pod(key)) is not None
    }
    seen: set[Reference] = set()
    for pod in waiting.values():
        for each in claims_of(pod.content):
            if each in seen:
                continue
            seen.add(each)
            if each.kind == "PersistentVolumeClaim":
                yield from _node_selected(state, Key("", each.kind, pod.namespace, each.name))
                continue
            if each.kind != "ResourceClaim":
                continue
            stored = state.view.get(Key(GROUP, each.kind, pod.namespace, each.name))
            status = stored.content.status if stored is not None else None
            if stored is None or status is None or status.allocation is None:
                continue
            consumers = status.reserved_for
            if all(consumer.uid in waiting for consumer in consumers):
                pods = tuple((consumer.name, consumer.uid) for consumer in consumers)
                yield Reservation(
                    stored.key, stored.content.metadata.uid, _devices(status.allocation), pods, allocation={}
                )


def _node_selected(state: ClusterState, key: Key) -> Iterator[VolumeBinding]:
    """A claim for which a volume is to be made on some node."""
    stored = state.view.get(key)
    if stored is None or stored.content.spec.volume_name:
        return
    if selected := stored.content.metadata.annotations.get(SELECTED_NODE):
        yield VolumeBinding(key, stored.content.metadata.uid, selected, ())
