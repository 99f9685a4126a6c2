"""``closeknit demo --live``: the sample on an embedded cluster, each workload by way of its operator."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from closeknit.cli.manifests import as_yaml
from closeknit.cli.tables import aligned
from closeknit.cli.working import Workers
from closeknit.dialects import Located, Source, translate, written
from closeknit.dialects.definitions import FAMILIES
from closeknit.scheduler.wording import counted, printable

if TYPE_CHECKING:
    from closeknit.kube.embedded.cluster import EmbeddedCluster
    from closeknit.kube.port import Object
    from closeknit.kube.resources import Resource

_LEVELS = ("topology/zone", "topology/block", "topology/rack")
_DIALECTS = {
    "PodGroup": "KAI",
    "PodCliqueSet": "Grove",
    "DynamoGraphDeployment": "Dynamo",
    "Workflow": "OSMO",
    "Job": "Kueue",
}
"""By the kind of a workload; what is made of one belongs to it."""
_SCALED = ("PodCliqueSet", "summaries", "inference")
_CLUSTER, _KAI = "cluster.yaml", "kai.yaml"
_WITHOUT_OPERATOR = ("kubernetes.yaml",)
"""What no operator looks after is planned, and not shown here."""
_PATIENCE = 20.0
_REST, _BRIEFLY = 1.0, 0.3
"""Seconds without a change after which nothing more is expected, and after which the next may come."""


@dataclass(frozen=True, slots=True)
class _Running:
    """A pod and the workload that it belongs to."""

    workload: tuple[str, str, str]
    """Its kind, namespace and name."""
    name: str
    node: str


async def run(sources: Sequence[Source]) -> None:
    """Start a cluster with everything that looks after it, put the sample into it, and tell what happens."""
    from closeknit.kube.embedded.cluster import EmbeddedCluster
    from closeknit.kube.embedded.loading import load
    from closeknit.kube.standins import run_standins

    began = perf_counter()
    cluster = EmbeddedCluster([one.written() for family in FAMILIES.values() for one in family])
    workers = _workers(cluster)
    stop = asyncio.Event()
    work = asyncio.create_task(workers.run(stop, [run_standins(cluster)]))
    try:
        shown = _Demo(cluster, workers, {each.kind: each for each in reversed(await cluster.resources())})
        for each in submitted(sources):
            refused = await load(cluster, _objects([each]))
            assert not refused, refused
            await shown.settled(_BRIEFLY)
        await shown.tell()
    finally:
        stop.set()
        await work
        await cluster.close()
    sys.stdout.write(f"\nThat was a whole control plane, for {perf_counter() - began:.0f} seconds. ")
    sys.stdout.write("To try it yourself: closeknit demo --live --write demo, then closeknit up -f demo\n")


def _workers(cluster: EmbeddedCluster) -> Workers:
    import structlog

    from closeknit.dialects.lone_pods import SCHEDULERS
    from closeknit.scheduler.settings import Settings

    settings = Settings(schedulers=SCHEDULERS | {"default-scheduler"})
    silent = structlog.wrap_logger(structlog.ReturnLogger())
    return Workers(cluster, identity="closeknit-demo", log=silent, scheduling=settings, external=())


def submitted(sources: Sequence[Source]) -> Iterator[Source]:
    """The files of the sample as they are submitted to a cluster that runs them."""
    for each in sources:
        if each.name == _CLUSTER:
            # A drawn pod names a workload that does not exist here, and would go with it.
            for obj in (objects := list(_objects([each]))):
                obj["metadata"].pop("ownerReferences", None)
            yield Source(each.name, "".join(as_yaml(objects)).encode())
        elif each.name == _KAI:
            pods = "".join(as_yaml(_pods(sources))).encode()
            yield Source(each.name, each.content + b"---\n" + pods)
        elif each.name not in _WITHOUT_OPERATOR:
            yield each


def _objects(sources: Sequence[Source]) -> Iterator[Object]:
    for each in written(sources):
        assert not isinstance(each, Located), each
        yield each[1]


def _pods(sources: Sequence[Source]) -> Iterable[Object]:
    """Pods for PodGroups that are written without any, as whoever writes one makes them too."""
    made = translate(
        [each for each in sources if each.name in (_CLUSTER, "administration.yaml", _KAI)], "pods"
    )
    for pod in made.objects:
        yield {**pod, "spec": {**pod["spec"], "schedulerName": "kai-scheduler"}}


class _Demo:
    """What is shown, step by step."""

    def __init__(self, cluster: EmbeddedCluster, workers: Workers, resources: Mapping[str, Resource]) -> None:
        self._cluster = cluster
        self._workers = workers
        self._resources = resources

    async def tell(self) -> None:
        """Everything, one thing after the other."""
        nodes = await self._every("Node")
        _say(f"1. A control plane in this process: {counted(len(nodes), 'node')}, a scheduler, all operators")
        await self.settled()
        _say("2. A workload of each dialect, put into it as its users would, and where it runs")
        _table(await self._running(), nodes)
        _say("3. One that waits, and why")
        await self._tell_pending()
        kind, name, namespace = _SCALED
        before = {each.name for each in await self._running()}
        await self._patch(kind, name, namespace, {"spec": {"replicas": 2}})
        await self.settled()
        _say(f"4. {kind} {name} is scaled from 1 replica to 2; the new pods run here")
        new = [each for each in await self._running() if each.name not in before]
        _table(new, nodes)
        lost = new[0].node
        await self._lose(lost)
        await self.settled()
        _say(f"5. {lost} is lost with all pods on it; they are made again, and run here")
        _table([each for each in await self._running() if each.name not in before], nodes)

    async def _tell_pending(self) -> None:
        for group in await self._every("PodGroup"):
            for condition in (group.get("status") or {}).get("conditions") or ():
                if condition["type"] == "Scheduled" and condition["status"] == "False":
                    meta = group["metadata"]
                    told = f"PodGroup {meta['namespace']}/{meta['name']}: {condition['message']}"
                    sys.stdout.write(f"{printable(told)}\n")

    async def _lose(self, node: str) -> None:
        """Take a node away and the pods on it, as Kubernetes does with those of a node that is gone."""
        from closeknit.kube.port import DeleteOptions

        await self._cluster.delete(self._resources["Node"], node)
        at_once = DeleteOptions(grace_period=0)
        for pod in await self._every("Pod"):
            if pod["spec"].get("nodeName") == node:
                meta = pod["metadata"]
                where = {"namespace": meta["namespace"], "options": at_once}
                await self._cluster.delete(self._resources["Pod"], meta["name"], **where)

    async def settled(self, rest: float = _REST) -> None:
        """Return when nothing has changed for a while."""
        scheduler, controllers = self._workers.scheduler, self._workers.controllers
        assert scheduler is not None
        assert controllers is not None
        before, since = "", perf_counter()
        began = since
        while perf_counter() - since < rest and perf_counter() - began < _PATIENCE:
            await asyncio.sleep(0.1)
            pods = await self._cluster.list(self._resources["Pod"])
            if pods.resource_version != before or not scheduler.idle or not controllers.idle:
                before, since = pods.resource_version, perf_counter()

    async def _running(self) -> list[_Running]:
        """The pods of workloads that have a node, in the order of workloads and names."""
        found = []
        for pod in await self._every("Pod"):
            workload = await self._workload(pod)
            if workload is not None and pod["spec"].get("nodeName"):
                found.append(_Running(workload, pod["metadata"]["name"], pod["spec"]["nodeName"]))
        return sorted(
            found, key=lambda each: (list(_DIALECTS).index(each.workload[0]), each.workload, each.name)
        )

    async def _workload(self, obj: Object) -> tuple[str, str, str] | None:
        """What an object was made for: its first owner, or the PodGroup that a pod without one names."""
        meta = obj["metadata"]
        namespace = meta.get("namespace", "")
        for owner in meta.get("ownerReferences") or ():
            above = await self._cluster.get(
                self._resources[owner["kind"]], owner["name"], namespace=namespace
            )
            return await self._workload(above)
        if obj["kind"] == "Pod":
            group = (meta.get("annotations") or {}).get("pod-group-name")
            return ("PodGroup", namespace, group) if group else None
        return (obj["kind"], namespace, meta["name"]) if obj["kind"] in _DIALECTS else None

    async def _every(self, kind: str) -> list[Object]:
        return (await self._cluster.list(self._resources[kind])).items

    async def _patch(self, kind: str, name: str, namespace: str, body: Mapping[str, Any]) -> None:
        from closeknit.kube.port import MergePatch

        await self._cluster.patch(self._resources[kind], name, MergePatch(body), namespace=namespace)


def _table(running: Sequence[_Running], nodes: Sequence[Object]) -> None:
    """A line for each workload and rack: how many pods it has on which nodes."""
    labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in nodes}
    racks: dict[tuple[tuple[str, str, str], str], Counter[str]] = {}
    for each in running:
        rack = "/".join(labels[each.node][level] for level in _LEVELS)
        racks.setdefault((each.workload, rack), Counter())[each.node] += 1
    rows = [("DIALECT", "WORKLOAD", "RACK", "PODS ON NODES")]
    for ((kind, namespace, name), rack), counts in racks.items():
        placed = ", ".join(f"{count} on {node}" for node, count in sorted(counts.items()))
        rows.append((_DIALECTS[kind], printable(f"{kind} {namespace}/{name}"), rack, placed))
    sys.stdout.writelines(aligned(rows))


def _say(words: str) -> None:
    sys.stdout.write(f"\n{words}\n")
    sys.stdout.flush()
