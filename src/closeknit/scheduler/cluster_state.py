"""What is believed of a cluster: objects as the API server says them, and pods that are being bound.

Bound, assumed and foreign pods are one case: a pod in the store that has a node holds what it asks for.
Everything to schedule is compiled from the same store, and again only where something has changed that
it was made of. Nothing here does I/O or knows the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import inf
from typing import Any

import msgspec

from closeknit.apis import core_v1
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.policy_v1 import PodDisruptionBudget
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.core.allocated import as_resources
from closeknit.dialects.core.node_amounts import node_of
from closeknit.dialects.core.node_filters import hub_node
from closeknit.dialects.core.pods import Stage, read_pod
from closeknit.dialects.core.priority import seconds_since_epoch
from closeknit.dialects.family import Family
from closeknit.dialects.kai import KAI
from closeknit.dialects.kubernetes import KUBERNETES
from closeknit.dialects.lone_pods import LONE_PODS, SCHEDULERS, running_alone
from closeknit.dialects.ownership import CLAIM, Claim, held, indexes_of, pod_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Entry, Store
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.engine import UNPACED, Engine, Pace
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.failures import ObjectFailure, Step
from closeknit.hub.keys import Key
from closeknit.hub.nodes import Node
from closeknit.hub.problems import Problem
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology
from closeknit.hub.workload import Workload
from closeknit.live.containment import Containment
from closeknit.live.entries import entry_of, unreadable
from closeknit.scheduler.beliefs import Beliefs
from closeknit.scheduler.changes import Change
from closeknit.scheduler.gangs.history import has_run
from closeknit.scheduler.holder_names import HolderNames
from closeknit.scheduler.preempt.budgets import Budgets
from closeknit.scheduler.preempt.disruption_budgets import DISRUPTION_BUDGETS, budget_of
from closeknit.scheduler.preempt.running import BoundPod, RunningUnit
from closeknit.scheduler.promised_places import ADMITTED, PromisedPlaces, places_given
from closeknit.scheduler.quota.usage import Usage
from closeknit.scheduler.tracked_engine import NodeNews, PodListener, TrackedEngine
from closeknit.scheduler.units import POSTPONED, Units

FAMILIES: tuple[Family, ...] = (KAI, KUBERNETES, LONE_PODS, ADMITTED, DISRUPTION_BUDGETS)
"""The families whose workloads are scheduled, and those that keep places for pods to come or protect pods."""
DEFAULT_GRACE_PERIOD = 30.0
"""The termination grace period of a pod that does not state one, in seconds."""


@dataclass(frozen=True, slots=True)
class News:
    """What is different since the last look."""

    changes: Sequence[Change]
    """What may help somebody who waits."""
    units: Mapping[Key, Workload | None]
    """Units that ask for something else than before; None where one has gone."""
    touched: Sequence[Key] = ()
    """Units of which something has changed, and not what they ask for."""


class ClusterState:
    """A view of all objects, the units to schedule, and an engine that agrees with both."""

    def __init__(
        self,
        families: Sequence[Family] = FAMILIES,
        schedulers: frozenset[str] = SCHEDULERS,
        *,
        clock_zero: float = 0.0,
        pace: Pace = UNPACED,
        containment: Containment | None = None,
    ) -> None:
        """``clock_zero`` is the moment, in seconds since 1970, at which the scheduler's clock was zero.

        ``pace`` interrupts the decisions of the engine.
        """
        self.containment = containment or Containment("state")
        self._withheld: dict[Key, tuple[Kind, str, Any]] = {}
        """Objects that are withheld, as the server reported them last."""
        self._uncounted: dict[Key, str] = {}
        """Pods of which not even an estimate is known, by key, and their nodes, which take no others."""
        self._clock_zero = clock_zero
        self._budgets: Budgets | None = None
        self.budgets_version = 0
        """Changes whenever a PodDisruptionBudget does."""
        indexes = indexes_of(families)
        self._store = Store(indexes)
        self.view = View(self._store, families, schedulers=schedulers)
        self._schedulers = schedulers
        self._names = HolderNames(families)
        self._units = Units(
            self._store,
            self.view,
            families,
            self._names,
            self._renew_pod,
            pace=pace,
            containment=self.containment,
        )
        self._kept: dict[str, Topology] = {}
        self._tracked = TrackedEngine(pace)
        self.usage = Usage()
        """What every queue uses."""
        self._named: dict[Key, str] = {}
        """By unit with a queue, the name under which its pods are charged."""
        self.have_run: set[Key] = set()
        """Gangs that have run, as the conditions of their PodGroups state it."""
        self._promised = PromisedPlaces(self._tracked)
        self._said: dict[Key, Stored[core_v1.Pod]] = {}
        """Of pods that are assumed to be bound, what the server says of them."""
        self._told: list[Key] = []
        self._start_times: dict[Key, str] = {}
        """By pod, when its kubelet started it, as the kubelet wrote it."""
        self._bound_at: dict[Key, float] = {}
        """By pod that holds something of a node, when that was first seen."""
        self._newly_bound: list[Key] = []
        """Pods that hold something of a node since the last call of ``news``."""
        self._nominated: dict[Key, str] = {}
        """By pod without a node, the node that ``status.nominatedNodeName`` names."""
        self._foreign: dict[Key, None] = {}
        """Pods of other schedulers that hold something of a node."""
        self._leaving: dict[Key, None] = {}
        """Pods that are being deleted and still hold something of a node."""
        self._bound_pods: dict[Key, tuple[Stored[core_v1.Pod], Holding, BoundPod]] = {}
        """What preemption asked about pods, as long as they do not change."""
        self._running_alone: dict[Key, None] = {}
        """Pods of ours that hold something of a node and belong to no group."""
        self._alone: dict[Key, int] = {}
        """Pods that waited without a group when they were put, and in how many looks they were passed over.

        By the next look the group that they name has mostly come."""
        self.beliefs = Beliefs(self._store.get, self._put)
        self._resets = 0
        """How often the view had forgotten everything when all was computed again."""
        self._broken: Exception | None = None
        """An error that could not be contained."""

    # ------------------------------------------------------------------------------------- questions

    @property
    def engine(self) -> Engine:
        """Holds what every pod with a node holds."""
        return self._tracked.engine

    @property
    def topologies(self) -> Cluster:
        """The topologies, as a cluster without nodes."""
        return self._tracked.topologies

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes that are counted, by name."""
        return self._tracked.nodes

    def all_holdings(self) -> Iterable[Holding]:
        """What all pods hold, one by one."""
        return self._tracked.holdings()

    def listen(self, pods: PodListener | None, nodes: Callable[[], None]) -> None:
        """Call ``pods`` with what pods hold from now on, and ``nodes`` when nodes or topologies change."""
        self._tracked.listen(pods, nodes)

    @property
    def units(self) -> Mapping[Key, Workload]:
        """Everything to schedule, as of the last call of ``news``."""
        return self._units.by_key

    @property
    def postponed(self) -> bool:
        """Whether the last call of ``news`` has passed over units that have changed."""
        return self._units.postponed or bool(self._alone)

    @property
    def problems(self) -> Mapping[Key | str, tuple[Problem, ...]]:
        """Nodes (by name) and pods that cannot be counted."""
        return self._tracked.problems

    def entries(self) -> Iterable[Entry]:
        """Every object, pods as they are believed to be."""
        return self._store

    def pod(self, key: Key) -> Stored[core_v1.Pod] | None:
        """A pod as it is believed to be."""
        found = self._store.get(key)
        return found if isinstance(found, Stored) else None

    def is_counted(self, key: Key) -> bool:
        """Whether what a pod holds on its node can at least be estimated."""
        return key not in self._uncounted

    def is_open(self, key: Key) -> bool:
        """Whether a pod exists and waits for a node."""
        pod = self.pod(key)
        if pod is None or pod.content.spec.node_name or pod.content.metadata.deletion_timestamp:
            return False
        return pod.content.status.phase not in ("Succeeded", "Failed")

    def has_node(self, name: str) -> bool:
        """Whether a node is there and can be counted."""
        return name in self._tracked.nodes

    def is_assumed(self, key: Key) -> bool:
        """Whether a pod is believed to have a node of which the server has not told."""
        return key in self._said

    def is_leaving(self, key: Key) -> bool:
        """Whether a pod is being deleted and still holds something of a node."""
        return key in self._leaving

    def is_foreign(self, key: Key) -> bool:
        """Whether a pod that holds something of a node belongs to another scheduler."""
        return key in self._foreign

    def start_time(self, key: Key) -> str:
        """When its kubelet accepted a pod, as the kubelet wrote it; empty before."""
        return self._start_times.get(key, "")

    def creation_time(self, key: Key) -> str:
        """When a pod was created, as the API server wrote it."""
        pod = self.pod(key)
        return pod.content.metadata.creation_timestamp if pod is not None else ""

    def pods_on(self, node: str) -> list[tuple[Key, Holding]]:
        """What each pod on a node holds."""
        return [each for each in self._tracked.holdings_on(node) if each[0].kind == "Pod"]

    def take_node_news(self) -> NodeNews:
        """What happened to nodes since the last call."""
        return self._tracked.take_node_news()

    def unit_of(self, pod: Key) -> Key:
        """The unit that a pod belongs to; the pod itself if there is none."""
        keys = (claim.key for claim in self._claims(pod))
        return next((key for key in keys if key in self._units.by_key), pod)

    def holder(self, unit: Workload) -> str:
        """Under which name the pods of a unit hold something."""
        return self._names.of_unit(unit)

    def holdings(self, pods: Sequence[Key]) -> list[Holding]:
        """What these pods hold."""
        return [held for pod in pods if (held := self._tracked.holding(pod)) is not None]

    @property
    def nominated(self) -> Mapping[Key, str]:
        """By pod without a node, the node that ``status.nominatedNodeName`` names."""
        return self._nominated

    def node_of(self, key: Key) -> str | None:
        """The node of a pod, empty while it waits; None if there is no such pod, or it is being deleted."""
        pod = self.pod(key)
        if pod is None or pod.content.metadata.deletion_timestamp:
            return None
        return pod.content.spec.node_name

    def uid_of(self, key: Key) -> str:
        """The uid of a pod; empty if there is none."""
        pod = self.pod(key)
        return pod.content.metadata.uid if pod is not None else ""

    def bound_pod(self, key: Key, group: str, now: float) -> BoundPod | None:
        """A pod that holds its node and is not being deleted, with what preemption asks about it."""
        pod, holding = self.pod(key), self._tracked.holding(key)
        if pod is None or holding is None or key in self._leaving or not self.has_node(holding.node):
            return None
        return self._bound_pod(pod, holding, group, now)

    def leaving_pods(self, now: float) -> Iterator[BoundPod]:
        """Pods that are being deleted and still hold their node."""
        for key in self._leaving:
            pod, holding = self.pod(key), self._tracked.holding(key)
            if pod is not None and holding is not None and self.has_node(holding.node):
                yield self._bound_pod(pod, holding, "", now)

    def _bound_pod(self, pod: Stored[core_v1.Pod], holding: Holding, group: str, now: float) -> BoundPod:
        started = self.started(pod.key, now)
        if (known := self._bound_pods.get(pod.key)) is not None:
            before, before_holding, made = known
            if before is pod and before_holding is holding and (made.started, made.group) == (started, group):
                return made
        metadata = pod.content.metadata
        labels = tuple(sorted(metadata.labels.items()))
        made = BoundPod(pod.key, metadata.uid, holding, started, group, labels)
        self._bound_pods[pod.key] = pod, holding, made
        return made

    def started(self, key: Key, now: float) -> float:
        """When a pod started, on the scheduler's clock: as its kubelet wrote it, else when it was bound."""
        if (written := self._start_times.get(key)) and (moment := seconds_since_epoch(written)) is not None:
            return moment - self._clock_zero
        return min(self._bound_at.get(key, now), now)

    def created(self, unit: Workload, now: float) -> float:
        """When a unit was created, on the scheduler's clock; now if that is not known."""
        moment = seconds_since_epoch(unit.created) if unit.created else None
        return moment - self._clock_zero if moment is not None else now

    def runs(self, pod: BoundPod) -> bool:
        """Whether a pod is there, holds its node and is not being deleted."""
        return self.holding_of(pod) is not None and pod.key not in self._leaving

    def holding_of(self, pod: BoundPod) -> Holding | None:
        """What a pod holds of its node; None if it is gone or terminal, or another pod has its name."""
        stored, holding = self.pod(pod.key), self._tracked.holding(pod.key)
        if stored is None or holding is None or stored.content.metadata.uid != pod.uid:
            return None
        return holding if self.has_node(holding.node) else None

    def grace_period(self, pod: BoundPod) -> float:
        """The termination grace period of a pod in seconds."""
        stored = self.pod(pod.key)
        seconds = stored.content.spec.termination_grace_period_seconds if stored is not None else 0
        return DEFAULT_GRACE_PERIOD if seconds is None else float(seconds)

    def lone_units(self, now: float, below: int) -> Iterator[RunningUnit]:
        """Single pods of ours that run, of a lower priority than this, as units of their own.

        The index costs a pod that is bound no more than an entry; units are compiled only here, and again
        only if the pod changed.
        """
        for key in self._running_alone:
            if key in self._leaving or self._names.has_unit(key):
                continue
            unit = self.view.derive(running_alone, key)
            if unit is not None and unit.priority < below:
                pod = self.bound_pod(key, unit.request.root.name, now)
                if pod is not None:
                    yield RunningUnit(unit, unit.request.name, (pod,))

    def charge_nomination(self, pod: Key, holding: Holding | None) -> None:
        """Count what is nominated for a pod as usage of its unit's queue, None to release it."""
        self.usage.set_pod(pod, holding)

    @property
    def accounts(self) -> Accounts:
        """What every queue uses."""
        return self.usage.accounts

    def without_usage(self, pods: Iterable[Key]) -> AbstractContextManager[None]:
        """Decide as if these pods, or what is nominated for them, used no quota."""
        return self.usage.without(pods)

    def queue_capacity(self) -> Resources:
        """What all schedulable nodes offer, without what pods of other schedulers hold."""
        nodes = self._tracked.nodes
        total = sum(
            (node.allocatable for node in nodes.values() if node.ready and not node.unschedulable),
            Resources(),
        )
        for key in self._foreign:
            holding = self._tracked.holding(key)
            if holding is not None and (node := nodes.get(holding.node)) is not None:
                total -= holding.resources if node.ready and not node.unschedulable else Resources()
        return total

    def budgets(self) -> Budgets:
        """All PodDisruptionBudgets."""
        if self._budgets is None:
            stored = self._store.of(PodDisruptionBudget).values()
            self._budgets = Budgets(map(budget_of, stored))
        return self._budgets

    def deciding(self, unit: Workload) -> AbstractContextManager[None]:
        """While a unit is decided: places that are kept for it are free, and for nobody else."""
        return self._promised.open_to(self.pod(unit.object.key))

    def has_place(self, unit: Workload) -> bool:
        """Whether a place is kept for a unit that no other can have."""
        return bool(self._promised.kept_for(self.pod(unit.object.key)))

    # --------------------------------------------------------------------------------------- changes

    def heard(self, kind: Kind, api_version: str, key: Key, obj: Any | None) -> None:
        """What the server says of an object; None where it has gone."""
        if obj is None:
            self._withheld.pop(key, None)
            self.containment.gone(key)
            try:
                self.remove(key)
                if (closed := self._uncounted.pop(key, None)) is not None:
                    self._renew_node(Key("", "Node", "", closed))
            except Exception as error:  # noqa: BLE001 (it is raised where the state is used next)
                self._broken = error
            return
        self.containment.changed(key)
        self._units.retry(key)
        failure = self.containment.withheld(key)
        if failure is not None:
            self._withheld[key] = kind, api_version, obj
        else:
            self._withheld.pop(key, None)
            with self.containment.at(key, Step.READ) as step:
                if kind.workload and isinstance(obj, dict):
                    (self.have_run.add if has_run(obj) else self.have_run.discard)(key)
                if self.beliefs and not isinstance(obj, msgspec.Struct):
                    self.beliefs.heard(key, str(obj["metadata"].get("resourceVersion", "")))
                self.put(entry_of(kind, api_version, obj))
            failure = step.failure
        if failure is not None:
            self._put_unreadable(kind, api_version, key, obj, failure)

    def _put_unreadable(
        self, kind: Kind, api_version: str, key: Key, obj: Any, failure: ObjectFailure
    ) -> None:
        """Keep an object that cannot be worked with as one that cannot be read.

        What fails here as well is beyond one object, so that whatever uses this state begins again. A
        withheld object was not taken in since then, so it is just passed over.
        """
        withheld = key in self._withheld
        try:
            if isinstance(obj, core_v1.Pod) and obj.spec.node_name:
                self._uncounted[key] = obj.spec.node_name
                self._renew_node(Key("", "Node", "", obj.spec.node_name))
            self._put(unreadable(kind, api_version, key, failure))
        except Exception as error:  # noqa: BLE001 (it is raised where the state is used next)
            self._broken = None if withheld else error

    def retry(self) -> None:
        """Work again with the objects that have backed off long enough."""
        if self._broken is not None:
            broken, self._broken = self._broken, None
            raise broken
        if self._resets != self.view.resets:
            self._resets = self.view.resets
            self._renew_all()
        if not self.containment.failing:
            return
        for key in self.containment.due():
            self._units.retry(key)
            if (withheld := self._withheld.pop(key, None)) is not None:
                kind, api_version, obj = withheld
                self.heard(kind, api_version, key, obj)
            elif isinstance(self._store.get(key), Stored):
                if key.kind == "Node":
                    self._renew_node(key)
                elif key.kind == "Pod":
                    self._renew_pod(key)

    def _renew_all(self) -> None:
        """Compute everything again, because the view has forgotten what depends on what."""
        self._units.look_at_all()
        for entry in list(self._store):
            if entry.shape is core_v1.Node:
                self._renew_node(entry.key)
            elif entry.shape is core_v1.Pod:
                self._renew_pod(entry.key)
            elif entry.shape is wire.Workload:
                self._give_places(entry.key)

    def put(self, entry: Entry) -> None:
        """An object as the server says that it is."""
        if isinstance(entry, Stored) and entry.shape is core_v1.Pod:
            self._note_times(entry)
            entry = self._as_believed(_without_details(entry))
        elif self.beliefs and isinstance(entry, Stored):
            entry = self.beliefs.as_believed(entry)
        self._put(entry)

    def remove(self, key: Key) -> None:
        """The server says that an object has gone."""
        entry = self._store.get(key)
        self.have_run.discard(key)
        if entry is None:
            return
        if self._said.pop(key, None) is not None:
            self._told.append(key)
        self.beliefs.gone(key)
        self.view.remove(key)
        if entry.shape is PodDisruptionBudget:
            self._budgets, self.budgets_version = None, self.budgets_version + 1
        elif entry.shape is core_v1.Node:
            self._tracked.set_node(key.name, None)
        elif entry.shape is core_v1.Pod:
            self._set_pod(key, None)
            self._start_times.pop(key, None)
            self._nominated.pop(key, None)
            self._promised.set_pod(key, None)
        elif entry.shape is wire.Workload:
            self._promised.give(key, {})
        for family in self._units.asked_by(entry.shape):
            self._units.look_at(family, key)
            # Its pods have nobody to speak for them any more, which is for each of them to say.
            for pod in self._store.found(CLAIM, Claim(key, family.name)):
                self._units.look_at(LONE_PODS, pod)

    def assume(self, pod: Key, node: str) -> None:
        """Believe that a pod is bound there, until the server says otherwise or it is forgotten."""
        stored = self.pod(pod)
        assert stored is not None
        self._said.setdefault(pod, stored)
        self._put(_on(stored, node))

    def forget(self, pod: Key) -> None:
        """Believe of a pod what the server says; harmless where nothing else was assumed."""
        said = self._said.pop(pod, None)
        if said is not None:
            self._put(said)
        if self.beliefs:
            self.beliefs.keep(pod)
            self.renew_nodes()

    def _as_believed(self, pod: Stored[core_v1.Pod]) -> Stored[core_v1.Pod]:
        before = self._said.get(pod.key)
        if before is None:
            return pod
        if pod.content.spec.node_name or pod.content.metadata.uid != before.content.metadata.uid:
            del self._said[pod.key]
            self._told.append(pod.key)
            return pod
        self._said[pod.key] = pod
        believed = self.pod(pod.key)
        return _on(pod, believed.content.spec.node_name) if believed is not None else pod

    def _put(self, entry: Entry) -> None:
        key, known = entry.key, self._store.get(entry.key)
        if not self.view.put(entry):
            return
        if entry.shape is PodDisruptionBudget:
            self._budgets, self.budgets_version = None, self.budgets_version + 1
        elif entry.shape is core_v1.Node:
            self._renew_node(key)
        elif entry.shape is core_v1.Pod:
            self._set_pod(key, entry if isinstance(entry, Stored) else None)
            self._promised.set_pod(key, entry if isinstance(entry, Stored) else None)
            if isinstance(entry, Stored) and self._may_be_alone(entry):
                self._alone.setdefault(key, 0)
        else:
            if entry.shape is wire.Workload and known is None:
                self._give_places(key)
            for family in self._units.asked_by(entry.shape):
                # What was compiled before is stale by itself when the object changes.
                readable = isinstance(entry, Stored) and isinstance(known, Stored)
                if not readable or not self._units.is_known(family, key):
                    self._units.look_at(family, key)

    def _note_times(self, pod: Stored[core_v1.Pod]) -> None:
        """Keep what decides about preemption only, beside the object, so that its changes are no news."""
        status = pod.content.status
        if status.start_time:
            self._start_times[pod.key] = status.start_time
        elif self._start_times:
            self._start_times.pop(pod.key, None)
        if status.nominated_node_name and not pod.content.spec.node_name:
            self._nominated[pod.key] = status.nominated_node_name
        elif self._nominated:
            self._nominated.pop(pod.key, None)

    def _note_holding(self, key: Key, pod: Stored[core_v1.Pod] | None, holding: Holding | None) -> None:
        """Note since when a pod holds something of a node."""
        if holding is None or pod is None:
            if self._bound_at.pop(key, None) is not None:
                self._bound_pods.pop(key, None)
                self._running_alone.pop(key, None)
                self._foreign.pop(key, None)
                self._leaving.pop(key, None)
            return
        if pod.content.metadata.deletion_timestamp:
            self._leaving[key] = None
        if key not in self._bound_at:
            self._bound_at[key] = inf
            self._newly_bound.append(key)
            if pod.content.spec.scheduler_name not in self._schedulers:
                self._foreign[key] = None
            elif not self._claims(key)[0].family:
                self._running_alone[key] = None

    def _may_be_alone(self, pod: Stored[core_v1.Pod]) -> bool:
        """Whether a pod waits and no group speaks for it; it is stale by itself when that changes."""
        spec = pod.content.spec
        if (
            spec.node_name
            or spec.scheduler_name not in self._schedulers
            or self._units.is_known(LONE_PODS, pod.key)
        ):
            return False
        return not any(claim.family and self._store.get(claim.key) for claim in self._claims(pod.key))

    def _claims(self, pod: Key) -> tuple[Claim, ...]:
        """The workloads that a pod may belong to."""
        return self._store.values(CLAIM, pod)

    def _counted_holding(self, pod: Stored[core_v1.Pod]) -> Holding | None:
        """What a pod holds of its node; what it asks for itself where its claims cannot be counted."""
        key, holding = pod.key, None
        if self.containment.failure(key, Step.COUNT) is None:
            with self.containment.at(key, Step.COUNT):
                holding = self._holding(pod)
        if self.containment.failure(key, Step.COUNT) is not None and pod.content.spec.node_name:
            with self.containment.at(key, Step.ESTIMATE) as step:
                read = read_pod(pod)
                if read.stage in (Stage.RUNNING, Stage.LEAVING):
                    holding = read.holding(self._names.of_pod(key, self._claims(key)[0]))
            if step.failure is not None:
                self._uncounted[key] = pod.content.spec.node_name
                self._renew_node(Key("", "Node", "", pod.content.spec.node_name))
                return None
        if (closed := self._uncounted.pop(key, None)) is not None:
            self._renew_node(Key("", "Node", "", closed))
        return holding

    def _holding(self, pod: Stored[core_v1.Pod]) -> Holding | None:
        if not pod.content.spec.node_name:
            return None
        claim = self._claims(pod.key)[0]
        # Whoever compiles the pod's group asks for the same.
        read = self.view.derive(pod_of, pod.key) if claim.family else read_pod(pod)
        if read is None or read.problems or read.stage not in (Stage.RUNNING, Stage.LEAVING):
            return None
        holder = self._names.of_pod(pod.key, claim)
        if not read.shape.claims and not any(rule.selector.within for rule in read.shape.neighbour.rules):
            return read.holding(holder)
        holding = replace(self.view.derive(held, pod.key), workload=holder)
        if self.beliefs:
            believed = as_resources(self.view, self.beliefs.held_by(pod.key))
            holding = replace(holding, resources=holding.resources + believed)
        return holding

    # ------------------------------------------------------------------------------------------ news

    def is_stale(self, unit: Workload) -> bool:
        """Whether something that a unit is made of has changed since the last call of ``news``."""
        return self._units.is_stale(unit)

    def told(self) -> list[Key]:
        """Pods that were assumed to be bound, and of which the server has told since the last call."""
        found, self._told = self._told, []
        return found

    def news(
        self,
        is_binding: Callable[[Key], bool] = lambda _: False,
        *,
        now: float = 0.0,
        hurried: bool = False,
    ) -> News:
        """Bring units and engine up to date; what is different since the last call.

        Units whose pods are being bound stay as they were until that is settled: what changes about them
        meanwhile is mostly our own doing, and they are not decided before. In a ``hurried`` look, units that
        still have too few pods stay as they were for a while, too.
        """
        self.retry()
        for key in self._newly_bound:
            if key in self._bound_at:
                self._bound_at[key] = now
        self._newly_bound.clear()
        self._tracked.set_topologies(self._topologies())
        self.renew_nodes()
        for (key,) in list(self.view.stale(places_given)):
            self._give_places(key)
        alone, self._alone = self._alone, {}
        for key, times in alone.items():
            with self.containment.at(key, Step.QUEUE):
                self._look_at_lone(key, times, hurried=hurried)
        units = self._units.renewed(is_binding, hurried=hurried)
        for key, unit in units.items():
            if key in self._named or (unit is not None and unit.accounts):
                with self.containment.at(key, Step.COUNT):
                    self._charge(key, unit)
        return News([*self._tracked.changes(), *self.usage.changes()], units, self._units.touched)

    def _look_at_lone(self, key: Key, times: int, *, hurried: bool) -> None:
        """Compile a pod as a unit of its own if no group claims it; in a hurried look, one may follow."""
        if (pod := self.pod(key)) is None or not self._may_be_alone(pod):
            return
        if hurried and times < POSTPONED and any(claim.family for claim in self._claims(key)):
            self._alone[key] = times + 1
        else:
            self._units.look_at(LONE_PODS, key)

    def renew_nodes(self) -> None:
        """Bring what nodes offer up to date, and what pods hold by their claims."""
        for (key,) in list(self.view.stale(held)):
            if self.containment.failure(key, Step.COUNT) is None:
                with self.containment.at(key, Step.COUNT):
                    self.view.derive(held, key)
                self._renew_pod(key)
        for (node,) in list(self.view.stale(node_of)):
            self._renew_node(node)

    def _renew_node(self, key: Key) -> None:
        """Bring what a node offers up to date.

        Where its devices or volumes cannot be counted, it offers what it lists itself. It offers nothing as
        long as a pod runs there of which nothing can be counted.
        """
        node = None
        if self.containment.failure(key, Step.COUNT) is None:
            with self.containment.at(key, Step.COUNT):
                node = self.view.derive(node_of, key)
        if self.containment.failure(key, Step.COUNT) is not None:
            stored = self._store.get(key)
            with self.containment.at(key, Step.ESTIMATE):
                node = hub_node(stored.content, []) if isinstance(stored, Stored) else None
        if self._uncounted and key.name in self._uncounted.values():
            node = None
        self._tracked.set_node(key.name, node)

    def _renew_pod(self, key: Key) -> None:
        if self._store.get(key) is None or self.pod(key) is not None:
            self._set_pod(key, self.pod(key))

    def _give_places(self, key: Key) -> None:
        """Keep what an admitted Workload was given for its pods to come."""
        if self.containment.failure(key, Step.COUNT) is None:
            with self.containment.at(key, Step.COUNT):
                self._promised.give(key, self.view.derive(places_given, key))

    def _set_pod(self, key: Key, pod: Stored[core_v1.Pod] | None) -> None:
        """What a pod holds of its node and of its queue."""
        holding = self._counted_holding(pod) if pod is not None else None
        self._tracked.set_pod(key, holding)
        self.usage.set_pod(key, holding if pod is not None and _uses_quota(pod) else None)
        self._note_holding(key, pod, holding)

    def evicted(self, key: Key, uid: str) -> None:
        """The server has accepted the eviction of a pod, and will soon report that it is being deleted."""
        pod = self.pod(key)
        if pod is not None and pod.content.metadata.uid == uid:
            self.usage.set_pod(key, None)

    def _charge(self, key: Key, unit: Workload | None) -> None:
        """Charge the pods of a unit to the accounts that it has now."""
        before = self._named.pop(key, None)
        name = self._names.of_unit(unit) if unit is not None and unit.accounts else None
        if before is not None and before != name:
            self.usage.set_unit(before, (), ())
        if unit is not None and name is not None:
            self._named[key] = name
            self.usage.set_unit(name, unit.accounts, self._using_quota(unit))

    def _using_quota(self, unit: Workload) -> Iterator[tuple[Key, Holding]]:
        """Pods that may be of a unit, and what they use."""
        claims = (Claim(unit.key, unit.dialect), Claim(unit.key))
        pods = {
            *(Key("", "Pod", unit.object.namespace, pod.name) for pod in unit.running),
            *(pod for claim in claims for pod in self._store.found(CLAIM, claim)),
        }
        for key in pods:
            pod, holding = self.pod(key), self._tracked.holding(key)
            if pod is not None and holding is not None and _uses_quota(pod):
                yield key, holding

    def _topologies(self) -> Iterator[Topology]:
        """The topologies of all families, under names of their own.

        A topology that comes and goes with its workloads stays, because the engine is made anew for each.
        """
        yield from self.view.derive(topologies_of, KAI.name).values()
        for name, family in self._names.apart.items():
            for each in self.view.derive(family.topologies).topologies.values():
                own = self._names.of_family(name, each.name)
                self._kept[own] = replace(each, name=own)
        yield from self._kept.values()


def _uses_quota(pod: Stored[core_v1.Pod]) -> bool:
    """Whether a pod that holds capacity counts as usage of its queue: unless it is being deleted."""
    return not pod.content.metadata.deletion_timestamp


def _without_details(pod: Stored[core_v1.Pod]) -> Stored[core_v1.Pod]:
    """The pod with no more of its status than its phase and its claims, because nothing else decides."""
    status = pod.content.status
    made = status.resource_claim_statuses
    if status == (bare := core_v1.PodStatus(phase=status.phase, resource_claim_statuses=made)):
        return pod
    return replace(pod, content=msgspec.structs.replace(pod.content, status=bare))


def _on(pod: Stored[core_v1.Pod], node: str) -> Stored[core_v1.Pod]:
    content = pod.content
    spec = msgspec.structs.replace(content.spec, node_name=node)
    return replace(pod, content=msgspec.structs.replace(content, spec=spec))
