"""What the tests of conformance stand on: a server, names that are free in it, and patience."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from closeknit.kube.errors import ApiError, NotFoundError
from closeknit.kube.port import EVERYTHING, Bookmark, Change, KubernetesApi, Object, Selection
from closeknit.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource

PATIENCE = 60.0
"""Seconds within which a controller does its work."""

MAIN = {"name": "main", "image": "example.invalid/main"}
"""A container that every server takes."""

WIDGETS = Resource(
    "conformance.closeknit.dev",
    "v1",
    "widgets",
    "Widget",
    subresources=("scale", "status"),
    short_names=("wd",),
)
PLAIN_WIDGETS = Resource("conformance.closeknit.dev", "v1", "plainwidgets", "PlainWidget", namespaced=False)

_WIDGET_SCHEMA: Object = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "string", "enum": ["small", "large"]},
                "color": {"type": "string", "default": "red", "pattern": "^[a-z]+$", "maxLength": 10},
                "replicas": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10, "default": 1},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "weight": {"type": "integer"}},
                    },
                },
                "marks": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string"},
                },
                "amount": {"x-kubernetes-int-or-string": True},
                "note": {"type": "string", "nullable": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "selector": {"type": "string"},
                "phase": {"type": "string"},
            },
        },
    },
}


def _definition(resource: Resource, schema: Object, subresources: Object | None) -> Object:
    version: Object = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if subresources is not None:
        version["subresources"] = subresources
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.qualified},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "shortNames": list(resource.short_names),
            },
            "versions": [version],
        },
    }


_SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
DEFINITIONS = (
    _definition(WIDGETS, _WIDGET_SCHEMA, {"status": {}, "scale": _SCALE}),
    _definition(PLAIN_WIDGETS, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, None),
)

_numbers = count(1)


@dataclass
class Cluster:
    """A server to ask, and a namespace in it that nobody else uses."""

    api: KubernetesApi
    namespace: str
    server: str
    """Which of the servers this is, for the few tests that cannot be the same on all."""
    run: str
    """What makes names of this run differ from those of others."""
    forget: Callable[[], Awaitable[None]]
    """Makes every version that was handed out so far too old to go on from."""

    def unique(self, word: str) -> str:
        """A name that is free in the whole cluster."""
        return f"{word}-{self.run}-{next(_numbers)}"

    async def new_namespace(self, word: str = "ns") -> str:
        name = self.unique(word)
        await self.api.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )
        return name

    async def define_widgets(self) -> None:
        """Make the custom resources, where they are not there already."""
        for definition in DEFINITIONS:
            try:
                await self.api.get(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])
            except NotFoundError:
                await self.api.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
        for resource in (WIDGETS, PLAIN_WIDGETS):
            await eventually(partial(self.answers, resource))

    async def answers(self, resource: Resource) -> bool:
        try:
            await self.api.list(resource)
        except ApiError:
            return False
        return True

    # ------------------------------------------------------------------------------- objects to work with

    def config(self, name: str = "", *, data: Object | None = None, **metadata: Any) -> Object:
        named = {"name": name or self.unique("config"), "namespace": self.namespace}
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": named | metadata,
            "data": {"key": "value"} if data is None else data,
        }

    async def create_config(self, name: str = "", *, data: Object | None = None, **metadata: Any) -> Object:
        return await self.api.create(CONFIG_MAPS, self.config(name, data=data, **metadata))

    def pod(self, name: str = "", *, spec: Object | None = None, **metadata: Any) -> Object:
        named = {"name": name or self.unique("pod"), "namespace": self.namespace}
        container = {"name": "main", "image": "example.invalid/main"}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": named | metadata,
            "spec": {"containers": [container]} | (spec or {}),
        }

    async def create_pod(self, name: str = "", *, spec: Object | None = None, **metadata: Any) -> Object:
        return await self.api.create(PODS, self.pod(name, spec=spec, **metadata))

    def widget(self, name: str = "", *, spec: Object | None = None, **metadata: Any) -> Object:
        named = {"name": name or self.unique("widget"), "namespace": self.namespace}
        return {
            "apiVersion": WIDGETS.api_version,
            "kind": "Widget",
            "metadata": named | metadata,
            "spec": {"size": "small"} | (spec or {}),
        }

    async def create_widget(self, name: str = "", *, spec: Object | None = None, **metadata: Any) -> Object:
        return await self.api.create(WIDGETS, self.widget(name, spec=spec, **metadata))

    # ------------------------------------------------------------------------------------------ questions

    async def get(self, resource: Resource, obj: Object) -> Object:
        """An object as it is now."""
        metadata = obj["metadata"]
        return await self.api.get(
            resource, metadata["name"], namespace=metadata.get("namespace", "") if resource.namespaced else ""
        )

    async def exists(self, resource: Resource, obj: Object) -> bool:
        try:
            await self.get(resource, obj)
        except NotFoundError:
            return False
        return True

    async def gone(self, resource: Resource, obj: Object) -> bool:
        return not await self.exists(resource, obj)

    async def names(self, resource: Resource, selection: Selection | None = None) -> list[str]:
        page = await self.api.list(resource, selection or Selection(namespace=self.namespace))
        return [item["metadata"]["name"] for item in page.items]

    async def changes(
        self,
        resource: Resource,
        number: int,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
    ) -> list[Change[Object]]:
        """So many changes of a watch, bookmarks aside."""
        seen: list[Change[Object]] = []
        watch = self.api.watch(resource, selection, resource_version=resource_version, timeout=PATIENCE)
        async with aclosing(watch) as events:
            async for event in events:
                if not isinstance(event, Bookmark):
                    seen.append(event)
                if len(seen) >= number:
                    break
        assert len(seen) == number, f"The watch ended after {seen}"
        return seen


async def eventually(holds: Callable[[], Awaitable[bool]], seconds: float = PATIENCE) -> None:
    """Return when it holds; fail when it does not in time."""
    until = time.monotonic() + seconds
    pause = 0.005
    while not await holds():
        assert time.monotonic() < until, "It did not become so in time."
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.25)


def told(changes: list[Change[Object]]) -> list[tuple[str, str]]:
    """What happened to whom."""
    return [(change.type.value, change.object["metadata"]["name"]) for change in changes]


async def first(events: AsyncIterator[Any]) -> Any:
    async for event in events:
        return event
    raise AssertionError("The watch ended without a word.")
