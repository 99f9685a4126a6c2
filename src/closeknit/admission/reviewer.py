"""Reviews writes against what a cluster holds: follows what workloads are measured by, and looks twice.

Followed are topologies, queues and the like, never pods or workloads, so that it stays small. What was made a
moment ago may not have been received yet, so before anything is refused, it is listed: only the kinds on
which the refusal depends, which the view knows, and together for all writes that wait for them (`listing`).
A refusal for what an object states about itself depends on no kind and costs the API server nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from closeknit.admission.defaults import (
    controller_reference,
    defaulted,
    may_wait_with_owner,
    queues,
    resource_of,
)
from closeknit.admission.listing import SharedLists
from closeknit.admission.requests import Request, Review
from closeknit.admission.review import review
from closeknit.admission.reviewed import REVIEWED
from closeknit.dialects import DIALECTS
from closeknit.dialects.family import Family
from closeknit.dialects.ownership import indexes_of
from closeknit.dialects.store.store import Change, Entry, Store
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.failures import Step
from closeknit.hub.keys import Key
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import KubernetesApi, pages
from closeknit.kube.resources import Resource
from closeknit.live.containment import Containment, Record
from closeknit.live.entries import entry_of, key_of, safely, unreadable

FAMILIES: Mapping[str, Family] = {family.name: family for family in DIALECTS if family.name in REVIEWED}
"""Those that can be managed."""
_MOST_OWNERS = 8
"""How far the owners of an object are followed."""


class NotReadYetError(Exception):
    """The cluster was not read yet, so nothing can be said of objects that ask for a topology."""


class Reviewer:
    """Says what may be written. Only families that are managed here have a say."""

    def __init__(
        self,
        api: KubernetesApi,
        *,
        families: Collection[str] = tuple(FAMILIES),
        operators: Collection[str] = (),
        settings: Iterable[Entry] = (),
        clock: Clock = SYSTEM_CLOCK,
        record: Record | None = None,
    ) -> None:
        """``settings`` are taken into account though no cluster serves them: operators' configurations.

        ``record``: where failures of objects are counted and logged.
        """
        self.containment = Containment("admission", record)
        self._api = api
        self.families = tuple(name for name in FAMILIES if name in families)
        self._operators = frozenset(operators)
        indexes = indexes_of(DIALECTS)
        self._indexed = frozenset((index.name, index.shape) for index in indexes)
        self._lists: SharedLists[Kind, list[Entry]] = SharedLists(self._listed_of, clock)
        self._view = View(Store(indexes), DIALECTS, lenient=True, judging=True)
        for entry in settings:
            self._view.put(entry)
        self.kinds = tuple(
            dict.fromkeys(kind for family in FAMILIES.values() for kind in family.describing if kind.named)
        )
        """What has to be followed."""
        self.resources: Mapping[tuple[str, str], Resource] = {}
        """By group and kind, what is followed."""
        self._heard = 0
        """How often something was heard of."""
        self.synced = False
        """Whether all that there was has been heard of."""

    def heard(self, kind: Kind, api_version: str, key: Key, obj: Any | None) -> None:
        """An object has changed, or gone."""
        self._heard += 1
        if obj is None:
            self._view.remove(key)
        else:
            with self.containment.at(key, Step.READ) as step:
                self._view.put(entry_of(kind, api_version, obj))
            if step.failure is not None:
                self._view.put(unreadable(kind, api_version, key, step.failure))

    async def defaulted(self, family: str, request: Request) -> Mapping[str, Any] | None:
        """The object with its defaults; None where none is to be written. Raises ``ApiError``."""
        if family not in self.families:
            return None
        waits = await self._waits_with_owner(request) if may_wait_with_owner(family, request) else False
        return defaulted(family, request, waits_with_owner=waits)

    async def _waits_with_owner(self, request: Request) -> bool:
        """Whether an owner that is there queues in Kueue, so that the object starts when its owner does.

        The references are the word of whoever writes, so each owner is read. A write that may depend on it is
        that of a Job or pod with the label of a queue of its own and a controller, which is rare.
        """
        obj: Mapping[str, Any] = request.content
        namespace = request.namespace or (obj.get("metadata") or {}).get("namespace", "")
        for _ in range(_MOST_OWNERS):
            reference = controller_reference(obj)
            resource = resource_of(reference) if reference is not None else None
            if reference is None or resource is None:
                return False
            try:
                obj = await self._api.get(resource, reference["name"], namespace=namespace)
            except NotFoundError:
                return False
            if obj["metadata"]["uid"] != reference.get("uid"):
                return False
            if queues(obj):
                return True
        return False

    async def review(self, family: str, request: Request) -> Review:
        """What a family says of a write. Raises ``NotReadYetError`` or ``ApiError`` where it cannot tell."""
        if family not in self.families:
            return Review()
        if not self.synced:
            raise NotReadYetError
        rules = FAMILIES[family]
        heard = self._heard
        listed: dict[Kind, list[Entry]] = {}
        while True:
            with self._shown([entry for entries in listed.values() for entry in entries]):
                found, needed = self._reviewed(rules, request)
            if found.allowed or found.forbidden or needed <= listed.keys():
                return found
            # What is listed may make the rules ask for further kinds, so this ends after as many rounds as
            # there are kinds, and in fact after one or two.
            more = sorted(needed - listed.keys(), key=self.kinds.index)
            listed.update(zip(more, await asyncio.gather(*map(self._lists.newer, more)), strict=True))
            entries = (entry for kind in more for entry in listed[kind])
            if heard == self._heard and all(entry == self._view.entry(entry.key) for entry in entries):
                # It was measured by what is there.
                return found

    def _reviewed(self, rules: Family, request: Request) -> tuple[Review, frozenset[Kind]]:
        """What a family returns for a write, and the kinds that are followed and on which that depends."""
        found, questions = self._view.recorded(lambda: review(rules, request, self._view, self._operators))
        if found.allowed or found.forbidden:
            return found, frozenset()
        if questions is None:
            return found, frozenset(self.kinds)
        return found, frozenset(kind for kind in self.kinds if any(map(self._asks_for(kind), questions)))

    def _asks_for(self, kind: Kind) -> Callable[[Change], bool]:
        """Whether the answer to a question to the store depends on objects of a kind."""

        def asks(question: Change) -> bool:
            what, about = question
            if what == "shape":
                return about is kind.shape
            if what in ("key", "content", "exists"):
                return bool((about.group, about.kind) == (kind.group, kind.kind))
            return (what, kind.shape) in self._indexed

        return asks

    async def _listed_of(self, kind: Kind) -> list[Entry]:
        resource = self.resources.get((kind.group, kind.kind))
        found: list[Entry] = []
        if resource is None or resource.version not in kind.versions:
            return found
        # A kind whose definition has gone has no objects.
        with suppress(NotFoundError):
            async for page in pages(self._api, resource):
                for obj in page.items:
                    metadata = obj["metadata"]
                    key = key_of(kind, metadata.get("namespace", ""), metadata["name"])
                    found.append(safely(entry_of, kind, resource.api_version, key, obj))
        return found

    @contextmanager
    def _shown(self, entries: list[Entry]) -> Iterator[None]:
        """Show these objects in the view while the block lasts; what was heard of stays what it was."""
        before = {entry.key: self._view.entry(entry.key) for entry in entries}
        for entry in entries:
            self._view.put(entry)
        try:
            yield
        finally:
            for key, earlier in before.items():
                if earlier is None:
                    self._view.remove(key)
                else:
                    self._view.put(earlier)
