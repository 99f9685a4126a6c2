"""One scheduler on a cluster with faults that a test means: an embedded cluster, or a real API server behind a proxy."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any, TypeAlias

import structlog

from closeknit.installation.privileges import Component
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import NotFoundError, TooManyRequestsError, UnavailableError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import LEASES, NODES, PODS
from closeknit.kube.rest import connect
from closeknit.kube.rest.access import Connection, FixedAccess
from closeknit.live.leadership import LeaseName
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.testing.accounts import access_of, seen_by
from closeknit.testing.auditor import Cluster, audit
from closeknit.testing.clock import HandClock, SkewedClock
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.fault_proxy import FaultProxy
from closeknit.testing.rendered import NAMESPACE
from tests.scenario import bound
from tests.scenario.bound import DEFINITIONS, POD_GROUPS, TOPOLOGIES, Json
from tests.scenario.controlled import connected
from tests.scenario.storm_faults import Faults

Rule: TypeAlias = Callable[[str, str], Awaitable[str]]
"""Which fault a call has, by its verb and the name of its object: refused, busy, lost, hang; empty for none."""
_SUBRESOURCE = re.compile(r"/pods/(?P<name>[^/?]+)/(?P<verb>binding|eviction)$")
_VERBS = {"GET": "read", "POST": "create", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}


async def fair(_verb: str, _name: str) -> str:
    """No fault."""
    return ""


class PortFaults(Faults):
    """The faults of a rule, at the port."""

    def __init__(self, api: Any, clock: Clock) -> None:
        super().__init__(api, Random(1), clock)
        self.rule: Rule = fair

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)
        if name == "watch":
            return method
        verb = "read" if name in ("get", "list") else name

        async def call(*given: Any, **named: Any) -> Any:
            fault = await self.rule(verb, next((each for each in given if isinstance(each, str)), ""))
            if fault == "hang":
                await asyncio.get_running_loop().create_future()
            if fault == "busy":
                raise TooManyRequestsError("Not now.", retry_after=1)
            if fault == "refused":
                raise UnavailableError("The connection broke.")
            answer = await method(*given, **named)
            if fault == "lost":
                raise UnavailableError("The connection broke.")
            return answer

        return call


class Bed:
    """A cluster, the scheduler's troubled way to it, and the time."""

    def __init__(self, cluster: KubernetesApi, clock: Clock, namespace: str = "default") -> None:
        self.cluster = cluster
        """Without faults, for the test itself."""
        self.lease = LeaseName(namespace=namespace, name="closeknit-scheduler")
        """Where the role of the scheduler has one."""
        self.clock = clock
        self.shown = SkewedClock(clock)
        """The scheduler's own clock."""
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def real(self) -> bool:
        """Whether time passes by itself."""
        return not isinstance(self.clock, HandClock)

    def start(self, api: Any, identity: str = "first", *, leading: bool = False) -> Instance:
        """A scheduler that works from now on, or as soon as it has the lease."""
        made = Instance(
            seen_by(Component.SCHEDULER, api),
            Settings(),
            identity=identity,
            log=structlog.wrap_logger(structlog.ReturnLogger()),
            random=Random(len(self.tasks)),
            lease=self.lease if leading else None,
            clock=self.shown,
        )
        self.tasks.append(asyncio.create_task(made.run()))
        return made

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        if isinstance(self.clock, HandClock):
            for _ in range(int(seconds / 0.25)):
                await self.clock.advance(0.25)
        else:
            await asyncio.sleep(seconds)

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
        """Let time pass until something holds."""
        end = self.clock.monotonic() + seconds
        while not await holds():
            assert self.clock.monotonic() < end, "It does not happen."
            await self.wait(0.25)

    async def create(self, *objects: Json) -> None:
        """Make objects."""
        made = [
            {**each, "metadata": {k: v for k, v in each["metadata"].items() if k != "uid"}}
            for each in objects
        ]
        await bound.create(self.cluster, made)

    async def nodes(self) -> dict[str, str]:
        """The node of every pod; empty for one that waits."""
        return await bound.nodes_of(self.cluster)

    async def all_bound(self) -> bool:
        """Whether every pod has a node."""
        return all((await self.nodes()).values())

    async def wrong(self) -> list[str]:
        """What an auditor says."""
        lists = [(await self.cluster.list(each)).items for each in (NODES, PODS, POD_GROUPS, TOPOLOGIES)]
        return audit(Cluster(*lists))

    async def has_lease(self, identity: str) -> bool:
        """Whether this scheduler has the lease."""
        with suppress(NotFoundError):
            found = await self.cluster.get(LEASES, self.lease.name, namespace=self.lease.namespace)
            return bool(found["spec"].get("holderIdentity") == identity)
        return False

    async def end(self) -> None:
        """End all schedulers."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class Way:
    """A troubled way to a cluster, whose faults are set by ``rule``, ``cut_watches`` and ``away``."""

    def __init__(self, api: Any, faults: PortFaults | FaultProxy) -> None:
        self.api = api
        self._faults = faults
        self.rule: Rule = fair
        self._away = False
        if isinstance(faults, FaultProxy):
            faults.rule = self._of_request
        else:
            faults.rule = self._of_call

    def away(self, away: bool) -> None:
        """Whether nobody is there at all."""
        self._away = away
        self.cut_watches()

    def cut_watches(self) -> None:
        """Lose all watches."""
        if isinstance(self._faults, FaultProxy):
            self._faults.cut_watches()
        else:
            self._faults.lose_watches()

    async def _of_call(self, verb: str, name: str) -> str:
        return "refused" if self._away else await self.rule(verb, name)

    async def _of_request(self, method: str, path: str) -> str:
        if self._away:
            return "refused"
        if (found := _SUBRESOURCE.search(path)) is not None:
            return await self.rule({"binding": "bind", "eviction": "evict"}[found["verb"]], found["name"])
        return await self.rule(_VERBS[method], path.partition("?")[0].rpartition("/")[2])


@asynccontextmanager
async def embedded() -> AsyncIterator[tuple[Bed, Way]]:
    """An embedded cluster, in a time that is moved."""
    clock = HandClock()
    cluster = EmbeddedCluster(DEFINITIONS, clock=clock, dice=Random(1))
    bed = Bed(cluster, clock)
    faults = PortFaults(cluster, clock)
    try:
        yield bed, Way(faults, faults)
    finally:
        await bed.end()
        await cluster.close()


@asynccontextmanager
async def real(plane: ControlPlane) -> AsyncIterator[tuple[Bed, Way]]:
    """A real API server; only the first scheduler goes through the proxy."""
    access = access_of(Component.SCHEDULER, plane)
    async with connected(plane) as direct:
        proxy = FaultProxy(access, Random(1))
        who = (await access.connection()).authorization
        async with (
            proxy.listening(),
            connect(FixedAccess(Connection(proxy.address, authorization=who)), component="troubled") as api,
        ):
            bed = Bed(direct, SYSTEM_CLOCK, NAMESPACE)
            with suppress(NotFoundError):
                await direct.delete(LEASES, bed.lease.name, namespace=NAMESPACE)
            try:
                yield bed, Way(api, proxy)
            finally:
                await bed.end()
