"""Places that Kueue has given to Workloads whose pods are not bound yet: nobody else may have them.

A Workload is admitted to hosts before its pods exist. Until a pod is on its host, the host holds what the pod
will use; for the pods of that Workload alone the place is free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from closeknit.apis import core_v1
from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.core.namespaces import by_name
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import Stage, read_pod, read_template
from closeknit.dialects.family import Described, Family
from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.kueue.admitted import INDEXES, has_quota, nodes_named
from closeknit.dialects.kueue.assignments import from_written
from closeknit.dialects.kueue.topologies import kueue_key
from closeknit.dialects.kueue.workload_objects import is_over
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.problems import InvalidError
from closeknit.hub.topology import HOSTNAME
from closeknit.scheduler.tracked_engine import TrackedEngine

ADMITTED = Family(
    name="kueue-admitted",
    kinds=tuple(kind for kind in KUEUE.kinds if kind.shape is wire.Workload),
    topologies=lambda _: Described(),
    compile={},
    indexes=INDEXES,
)
"""What a scheduler reads of Kueue: which Workloads are admitted, and to which hosts."""

Spot: TypeAlias = tuple[str, str]
"""A pod set and a node."""


def places_given(view: View, key: Key) -> Mapping[Spot, Holding]:
    """What an admitted Workload was given on each host; nothing where its assignment names no hosts."""
    stored = view.get(key)
    if stored is None or is_over(stored.content) or not has_quota(stored.content):
        return {}
    workload: wire.Workload = stored.content
    assert workload.status.admission is not None
    templates = {each.name: each.template for each in workload.spec.pod_sets}
    found: dict[Spot, Holding] = {}
    for given in workload.status.admission.pod_set_assignments:
        assigned = given.topology_assignment
        if assigned is None or given.name not in templates or tuple(assigned.levels) != (HOSTNAME,):
            continue
        template = templates[given.name]
        labels = template.metadata.labels
        shape = read_template(template.spec, namespace=stored.namespace, labels=labels).shape
        try:
            domains = from_written(assigned).domains
        except InvalidError:
            continue
        for (host,), pods in domains:
            for node in nodes_named(view, host)[:1]:
                name = workload_name(stored.namespace, stored.name)
                seen, _ = by_name(view, shape.neighbour)
                held = Holding(name, node, shape.resources, pods, shape.host_ports, seen)
                found[given.name, node] = held
    return found


class PromisedPlaces:
    """What is left of the places of each Workload, held in an engine."""

    def __init__(self, tracked: TrackedEngine) -> None:
        self._tracked = tracked
        self._given: dict[Key, Mapping[Spot, Holding]] = {}
        self._there: dict[Key, Counter[Spot]] = {}
        """By Workload, how many of its pods have taken their place."""
        self._pods: dict[Key, tuple[Key, Spot]] = {}

    def give(self, workload: Key, places: Mapping[Spot, Holding]) -> None:
        """What a Workload was given, from now on."""
        before = self._given.pop(workload, {})
        if places:
            self._given[workload] = places
        for spot in {**before, **places}:
            self._hold(workload, spot)

    def set_pod(self, key: Key, pod: Stored[core_v1.Pod] | None) -> None:
        """A pod as it is believed to be; None where it has gone."""
        now = _taken(pod) if pod is not None else None
        before = self._pods.get(key)
        if now == before:
            return
        if now is not None:
            self._pods[key] = now
        else:
            del self._pods[key]
        for taken, step in ((before, -1), (now, 1)):
            if taken is not None:
                workload, spot = taken
                self._there.setdefault(workload, Counter())[spot] += step
                self._hold(workload, spot)

    def kept_for(self, pod: Stored[core_v1.Pod] | None) -> list[Holding]:
        """The places of a pod's Workload that it may take, one pod of each."""
        part = _part(pod) if pod is not None else None
        if part is None:
            return []
        workload, pod_set = part
        spots = (spot for spot in self._given.get(workload, ()) if spot[0] == pod_set)
        held = (self._tracked.holding(_key(workload, spot)) for spot in spots)
        return [
            replace(each, pods=1) for each in held if each is not None and each.node in self._tracked.nodes
        ]

    @contextmanager
    def open_to(self, pod: Stored[core_v1.Pod] | None) -> Iterator[None]:
        """Let the engine decide as a pod sees it, for which its Workload's places are free."""
        if not (kept := self.kept_for(pod)):
            yield
            return
        with self._tracked.engine.fork() as engine:
            for each in kept:
                engine.release_pods(each)
            yield

    def _hold(self, workload: Key, spot: Spot) -> None:
        given = self._given.get(workload, {}).get(spot)
        left = given.pods - self._there.get(workload, Counter())[spot] if given is not None else 0
        held = replace(given, pods=left) if given is not None and left > 0 else None
        self._tracked.set_pod(_key(workload, spot), held)


def _key(workload: Key, spot: Spot) -> Key:
    """A key under which something is held that is no pod."""
    return Key("closeknit.dev", "Promised", workload.namespace, f"{workload.name} {spot[0]} {spot[1]}")


def _part(pod: Stored[core_v1.Pod]) -> tuple[Key, str] | None:
    """The Workload that a pod is part of, and the pod set."""
    metadata = pod.content.metadata
    if name := metadata.annotations.get(keys.WORKLOAD):
        return kueue_key("Workload", name, pod.namespace), metadata.labels.get(keys.POD_SET, "")
    return None


def _taken(pod: Stored[core_v1.Pod]) -> tuple[Key, Spot] | None:
    """The place that a pod has taken; one that has done its work needs it no more, and no other pod does."""
    part = _part(pod) if pod.content.spec.node_name else None
    if part is None or read_pod(pod).stage not in (Stage.RUNNING, Stage.LEAVING, Stage.SUCCEEDED):
        return None
    return part[0], (part[1], pod.content.spec.node_name)
