"""A reporter on an embedded cluster with one PodGroup, by hand clock, and what it has written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

import msgspec

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.dialects.definitions import FAMILIES
from closeknit.hub.keys import Key
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import ApiError
from closeknit.kube.events import Recorder
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import EVENTS, NODES, PODS, Resource
from closeknit.scheduler.status.outcomes import KIND, FollowedOutcomes, name_of
from closeknit.scheduler.status.reporting import Reporter
from closeknit.scheduler.status.write_queue import Pace
from closeknit.testing.clock import HandClock
from tests.unit.scheduler.verdicts import NAME

POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", subresources=("status",))

OUTCOMES = Resource(KIND.group, KIND.versions[0], "schedulingoutcomes", KIND.kind)


@dataclass
class Counted:
    """A cluster that counts what is written to it, and fails on demand."""

    cluster: EmbeddedCluster
    writes: list[str] = field(default_factory=list)
    fault: ApiError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cluster, name)

    async def patch(self, resource: Resource, name: str, *args: Any, **kwargs: Any) -> Any:
        if self.fault is not None:
            raise self.fault
        sub = kwargs.get("subresource", "")
        self.writes.append(f"{resource.plural}/{name}{'/' + sub if sub else ''}")
        return await self.cluster.patch(resource, name, *args, **kwargs)


@dataclass
class Bed:
    """A reporter on a cluster with one PodGroup and its pods."""

    api: Counted
    clock: HandClock
    reporter: Reporter
    known: dict[Key, ObjectMeta] = field(default_factory=dict)
    busy: bool = False
    outdated: bool = False
    pods: list[str] = field(default_factory=list)
    shown: dict[str, Any] | None = None
    """The PodGroup as a watch has shown it last; None if it has not."""

    async def status(self) -> dict[str, Any]:
        found = await self.api.get(POD_GROUPS, "train", namespace="default")
        return cast("dict[str, Any]", found.get("status") or {})

    async def outcome(self) -> dict[str, Any]:
        found = await self.api.get(OUTCOMES, name_of(POD_GROUPS, "train"), namespace="default")
        return cast("dict[str, Any]", found)

    async def scheduled(self) -> tuple[str, str] | None:
        conditions = (await self.status()).get("conditions") or ()
        return next(((c["status"], c["reason"]) for c in conditions if c["type"] == "Scheduled"), None)

    async def pod_scheduled(self, name: str) -> tuple[str, str] | None:
        pod = await self.api.get(PODS, name, namespace="default")
        conditions = pod["status"].get("conditions") or ()
        return next(
            ((c["status"], c.get("reason", "")) for c in conditions if c["type"] == "PodScheduled"), None
        )

    async def events(self) -> list[tuple[str, str, str]]:
        found = (await self.api.list(EVENTS)).items
        return [(each["regarding"]["name"], each["type"], each["reason"]) for each in found]


@asynccontextmanager
async def bed(pods: int = 2) -> AsyncIterator[Bed]:
    clock = HandClock()
    definitions = [one.written() for family in FAMILIES.values() for one in family]
    api = Counted(EmbeddedCluster(definitions, clock=clock, dice=Random(1)))
    known: dict[Key, ObjectMeta] = {}
    recorder = Recorder(
        cast("KubernetesApi", api), "closeknit", instance="c-0", random=Random(1), clock=clock
    )
    reporter = Reporter(
        cast("KubernetesApi", api),
        recorder,
        find=known.get,
        resource=lambda key: POD_GROUPS if key.kind == "PodGroup" else None,
        random=Random(1),
        show=lambda _: made.shown,
        pods=lambda _: made.pods,
        outdated=lambda _: made.outdated,
        busy=lambda: made.busy,
        denied=lambda _: True,
        outcomes=FollowedOutcomes(
            lambda _: None,
            lambda key: {"PodGroup": POD_GROUPS, KIND.kind: OUTCOMES}.get(key.kind),
            lambda _: {},
        ),
        pace=Pace(patience=1.0, details=30.0, deferral=5.0),
        clock=clock,
    )
    made = Bed(api, clock, reporter, known)
    group = {
        "apiVersion": NAME.api_version,
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"queue": "test", "minMember": pods},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    await api.create(NODES, node)
    known[NAME.key] = _meta(await api.create(POD_GROUPS, group))
    for number in range(pods):
        name = f"train-{number}"
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        known[Key("", "Pod", "default", name)] = _meta(await api.create(PODS, pod))
    yield made
    await api.cluster.close()


def _meta(obj: dict[str, Any]) -> ObjectMeta:
    return msgspec.convert(obj["metadata"], ObjectMeta)
