"""The server: one cluster, one address, TLS and a token."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import os
import secrets
from pathlib import Path
from typing import Any, Final, Self

import msgspec
from aiohttp import web

from closeknit.kube.certificates import certificate
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.handler import Handler
from closeknit.kube.embedded.http.watching import Turnstile

WATCHES: Final = 1_000
WATCHES_OF_ONE_CLIENT: Final = 250
PATIENCE: Final = 30.0
"""Seconds that a client may leave what it watches unread."""


class Server:
    """Serves an embedded cluster on loopback.

    Use it as an async context manager, or call ``start`` and ``stop``.
    """

    def __init__(
        self,
        cluster: EmbeddedCluster,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str = "",
        patience: float = PATIENCE,
        watches: int = WATCHES,
        watches_of_one_client: int = WATCHES_OF_ONE_CLIENT,
    ) -> None:
        self.cluster = cluster
        self.token = token or secrets.token_urlsafe(32)
        self._host = host
        self._port = port
        self._certificate = certificate(host, "localhost", *_loopback(host))
        self._turnstile = Turnstile(most=watches, most_of_one=watches_of_one_client)
        self._handler = Handler(cluster, self.token, turnstile=self._turnstile, patience=patience)
        self._runner: web.ServerRunner | None = None

    async def start(self) -> None:
        """Listen."""
        # A watch whose client has gone must not wait for the next event to notice.
        serving = web.Server(self._handler, access_log=None, handler_cancellation=True)
        runner = self._runner = web.ServerRunner(serving, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, self._host, self._port, ssl_context=self._certificate.server_context())
        await site.start()
        self._port = runner.addresses[0][1]

    async def stop(self) -> None:
        """Let go of all clients."""
        self._turnstile.clear()
        if self._runner is not None:
            serving = self._runner.server
            held = [] if serving is None else [each.transport for each in serving.connections]
            await self._runner.cleanup()
            for transport in held:
                # Who keeps a connection open for later would be waited for, to say goodbye.
                if transport is not None:
                    transport.abort()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def address(self) -> str:
        """Where clients find it."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"https://{host}:{self._port}"

    @property
    def authority(self) -> bytes:
        """The certificate that clients trust, as PEM."""
        return self._certificate.authority

    def kubeconfig(self) -> dict[str, Any]:
        """What kubectl needs to reach it."""
        name = "closeknit"
        trusted = base64.b64encode(self.authority).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": name,
                    "cluster": {
                        "server": self.address,
                        "certificate-authority-data": trusted,
                        "extensions": [{"name": "closeknit.dev/process", "extension": {"pid": os.getpid()}}],
                    },
                }
            ],
            "users": [{"name": name, "user": {"token": self.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }

    def write_kubeconfig(self, path: Path) -> None:
        """Write what kubectl needs into a file that only its owner can read."""
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(self._kubeconfig_file())
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def remove_kubeconfig(self, path: Path) -> None:
        """Remove the file where it still points here: another server may have written its own since."""
        with contextlib.suppress(OSError):
            if path.read_bytes() == self._kubeconfig_file():
                path.unlink()

    def _kubeconfig_file(self) -> bytes:
        # JSON is YAML, and kubectl reads both.
        return msgspec.json.format(msgspec.json.encode(self.kubeconfig()), indent=2) + b"\n"


def _loopback(host: str) -> tuple[str, ...]:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ()
    return tuple(one for one in ("127.0.0.1", "::1") if address.is_loopback and one != host)
