"""A few objects with versions behind the port, and faults on demand."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from closeknit.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from closeknit.kube.port import Change, ChangeType, KubernetesApi, MergePatch, Object, Selection
from closeknit.kube.resources import Resource


@dataclass
class Toy:
    objects: dict[tuple[str, str, str], Object] = field(default_factory=dict)
    version: int = 0
    fault: ApiError | None = None
    """What every call raises, while it is set."""
    refused: dict[str, ApiError] = field(default_factory=dict)
    """By call, such as ``get leases``, what it raises."""
    calls: list[str] = field(default_factory=list)
    watchers: list[asyncio.Queue[Change[Object]]] = field(default_factory=list)

    @property
    def api(self) -> KubernetesApi:
        return cast("KubernetesApi", self)

    def _called(self, verb: str, resource: Resource) -> None:
        self.calls.append(f"{verb} {resource.plural}")
        if (fault := self.fault or self.refused.get(self.calls[-1])) is not None:
            raise fault

    def _store(self, key: tuple[str, str, str], obj: Mapping[str, Any]) -> Object:
        self.version += 1
        stored = copy.deepcopy(dict(obj))
        stored["metadata"]["resourceVersion"] = str(self.version)
        self.objects[key] = stored
        self._tell(ChangeType.MODIFIED, stored)
        return copy.deepcopy(stored)

    def _tell(self, kind: ChangeType, obj: Object) -> None:
        for queue in self.watchers:
            queue.put_nowait(Change(kind, copy.deepcopy(obj), str(self.version)))

    def remove(self, key: tuple[str, str, str]) -> None:
        """As if another client deleted it."""
        self.version += 1
        gone = self.objects.pop(key)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._tell(ChangeType.DELETED, gone)

    async def watch(self, resource: Resource, _: Selection) -> AsyncGenerator[Change[Object], None]:
        """What changes from now on, whichever object it is."""
        self._called("watch", resource)
        queue: asyncio.Queue[Change[Object]] = asyncio.Queue()
        self.watchers.append(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self.watchers.remove(queue)

    def _found(self, key: tuple[str, str, str]) -> Object:
        if key not in self.objects:
            raise NotFoundError(f"{key} is not there.")
        return copy.deepcopy(self.objects[key])

    async def get(self, resource: Resource, name: str, *, namespace: str = "") -> Object:
        self._called("get", resource)
        return self._found((resource.plural, namespace, name))

    async def create(self, resource: Resource, obj: Mapping[str, Any]) -> Object:
        self._called("create", resource)
        key = (resource.plural, obj["metadata"]["namespace"], obj["metadata"]["name"])
        if key in self.objects:
            raise AlreadyExistsError(f"{key} is there.")
        return self._store(key, obj)

    async def replace(self, resource: Resource, obj: Mapping[str, Any]) -> Object:
        self._called("replace", resource)
        key = (resource.plural, obj["metadata"]["namespace"], obj["metadata"]["name"])
        if self._found(key)["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
            raise ConflictError(f"{key} has changed.")
        return self._store(key, obj)

    async def patch(self, resource: Resource, name: str, patch: MergePatch, *, namespace: str) -> Object:
        self._called("patch", resource)
        key = (resource.plural, namespace, name)
        return self._store(key, self._found(key) | dict(patch.body))
