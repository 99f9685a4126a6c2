"""Controllers at work on an embedded cluster in a time that tests move, or on a real API server.

Every write of the controllers is counted and can be made to fail; a process that dies is replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import cache
from random import Random
from typing import Any

import structlog

from closeknit.apis.closeknit_keys import APPLIED
from closeknit.controllers.instance import Controllers
from closeknit.controllers.operators import OPERATORS
from closeknit.controllers.runtime.controller import Operator
from closeknit.dialects.definitions import FAMILIES
from closeknit.dialects.store.store import Entry
from closeknit.dialects.store.view import View
from closeknit.installation.privileges import Component
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import DELETE, DeleteOptions, KubernetesApi, MergePatch, Object
from closeknit.kube.resources import Resource
from closeknit.kube.standins import run_standins
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.testing.accounts import seen_by
from closeknit.testing.clock import HandClock
from closeknit.testing.faulty_api import Fault, FaultyApi, Point
from closeknit.testing.guarded_api import GuardedApi
from closeknit.testing.rest import still_to_come

_STEP = 0.25
_QUIET = 4
"""Steps without anything under way after which nothing more is expected."""
_SOON = 5.0
"""Seconds within which what failed, or waits for a moment, is waited for."""
_PATIENCE = 1200
"""Steps after which something should have come to rest."""
_OF_THE_SERVER = frozenset(
    {
        APPLIED,  # It is made of uids too.
        "creationTimestamp",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "observedGeneration",
        "resourceVersion",
        "uid",
    }
)


class Controlled:
    """A cluster, and the controllers that look after it."""

    def __init__(
        self,
        api: KubernetesApi,
        clock: Clock,
        operators: Sequence[Operator],
        resources: Iterable[Resource],
        *,
        point: Point = None,
        fault: Fault = Fault.UNSENT,
        scheduler: bool = False,
        standins: bool = False,
        settings: Sequence[Entry] = (),
    ) -> None:
        self.cluster = api
        """For what tests do and ask themselves."""
        self.clock = clock
        self.api = FaultyApi(api, point, fault)
        """Through which the controllers work; after a crash, the one that died."""
        self.restarts = 0
        self.log: list[str] = []
        """What the controllers have warned about."""
        self._operators = operators
        self._operator_settings = settings
        served = list(resources)
        self._served = {(each.api_version, each.kind): each for each in served}
        self._resources = {each.kind: each for each in reversed(served)}
        self._successor = FaultyApi(api)
        self._settings = Settings() if scheduler else None
        self._guards: list[GuardedApi] = []
        self._work: list[asyncio.Task[None]] = []
        self._instances: list[Controllers | Instance] = []
        self._start(self.api)
        self._beside = [asyncio.create_task(self._replace())]
        self._kubelets = standins
        if standins:
            # A real control plane has the controllers of Jobs itself.
            alone = isinstance(clock, HandClock)
            kubelets = run_standins(api, clock=clock, random=Random(3), controllers=alone)
            self._beside.append(asyncio.create_task(kubelets))

    @property
    def writes(self) -> list[str]:
        """Each write of the controllers: what was done to whom; events are told by others."""
        return [each for each in (*self.api.writes, *self._successor.writes) if "Event" not in each]

    @property
    def view(self) -> View | None:
        """What the controllers know of the cluster; None while they do not work."""
        for each in self._instances:
            if isinstance(each, Controllers) and each.loop is not None:
                return each.loop.state.view
        return None

    async def create(self, *objects: Mapping[str, Any]) -> None:
        """Make objects, one after the other."""
        for each in objects:
            resource = self._served[each["apiVersion"], each["kind"]]
            await self.cluster.create(resource, _with_namespace(each, self._resources))

    async def get(self, kind: str, name: str, namespace: str = "default") -> Object:
        """One object."""
        resource = self._resources[kind]
        return await self.cluster.get(resource, name, namespace=namespace if resource.namespaced else "")

    async def every(self, kind: str) -> list[Object]:
        """All objects of a kind, in the order of their names."""
        return (await self.cluster.list(self._resources[kind])).items

    async def names(self, kind: str) -> list[str]:
        """The names of all objects of a kind."""
        return [each["metadata"]["name"] for each in await self.every(kind)]

    async def patch(
        self,
        kind: str,
        name: str,
        body: Mapping[str, Any],
        *,
        subresource: str = "",
        namespace: str = "default",
    ) -> Object:
        """Change an object as a user would."""
        resource = self._resources[kind]
        within = namespace if resource.namespaced else ""
        return await self.cluster.patch(
            resource, name, MergePatch(body), namespace=within, subresource=subresource
        )

    async def delete(
        self, kind: str, name: str, *, namespace: str = "default", options: DeleteOptions = DELETE
    ) -> None:
        """Delete an object as a user would."""
        resource = self._resources[kind]
        within = namespace if resource.namespaced else ""
        await self.cluster.delete(resource, name, namespace=within, options=options)

    async def settle(self, seconds: float) -> None:
        """Let time pass."""
        if isinstance(self.clock, HandClock):
            for _ in range(max(int(seconds / _STEP), 1)):
                await self.clock.advance(_STEP)
        else:
            await asyncio.sleep(seconds)

    async def quiet(self) -> None:
        """Return when nothing was under way for a second, and nothing on the server is about to change."""
        rest, before, to_come = 0, 0, "The controllers are at work."
        for _ in range(_PATIENCE):
            await self.settle(_STEP)
            for task in (*self._work, *self._beside):
                if task.done() and not task.cancelled():
                    task.result()
            written = len(self.api.writes) + len(self._successor.writes)
            rest = rest + 1 if self._is_idle() and written == before else 0
            before = written
            if rest >= _QUIET:
                following = [each.following for each in self._instances]
                to_come = await still_to_come(self.cluster, following, kubelets_at=self._kubelets_at())
                if not to_come and self._is_idle():
                    return
        raise AssertionError(f"The cluster does not come to rest. {to_come}")

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Return when something holds."""
        for _ in range(_PATIENCE):
            if await holds():
                return
            await self.settle(_STEP)
        raise AssertionError("It does not come to that.")

    async def restart(self, settings: Sequence[Entry] | None = None) -> None:
        """Let the process die and start another, with other settings where some are given."""
        await self._kill()
        self._operator_settings = self._operator_settings if settings is None else settings
        self._start(self._successor)
        self.restarts += 1

    async def objects(self, *kinds: str) -> dict[str, Any]:
        """All objects of some kinds, by kind, namespace and name, without what differs from run to run."""
        return {
            f"{kind} {each['metadata'].get('namespace', '')}/{each['metadata']['name']}": without_chance(each)
            for kind in kinds
            for each in await self.every(kind)
        }

    async def end(self) -> None:
        """Let everybody go; what they raised is raised here."""
        await self._kill()
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        refused = sorted({each for guard in self._guards for each in guard.refused})
        refused += [line for line in self.log if "forbidden" in line]
        assert not refused, f"Roles (installation/privileges) do not allow what was asked for: {refused}"

    def _is_idle(self) -> bool:
        return all(
            each.following is not None and each.idle and not each.untold for each in self._instances
        ) and not any(
            isinstance(each, Controllers) and each.loop is not None and each.loop.rest < _SOON
            for each in self._instances
        )

    def _kubelets_at(self) -> datetime | None:
        """The time at which kubelets' stand-ins work, where they can fall behind."""
        return self.clock.now() if self._kubelets and not isinstance(self.clock, HandClock) else None

    def _start(self, api: FaultyApi) -> None:
        log = structlog.wrap_logger(structlog.ReturnLogger(), processors=[self._note])
        bound = self._guarded(api, Component.SCHEDULER)
        # An operator that only a test knows has no role.
        known = all(each in OPERATORS.values() for each in self._operators)
        own = self._guarded(api, Component.CONTROLLERS) if known else None
        self._guards += (bound,) if own is None else (bound, own)
        controllers = Controllers(
            own or api,
            self._operators,
            identity="test",
            log=log,
            random=Random(2),
            clock=self.clock,
            settings=self._operator_settings,
        )
        self._instances = [controllers]
        if self._settings is not None:
            self._instances.append(
                Instance(bound, self._settings, identity="test", log=log, random=Random(2), clock=self.clock)
            )
        self._work = [asyncio.create_task(each.run()) for each in self._instances]

    def _guarded(self, api: FaultyApi, component: Component) -> GuardedApi:
        return GuardedApi(api.over(seen_by(component, self.cluster)), component)

    def _note(self, _: Any, method: str, facts: Mapping[str, Any]) -> str:
        if method == "warning":
            self.log.append(" ".join(str(each) for each in facts.values()))
        return ""

    async def _replace(self) -> None:
        await self.api.killed.wait()
        await self.restart()

    async def _kill(self) -> None:
        for task in self._work:
            task.cancel()
        ended = await asyncio.gather(*self._work, return_exceptions=True)
        for each in ended:
            if isinstance(each, Exception):
                raise each


@asynccontextmanager
async def controlling(
    operators: Sequence[Operator],
    *objects: Mapping[str, Any],
    real: KubernetesApi | None = None,
    point: Point = None,
    fault: Fault = Fault.UNSENT,
    scheduler: bool = False,
    standins: bool = False,
    settings: Sequence[Entry] = (),
) -> AsyncIterator[Controlled]:
    """Controllers at work on a cluster with these objects: embedded and in a time that is moved, or real.

    The ``point``-th write, counted from 0, has the fault.
    """
    clock = HandClock()
    embedded = EmbeddedCluster(definitions(), clock=clock, dice=Random(1)) if real is None else None
    api = embedded or real
    assert api is not None
    made = Controlled(
        api,
        clock if embedded is not None else SYSTEM_CLOCK,
        operators,
        await api.resources(),
        point=point,
        fault=fault,
        scheduler=scheduler,
        standins=standins,
        settings=settings,
    )
    try:
        await made.create(*objects)
        yield made
    finally:
        with suppress(asyncio.CancelledError):
            await made.end()
        if embedded is not None:
            await embedded.close()


async def crash_everywhere(
    live: Callable[[int | None, Fault], Any], faults: Sequence[Fault] = tuple(Fault), every: int = 1
) -> int:
    """Live once undisturbed, and then with each fault at each ``every``-th write: all must come to the same.

    Each fault begins at a write of its own, so that as many faults as ``every`` leave no write out.
    ``live(point, fault)`` returns what it has come to and the number of writes. Returns the number of lives.
    """
    expected, writes = await live(None, Fault.UNSENT)
    runs = 0
    for fault in faults:
        for point in range(tuple(Fault).index(fault) % every, writes, every):
            found, _ = await live(point, fault)
            # pytest shows little of what is large.
            differing = "\n".join(differences(expected, found))
            assert not differing, f"{fault.value} at write {point}:\n{differing}"
            runs += 1
    return runs


@cache
def definitions() -> Sequence[dict[str, Any]]:
    """The definitions of all kinds of all families; written once, as that takes as long as many a test."""
    return tuple(one.written() for family in FAMILIES.values() for one in family)


def without_chance(value: Any) -> Any:
    """An object without what a server or the moment adds to it, so that two runs can be compared."""
    if isinstance(value, Mapping):
        return {
            name: without_chance(inner)
            for name, inner in value.items()
            if name not in _OF_THE_SERVER and not name.endswith(("Time", "Timestamp", "controller-uid"))
        }
    if isinstance(value, list):
        return [without_chance(each) for each in value]
    return value


def differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """Where two values made of mappings and lists differ, a line each."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for name in sorted({*expected, *found}):
            yield from differences(expected.get(name), found.get(name), f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, pair in enumerate(zip(expected, found, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif expected != found:
        yield f"{path}: {expected} is expected, {found} was found"


def _with_namespace(body: Mapping[str, Any], resources: Mapping[str, Resource]) -> Mapping[str, Any]:
    if not resources[body["kind"]].namespaced:
        return body
    return {**body, "metadata": {"namespace": "default", **body["metadata"]}}
