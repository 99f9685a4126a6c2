"""Tells browsers what changes, by server-sent events: each gets the newest state, however slow it is.

Who has seen the same version gets the same bytes, which are made once.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec
from aiohttp import web

from closeknit.server.documents import Reset
from closeknit.server.live_map import LiveMap

MOST_READERS = 1_000
_PAUSE = 0.5
"""Seconds between two updates, so that a storm of changes makes few messages."""
_KEEP_ALIVE = 15.0


class Stream:
    """All browsers that listen."""

    def __init__(self, live: LiveMap) -> None:
        self._live = live
        self._news = asyncio.Event()
        self._readers = 0
        self._made: dict[tuple[int, int, str], bytes] = {}
        """Messages by generation, the version they go on from, and topology; for the newest version only."""
        self._newest = 0

    async def run(self, changed: asyncio.Event) -> None:
        """Refresh the map whenever something was told, and wake the readers, until cancelled."""
        seen = (0, 0)
        while True:
            await changed.wait()
            changed.clear()
            self._live.refresh()
            # Whoever asks for the map refreshes it too.
            if seen != (self._live.generation, self._live.version):
                seen = (self._live.generation, self._live.version)
                self._news.set()
                self._news = asyncio.Event()
            await asyncio.sleep(_PAUSE)

    @property
    def full(self) -> bool:
        """Whether nobody more can listen."""
        return self._readers >= MOST_READERS

    async def tell(
        self, request: web.Request, topology: str, generation: int, version: int
    ) -> web.StreamResponse:
        """Send what comes after a version, until the reader goes."""
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        self._readers += 1
        try:
            while True:
                news = self._news
                if generation != self._live.generation:
                    body = msgspec.json.encode(Reset(generation=self._live.generation))
                    await response.write(b"event: reset\ndata: " + body + b"\n\n")
                    return response
                if version < self._live.version:
                    message = self._message(generation, version, topology)
                    version = self._live.version
                    await response.write(message)
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(_KEEP_ALIVE):
                        await news.wait()
                        continue
                await response.write(b": still there\n\n")
        except (ConnectionError, asyncio.CancelledError):
            return response
        finally:
            self._readers -= 1

    def _message(self, generation: int, version: int, topology: str) -> bytes:
        if self._newest != self._live.version:
            self._made, self._newest = {}, self._live.version
        key = (generation, version, topology)
        if key not in self._made:
            body = msgspec.json.encode(self._live.update(version, topology))
            self._made[key] = b"event: update\ndata: " + body + b"\n\n"
        return self._made[key]
