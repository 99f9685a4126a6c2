"""A Kubernetes API that goes wrong while it storms: lost writes, lost watches, and a server that is away."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from random import Random
from typing import Any

from closeknit.kube.clock import Clock
from closeknit.kube.errors import TooManyRequestsError, UnavailableError

_WRITES = frozenset({"bind", "create", "evict", "patch", "replace"})
_AFTERMATH = 35.0
"""Seconds after which whoever follows has caught up: the longest wait between two attempts, and some more."""


class Faults:
    """Passes calls on, some of which it loses, and counts what it did."""

    def __init__(self, api: Any, dice: Random, clock: Clock) -> None:
        self._api, self._dice, self._clock = api, dice, clock
        self.share = 0.0
        """How many of the writes are lost, before or after they are carried out."""
        self.done: Counter[str] = Counter()
        self._away_until = 0.0
        self._broken = asyncio.Event()
        self._last = -_AFTERMATH

    def leave(self, seconds: float) -> None:
        """Be away for so long: nothing is answered, and every watch is lost."""
        self._away_until = self._clock.monotonic() + seconds
        self.lose_watches()
        self._last = self._away_until

    def lose_watches(self) -> None:
        """Lose every watch."""
        self._broken.set()
        self._broken = asyncio.Event()
        self._last = self._clock.monotonic()

    @property
    def settled(self) -> bool:
        """Whether nobody is behind because of a watch that was lost."""
        return self._clock.monotonic() >= self._last + _AFTERMATH

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._api, name)
        if name == "watch":
            return lambda *given, **named: self._watch(method, *given, **named)
        return self._call(method, writes=name in _WRITES)

    def _present(self) -> None:
        if self._clock.monotonic() < self._away_until:
            self.done["calls without a server"] += 1
            raise UnavailableError("Nobody is there.")

    def _call(self, method: Callable[..., Any], *, writes: bool) -> Callable[..., Any]:
        async def call(*given: Any, **named: Any) -> Any:
            self._present()
            if not writes or self._dice.random() >= self.share:
                return await method(*given, **named)
            kind = self._dice.choice(("429", "unsent", "unanswered"))
            self.done[f"writes {kind}"] += 1
            if kind == "429":
                raise TooManyRequestsError("Not now.", retry_after=self._dice.random())
            if kind == "unanswered":
                await method(*given, **named)
            raise UnavailableError("The connection broke.")

        return call

    async def _watch(
        self, method: Callable[..., Any], *given: Any, **named: Any
    ) -> AsyncGenerator[Any, None]:
        self._present()
        broken = asyncio.ensure_future(self._broken.wait())
        events = aiter(method(*given, **named))
        coming: asyncio.Future[Any] | None = None
        try:
            while True:
                coming = asyncio.ensure_future(anext(events))
                await asyncio.wait({coming, broken}, return_when=asyncio.FIRST_COMPLETED)
                if broken.done():
                    self.done["watches lost"] += 1
                    raise UnavailableError("The watch was lost.")
                try:
                    yield coming.result()
                except StopAsyncIteration:
                    return
        finally:
            pending = [each for each in (broken, coming) if each is not None]
            for each in pending:
                each.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
            await events.aclose()
