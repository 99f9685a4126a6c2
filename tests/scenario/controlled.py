"""Where controllers are tried: the embedded cluster in a time that is moved, and in ``make e2e`` a real server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.errors import AlreadyExistsError, NotFoundError
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.controlling import Controlled, definitions
from tests.contract.definitions import published_definitions
from tests.planes import chart_accounts
from tests.scenario.bound import CLAIMED

PUBLISHING = ("kai", "grove", "kueue", "jobset")
_CORE = ("Job", "Pod", "Service", "Node", "Event", "PriorityClass", *(each.kind for each in CLAIMED))


@asynccontextmanager
async def connected(plane: ControlPlane) -> AsyncIterator[KubernetesApi]:
    """A control plane's API server with all definitions and the roles of the chart, and no objects before and after."""
    async with granted(plane, installed()) as api:
        await clear(api)
        yield api
        await clear(api)


@asynccontextmanager
async def granted(plane: ControlPlane, defined: Iterable[dict[str, Any]]) -> AsyncIterator[KubernetesApi]:
    """A control plane's API server with these definitions and the roles of the chart."""
    async with chart_accounts(plane) as api:
        await define(api, defined)
        yield api


async def left(cluster: Controlled, *kinds: str) -> dict[str, list[str]]:
    """What is left of these kinds when the garbage collector has done its work, at most; then what there is.

    A real one looks for new kinds every half minute.
    """
    found: dict[str, list[str]] = {}
    for _ in range(200):
        found = {kind: names for kind in kinds if (names := await cluster.names(kind))}
        if not found:
            break
        await cluster.settle(0.5)
    return found


def installed() -> Sequence[dict[str, Any]]:
    """The definitions that a real server gets: ours, or with ``PUBLISHED=1`` those that the projects publish."""
    if os.environ.get("PUBLISHED") != "1":
        return definitions()
    theirs = [each for project in PUBLISHING for each in published_definitions(project)]
    for each in theirs:
        # Who would convert does not run here.
        each["spec"].pop("conversion", None)
    named = {each["metadata"]["name"] for each in theirs}
    return [*theirs, *(each for each in definitions() if each["metadata"]["name"] not in named)]


async def define(api: KubernetesApi, defined: Iterable[dict[str, Any]]) -> None:
    """Make definitions of all kinds where they are not there yet, and return when they are served."""
    wanted = {(one.group, one.kind) for family in FAMILIES.values() for one in family}

    async def served() -> bool:
        return wanted <= {(each.group, each.kind) for each in await api.resources()}

    if await served():
        return
    for definition in defined:
        with suppress(AlreadyExistsError):
            await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    async with asyncio.timeout(60):
        # The server tells nobody when a definition is served.
        while not await served():  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def clear(api: KubernetesApi) -> None:
    """Delete all objects that tests create, until none is left.

    All kinds at once: a server that was told of a kind just now keeps who lists it waiting for a second.
    """
    kinds = {one.kind for family in FAMILIES.values() for one in family} | set(_CORE)
    async with asyncio.timeout(180):
        resources = [each for each in await api.resources() if each.kind in kinds]
        while any(await asyncio.gather(*(_deleted(api, each) for each in resources))):  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def _deleted(api: KubernetesApi, resource: Resource) -> int:
    """How many objects of a kind there were to delete."""
    there = [each["metadata"] for each in (await api.list(resource)).items]
    found = [meta for meta in there if not _of_the_server(resource.kind, meta["name"])]
    for meta in found:
        name, namespace = meta["name"], meta.get("namespace", "")
        with suppress(NotFoundError):
            if "deletionTimestamp" in meta and meta.get("finalizers"):
                # Who would take it off has gone with its test.
                without = MergePatch({"metadata": {"finalizers": None}})
                await api.patch(resource, name, without, namespace=namespace)
            await api.delete(resource, name, namespace=namespace, options=DeleteOptions(grace_period=0))
    return len(found)


def _of_the_server(kind: str, name: str) -> bool:
    return (kind == "PriorityClass" and name.startswith("system-")) or (kind, name) == (
        "Service",
        "kubernetes",
    )
