"""Follows every kind that the scheduler reads, and keeps a state up to date with the server.

A kind that the server does not serve yet, such as one without its definition, holds nobody up; it is
followed as soon as it is served.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from closeknit.apis import core_v1
from closeknit.dialects.core.kinds import KINDS
from closeknit.dialects.family import Family
from closeknit.dialects.store.objects import Unreadable
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.sentences import scheduler as sentences
from closeknit.hub.workload import ObjectName
from closeknit.kube.backoff import Backoff
from closeknit.kube.clock import Clock
from closeknit.kube.errors import ApiError
from closeknit.kube.mirror import Changes, Freshness, Mirror, Notice
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import Resource
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.entries import entry_of, key_of

_DIRECT = frozenset({core_v1.Node, core_v1.Pod})
"""Read straight into their wire types, because there are many and the server has checked their shape."""
_LOOK_AGAIN = 30.0
"""Seconds until the server is asked again whether it serves a kind by now."""


class Following:
    """Mirrors of all kinds, and a state that is told what they see."""

    def __init__(
        self,
        api: KubernetesApi,
        state: ClusterState,
        families: Iterable[Family],
        *,
        changed: Callable[[], None],
        clock: Clock,
        random: Random,
    ) -> None:
        self._api = api
        self._state = state
        self._kinds = tuple(dict.fromkeys([*KINDS, *(kind for each in families for kind in each.kinds)]))
        self._changed = changed
        self._clock = clock
        self._random = random
        self._mirrors: dict[Kind, Mirror[Any]] = {}
        self._readers: dict[Kind, Changes[Any]] = {}
        self._synced = asyncio.Event()
        self.told = 0
        """How many changes of objects were passed on; who reads it may start to count anew."""
        self.resources: dict[tuple[str, str], Resource] = {}
        """By group and kind, what is followed."""

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            backoff = Backoff(self._random)
            while True:
                try:
                    served = await self._api.resources()
                except ApiError:
                    await self._clock.sleep(backoff.wait())
                    continue
                for kind, resource in _chosen(self._kinds, served).items():
                    if kind not in self._mirrors:
                        mirror = self._mirror(kind, resource)
                        self._mirrors[kind] = mirror
                        self.resources[kind.group, kind.kind] = resource
                        tasks.create_task(mirror.run())
                        tasks.create_task(self._follow(kind, resource, mirror))
                if not self._synced.is_set():
                    await asyncio.gather(*(mirror.synced() for mirror in self._mirrors.values()))
                    # What was listed reaches the state before anybody decides.
                    while any(len(reader) for reader in self._readers.values()):  # noqa: ASYNC110
                        await asyncio.sleep(0)
                    self._synced.set()
                await self._clock.sleep(_LOOK_AGAIN)

    async def synced(self) -> None:
        """Return when the state holds everything that there was at one moment."""
        await self._synced.wait()

    def freshness(self) -> Mapping[str, Freshness]:
        """How far each kind can be trusted now."""
        return {kind.kind: mirror.freshness() for kind, mirror in self._mirrors.items()}

    def _mirror(self, kind: Kind, resource: Resource) -> Mirror[Any]:
        into = kind.shape if kind.shape in _DIRECT else None
        return Mirror(self._api, resource, random=self._random, into=into, clock=self._clock)

    async def _follow(self, kind: Kind, resource: Resource, mirror: Mirror[Any]) -> None:
        with mirror.changes() as changes:
            self._readers[kind] = changes
            while True:
                for notice in await changes.take():
                    self._tell(kind, resource, notice)
                    self.told += 1
                self._changed()

    def _tell(self, kind: Kind, resource: Resource, notice: Notice[Any]) -> None:
        key = key_of(kind, notice.key.namespace, notice.key.name)
        if notice.after is None:
            self._state.remove(key)
            return
        try:
            self._state.put(entry_of(kind, resource.api_version, notice.after))
        except Exception as error:  # noqa: BLE001 (one object must not keep the others from being read)
            said = f"{type(error).__name__}: {error}"
            name = ObjectName(resource.api_version, kind.kind, key.namespace, key.name)
            wrong = sentences.NOT_UNDERSTOOD.at((), kind=kind.kind, error=said)
            self._state.put(Unreadable(key, name, kind.shape, (wrong,)))


def _chosen(kinds: Iterable[Kind], served: Iterable[Resource]) -> dict[Kind, Resource]:
    """The resource of each kind, in the version that is read first of those that are served."""
    found: dict[tuple[str, str], dict[str, Resource]] = {}
    for each in served:
        found.setdefault((each.group, each.kind), {})[each.version] = each
    chosen: dict[Kind, Resource] = {}
    for kind in kinds:
        versions = found.get((kind.group, kind.kind), {})
        for version in kind.versions:
            if version in versions:
                chosen.setdefault(kind, versions[version])
    return chosen
