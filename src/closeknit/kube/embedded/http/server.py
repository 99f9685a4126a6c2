"""The server: one cluster, one address, TLS, a token and limits."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import os
import secrets
from pathlib import Path
from typing import Any, Self

import msgspec

from closeknit.kube.certificates import certificate
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http import answers
from closeknit.kube.embedded.http.handler import Handler
from closeknit.kube.embedded.http.limits import Limits
from closeknit.kube.embedded.http.watching import Turnstile
from closeknit.kube.listening import Listener


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
        limits: Limits | None = None,
    ) -> None:
        self.cluster = cluster
        self.token = token or secrets.token_urlsafe(32)
        self._host = host
        self._port = port
        self._certificate = certificate(host, "localhost", *_loopback(host))
        limits = limits or Limits()
        self._turnstile = Turnstile(most=limits.watches, most_of_one=limits.watches_of_one_client)
        handler = Handler(cluster, self.token, turnstile=self._turnstile, limits=limits)
        self._listener = Listener(handler, answers.unanswered, limits.bounds)

    async def start(self) -> None:
        """Listen."""
        self._port = await self._listener.start(self._host, self._port, self._certificate.server_context())

    async def stop(self) -> None:
        """Let go of all clients."""
        self._turnstile.clear()
        await self._listener.stop()

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
