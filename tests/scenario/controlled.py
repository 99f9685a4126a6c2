"""Where controllers are tried: the embedded cluster in a time that is moved, and in ``make e2e`` a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.errors import AlreadyExistsError, NotFoundError
from closeknit.kube.port import DeleteOptions, KubernetesApi
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from closeknit.kube.rest import connect, load_access
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.controlling import Controlled, definitions

REAL = "kube-apiserver"
_CORE = ("Job", "Pod", "Node", "Event", "PriorityClass")


@pytest.fixture(params=["embedded", pytest.param(REAL, marks=pytest.mark.e2e)])
async def real(request: pytest.FixtureRequest) -> AsyncIterator[KubernetesApi | None]:
    """A real API server with all definitions and no objects; None for an embedded cluster."""
    if request.param != REAL:
        yield None
        return
    async with connected(request.getfixturevalue("plane")) as api:
        yield api


@asynccontextmanager
async def connected(plane: ControlPlane) -> AsyncIterator[KubernetesApi]:
    """A control plane's API server with all definitions, and no objects before and after."""
    async with connect(load_access(kubeconfig=str(plane.kubeconfig)), component="scenario") as api:
        await define(api)
        await clear(api)
        yield api
        await clear(api)


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


async def define(api: KubernetesApi) -> None:
    """Definitions of all kinds, and return when they are served."""
    for definition in definitions():
        with suppress(AlreadyExistsError):
            await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    wanted = {(one.group, one.kind) for family in FAMILIES.values() for one in family}
    async with asyncio.timeout(60):
        # The server tells nobody when a definition is served.
        while not wanted <= {(each.group, each.kind) for each in await api.resources()}:  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def clear(api: KubernetesApi) -> None:
    """Delete all objects that tests create, until none is left."""
    kinds = {one.kind for family in FAMILIES.values() for one in family} | set(_CORE)
    async with asyncio.timeout(60):
        while True:
            left = 0
            for resource in await api.resources():
                if resource.kind not in kinds:
                    continue
                for each in (await api.list(resource)).items:
                    meta = each["metadata"]
                    if resource.kind == "PriorityClass" and meta["name"].startswith("system-"):
                        continue
                    left += 1
                    with suppress(NotFoundError):
                        await api.delete(
                            resource,
                            meta["name"],
                            namespace=meta.get("namespace", ""),
                            options=DeleteOptions(grace_period=0),
                        )
            if not left:
                return
            await asyncio.sleep(0.2)
