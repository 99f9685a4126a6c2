"""The hub's tree of what queues: pod sets, their replicas and slices, and groups of pod sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from closeknit.dialects.core.levels import Levels
from closeknit.dialects.core.naming import pod_set_name
from closeknit.dialects.kueue.queued_workload import PodSlot, QueuedPodSet, QueuedWorkload
from closeknit.hub.copying import replace
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.topology import Topology


@dataclass(frozen=True, slots=True)
class _Layer:
    """Pods in pieces of this size, each with levels of its own."""

    size: int
    levels: Levels
    word: str
    """Stands before the number of a piece in its name; empty for the replicas of a job."""


def to_request(
    queued: QueuedWorkload, topology: Topology | None, filters: Mapping[str, NodeFilter]
) -> Request:
    """What a workload asks for: a Job's constraint lies on the root, that of a JobSet on its replicated jobs.

    The early design's annotations speak of each Job: in a JobSet, of every replica by itself.
    Today's speak of the pod set, which is all replicas of a replicated job together; a preferred
    level then holds for every replica as well, so that where not all fit in one domain, each
    Job still stays whole.
    """
    builder = _Builder(topology, filters)
    builder.take(queued.name)
    return Request(queued.name, _root(queued, builder), topology.name if topology is not None else None)


def _root(queued: QueuedWorkload, builder: _Builder) -> Group:
    if len(queued.pod_sets) == 1 and queued.object.kind != "JobSet":
        (only,) = queued.pod_sets
        return replace(builder.pod_set(only, only.name), name=queued.name)
    with_pods = [pod_set for pod_set in queued.pod_sets if pod_set.count]
    shared: dict[str, list[QueuedPodSet]] = {}
    for pod_set in with_pods:
        shared.setdefault(pod_set.share, []).append(pod_set)
    # The names of pod sets are the users' own, so they come before any that are made up.
    taken = {pod_set.name: builder.take(pod_set.name) for pod_set in with_pods}
    members: list[Member] = []
    for group, sets in shared.items():
        inner = [builder.pod_set(each, taken[each.name]) for each in sets]
        if len(inner) == 1:
            members.extend(inner)
            continue
        # Leader and workers ask for the same level, and share its domain.
        levels = _layers(replace(sets[0], replicas=1), builder.topology)[0]
        bare = tuple(replace(each, required=None, preferred=None) for each in inner)
        members.append(Group(builder.take(group), bare, levels.required, levels.preferred))
    return Group(queued.name, tuple(members))


class _Builder:
    """Builds groups under names that are used once: a replica may be called as another job is."""

    def __init__(self, topology: Topology | None, filters: Mapping[str, NodeFilter]) -> None:
        self.topology = topology
        self._filters = filters
        self._taken: set[str] = set()

    def take(self, name: str) -> str:
        while name in self._taken:
            name += "*"
        self._taken.add(name)
        return name

    def pod_set(self, pod_set: QueuedPodSet, name: str) -> Group:
        levels, layers = _layers(pod_set, self.topology)
        members = self._members(pod_set, name, pod_set.slots, layers)
        minimum = None
        if pod_set.minimum is not None and layers:
            minimum = min(-(-pod_set.minimum // layers[0].size), len(members))
        return Group(name, members, levels.required, levels.preferred, minimum)

    def _members(
        self, pod_set: QueuedPodSet, stem: str, slots: tuple[PodSlot, ...], layers: list[_Layer]
    ) -> tuple[Member, ...]:
        if not layers:
            minimum = pod_set.minimum if len(slots) == pod_set.count else None
            known = self._filters[pod_set.name].selector
            pinned: dict[tuple[tuple[str, str], ...], list[PodSlot]] = {}
            for slot in slots:
                pinned.setdefault(tuple(each for each in slot.pin if each not in known), []).append(slot)
            return tuple(
                self._pods(pod_set, self.take(pod_set_name(stem, i)), tuple(inside), pin, minimum)
                for i, (pin, inside) in enumerate(pinned.items(), start=1)
            )
        layer, *rest = layers
        pieces: list[Member] = []
        for i in range(0, len(slots), layer.size):
            name = self.take(f"{stem}-{layer.word}{i // layer.size}")
            inner = self._members(pod_set, name, slots[i : i + layer.size], rest)
            pieces.append(Group(name, inner, layer.levels.required, layer.levels.preferred))
        return tuple(pieces)

    def _pods(
        self,
        pod_set: QueuedPodSet,
        name: str,
        slots: tuple[PodSlot, ...],
        pin: tuple[tuple[str, str], ...],
        minimum: int | None,
    ) -> PodSet:
        accepted = self._filters[pod_set.name]
        if pin:
            accepted = replace(accepted, selector=tuple(sorted({*accepted.selector, *pin})))
        bound = [slot.node for slot in slots if slot.node]
        waiting = [slot.name for slot in slots if not slot.node]
        shape = replace(pod_set.shape, filter=accepted)
        return shape.pod_set(name, bound=bound, waiting=waiting, least=minimum)


def _layers(pod_set: QueuedPodSet, topology: Topology | None) -> tuple[Levels, list[_Layer]]:
    """The levels of the pod set as a whole, and those of its pieces, coarsest first."""
    request = pod_set.request
    whole = Levels()
    layers: list[_Layer] = []
    if topology is not None:
        whole = Levels(request.required, request.preferred_in(topology))
        layers = [_Layer(layer.size, Levels(layer.level), "slice-") for layer in request.layers]
    each = pod_set.count // max(pod_set.replicas, 1)
    if pod_set.replicas <= 1 or not each:
        return whole, layers
    if request.early:
        return Levels(), [_Layer(each, whole, "")]
    for i, layer in enumerate(layers):
        if layer.size == each:
            layers[i] = replace(layer, word="")
            return whole, layers
        if layer.size % each and each % layer.size:
            # Slices cut across the Jobs, so there is no tree in which both have their place.
            return whole, layers
    outside = not layers or layers[0].size < each
    levels = Levels(preferred=whole.preferred) if outside else Levels()
    layers.append(_Layer(each, levels, ""))
    return whole, sorted(layers, key=lambda layer: -layer.size)
