"""The port, as requests to an API server."""

from __future__ import annotations

import platform
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from importlib.metadata import version as installed_version
from random import Random
from typing import Any, TypeVar, assert_never, overload

import msgspec

from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.errors import BadRequestError
from closeknit.kube.port import (
    DELETE,
    EVERYTHING,
    ApplyPatch,
    ChangeType,
    DeleteOptions,
    Identity,
    JsonPatch,
    KubernetesApi,
    MergePatch,
    Object,
    Page,
    Patch,
    Selection,
    StrategicMergePatch,
    WatchEvent,
)
from closeknit.kube.resources import PODS, Resource
from closeknit.kube.rest import tables
from closeknit.kube.rest.access import Access
from closeknit.kube.rest.decoding import decoder
from closeknit.kube.rest.discovery import discovered
from closeknit.kube.rest.transport import Request, Transport

CONNECTIONS = 64
DEADLINE = 30.0
LIST_DEADLINE = 120.0
"""A list of a whole large cluster takes longer than anything else."""
_WATCH_SECONDS = 300.0
"""A watch without a timeout ends after five to ten minutes."""
_WATCH_GRACE = 15.0
"""How much longer than it promised a server may take to end a watch."""
_METADATA_ALONE = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"

T = TypeVar("T")


def user_agent(component: str = "") -> str:
    """How the server's logs and its flow control tell this client from others."""
    name = f"closeknit-{component}" if component else "closeknit"
    return f"{name}/{installed_version('closeknit')} ({platform.system().lower()}/{platform.machine()})"


@asynccontextmanager
async def connect(
    access: Access,
    *,
    component: str = "",
    connections: int = CONNECTIONS,
    deadline: float = DEADLINE,
    clock: Clock = SYSTEM_CLOCK,
    random: Random | None = None,
) -> AsyncGenerator[RestApi, None]:
    """A server to ask, until the block ends. Nothing is sent before it is asked something.

    ``component`` becomes part of the User-Agent; ``deadline`` holds for every call that is neither a list nor
    a watch, waiting for a connection and for Retry-After included.
    """
    dice = random or Random()  # noqa: S311 - it spreads requests in time, and guards nothing
    transport = Transport(
        access,
        user_agent=user_agent(component),
        connections=connections,
        deadline=deadline,
        clock=clock,
        random=dice,
    )
    try:
        yield RestApi(transport, random=dice)
    finally:
        await transport.close()


class RestApi(KubernetesApi):
    """A Kubernetes API server behind the port."""

    def __init__(self, transport: Transport, *, random: Random) -> None:
        self._transport = transport
        self._random = random

    @overload
    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = "", into: None = None
    ) -> Object: ...
    @overload
    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = "", into: type[T]
    ) -> T: ...
    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str = "",
        subresource: str = "",
        into: type[Any] | None = None,
    ) -> Any:
        path = _path(resource, name, namespace, subresource)
        answer = await self._transport.send(Request(method="GET", path=path, query={}))
        return decoder(resource, into).object(answer)

    @overload
    async def list(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        token: str = "",
        resource_version: str = "",
        into: None = None,
    ) -> Page[Object]: ...
    @overload
    async def list(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        token: str = "",
        resource_version: str = "",
        into: type[T],
    ) -> Page[T]: ...
    async def list(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        token: str = "",
        resource_version: str = "",
        into: type[Any] | None = None,
    ) -> Page[Any]:
        query = _selectors(selection)
        query |= {"limit": str(limit)} if limit else {}
        query |= {"continue": token} if token else {}
        query |= {"resourceVersion": resource_version} if resource_version else {}
        request = Request(method="GET", path=resource.path(namespace=selection.namespace), query=query)
        return decoder(resource, into).page(await self._transport.send(request, deadline=LIST_DEADLINE))

    async def identities(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str,
        limit: int = 0,
        token: str = "",
    ) -> Page[Identity]:
        query = _selectors(selection)
        query |= {"limit": str(limit)} if limit else {}
        # A token names its moment, and a server refuses a second name for it.
        exactly = {"resourceVersion": resource_version, "resourceVersionMatch": "Exact"}
        query |= {"continue": token} if token else exactly
        path = resource.path(namespace=selection.namespace)
        # Nobody waits for a comparison, so a server that is busy, or that has not come so far, is left alone.
        request = Request(method="GET", path=path, query=query, accept=_METADATA_ALONE, waits=False)
        answer = await self._transport.send(request, deadline=LIST_DEADLINE)
        return decoder(resource, None).identities(answer)

    @overload
    def watch(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        timeout: float | None = None,
        opened: Callable[[], None] | None = None,
        into: None = None,
    ) -> AsyncGenerator[WatchEvent[Object], None]: ...
    @overload
    def watch(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        timeout: float | None = None,
        opened: Callable[[], None] | None = None,
        into: type[T],
    ) -> AsyncGenerator[WatchEvent[T], None]: ...
    async def watch(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        timeout: float | None = None,  # noqa: ASYNC109 - the server is told when to end the watch
        opened: Callable[[], None] | None = None,
        into: type[Any] | None = None,
    ) -> AsyncGenerator[WatchEvent[Any], None]:
        # Many watches that began together must not end together.
        seconds = timeout if timeout is not None else _WATCH_SECONDS * (1 + self._random.random())
        query = _selectors(selection) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, round(seconds))),
        }
        query |= {"resourceVersion": resource_version} if resource_version else {}
        request = Request(method="GET", path=resource.path(namespace=selection.namespace), query=query)
        read = decoder(resource, into).event
        # A caller's own limit is kept to the second; else the server is given time to end by itself.
        longest = seconds if timeout is not None else seconds + _WATCH_GRACE
        async with aclosing(self._transport.lines(request, seconds=longest, opened=opened)) as lines:
            async for line in lines:
                yield read(line)

    async def create(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        *,
        field_manager: str = "",
        dry_run: bool = False,
        into: type[Any] | None = None,
    ) -> Any:
        query = _writing(field_manager, dry_run=dry_run)
        request = Request(method="POST", path=_collection(resource, obj), query=query, body=obj)
        return await self._answered(request, resource, into)

    async def replace(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Object:
        metadata = obj.get("metadata") or {}
        name = metadata.get("name") or ""
        return await self._write(
            Request(
                method="PUT",
                path=_path(resource, name, metadata.get("namespace") or "", subresource),
                query=_writing(field_manager, dry_run=dry_run),
                body=obj,
            )
        )

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Patch,
        *,
        namespace: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        into: type[Any] | None = None,
    ) -> Any:
        query = _writing(field_manager, dry_run=dry_run)
        body: Any
        content_type: str
        match patch:
            case MergePatch(body):
                content_type = "application/merge-patch+json"
            case JsonPatch(operations):
                body, content_type = operations, "application/json-patch+json"
            case StrategicMergePatch(body):
                content_type = "application/strategic-merge-patch+json"
            case ApplyPatch(body, manager, force):
                content_type = "application/apply-patch+yaml"
                query |= {"fieldManager": manager, "force": "true" if force else "false"}
            case _:
                assert_never(patch)
        path = _path(resource, name, namespace, subresource)
        request = Request(method="PATCH", path=path, query=query, body=body, content_type=content_type)
        return await self._answered(request, resource, into)

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", options: DeleteOptions = DELETE
    ) -> Object:
        path = _path(resource, name, namespace, "")
        return await self._write(Request(method="DELETE", path=path, query={}, body=_options(options)))

    async def delete_collection(
        self, resource: Resource, selection: Selection, *, options: DeleteOptions = DELETE
    ) -> None:
        path = resource.path(namespace=selection.namespace)
        request = Request(method="DELETE", path=path, query=_selectors(selection), body=_options(options))
        await self._transport.send(request, deadline=LIST_DEADLINE)

    async def bind(
        self,
        pod: str,
        node: str,
        *,
        namespace: str,
        uid: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        metadata: dict[str, Any] = {"name": pod, "namespace": namespace}
        metadata |= {"uid": uid} if uid else {}
        metadata |= {"annotations": dict(annotations)} if annotations else {}
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        path = _path(PODS, pod, namespace, "binding")
        await self._transport.send(Request(method="POST", path=path, query={}, body=binding))

    async def evict(self, pod: str, *, namespace: str, options: DeleteOptions = DELETE) -> None:
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
            "deleteOptions": _options(options),
        }
        path = _path(PODS, pod, namespace, "eviction")
        # Here "too many requests" is a budget's answer, and whether to wait is the caller's decision.
        await self._transport.send(Request(method="POST", path=path, query={}, body=eviction, waits=False))

    async def resources(self) -> tuple[Resource, ...]:
        return await discovered(self._transport)

    async def table(
        self, resource: Resource, selection: Selection = EVERYTHING, *, limit: int = 0, token: str = ""
    ) -> tables.Table:
        """Objects as the server would have them printed; one page where ``limit`` is above 0."""
        query = _selectors(selection)
        query |= {"limit": str(limit)} if limit else {}
        query |= {"continue": token} if token else {}
        path = resource.path(namespace=selection.namespace)
        request = Request(method="GET", path=path, query=query, accept=tables.ACCEPT)
        return tables.read(await self._transport.send(request, deadline=LIST_DEADLINE))

    async def watch_table(
        self, resource: Resource, selection: Selection, *, resource_version: str
    ) -> AsyncGenerator[tuple[ChangeType | None, tables.Table], None]:
        """Changes as ``watch`` gives them, each with the table of its object; None for a bookmark."""
        query = _selectors(selection) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(round(_WATCH_SECONDS)),
        }
        path = resource.path(namespace=selection.namespace)
        request = Request(method="GET", path=path, query=query, accept=tables.ACCEPT)
        lines = self._transport.lines(request, seconds=_WATCH_SECONDS + _WATCH_GRACE)
        async with aclosing(lines):
            async for line in lines:
                yield tables.read_event(line)

    async def version(self) -> str:
        answer = await self._transport.send(Request(method="GET", path="/version", query={}))
        return str(msgspec.json.decode(answer, type=dict[str, Any]).get("gitVersion", ""))

    async def _answered(self, request: Request, resource: Resource, into: type[Any] | None) -> Any:
        if into is None:
            return await self._write(request)
        return decoder(resource, into).object(await self._transport.send(request))

    async def _write(self, request: Request) -> Object:
        answer: Object = msgspec.json.decode(await self._transport.send(request))
        return answer


def _path(resource: Resource, name: str, namespace: str, subresource: str) -> str:
    # Without its name, a path is that of the whole collection, which nobody means to write or delete.
    if not name:
        raise BadRequestError(f"A {resource.kind} is asked for by name, and none is given (metadata.name).")
    _check_namespace(resource, namespace)
    return resource.path(namespace=namespace, name=name, subresource=subresource)


def _collection(resource: Resource, obj: Mapping[str, Any]) -> str:
    namespace = (obj.get("metadata") or {}).get("namespace") or ""
    _check_namespace(resource, namespace)
    return resource.path(namespace=namespace)


def _check_namespace(resource: Resource, namespace: str) -> None:
    if resource.namespaced and not namespace:
        raise BadRequestError(f"A {resource.kind} is in a namespace, and none is given (metadata.namespace).")


def _selectors(selection: Selection) -> dict[str, str]:
    query = {"labelSelector": selection.labels, "fieldSelector": selection.fields}
    return {key: value for key, value in query.items() if value}


def _writing(field_manager: str, *, dry_run: bool) -> dict[str, str]:
    query = {"fieldManager": field_manager, "dryRun": "All" if dry_run else ""}
    return {key: value for key, value in query.items() if value}


def _options(options: DeleteOptions) -> dict[str, Any]:
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    preconditions = {key: value for key, value in preconditions.items() if value}
    wire: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if options.grace_period is not None:
        wire["gracePeriodSeconds"] = options.grace_period
    if options.propagation is not None:
        wire["propagationPolicy"] = options.propagation.value
    if preconditions:
        wire["preconditions"] = preconditions
    if options.dry_run:
        wire["dryRun"] = ["All"]
    return wire
