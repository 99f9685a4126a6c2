"""What an operator can ask a running scheduler over HTTP: is it alive, is it ready, its metrics, a snapshot.

It listens on loopback unless told otherwise. Nothing can be changed here. A snapshot shows every object that
the scheduler reads, so it is given only to those who ask from this machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from aiohttp import web

from closeknit.scheduler.metrics import CONTENT_TYPE

LOOPBACK = "127.0.0.1"
_TURN = 64
"""After so many pieces of a snapshot, others get a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """What is asked."""

    alive: Callable[[], str | None]
    """Why the process should be restarted; None while it need not."""
    ready: Callable[[], str | None]
    """Why it does no work; None while it does, or waits for its turn."""
    metrics: Callable[[], bytes]
    snapshot: Callable[[], Iterator[bytes]]
    """The pieces of a document; what it shows is settled before the first piece."""
    roles: Callable[[], Mapping[str, str]] = dict
    """By lease, what this instance does: whether it leads, or waits for its turn."""


class HealthServer:
    """Answers on one address."""

    def __init__(self, probes: Probes, *, host: str = LOOPBACK, port: int = 0) -> None:
        self._probes = probes
        self._host = host
        self._port = port
        self._runner: web.AppRunner | None = None

    @property
    def address(self) -> str:
        """Where it listens; the port is known after ``start``."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def start(self) -> None:
        """Listen. Raises OSError where the address is in use."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/debug/snapshot", self._snapshot)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Listen no more."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return _answer(self._probes.alive())

    async def _readyz(self, _: web.Request) -> web.Response:
        return _answer(self._probes.ready(), self._probes.roles())

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._probes.metrics(), headers={"Content-Type": CONTENT_TYPE})

    async def _snapshot(self, request: web.Request) -> web.StreamResponse:
        if not _from_here(request.remote):
            return web.Response(status=403, text="Snapshots are given to this machine only.\n")
        response = web.StreamResponse(headers={"Content-Type": "application/yaml; charset=utf-8"})
        await response.prepare(request)
        for number, piece in enumerate(self._probes.snapshot()):
            await response.write(piece)
            if number % _TURN == 0:
                await asyncio.sleep(0)
        await response.write_eof()
        return response


def _answer(wrong: str | None, roles: Mapping[str, str] = {}) -> web.Response:
    lines = ["ok" if wrong is None else wrong, *(f"{lease}: {role}" for lease, role in roles.items())]
    text = "".join(f"{line}\n" for line in lines)
    return web.Response(text=text, status=200 if wrong is None else 503)


def _from_here(remote: str | None) -> bool:
    try:
        return remote is not None and ip_address(remote).is_loopback
    except ValueError:
        return False
