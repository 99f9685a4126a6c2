"""Reviews writes against what a cluster holds: follows what workloads are measured by, and looks twice.

Followed are topologies, queues and the like, never pods or workloads, so that it stays small. What was made a
moment ago may not have been heard of yet, so before anything is refused, what the family reads is listed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from closeknit.admission.defaults import defaulted
from closeknit.admission.requests import Request, Review
from closeknit.admission.review import review
from closeknit.admission.reviewed import REVIEWED
from closeknit.dialects import DIALECTS
from closeknit.dialects.family import Family
from closeknit.dialects.ownership import indexes_of
from closeknit.dialects.store.store import Entry, Store
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.failures import Step
from closeknit.hub.keys import Key
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import KubernetesApi, pages
from closeknit.kube.resources import Resource
from closeknit.live.containment import Containment, Record
from closeknit.live.entries import entry_of, key_of, safely, unreadable

FAMILIES: Mapping[str, Family] = {family.name: family for family in DIALECTS if family.name in REVIEWED}
"""Those that can be managed."""


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
                self._view.put(safely(entry_of, kind, api_version, key, obj))
            if step.failure is not None:
                self._view.put(unreadable(kind, api_version, key, step.failure))

    def defaulted(self, family: str, request: Request) -> Mapping[str, Any] | None:
        """The object with its defaults; None where none is to be written."""
        return defaulted(family, request) if family in self.families else None

    async def review(self, family: str, request: Request) -> Review:
        """What a family says of a write. Raises ``NotReadYetError`` or ``ApiError`` where it cannot tell."""
        if family not in self.families:
            return Review()
        if not self.synced:
            raise NotReadYetError
        rules = FAMILIES[family]
        heard = self._heard
        first = review(rules, request, self._view, self._operators)
        if first.allowed or first.forbidden:
            return first
        listed = await self._listed()
        if heard == self._heard and all(entry == self._view.entry(entry.key) for entry in listed):
            # It was measured by what is there.
            return first
        with self._shown(listed):
            return review(rules, request, self._view, self._operators)

    async def _listed(self) -> list[Entry]:
        """All that workloads are measured by, as it is now."""
        found = await asyncio.gather(*map(self._listed_of, self.kinds))
        return [entry for each in found for entry in each]

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
