"""Whatever happens to connections, mirrors end equal to the server's state."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import TYPE_CHECKING

import pytest

from closeknit.kube.clock import SystemClock
from closeknit.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    DeadlineExceededError,
    NotFoundError,
    UnavailableError,
)
from closeknit.kube.mirror import Changes, Key, Mirror
from closeknit.kube.port import KubernetesApi, MergePatch, Object, Selection
from closeknit.kube.resources import CONFIG_MAPS
from closeknit.kube.rest import Connection, FixedAccess, connect
from closeknit.testing.fault_proxy import NONE, FaultProxy, Faults
from tests.conformance.cluster import PATIENCE, Cluster, eventually
from tests.conformance.conftest import OVER_HTTP, REAL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.conformance.conftest import Served

WRITERS = 4
STEPS = 60


class Hasty(SystemClock):
    """Does not wait as long as it is told, because tests are short."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)


@pytest.fixture(params=[OVER_HTTP, pytest.param(REAL, marks=pytest.mark.e2e)])
def server(request: pytest.FixtureRequest) -> str:
    """Those that listen: within one process there is no connection to break."""
    return str(request.param)


@asynccontextmanager
async def through(served: Served, seed: int) -> AsyncIterator[tuple[KubernetesApi, FaultProxy]]:
    """The same server, through a proxy that goes wrong when told to."""
    assert served.access is not None
    proxy = FaultProxy(served.access, Random(seed))
    async with proxy.listening():
        real = await served.access.connection()
        access = FixedAccess(Connection(proxy.address, authorization=real.authorization))
        async with connect(access, clock=Hasty(), random=Random(seed), deadline=10) as api:
            yield api, proxy


async def write(cluster: Cluster, random: Random, steps: int) -> None:
    """Make, change and delete a few objects again and again; a server that is down is waited for."""
    for step in range(steps):
        # Changes that come one by one are more places to break at.
        await asyncio.sleep(0.005)
        name = f"c{random.randrange(15)}"
        patch = MergePatch({"metadata": {"labels": {"l": str(step % 3)}}, "data": {"step": str(step)}})
        try:
            match random.randrange(4):
                case 0 | 1:
                    await cluster.create_config(name, labels={"l": "0"})
                case 2:
                    await cluster.api.patch(CONFIG_MAPS, name, patch, namespace=cluster.namespace)
                case _:
                    await cluster.api.delete(CONFIG_MAPS, name, namespace=cluster.namespace)
        except (AlreadyExistsError, ConflictError, NotFoundError):
            continue
        except (UnavailableError, DeadlineExceededError):
            await asyncio.sleep(0.1)


async def read(changes: Changes[Object], copy: dict[Key, Object]) -> None:
    """Keep a second copy from notices alone."""
    while True:
        for notice in await changes.take():
            assert copy.get(notice.key) == notice.before
            if notice.after is None:
                del copy[notice.key]
            else:
                copy[notice.key] = notice.after


async def last_write(cluster: Cluster) -> str:
    while True:
        try:
            made = await cluster.create_config("last", labels={"l": "1"})
        except (UnavailableError, DeadlineExceededError):
            await asyncio.sleep(0.1)
        else:
            return str(made["metadata"]["resourceVersion"])


def by_name(objects: Iterable[Object]) -> dict[str, Object]:
    return {each["metadata"]["name"]: each for each in objects}


async def check_mirrors(
    cluster: Cluster,
    api: KubernetesApi,
    proxy: FaultProxy,
    *,
    seed: int,
    faults: Faults = NONE,
    trouble: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Write while mirrors follow through the faults; then let it be quiet, and compare."""
    selections = [
        Selection(namespace=cluster.namespace),
        Selection(namespace=cluster.namespace, labels="l=1"),
        Selection(namespace=cluster.namespace, labels="l!=1"),
    ]
    mirrors: list[Mirror[Object]] = [
        Mirror(api, CONFIG_MAPS, each, random=Random(seed), clock=Hasty(), page_size=4) for each in selections
    ]
    copies: list[dict[Key, Object]] = [{} for _ in mirrors]
    readers = [mirror.changes() for mirror in mirrors]
    tasks = [asyncio.create_task(mirror.run()) for mirror in mirrors]
    tasks += [
        asyncio.create_task(read(reader.__enter__(), copy))
        for reader, copy in zip(readers, copies, strict=True)
    ]
    try:
        proxy.faults = faults
        writing = [write(cluster, Random(f"{seed}-{each}"), STEPS) for each in range(WRITERS)]
        await asyncio.gather(*writing, *([trouble()] if trouble else []))
        proxy.faults = NONE
        version = await last_write(cluster)
        # Which of the selections hears of the last write is known; the others are asked until they agree.
        await asyncio.wait_for(mirrors[0].reached(version), PATIENCE)
        await asyncio.wait_for(mirrors[1].reached(version), PATIENCE)
        for mirror, selection, copy in zip(mirrors, selections, copies, strict=True):
            page = await cluster.api.list(CONFIG_MAPS, selection)
            want = by_name(page.items)

            async def agrees(
                mirror: Mirror[Object] = mirror,
                copy: dict[Key, Object] = copy,
                want: dict[str, Object] = want,
            ) -> bool:
                return by_name(mirror) == by_name(copy.values()) == want

            await eventually(agrees)
        for task in tasks:
            assert not task.done(), task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(Faults(cut=0.95), id="watches break"),
        pytest.param(Faults(cut=0.95, refused=0.2), id="and connections are cut"),
        pytest.param(Faults(cut=0.95, expired=0.5), id="versions expire in the middle of a resume"),
        pytest.param(Faults(cut=0.95, busy=0.5), id="a storm of 429"),
        pytest.param(Faults(cut=0.95, expired=0.6, lost=0.5), id="answers are lost"),
        pytest.param(Faults(refused=0.2, cut=0.95, expired=0.5, busy=0.3, lost=0.3), id="everything at once"),
    ],
)
async def test_mirrors_end_equal_to_the_server(
    cluster: Cluster, served: Served, faults: Faults, seed: int
) -> None:
    async with through(served, seed) as (api, proxy):
        await check_mirrors(cluster, api, proxy, seed=seed, faults=faults)
        assert sum(proxy.done.values()) >= 3


async def test_mirrors_survive_a_server_that_restarts_under_load(cluster: Cluster, served: Served) -> None:
    async def trouble() -> None:
        for _ in range(2):
            await asyncio.sleep(0.2)
            await served.forget()

    async with through(served, 1) as (api, proxy):
        await check_mirrors(cluster, api, proxy, seed=1, trouble=trouble)


async def test_writes_through_faults_are_carried_out_or_refused_and_never_halves(
    cluster: Cluster, served: Served
) -> None:
    """What was answered is there; what was not may be there, and then whole."""
    async with through(served, 5) as (api, proxy):
        proxy.faults = Faults(refused=0.2, lost=0.2, busy=0.2)
        answered: set[str] = set()
        for number in range(60):
            name = f"w{number}"
            body = cluster.config(name, data={"a": name, "b": name})
            with suppress(ApiError):
                await api.create(CONFIG_MAPS, body)
                answered.add(name)
        proxy.faults = NONE
        page = await cluster.api.list(CONFIG_MAPS, Selection(namespace=cluster.namespace))

    found = {each["metadata"]["name"]: each["data"] for each in page.items}
    assert answered <= set(found)
    assert answered != set(found)
    assert all(data == {"a": name, "b": name} for name, data in found.items())


async def test_a_connection_that_falls_silent_is_replaced(cluster: Cluster, served: Served) -> None:
    """As one does whose other end is gone without a word: nothing fails, and nothing comes."""
    here = Selection(namespace=cluster.namespace)
    async with through(served, 7) as (api, proxy):
        mirror: Mirror[Object] = Mirror(api, CONFIG_MAPS, here, random=Random(7), silence=1.0)
        task = asyncio.create_task(mirror.run())
        try:
            await mirror.synced()
            first = await cluster.create_config("first")
            await asyncio.wait_for(mirror.reached(first["metadata"]["resourceVersion"]), PATIENCE)
            proxy.silence_watches()
            second = await cluster.create_config("second")
            await asyncio.wait_for(mirror.reached(second["metadata"]["resourceVersion"]), PATIENCE)
            assert mirror.repairs.silent_watches >= 1
            page = await cluster.api.list(CONFIG_MAPS, here)
            assert by_name(mirror) == by_name(page.items)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
