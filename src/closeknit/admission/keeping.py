"""Where certificates are kept: in memory, in a Secret that all replicas share, or in files of others."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from closeknit.admission.certificates import Kept, renewed
from closeknit.kube.certificates import Certificate
from closeknit.kube.clock import Clock
from closeknit.kube.errors import AlreadyExistsError, ConflictError, NotFoundError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import SECRETS

_TRIES = 5


class UnusableCertificateError(Exception):
    """The certificate that was given cannot be used. The message says why."""


class Keeper(Protocol):
    """Keeps certificates, and renews them where that is its task."""

    async def look(self) -> Kept:
        """What is to be shown and trusted now."""


@dataclass(slots=True)
class InMemory:
    """Certificates of one process, which go with it."""

    hosts: tuple[str, ...]
    clock: Clock
    _kept: Kept | None = None

    async def look(self) -> Kept:
        """What is to be shown and trusted now."""
        self._kept = renewed(self._kept, self.hosts, self.clock.now())
        return self._kept


@dataclass(frozen=True, slots=True)
class InSecret:
    """Certificates that all replicas share. Whoever sees first that they get old renews them for all."""

    api: KubernetesApi
    namespace: str
    name: str
    hosts: tuple[str, ...]
    clock: Clock

    async def look(self) -> Kept:
        """What is to be shown and trusted now. Of replicas that write at once, one wins."""
        for _ in range(_TRIES):
            try:
                found = await self.api.get(SECRETS, self.name, namespace=self.namespace)
            except NotFoundError:
                found = None
            before = Kept.read(_decoded(found)) if found is not None else None
            kept = renewed(before, self.hosts, self.clock.now())
            if kept == before:
                return kept
            try:
                await self._write(found, kept)
            except (AlreadyExistsError, ConflictError):
                continue
            return kept
        raise ConflictError(f"Secret {self.namespace}/{self.name} keeps changing, so no certificate is kept.")

    async def _write(self, found: Mapping[str, Any] | None, kept: Kept) -> None:
        data = {name: base64.b64encode(value).decode() for name, value in kept.wire().items()}
        if found is not None:
            await self.api.replace(SECRETS, {**found, "data": data})
            return
        metadata = {"name": self.name, "namespace": self.namespace}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
        await self.api.create(SECRETS, secret)


def _decoded(secret: Mapping[str, Any]) -> dict[str, bytes]:
    try:
        return {
            name: base64.b64decode(value, validate=True) for name, value in (secret.get("data") or {}).items()
        }
    except (binascii.Error, TypeError, ValueError):
        return {}


@dataclass(frozen=True, slots=True)
class InFiles:
    """A certificate that somebody else makes and renews, such as a mounted Secret of type kubernetes.io/tls.

    ``ca.crt`` beside it, where there is one, is what API servers should trust.
    """

    folder: Path

    async def look(self) -> Kept:
        """What stands in the files now."""
        try:
            chain, key = (self.folder.joinpath(name).read_bytes() for name in ("tls.crt", "tls.key"))
            authority = self.folder / "ca.crt"
            kept = Kept(Certificate(chain, key, authority.read_bytes() if authority.exists() else b""))
            kept.current.server_context()
        except (OSError, ValueError) as error:
            raise UnusableCertificateError(
                f"{self.folder} must hold tls.crt and tls.key that belong together: {error}"
            ) from error
        return kept
