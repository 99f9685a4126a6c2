"""The scheduler with its reports, at work on an embedded cluster or on a real API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import structlog
import yaml

from closeknit.dialects.definitions import FAMILIES
from closeknit.installation.privileges import Component
from closeknit.kube.errors import AlreadyExistsError, NotFoundError
from closeknit.kube.port import DeleteOptions, KubernetesApi
from closeknit.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    DEVICE_CLASSES,
    EVENTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    STORAGE_CLASSES,
    Resource,
)
from closeknit.live.leadership import LeaseName
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.scheduler.status.outcomes import KIND, name_of
from closeknit.testing.accounts import Accounts, seen_by
from closeknit.testing.guarded_api import GuardedApi
from closeknit.testing.rendered import NAMESPACE

Json = dict[str, Any]
OUTCOMES = Resource(KIND.group, KIND.versions[0], "schedulingoutcomes", KIND.kind)
POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", subresources=("status",))
TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)
QUEUES = Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False, subresources=("status",))
CLAIMED = (
    *(DEVICE_CLASSES, RESOURCE_SLICES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS),
    *(PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES),
)
BY_KIND = {each.kind: each for each in (NODES, PODS, POD_GROUPS, TOPOLOGIES, QUEUES, *CLAIMED)}
DEFINITIONS = [one.written() for family in FAMILIES.values() for one in family]
_AT_ONCE = DeleteOptions(grace_period=0)


def objects_in(*files: Path) -> list[Json]:
    """The objects of files, each under the namespace that it gets; pods without owners that do not exist."""
    found = [each for file in files for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]
    for each in found:
        each["metadata"].pop("ownerReferences", None)
        if BY_KIND[each["kind"]].namespaced:
            each["metadata"].setdefault("namespace", "default")
    return found


async def define(api: KubernetesApi) -> None:
    """Definitions of all kinds, and return when they are served."""
    for definition in DEFINITIONS:
        with suppress(AlreadyExistsError):
            await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    wanted = {(each.group, each.kind) for each in (POD_GROUPS, TOPOLOGIES, QUEUES)}
    async with asyncio.timeout(30):
        # The server tells nobody when a definition is served.
        while not wanted <= {(each.group, each.kind) for each in await api.resources()}:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def clear(api: KubernetesApi) -> None:
    """Delete what tests create."""
    for resource in (POD_GROUPS, PODS, NODES, TOPOLOGIES, QUEUES, EVENTS, *CLAIMED):
        for each in (await api.list(resource)).items:
            meta = each["metadata"]
            with suppress(NotFoundError):
                await api.delete(
                    resource, meta["name"], namespace=meta.get("namespace", ""), options=_AT_ONCE
                )


async def cleared(api: KubernetesApi) -> None:
    """Wait until what was deleted has gone: claims go when controllers have taken back what pods had."""
    async with asyncio.timeout(60):
        while any([(await api.list(each)).items for each in CLAIMED]):  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def create(api: KubernetesApi, objects: Iterable[Json]) -> None:
    """Make objects one after the other, nodes and topologies first."""
    first = {each.kind: 0 for each in (NODES, TOPOLOGIES, QUEUES, *CLAIMED)} | {"PodGroup": 1}
    for each in sorted(objects, key=lambda one: first.get(one["kind"], 2)):
        await api.create(BY_KIND[each["kind"]], each)


@asynccontextmanager
async def scheduling(api: KubernetesApi, settings: Settings | None = None) -> AsyncIterator[Instance]:
    """A scheduler that works until the block ends, and then stops as it is told to."""
    guarded = GuardedApi(seen_by(Component.SCHEDULER, api), Component.SCHEDULER)
    instance = Instance(
        guarded,
        settings or Settings(),
        identity="scenario",
        log=structlog.wrap_logger(structlog.ReturnLogger()),
        random=Random(1),
        lease=LeaseName(
            namespace=NAMESPACE if isinstance(api, Accounts) else "default", name="closeknit-scheduler"
        ),
    )
    running = asyncio.create_task(instance.run())
    try:
        yield instance
    finally:
        instance.stop()
        async with asyncio.timeout(30):
            await running
    assert not guarded.refused, guarded.refused


async def until(holds: Callable[[], bool], seconds: float = 120) -> None:
    """Return when something holds."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 (it is asked from outside, as an operator would)
            await asyncio.sleep(0.05)


async def nodes_of(api: KubernetesApi) -> dict[str, str]:
    """The node of every pod; empty for one that waits."""
    return {
        each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in (await api.list(PODS)).items
    }


async def condition(api: KubernetesApi, group: str, kind: str = "Scheduled") -> Json | None:
    """A condition of a PodGroup."""
    found = await api.get(POD_GROUPS, group, namespace="default")
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), None)


async def told(api: KubernetesApi, group: str, reason: str, seconds: float = 120) -> Json:
    """The condition of a PodGroup, as soon as it has this reason."""
    async with asyncio.timeout(seconds):
        while True:
            found = await condition(api, group)
            if found is not None and found["reason"] == reason:
                return found
            await asyncio.sleep(0.05)


async def event(api: KubernetesApi, name: str, kind: str, reason: str, seconds: float = 120) -> None:
    """Return when there is an event about an object."""
    async with asyncio.timeout(seconds):
        while True:
            for each in (await api.list(EVENTS)).items:
                if (each["regarding"]["name"], each["type"], each["reason"]) == (name, kind, reason):
                    return
            await asyncio.sleep(0.05)


async def outcome(api: KubernetesApi, group: str) -> Json:
    """The outcome of a PodGroup for programs."""
    found = await api.get(OUTCOMES, name_of(POD_GROUPS, group), namespace="default")
    read: Json = json.loads(found["status"]["outcome"])
    return read
