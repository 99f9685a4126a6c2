"""The live core and the policy model on the same sequence of events, compared whenever the core is idle.

The core is a whole ``Scheduler`` on the embedded cluster, in time that is moved from one timer to the next. Kubelets
and controllers are simulated here: a pod that is bound runs, one that is deleted is gone, and is made again if the
scenario says so. The clock of the API server shows the time of the last event, so that start times depend on nothing
that happens within it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop
from random import Random
from typing import Any

from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.clock import timestamp
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DeleteOptions, MergePatch
from closeknit.kube.resources import NODES, PODS, Resource
from closeknit.live.following import Following, kinds_read
from closeknit.scheduler.loop import Scheduler
from closeknit.scheduler.settings import Settings
from closeknit.testing.clock import HandClock
from tests.policy import model
from tests.policy.sequences import (
    HORIZON,
    PRIORITIES,
    AddNode,
    Arrive,
    ArrivePod,
    ChangePriority,
    Cordon,
    DeletePod,
    DeleteUnit,
    End,
    EndPod,
    Event,
    LoseNode,
    NodeSpec,
    QueueSpec,
    Sequence,
    SetBudget,
    SetQueue,
    UnitSpec,
)
from tests.unit.scheduler.objects import GPU, node, pod, pod_group, together, topology

Json = dict[str, Any]
POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", subresources=("status",))
TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)
QUEUES = Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False, subresources=("status",))
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", subresources=("status",))
CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
DEFINITIONS = [one.written() for family in FAMILIES.values() for one in family]
NAMESPACE = "default"
AT_ONCE = DeleteOptions(grace_period=0)
_READY = [{"type": "Ready", "status": "True"}]
_INTERVAL = 20.0
_MOST_TIMERS = 5000
"""More timers than any core needs between two events: beyond it, it is busy for ever."""


# ------------------------------------------------------------------------------------------ the units


@dataclass
class Outside:
    """Users and controllers: the units that exist, with the pods that they should have."""

    units: dict[str, UnitSpec] = field(default_factory=dict)
    pods: dict[str, int] = field(default_factory=dict)
    """By unit, how many of its pods were created so far."""

    def owner(self, pod_name: str) -> UnitSpec | None:
        """The unit of a pod, by its name."""
        return self.units.get(pod_name.rpartition("-")[0])


def pod_names(unit: UnitSpec, first: int, last: int) -> list[str]:
    """Names of some pods of a unit."""
    return [f"{unit.name}-{i}" for i in range(first, last)]


# ------------------------------------------------------------------------------------------ the model


class Foreseen:
    """The model's side of a sequence."""

    def __init__(self, sequence: Sequence) -> None:
        self.world = model.World(prompt=sequence.prompt)
        self.outside = Outside()
        for each in sequence.nodes:
            self.world.nodes[each.name] = model.Machine(each.name, each.gpus, each.rack)
        for queue in sequence.queues:
            self.world.queues[queue.name] = _queue(queue)

    def happen(self, event: Event, at: float) -> None:
        """Carry out the policy until an event, the event, and the policy long after it."""
        world = self.world
        if world.now:
            model.settle_until(world, at)
        world.now = world.stamp = at
        world.doubt = ""
        _apply(world, self.outside, event)
        world.version += 1
        for unit in list(world.units.values()):
            model.look_at_minimum(world, unit)
        model.settle_until(world, at + HORIZON)

    def running(self) -> dict[str, dict[str, str]]:
        """By unit with running pods, the node of each."""
        return {
            unit.name: {pod.name: pod.node for pod in unit.running}
            for unit in self.world.units.values()
            if unit.running
        }


def _queue(spec: QueueSpec) -> model.Queue:
    return model.Queue(
        spec.name,
        spec.parent,
        spec.quota,
        spec.limit,
        spec.weight,
        spec.priority,
        spec.preempt_after,
        spec.reclaim_after,
    )


def _arrive(world: model.World, outside: Outside, spec: UnitSpec) -> None:
    count = spec.pods if spec.early is None else spec.early
    unit = model.Unit(
        spec.name,
        world.now,
        spec.minimum,
        spec.gpus,
        spec.alone,
        spec.rack,
        spec.queue,
        PRIORITIES[spec.priority],
        spec.preemptible,
        spec.never,
        spec.delay,
        spec.grace,
        spec.app,
        {name: model.Pod(name) for name in pod_names(spec, 0, count)},
        remade=spec.remade,
        changed=world.now,
    )
    world.units[spec.name] = unit
    outside.units[spec.name], outside.pods[spec.name] = spec, count


def _apply(world: model.World, outside: Outside, event: Event) -> None:  # noqa: C901, PLR0912 (a case an event)
    match event:
        case Arrive(units):
            for spec in units:
                _arrive(world, outside, spec)
        case ArrivePod(name) if (owner := outside.units.get(name)) and outside.pods[name] < owner.pods:
            number = outside.pods[name]
            outside.pods[name] += 1
            (pod_name,) = pod_names(owner, number, number + 1)
            world.units[name].pods[pod_name] = model.Pod(pod_name)
            model.changed(world, world.units[name])
        case End(name) if name in world.units and world.units[name].running:
            world.units.pop(name).over = True
            del outside.units[name]
        case DeleteUnit(name) if name in world.units:
            world.units.pop(name).over = True
            del outside.units[name]
        case EndPod(name) if (unit := _unit_with(world, name)) and unit.pods[name].node:
            model.remove(world, unit, name)
            unit.succeeded += 1
        case DeletePod(name) if unit := _unit_with(world, name):
            model.lose(world, unit, name)
        case ChangePriority(name, priority) if name in world.units and not world.units[name].alone:
            world.units[name].priority = PRIORITIES[priority]
            model.changed(world, world.units[name])
        case SetBudget(name, app, keep):
            world.budgets.pop(name, None)
            if keep >= 0:
                world.budgets[name] = model.Budget(name, app, keep)
        case AddNode(spec) if spec.name not in world.nodes:
            world.nodes[spec.name] = model.Machine(spec.name, spec.gpus, spec.rack)
        case LoseNode(name) if name in world.nodes:
            for unit in list(world.units.values()):
                for lost in [each.name for each in unit.running if each.node == name]:
                    model.lose(world, unit, lost)
            del world.nodes[name]
        case Cordon(name, cordoned) if name in world.nodes:
            world.nodes[name].cordoned = cordoned
        case SetQueue(queue) if queue.name in world.queues:
            world.queues[queue.name] = _queue(queue)


def _unit_with(world: model.World, pod_name: str) -> model.Unit | None:
    return next((unit for unit in world.units.values() if pod_name in unit.pods), None)


# ------------------------------------------------------------------------------------ the live cluster


class FrozenClock:
    """The clock of the API server and of kubelets: it shows the time of the last event."""

    def __init__(self, hand: HandClock) -> None:
        self.hand = hand
        self.shown: datetime = hand.now()

    def now(self) -> datetime:
        """The time of the last event."""
        return self.shown

    def monotonic(self) -> float:
        """What has passed."""
        return self.hand.monotonic()

    def boottime(self) -> float:
        """What has passed."""
        return self.hand.boottime()

    async def sleep(self, seconds: float) -> None:
        """Wait until the hand was moved so far."""
        await self.hand.sleep(seconds)


class Stepped(HandClock):
    """A clock that is moved from timer to timer, and asks after each whether kubelets have something to do."""

    async def settle(self) -> None:
        """Let all tasks run until they wait for time: nothing here waits for anything else."""
        ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        while ready:  # noqa: ASYNC110 (no event tells that every task waits for time)
            await asyncio.sleep(0)

    def next_timer(self) -> float | None:
        """When the next task that waits for time goes on."""
        while self._sleeping and self._sleeping[0][2].done():
            heappop(self._sleeping)
        return self._sleeping[0][0] if self._sleeping else None

    def fire(self) -> None:
        """Move to the next timer."""
        self._seconds, _, done = heappop(self._sleeping)
        if not done.done():
            done.set_result(None)

    def move(self, until: float) -> None:
        """Move past no timer."""
        self._seconds = max(self._seconds, until)

    def clear(self) -> None:
        """Forget all timers."""
        self._sleeping.clear()


class Unhurried:
    """The clock of those who follow the cluster: what they do at intervals is not needed here, and would take long."""

    def __init__(self, hand: HandClock) -> None:
        self.hand = hand

    def now(self) -> datetime:
        """As the hand shows."""
        return self.hand.now()

    def monotonic(self) -> float:
        """As the hand shows."""
        return self.hand.monotonic()

    def boottime(self) -> float:
        """As the hand shows."""
        return self.hand.boottime()

    async def sleep(self, seconds: float) -> None:
        """Wait until the hand was moved so far, or for ever if it is long."""
        if seconds >= _INTERVAL:
            await asyncio.get_running_loop().create_future()
        await self.hand.sleep(seconds)


class Bed:
    """An embedded cluster that serves one sequence after the other."""

    def __init__(self) -> None:
        self.clock = Stepped()
        self.frozen = FrozenClock(self.clock)
        self.cluster = EmbeddedCluster(
            DEFINITIONS, clock=self.frozen, dice=Random(1), bookmark_every=float("inf"), history=100_000
        )
        self.prepared = False

    async def prepare(self) -> None:
        """What all sequences share: the topology and the priority classes."""
        if self.prepared:
            return
        self.prepared = True
        await self.cluster.create(TOPOLOGIES, topology("rack"))
        for name, value in PRIORITIES.items():
            await self.cluster.create(CLASSES, {"metadata": {"name": name}, "value": value})

    async def clean(self) -> None:
        """Delete everything that belongs to one sequence."""
        for resource in (POD_GROUPS, BUDGETS, QUEUES, NODES, PODS):
            for each in (await self.cluster.list(resource)).items:
                meta = each["metadata"]
                with suppress(NotFoundError):
                    await self.cluster.delete(
                        resource, meta["name"], namespace=meta.get("namespace", ""), options=AT_ONCE
                    )
        self.cluster.forget_history()
        self.clock.clear()


class Live:
    """The live side of a sequence."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.cluster, self.clock = bed.cluster, bed.clock
        self.outside = Outside()
        self.began = 0.0
        settings = Settings(reserving=False, explaining=False)
        following = Following(
            self.cluster, kinds_read(settings.families), clock=Unhurried(self.clock), random=Random(3)
        )
        self.scheduler = Scheduler(
            self.cluster, settings, random=Random(2), clock=self.clock, following=following
        )
        self.swept = -1
        self.work: list[asyncio.Task[None]] = []
        self.later: list[asyncio.Task[None]] = []
        """Controllers that make pods again."""
        self.prompt = False
        self.log: list[str] = []

    async def start(self, sequence: Sequence) -> None:
        """Create nodes and queues, and start the scheduler."""
        await self.bed.prepare()
        self.prompt = sequence.prompt
        # Times are whole seconds, as the API shows them.
        self.clock.move(float(int(self.clock.monotonic()) + 10))
        self.began = self.clock.monotonic()
        self.bed.frozen.shown = self.clock.now()
        for each in sequence.nodes:
            await self._add_node(each)
        for queue in sequence.queues:
            await self.cluster.create(QUEUES, _queue_object(queue))
        self.work += [asyncio.create_task(each.run()) for each in (self.scheduler.following, self.scheduler)]
        await self.run_until(1.0)

    async def stop(self) -> None:
        """End the scheduler."""
        for task in (*self.work, *self.later):
            task.cancel()
        await asyncio.gather(*self.work, *self.later, return_exceptions=True)
        await self.bed.clean()

    # ---- time ----

    async def happen(self, event: Event, at: float) -> None:
        """Carry out an event, and let the scheduler work until long after it."""
        await self.run_until(at)
        self.bed.frozen.shown = self.clock.now()
        await self._apply(event)
        await self.run_until(at + HORIZON)
        for task in (*self.work, *self.later):
            if task.done():
                task.result()

    async def run_until(self, until: float) -> None:
        """Move time on, timer by timer."""
        end = self.began + until
        for _ in range(_MOST_TIMERS):
            await self.clock.settle()
            while await self._sweep():
                await self.clock.settle()
            timer = self.clock.next_timer()
            if timer is None or timer > end:
                break
            self.clock.fire()
        else:
            raise model.CircleError("the scheduler never came to rest\n" + "\n".join(self.log[-20:]))
        self.clock.move(end)

    async def _sweep(self) -> bool:
        """What kubelets and controllers do now; whether it was anything."""
        store = self.cluster.core.store
        if store.settled == self.swept:
            return False
        self.swept = store.settled
        acted = False
        for record in list(store.table(("", "pods")).records(NAMESPACE)):
            obj = record.peek()
            meta, phase = obj["metadata"], (obj.get("status") or {}).get("phase", "Pending")
            name, on = meta["name"], obj["spec"].get("nodeName", "")
            if "deletionTimestamp" in meta:
                self._note(f"gone {name}")
                await self.cluster.delete(PODS, name, namespace=NAMESPACE, options=AT_ONCE)
                await self._make_again(name)
                acted = True
            elif on and phase == "Pending":
                self._note(f"bound {name} to {on}")
                status = {
                    "phase": "Running",
                    "startTime": timestamp(self.bed.frozen.shown),
                    "conditions": _READY,
                }
                await self._patch(PODS, name, {"status": status}, subresource="status")
                acted = True
        return acted

    def _note(self, text: str) -> None:
        self.log.append(f"{self.clock.monotonic() - self.began:.2f} {text}")

    # ---- events ----

    async def _patch(self, resource: Resource, name: str, patch: Json, *, subresource: str = "") -> None:
        namespace = NAMESPACE if resource.namespaced else ""
        await self.cluster.patch(
            resource, name, MergePatch(patch), namespace=namespace, subresource=subresource
        )

    async def _delete(self, resource: Resource, name: str) -> None:
        namespace = NAMESPACE if resource.namespaced else ""
        await self.cluster.delete(resource, name, namespace=namespace, options=AT_ONCE)

    async def _add_node(self, spec: NodeSpec) -> None:
        await self.cluster.create(NODES, node(spec.name, spec.gpus, rack=spec.rack))

    async def _create_pod(self, unit: UnitSpec, name: str) -> None:
        metadata: Json = {"name": name, "namespace": NAMESPACE}
        if unit.app:
            metadata["labels"] = {"app": unit.app}
        fields: Json = {}
        if unit.alone:
            fields["priorityClassName"] = unit.priority
            if unit.never:
                fields["preemptionPolicy"] = "Never"
        made = pod(name, "" if unit.alone else unit.name, gpus=unit.gpus, metadata=metadata, **fields)
        del made["metadata"]["uid"]
        await self.cluster.create(PODS, made)

    async def _make_again(self, name: str) -> None:
        unit = self.outside.owner(name)
        if unit is None:
            return
        if unit.remade and self.prompt:
            await self._create_pod(unit, name)
        elif unit.remade:
            self.later.append(asyncio.create_task(self._make_later(unit, name)))
        elif unit.alone:
            del self.outside.units[unit.name]

    async def _make_later(self, unit: UnitSpec, name: str) -> None:
        # Pods that are evicted together come back together, though their evictions are milliseconds apart.
        rest_of_second = 1.0 - (self.clock.monotonic() - self.began) % 1.0
        await self.clock.sleep(rest_of_second + model.MADE_AGAIN_AFTER - 1.0)
        if self.outside.units.get(unit.name) is unit:
            await self._create_pod(unit, name)

    def pods(self) -> Iterator[tuple[str, str, bool]]:
        """Every pod that is neither terminal nor being deleted, its node, and whether it runs."""
        for record in self.cluster.core.store.table(("", "pods")).records(NAMESPACE):
            obj = record.peek()
            phase = (obj.get("status") or {}).get("phase", "Pending")
            if "deletionTimestamp" not in obj["metadata"] and phase not in ("Succeeded", "Failed"):
                yield obj["metadata"]["name"], obj["spec"].get("nodeName", ""), phase == "Running"

    async def _apply(self, event: Event) -> None:  # noqa: C901, PLR0912
        there = {name: on for name, on, _ in self.pods()}
        match event:
            case Arrive(units):
                for unit in units:
                    await self._arrive(unit)
            case ArrivePod(name) if (owner := self.outside.units.get(name)) and self.outside.pods[
                name
            ] < owner.pods:
                number = self.outside.pods[name]
                self.outside.pods[name] += 1
                await self._create_pod(owner, *pod_names(owner, number, number + 1))
            case End(name) if name in self.outside.units:
                own = [each for each in there if self._owns(name, each)]
                if any(there[each] for each in own):
                    for each in own:
                        await (self._succeed(each) if there[each] else self._delete(PODS, each))
                    del self.outside.units[name]
            case DeleteUnit(name) if deleted := self.outside.units.pop(name, None):
                if not deleted.alone:
                    await self._delete(POD_GROUPS, name)
                for each in there:
                    if each.rpartition("-")[0] == name:
                        await self._delete(PODS, each)
            case EndPod(name) if there.get(name):
                finished = self.outside.owner(name)
                await self._succeed(name)
                if finished is not None and finished.alone:
                    del self.outside.units[finished.name]
            case DeletePod(name) if name in there:
                await self._delete(PODS, name)
                await self._make_again(name)
            case ChangePriority(name, priority) if (
                changed := self.outside.units.get(name)
            ) and not changed.alone:
                await self._patch(POD_GROUPS, name, {"spec": {"priorityClassName": priority}})
            case SetBudget(name, app, keep):
                await self._set_budget(name, app, keep)
            case AddNode(spec) if spec.name not in await self._nodes():
                await self._add_node(spec)
            case LoseNode(name) if name in await self._nodes():
                await self._delete(NODES, name)
                for each, on in there.items():
                    if on == name:
                        await self._delete(PODS, each)
                        await self._make_again(each)
            case Cordon(name, cordoned) if name in await self._nodes():
                await self._patch(NODES, name, {"spec": {"unschedulable": cordoned}})
            case SetQueue(queue):
                await self._patch(QUEUES, queue.name, {"spec": _queue_object(queue)["spec"]})
            case _:
                # The unit, pod or node of the event is gone by now.
                pass

    async def _arrive(self, unit: UnitSpec) -> None:
        count = unit.pods if unit.early is None else unit.early
        self.outside.units[unit.name], self.outside.pods[unit.name] = unit, count
        if not unit.alone:
            await self.cluster.create(POD_GROUPS, _group_object(unit))
        for name in pod_names(unit, 0, count):
            await self._create_pod(unit, name)

    def _owns(self, unit: str, pod_name: str) -> bool:
        return pod_name.rpartition("-")[0] == unit

    async def _succeed(self, name: str) -> None:
        await self._patch(
            PODS, name, {"status": {"phase": "Succeeded", "conditions": []}}, subresource="status"
        )

    async def _set_budget(self, name: str, app: str, keep: int) -> None:
        with suppress(NotFoundError):
            await self._delete(BUDGETS, name)
        if keep >= 0:
            spec = {"minAvailable": keep, "selector": {"matchLabels": {"app": app}}}
            await self.cluster.create(
                BUDGETS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
            )

    async def _nodes(self) -> set[str]:
        return {each["metadata"]["name"] for each in (await self.cluster.list(NODES)).items}

    # ---- what is compared ----

    def running(self) -> dict[str, dict[str, str]]:
        """By unit with running pods, the node of each."""
        found: dict[str, dict[str, str]] = {}
        for name, on, _ in self.pods():
            if on:
                found.setdefault(name.rpartition("-")[0], {})[name] = on
        return found

    def usage(self) -> dict[str, int]:
        """By queue, the GPUs that the scheduler counts as used, for all queues that units name."""
        core = self.scheduler.core
        found: dict[str, int] = {}
        for workload in core.state.units.values():
            for own in workload.accounts[:1]:
                for account in own.around:
                    name = account.name[0].removeprefix("Queue ")
                    if account.within is not None:
                        found[name] = core.accounts.used(account, GPU)
        return found


def _queue_object(queue: QueueSpec) -> Json:
    gpu = {"quota": queue.quota, "limit": queue.limit, "overQuotaWeight": queue.weight}
    other = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec: Json = {"resources": {"gpu": gpu, "cpu": other, "memory": other}, "priority": queue.priority}
    if queue.parent:
        spec["parentQueue"] = queue.parent
    for name, seconds in (
        ("preemptMinRuntime", queue.preempt_after),
        ("reclaimMinRuntime", queue.reclaim_after),
    ):
        # A patch takes away what is null.
        spec[name] = None if seconds is None else f"{seconds}s"
    return {
        "apiVersion": QUEUES.api_version,
        "kind": "Queue",
        "metadata": {"name": queue.name},
        "spec": {name: value for name, value in spec.items() if value is not None or queue.name},
    }


def _group_object(unit: UnitSpec) -> Json:
    spec: Json = {"minMember": unit.minimum, "priorityClassName": unit.priority}
    if unit.queue:
        spec["queue"] = unit.queue
    if unit.rack:
        spec["topologyConstraint"] = together("rack")
    if unit.preemptible is not None:
        spec["preemptibility"] = "preemptible" if unit.preemptible else "non-preemptible"
    if unit.delay:
        spec["preemptionDelay"] = f"{unit.delay}s"
    if unit.grace != 60:
        spec["stalenessGracePeriod"] = f"{unit.grace}s"
    return pod_group(unit.name, **spec)


# -------------------------------------------------------------------------------------------- compared


@dataclass(frozen=True)
class Difference:
    """Where the two disagree."""

    event: int
    what: str
    live: object
    foreseen: object
    live_log: tuple[str, ...] = ()
    model_log: tuple[str, ...] = ()


@dataclass
class Result:
    """What became of a sequence."""

    difference: Difference | None = None
    ambiguous: str = ""
    """Why the model cannot foresee the outcome; the sequence counts for nothing from there on."""
    compared: int = 0
    moved: int = 0
    """Times at which the same pods ran on other nodes."""
    evictions: int = 0


async def compare(bed: Bed, sequence: Sequence) -> Result:
    """Run a sequence on both sides until they disagree."""
    live, foreseen, result = Live(bed), Foreseen(sequence), Result()
    try:
        await live.start(sequence)
        at = 0.0
        for index, (gap, event) in enumerate(sequence.events):
            at += gap
            try:
                foreseen.happen(event, at)
            except model.AmbiguousError as error:
                result.ambiguous = str(error)
                return result
            except model.CircleError as error:
                result.difference = Difference(index, "circle of the model", "", str(error))
                return result
            try:
                await live.happen(event, at)
            except model.CircleError:
                result.difference = Difference(
                    index, "circle", "", "", tuple(live.log), tuple(foreseen.world.log)
                )
                return result
            difference = _difference(index, live, foreseen)
            if foreseen.world.doubt and (difference is not None or live.running() != foreseen.running()):
                result.ambiguous = foreseen.world.doubt
                return result
            if difference is not None:
                result.difference = difference
                return result
            result.compared += 1
            result.moved += _take_nodes(live, foreseen)
        result.evictions = sum(" evict " in line for line in foreseen.world.log)
    finally:
        await live.stop()
    return result


def _difference(index: int, live: Live, foreseen: Foreseen) -> Difference | None:
    logs = tuple(live.log), tuple(foreseen.world.log)
    actual = {name: len(pods) for name, pods in sorted(live.running().items())}
    expected = {name: len(pods) for name, pods in sorted(foreseen.running().items())}
    if actual != expected:
        return Difference(index, "running pods", actual, expected, *logs)
    if not live.scheduler.idle:
        return Difference(index, "not idle", "", "", *logs)
    used = live.usage()
    own = {name: model.usage(foreseen.world, name) for name in used if name in foreseen.world.queues}
    if used != own:
        return Difference(index, "usage", used, own, *logs)
    return None


def _take_nodes(live: Live, foreseen: Foreseen) -> bool:
    """Let the model go on with the nodes that the live scheduler chose; whether they differ.

    Placements are the engine's affair. They differ where a live scheduler decides several pods at once.
    """
    actual, expected = live.running(), foreseen.running()
    if actual == expected:
        return False
    for name, pods in actual.items():
        unit = foreseen.world.units[name]
        starts = sorted(pod.start for pod in unit.running)
        for pod_ in unit.pods.values():
            pod_.node = pods.get(pod_.name, "")
        if {pod_.name for pod_ in unit.running} != set(expected[name]):
            for pod_, start in zip(unit.running, starts, strict=True):
                pod_.start = start
    return True


@contextmanager
def running_bed() -> Iterator[Callable[[Sequence], Result]]:
    """A function that compares sequences, on one cluster after the other."""
    with asyncio.Runner() as runner:
        bed = Bed()

        def run(sequence: Sequence) -> Result:
            return runner.run(compare(bed, sequence))

        yield run
