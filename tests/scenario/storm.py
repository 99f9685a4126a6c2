"""Random weather over a cluster: an embedded one in a time that is moved by hand, or a real one in real time.

Gangs come, displace each other and go, nodes are lost, return and move, another scheduler takes room, calls fail,
watches are lost, the server is away, the date jumps, and the scheduler itself is killed. What is checked reads
nothing but the API.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any, cast

import structlog

from closeknit.installation.privileges import Component
from closeknit.kube.clock import Clock
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch
from closeknit.kube.resources import NODES, PODS, Resource
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.testing.accounts import seen_by
from closeknit.testing.auditor import Cluster, audit
from closeknit.testing.auditor_waiting import Priorities, Waiting
from closeknit.testing.clock import HandClock, SkewedClock
from tests.kit.quota_recount import differences, recounted
from tests.kit.status_auditor import Seen, audit_status
from tests.scenario.bound import BY_KIND, POD_GROUPS, QUEUES, TOPOLOGIES
from tests.scenario.storm_faults import Faults
from tests.unit.scheduler.objects import GPU, node, pod, pod_group, queue, together, topology

ZONE, RACK = "zone", "rack"
ZONES, RACKS, HOSTS, GPUS = 2, 3, 4, 8
AT_ONCE = DeleteOptions(grace_period=0)
_STEP = 0.25
_ROUND = 4
"""Steps between two rounds of those who look after pods."""
CALM = 150.0
"""Seconds of fair weather: enough to connect again, and for every back-off and grace period after that."""
BACK_OFF = 15.0
"""Seconds that a gang may wait although there is room: the longest back-off, and some for binding."""
DISPLACING = 90.0
"""Seconds that it may wait although others of lower priority could go: the patience with those told to, and more."""
QUIET = 5.0
"""Seconds within which objects show what is true, when nothing happens."""
HIGH = "build-preemptible"
PRIORITIES = Priorities({HIGH: 75}, usual=0)
_PODS_OF_RIVAL = "rival"
_QUEUES: dict[str, tuple[str, dict[str, int]]] = {
    "left": ("", {"quota": 60, "limit": 120, "overQuotaWeight": 1}),
    "right": ("", {"quota": 60, "limit": -1, "overQuotaWeight": 2}),
    "left-a": ("left", {"quota": 40, "limit": 80, "overQuotaWeight": 1}),
    "left-b": ("left", {"quota": 20, "limit": -1, "overQuotaWeight": 1}),
    "right-a": ("right", {"quota": 60, "limit": 60, "overQuotaWeight": 1}),
}
"""By name, the parent and the share of GPUs, of which the cluster has 192."""
_LEAVES = ("left-a", "left-b", "right-a")


class Storm:
    """One storm over a cluster with definitions and nothing else; on an embedded one the same for the same seed."""

    def __init__(
        self,
        seed: int,
        cluster: KubernetesApi,
        clock: Clock,
        *,
        reserving: bool = False,
        queues: bool = False,
    ) -> None:
        self.reserving = reserving
        """Whether a place is kept for the first that does not fit, so that others may wait beside free nodes."""
        self.queues = queues
        """Whether gangs belong to queues with limits; their usage is recounted, and any of them may wait."""
        self.dice = Random(seed)
        self.clock = clock
        self.shown = SkewedClock(clock)
        """The scheduler's own clock, whose date jumps."""
        self.cluster = cluster
        self.faults = Faults(seen_by(Component.SCHEDULER, cluster), Random(seed + 2), clock)
        self.happened: Counter[str] = Counter()
        self._number = 0
        self._steps = 0
        self._waited: dict[tuple[str, str], float] = {}
        """By gang and complaint, since when it could have been helped without a break."""
        self._facts: tuple[object, float] | None = None
        """All that conditions follow from, and since when that has not changed."""
        self._work: asyncio.Task[None] | None = None
        self._instance: Instance | None = None

    # ------------------------------------------------------------------------------------------- running

    async def begin(self) -> None:
        """Nodes, a topology and a scheduler."""
        await self.create(topology(ZONE, RACK), *_nodes())
        if self.queues:
            await self.create(*(queue(name, parent, gpu=gpu) for name, (parent, gpu) in _QUEUES.items()))
        self._start()

    async def create(self, *objects: dict[str, Any]) -> None:
        """Make objects."""
        for each in objects:
            kept = {key: value for key, value in each["metadata"].items() if key != "uid"}
            await self.cluster.create(BY_KIND[each["kind"]], {**each, "metadata": kept})

    async def _pass(self, seconds: float) -> None:
        """Let time pass, a little at a time."""
        if isinstance(self.clock, HandClock):
            await self.clock.advance(seconds)
        else:
            await self.clock.sleep(seconds)

    def _start(self) -> None:
        self._instance = Instance(
            cast("KubernetesApi", self.faults),
            Settings(reserving=self.reserving),
            identity="storm",
            log=structlog.wrap_logger(structlog.ReturnLogger()),
            random=Random(self.dice.random()),
            clock=self.shown,
        )
        self._work = asyncio.create_task(self._instance.run())

    async def kill(self) -> None:
        """End the scheduler, whatever it is at; what made it end by itself is raised."""
        work, self._work = self._work, None
        if work is not None:
            if work.done():
                work.result()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def blow(self, seconds: float) -> None:
        """Bad weather for so long."""
        self.faults.share = 0.1
        for _ in range(int(seconds / _STEP)):
            if self.dice.random() < 0.5:
                await self._happen()
            await self._step()
        self.faults.share = 0.0

    async def calm(self, seconds: float = CALM) -> list[str]:
        """Fair weather, and everything that was wrong in it for too long or is at its end."""
        wrong: dict[str, None] = {}
        self._waited.clear()
        self._facts = None
        for _ in range(int(seconds / _STEP)):
            if await self._step() and self.faults.settled:
                wrong |= dict.fromkeys(await self._recount())
                seen = await self._seen()
                wrong |= dict.fromkeys(self._not_shown(seen))
                if not self.queues:
                    wrong |= dict.fromkeys(self._too_long(seen))
        assert self._work is not None
        if self._work.done():
            self._work.result()
        return [*wrong, *await self._recount(), *audit(await self._seen())]

    async def _step(self) -> bool:
        """Let a little time pass; whether those who look after pods have made their round."""
        await self._pass(_STEP)
        self._steps += 1
        if self._steps % _ROUND:
            return False
        await self._look_after_pods()
        return True

    async def _look_after_pods(self) -> None:
        """What kubelets and controllers do: pods that were told to go or lost their node go, and come again."""
        nodes = {each["metadata"]["name"] for each in (await self.cluster.list(NODES)).items}
        groups = {each["metadata"]["name"] for each in (await self.cluster.list(POD_GROUPS)).items}
        for each in (await self.cluster.list(PODS)).items:
            name, on = each["metadata"]["name"], each["spec"].get("nodeName", "")
            lost = on and on not in nodes
            # Some take longer than others to end.
            leaving = "deletionTimestamp" in each["metadata"] and self.dice.random() < 0.5
            if lost or leaving:
                self.happened["pods that lost their node" if lost else "pods that were told to go"] += 1
                await self._delete(PODS, name)
                if _group(each) in groups and self.dice.random() < 0.9:
                    await self.create(_again(each))

    async def _happen(self) -> None:
        acts = (
            (12, self._arrive),
            (6, self._finish),
            (5, self._delete_gang),
            (4, self._delete_pod),
            (2, self._lose_node),
            (4, self._return_node),
            (2, self._cordon),
            (2, self._move_node),
            (4, self._rival),
            (2, self._crash),
            (1, self._outage),
            (1, self._lose_watches),
            (1, self._jump),
            (4 if self.queues else 0, self._move_gang_to_another_queue),
            (2 if self.queues else 0, self._move_queue),
        )
        (act,) = self.dice.choices([act for _, act in acts], [weight for weight, _ in acts])
        self.happened[act.__name__.strip("_").replace("_", " ")] += 1
        await act()

    # -------------------------------------------------------------------------------------- what happens

    async def _arrive(self) -> None:
        self._number += 1
        name, least = f"gang-{self._number}", self.dice.choice((1, 1, 2, 2, 3, 4, 6, 8))
        gpus = self.dice.choice((1, 2, 4, 8))
        level = self.dice.choice((None, ZONE, RACK, RACK))
        within = {"topologyConstraint": together(level)} if level else {}
        spec: dict[str, Any] = {"priorityClassName": HIGH} if self.dice.random() < 0.2 else {}
        if self.queues:
            spec["queue"] = self.dice.choice(_LEAVES)
            spec["preemptibility"] = self.dice.choice(("preemptible", "preemptible", "non-preemptible"))
        if self.dice.random() < 0.2:
            least = min(least, 4)
            parts = [{"name": part, "minMember": least, **within} for part in ("left", "right")]
            group = pod_group(name, subGroups=parts, **spec)
            made = [
                pod(f"{name}-{part}-{i}", name, gpus=gpus, subgroup=part)
                for part in ("left", "right")
                for i in range(least)
            ]
        else:
            more = self.dice.choice((0, 0, 0, 1, 3))
            group = pod_group(name, minMember=least, **within, **spec)
            made = [pod(f"{name}-{i}", name, gpus=gpus) for i in range(least + more)]
        await self.create(group, *made)

    async def _finish(self) -> None:
        """All pods of a gang that runs succeed."""
        if (group := await self._some_gang(running=True)) is None:
            return
        for each in await self._pods_of(group):
            await self.cluster.patch(
                PODS,
                each,
                MergePatch({"status": {"phase": "Succeeded"}}),
                namespace="default",
                subresource="status",
            )

    async def _delete_gang(self) -> None:
        if (group := await self._some_gang()) is None:
            return
        await self._delete(POD_GROUPS, group)
        for each in await self._pods_of(group):
            await self._delete(PODS, each)

    async def _delete_pod(self) -> None:
        """A pod goes, and its controller makes it anew."""
        if (group := await self._some_gang()) is None or not (pods := await self._pods_of(group)):
            return
        name = self.dice.choice(pods)
        found = await self.cluster.get(PODS, name, namespace="default")
        await self._delete(PODS, name)
        await self.create(_again(found))

    async def _lose_node(self) -> None:
        """A node goes; its pods do so when somebody looks after them."""
        names = [each["metadata"]["name"] for each in (await self.cluster.list(NODES)).items]
        if len(names) <= ZONES * RACKS * HOSTS // 2:
            return
        lost = self.dice.choice(names)
        await self._delete(NODES, lost)

    async def _return_node(self) -> None:
        """A node comes back, in the rack that it had or in another one."""
        there = {each["metadata"]["name"] for each in (await self.cluster.list(NODES)).items}
        # Not before its pods are gone: they would have moved with it.
        there |= {each["spec"].get("nodeName", "") for each in (await self.cluster.list(PODS)).items}
        missing = [each for each in _nodes() if each["metadata"]["name"] not in there]
        if missing:
            back = self.dice.choice(missing)
            if self.dice.random() < 0.3:
                back["metadata"]["labels"][RACK] = f"r{self.dice.randrange(RACKS)}"
            await self.create(back)

    async def _cordon(self) -> None:
        nodes = (await self.cluster.list(NODES)).items
        chosen = self.dice.choice(nodes)
        cordoned = bool(chosen["spec"].get("unschedulable")) if "spec" in chosen else False
        await self.cluster.patch(
            NODES, chosen["metadata"]["name"], MergePatch({"spec": {"unschedulable": not cordoned}})
        )

    async def _move_node(self) -> None:
        """The labels of a node change, while it has no pods and nobody is about to give it some."""
        if not self._alone():
            return
        used = {each["spec"].get("nodeName") for each in (await self.cluster.list(PODS)).items}
        names = [each["metadata"]["name"] for each in (await self.cluster.list(NODES)).items]
        if empty := [name for name in names if name not in used]:
            labels = {ZONE: f"z{self.dice.randrange(ZONES)}", RACK: f"r{self.dice.randrange(RACKS)}"}
            patch = MergePatch({"metadata": {"labels": labels}})
            await self.cluster.patch(NODES, self.dice.choice(empty), patch)

    async def _rival(self) -> None:
        """Another scheduler binds a pod of its own where the API shows room, or one of its pods goes."""
        seen = await self._seen()
        mine = [each for each in seen.pods if each["metadata"]["name"].startswith(_PODS_OF_RIVAL)]
        if mine and self.dice.random() < 0.5:
            await self._delete(PODS, self.dice.choice(mine)["metadata"]["name"])
            return
        # Two schedulers that act in the same moment can both take the last room, whatever they check.
        if not self._alone():
            return
        free = self._waiting(seen).free()
        roomy = sorted(name for name, units in free.items() if units >= 2)
        if roomy:
            self._number += 1
            name = f"{_PODS_OF_RIVAL}-{self._number}"
            await self.create(pod(name, gpus=2, scheduler="default-scheduler"))
            await self.cluster.bind(name, self.dice.choice(roomy), namespace="default")

    async def _crash(self) -> None:
        """The scheduler is killed, and another one begins."""
        await self.kill()
        self._start()

    async def _outage(self) -> None:
        """The API server is away for a while, as far as the scheduler can tell."""
        self.faults.leave(self.dice.uniform(1, 15))

    async def _lose_watches(self) -> None:
        self.faults.lose_watches()

    async def _jump(self) -> None:
        """The date that the scheduler reads jumps, forward or back."""
        self.shown.skew = timedelta(seconds=self.dice.uniform(-86400, 86400))

    async def _move_gang_to_another_queue(self) -> None:
        if (group := await self._some_gang()) is not None:
            spec = {"queue": self.dice.choice(_LEAVES)}
            await self.cluster.patch(POD_GROUPS, group, MergePatch({"spec": spec}), namespace="default")

    async def _move_queue(self) -> None:
        spec = {"parentQueue": self.dice.choice(("", *sorted(_QUEUES.keys() - _LEAVES)))}
        await self.cluster.patch(QUEUES, self.dice.choice(_LEAVES), MergePatch({"spec": spec}))

    def _alone(self) -> bool:
        """Whether the scheduler knows the cluster as it is, and is about to change nothing."""
        return self._instance is not None and self._instance.idle and self.faults.settled

    # ------------------------------------------------------------------------------------------ checking

    async def complaints(self) -> list[str]:
        """What is wrong now, as the API shows it."""
        seen = await self._seen()
        return [
            *audit(seen),
            *(f"PodGroup {each} waits, and there is room." for each in self._overlooked(seen)),
        ]

    async def _recount(self) -> list[str]:
        """Queues whose usage is another one than what their pods request, if the scheduler is idle.

        What is nominated for units that wait until victims are gone is charged on top, and left aside here.
        """
        if (
            not self.queues
            or not self._alone()
            or self._instance is None
            or self._instance._scheduler is None
        ):
            return []
        queues, groups, pods = [(await self.cluster.list(each)).items for each in (QUEUES, POD_GROUPS, PODS)]
        self.happened["recounts"] += 1
        core = self._instance._scheduler.core
        with core.state.without_usage(core.preemptions.nominated_pods()):
            return differences(core.accounts, recounted(queues, groups, pods))

    def _waiting(self, seen: Cluster) -> Waiting:
        return Waiting(seen, GPU, (ZONE, RACK), PRIORITIES)

    def _overlooked(self, seen: Cluster) -> list[str]:
        # Who comes after one for whom a place is kept may have to wait beside free nodes.
        return list(self._waiting(seen).overlooked(reserving=self.reserving))

    def _too_long(self, seen: Cluster) -> list[str]:
        """Gangs that could have been helped for longer than it may take."""
        now = self.clock.monotonic()
        limits = {"there is room": BACK_OFF, "others could go for it": DISPLACING}
        could = [(each, "there is room") for each in self._overlooked(seen)]
        displacing = self._waiting(seen).could_displace(reserving=self.reserving)
        could += [(each, "others could go for it") for each in displacing]
        self._waited = {each: self._waited.get(each, now) for each in could}
        self.happened["checks"] += 1
        return [
            f"PodGroup {gang} has waited for longer than {limits[why]:g} s, and {why}."
            for (gang, why), since in self._waited.items()
            if now - since > limits[why]
        ]

    def _not_shown(self, seen: Cluster) -> list[str]:
        """What objects show and is not true, when nothing has changed for as long as showing it may take."""
        now = self.clock.monotonic()
        what = Seen(seen.nodes, seen.pods, seen.pod_groups, seen.topologies)
        facts = what.facts()
        if self._facts is None or self._facts[0] != facts:
            self._facts = facts, now
        if now - self._facts[1] < QUIET:
            return []
        self.happened["audits of status"] += 1
        return audit_status(what)

    async def _seen(self) -> Cluster:
        lists = [(await self.cluster.list(each)).items for each in (NODES, PODS, POD_GROUPS, TOPOLOGIES)]
        return Cluster(*lists)

    async def _some_gang(self, *, running: bool = False) -> str | None:
        groups = [each["metadata"]["name"] for each in (await self.cluster.list(POD_GROUPS)).items]
        if running:
            pods = (await self.cluster.list(PODS)).items
            bound = {_group(each) for each in pods if each["spec"].get("nodeName")}
            waiting = {_group(each) for each in pods if not each["spec"].get("nodeName")}
            groups = [each for each in groups if each in bound and each not in waiting]
        return self.dice.choice(groups) if groups else None

    async def _pods_of(self, group: str) -> list[str]:
        return [
            each["metadata"]["name"]
            for each in (await self.cluster.list(PODS)).items
            if _group(each) == group
        ]

    async def _delete(self, resource: Resource, name: str) -> None:
        namespace = "default" if resource.namespaced else ""
        with suppress(NotFoundError):
            await self.cluster.delete(resource, name, namespace=namespace, options=AT_ONCE)


def _nodes() -> list[dict[str, Any]]:
    return [
        node(f"z{z}-r{r}-h{h}", GPUS, zone=f"z{z}", rack=f"r{r}")
        for z in range(ZONES)
        for r in range(RACKS)
        for h in range(HOSTS)
    ]


def _group(obj: Any) -> str:
    return str(obj["metadata"].get("annotations", {}).get("pod-group-name", ""))


def _again(obj: Any) -> dict[str, Any]:
    """The pod that a controller makes in place of one that has gone."""
    meta = obj["metadata"]
    gpus = int(obj["spec"]["containers"][0]["resources"]["limits"][GPU])
    subgroup = meta.get("labels", {}).get("kai.scheduler/subgroup-name", "")
    return pod(meta["name"], _group(obj), gpus=gpus, subgroup=subgroup)
