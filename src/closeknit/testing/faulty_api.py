"""A Kubernetes API one of whose writes goes wrong, at a point that a test chooses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from enum import Enum
from typing import Any, TypeAlias

from closeknit.kube.errors import UnavailableError
from closeknit.kube.port import Change, KubernetesApi
from closeknit.kube.resources import Resource


class Fault(Enum):
    """What happens to one write."""

    KILLED_BEFORE = "killed before"
    """The process dies before the write is sent."""
    KILLED_AFTER = "killed after"
    """The process dies after the write was carried out, and before it hears of it."""
    UNSENT = "unsent"
    """The connection breaks before the write is carried out."""
    UNANSWERED = "unanswered"
    """The write is carried out, and its answer is lost."""


Point: TypeAlias = int | Callable[[Sequence[str]], bool] | None

_WRITES = frozenset({"bind", "create", "delete", "delete_collection", "evict", "patch", "replace"})


class _Late:
    """Which changes watches hold back."""

    def __init__(self) -> None:
        self.kind = ""
        self.what: Callable[[Any], bool] = bool
        self.over = asyncio.Event()


class FaultyApi:
    """Passes everything on to another API, and counts the writes.

    After a fault that kills, no call is ever answered: whoever uses it is dead, and ``killed`` is set.
    """

    def __init__(self, api: KubernetesApi, point: Point = None, fault: Fault = Fault.UNSENT) -> None:
        """``point``: the number of the write that goes wrong, or what is true of the writes up to it."""
        self._api = api
        self._point = point
        self._fault = fault
        self.writes: list[str] = []
        """Each write so far: what was done to whom."""
        self.bound: list[tuple[str, str]] = []
        """Each binding that was carried out: the pod's uid and its node."""
        self.killed = asyncio.Event()
        self._late = _Late()

    def hold_back(self, kind: str, what: Callable[[Any], bool]) -> None:
        """Let watches of a kind tell nothing from the first change on that leads to such an object."""
        self._late.kind, self._late.what = kind, what
        self._late.over.clear()

    def catch_up(self) -> None:
        """Let them tell what they have held back, and all that follows."""
        self._late.kind = ""
        self._late.over.set()

    def over(self, api: KubernetesApi) -> FaultyApi:
        """The same with another connection: writes to both are counted together, and both die together."""
        made = FaultyApi(api, self._point, self._fault)
        made.writes, made.bound, made.killed, made._late = self.writes, self.bound, self.killed, self._late
        return made

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._api, name)
        if name in _WRITES:
            return self._writing(name, method)
        return self._watching(method) if name == "watch" else self._reading(method)

    def _reading(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def read(*given: Any, **named: Any) -> Any:
            await self._while_alive()
            return await method(*given, **named)

        return read

    def _watching(self, method: Callable[..., AsyncGenerator[Any, None]]) -> Callable[..., Any]:
        async def watch(resource: Resource, *given: Any, **named: Any) -> AsyncGenerator[Any, None]:
            async with aclosing(method(resource, *given, **named)) as events:
                async for event in events:
                    late = self._late
                    if resource.kind == late.kind and isinstance(event, Change) and late.what(event.object):
                        await late.over.wait()
                    yield event

        return watch

    def _writing(self, name: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def carried_out(*given: Any, **named: Any) -> Any:
            answer = await method(*given, **named)
            if name == "bind":
                self.bound.append((named["uid"], given[1]))
            return answer

        async def write(*given: Any, **named: Any) -> Any:
            await self._while_alive()
            self.writes.append(" ".join([name, *filter(None, map(_shown, given))]))
            if not self._goes_wrong():
                return await carried_out(*given, **named)
            match self._fault:
                case Fault.KILLED_BEFORE:
                    await self._die()
                case Fault.KILLED_AFTER:
                    await carried_out(*given, **named)
                    await self._die()
                case Fault.UNANSWERED:
                    await carried_out(*given, **named)
                case Fault.UNSENT:
                    pass
            raise UnavailableError("The connection broke.")

        return write

    def _goes_wrong(self) -> bool:
        point = self._point
        return point(self.writes) if callable(point) else point == len(self.writes) - 1

    async def _die(self) -> None:
        self.killed.set()
        await self._while_alive()

    async def _while_alive(self) -> None:
        if self.killed.is_set():
            await asyncio.get_running_loop().create_future()


def _shown(given: Any) -> str:
    """What a write is about, from one of its arguments."""
    if isinstance(given, Resource):
        return given.kind
    if isinstance(given, Mapping):
        return str(given["metadata"].get("name", ""))
    return given if isinstance(given, str) else ""
