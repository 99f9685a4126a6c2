"""Where an API server is, and how to prove to it who asks.

Reading kubeconfig files, running credential plugins and finding a pod's own service account is the work
of kubernetes-asyncio. What it finds is read again every minute, because tokens and certificates
are short-lived, and at once when the server no longer knows who asks.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException, list_kube_config_contexts, load_kube_config
from kubernetes_asyncio.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    InClusterConfigLoader,
)

from closeknit.hub.nearest import nearest
from closeknit.kube.clock import SYSTEM_CLOCK, Clock

REFRESH_SECONDS = 60.0
"""How old credentials may get before their source is asked again."""

# What the library raises on a file that is damaged, besides its own exception.
_DAMAGED = (
    AssertionError,
    AttributeError,
    ConfigException,
    KeyError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    yaml.YAMLError,
)


class ConfigurationError(Exception):
    """No server can be asked: the message says what was looked for, and where."""


@dataclass(frozen=True, slots=True)
class Connection:
    """All that a request needs besides what it asks."""

    address: str
    tls: ssl.SSLContext | None = None
    """None for an address without TLS."""
    authorization: str = field(default="", repr=False)
    """The header of this name; empty where a certificate says who asks."""
    server_name: str | None = None
    """The name that the server's certificate must bear, where it is not that of the address."""
    proxy: str | None = None


class Access(Protocol):
    """A way to a server."""

    @property
    def namespace(self) -> str:
        """The namespace that people mean when they name none."""
        ...

    async def connection(self) -> Connection:
        """The present credentials."""
        ...

    async def renew(self) -> Connection:
        """New credentials, after the server refused the present ones."""
        ...


@dataclass(frozen=True, slots=True)
class FixedAccess:
    """Credentials that never change."""

    fixed: Connection
    namespace: str = "default"

    async def connection(self) -> Connection:
        """The credentials."""
        return self.fixed

    async def renew(self) -> Connection:
        """The same credentials."""
        return self.fixed


class _Source(Protocol):
    """Where credentials come from."""

    async def load(self) -> Configuration:
        """Everything anew."""
        ...

    async def refresh(self) -> Configuration:
        """What may have changed by itself since."""
        ...


class LoadedAccess:
    """Credentials from a source that is asked again when they get old."""

    def __init__(self, source: _Source, *, namespace: str, clock: Clock, context: str = "") -> None:
        self.namespace = namespace
        self.context = context
        """What the kubeconfig calls it; empty where there is none."""
        self._source = source
        self._clock = clock
        self._lock = asyncio.Lock()
        self._connection: Connection | None = None
        self._files: tuple[object, ...] = ()
        self._loaded_at = 0.0

    @property
    def address(self) -> str:
        """Where the server is; empty before it was first asked."""
        return self._connection.address if self._connection is not None else ""

    async def connection(self) -> Connection:
        """Credentials that are at most a minute old."""
        if self._connection is not None and self._clock.monotonic() - self._loaded_at < REFRESH_SECONDS:
            return self._connection
        async with self._lock:
            if self._connection is None:
                return self._taken(await self._source.load())
            if self._clock.monotonic() - self._loaded_at >= REFRESH_SECONDS:
                return self._taken(await self._source.refresh())
            return self._connection

    async def renew(self) -> Connection:
        """Credentials that were read after this call; calls at the same time share one reading."""
        refused = self._connection
        async with self._lock:
            if self._connection is not None and self._connection is not refused:
                return self._connection
            return self._taken(await self._source.load())

    def _taken(self, configuration: Configuration) -> Connection:
        # A context for TLS is costly, and a new one gives up all connections: it is made anew only
        # when a file is another one, or has another content.
        files = _files(configuration)
        address = configuration.host or ""
        if self._connection is not None and files == self._files:
            tls = self._connection.tls
        else:
            tls = _tls(configuration) if address.startswith("https:") else None
        self._files = files
        self._connection = Connection(
            address=address,
            tls=tls,
            authorization=configuration.api_key.get("BearerToken") or "",
            server_name=configuration.tls_server_name or None,
            proxy=configuration.proxy or environment_proxy(address),
        )
        self._loaded_at = self._clock.monotonic()
        return self._connection


class _Kubeconfig:
    """A kubeconfig file, or several as in ``$KUBECONFIG``."""

    def __init__(self, paths: str, context: str | None) -> None:
        self._paths = paths
        self._context = context
        self._loader: Any = None
        self._configuration = _blank()

    async def load(self) -> Configuration:
        try:
            self._configuration = _blank()
            self._loader = await load_kube_config(
                config_file=self._paths,
                context=self._context,
                client_configuration=self._configuration,
                persist_config=False,
            )
        except _DAMAGED as error:
            raise ConfigurationError(f"{self._paths}: {_damage(error)}") from error
        return self._configuration

    async def refresh(self) -> Configuration:
        try:
            await self._loader.load_and_set(self._configuration)
        except _DAMAGED as error:
            raise ConfigurationError(f"{self._paths}: {_damage(error)}") from error
        return self._configuration


class _InCluster:
    """The service account of the pod that this runs in."""

    async def load(self) -> Configuration:
        configuration = _blank()
        try:
            InClusterConfigLoader(
                token_filename=SERVICE_TOKEN_FILENAME,
                cert_filename=SERVICE_CERT_FILENAME,
                try_refresh_token=False,
            ).load_and_set(configuration)
        except (ConfigException, OSError) as error:
            raise ConfigurationError(f"The service account of this pod: {_sentence(error)}") from error
        return configuration

    async def refresh(self) -> Configuration:
        return await self.load()


def load_access(
    *,
    kubeconfig: str = "",
    context: str = "",
    environ: Mapping[str, str] = os.environ,
    clock: Clock = SYSTEM_CLOCK,
) -> LoadedAccess:
    """The way to a server that kubectl would take.

    In this order: the file that is named, ``$KUBECONFIG``, ``~/.kube/config`` where it exists, and the
    service account of a pod. A context that is named must be in the files. Raises ConfigurationError.
    """
    paths = kubeconfig or environ.get("KUBECONFIG", "")
    usual = Path.home() / ".kube" / "config"
    if not paths and usual.exists():
        paths = str(usual)
    if paths:
        name, namespace = _context(paths, context)
        return LoadedAccess(
            _Kubeconfig(paths, context or None), namespace=namespace, clock=clock, context=name
        )
    if context:
        raise ConfigurationError(
            f"There is no kubeconfig file to find the context {context!r} in: "
            f"$KUBECONFIG is not set, and {usual} does not exist."
        )
    if not environ.get(SERVICE_HOST_ENV_NAME):
        raise ConfigurationError(
            f"No cluster is configured: $KUBECONFIG is not set, {usual} does not exist, and this does not "
            "run in a pod. Name a file with --kubeconfig."
        )
    beside = Path(SERVICE_TOKEN_FILENAME).parent / "namespace"
    namespace = beside.read_text(encoding="utf-8").strip() if beside.exists() else "default"
    return LoadedAccess(_InCluster(), namespace=namespace, clock=clock)


def _context(paths: str, context: str) -> tuple[str, str]:
    """The name and the namespace of a context, after a check that it is there."""
    if not any(Path(path).expanduser().exists() for path in paths.split(os.pathsep) if path):
        raise ConfigurationError(f"There is no kubeconfig file {paths}.")
    try:
        contexts, current = list_kube_config_contexts(paths)
        named = {str(each["name"]): each.get("context") or {} for each in contexts}
    except _DAMAGED as error:
        # The library looks the current context up before it lists any.
        if not context:
            raise ConfigurationError(f"{paths}: {_damage(error)}") from error
        return context, "default"
    if context and context not in named:
        close = nearest(context, named)
        meant = f" Did you mean {close!r}?" if close else ""
        listed = ", ".join(sorted(named)) or "none"
        raise ConfigurationError(
            f"{paths}: there is no context {context!r}. The contexts are: {listed}.{meant}"
        )
    name = context or str((current or {}).get("name") or "")
    return name, str(named.get(name, {}).get("namespace") or "default")


def environment_proxy(address: str) -> str | None:
    """The proxy that the environment names for an address. ``no_proxy`` is read for hosts and domains."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if host in ("127.0.0.1", "::1", "localhost") or urllib.request.proxy_bypass(parts.netloc):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _blank() -> Configuration:
    # Calling the class returns a copy of the process's default, which another part may have set.
    configuration: Configuration = type.__call__(Configuration)
    return configuration


def _tls(configuration: Configuration) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
        # Many clusters have an authority without the extensions that newer Pythons ask for.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, configuration.key_file)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The certificates for {configuration.host} cannot be read: {_sentence(error)}"
        ) from error
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _files(configuration: Configuration) -> tuple[object, ...]:
    """What tells one set of certificates from another."""
    told: list[object] = [configuration.verify_ssl]
    for path in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file):
        try:
            told.append((path, Path(path).stat().st_mtime_ns if path else 0))
        except OSError:
            told.append((path, 0))
    return tuple(told)


def _damage(error: BaseException) -> str:
    """What is wrong with a kubeconfig; the library stumbles over one that is none."""
    if isinstance(error, AssertionError | AttributeError | KeyError | TypeError):
        return (
            f"this is no kubeconfig, or a part of it is missing ({type(error).__name__}: {_sentence(error)})."
        )
    return _sentence(error)


def _sentence(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
