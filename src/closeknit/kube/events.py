"""Events: what was done to an object and why, where ``kubectl describe`` shows it.

Recording never waits and never fails: events are written in the background, and what the server does
not take is dropped and counted. The same event again is counted in its series; many that differ only in
their note become one; and an object that causes too many is told about less often.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from random import Random
from typing import Any, NamedTuple

from closeknit.kube.backoff import Backoff
from closeknit.kube.clock import SYSTEM_CLOCK, Clock, micro_timestamp
from closeknit.kube.errors import TRANSIENT, AlreadyExistsError, ApiError, NotFoundError
from closeknit.kube.port import KubernetesApi, MergePatch
from closeknit.kube.resources import EVENTS

_NOTE_LIMIT = 1024
"""Bytes of a note that a server takes."""
_QUEUE_LIMIT = 4096
_SERIES_SECONDS = 360.0
"""An event that comes again within this time belongs to the series of the first."""
_SERIES_PAUSE = 10.0
"""How often the count of one series is written."""
_DIFFERENT_NOTES = 10
"""After so many events of one reason that differ in their notes, the notes are no longer told apart."""
_BURST = 25
_REFILL_SECONDS = 300.0
"""One more event for each object after so many seconds, when its first ones are used up."""
_COMBINED = "(combined from similar events): "


class EventType(Enum):
    """Whether somebody should look."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Reference(NamedTuple):
    """The object that an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""

    def wire(self) -> dict[str, str]:
        """As an event holds it."""
        named = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
        }
        return {key: value for key, value in named.items() if value}


@dataclass(frozen=True, slots=True)
class Source:
    """The component, and the instance of it, in whose name events are written."""

    component: str
    instance: str
    random: Random
    """Makes names of events that no other event has."""

    def event(  # noqa: PLR0917 (the fields of an event)
        self, regarding: Reference, kind: EventType, reason: str, action: str, note: str, moment: datetime
    ) -> dict[str, Any]:
        """An event as it is written for the first time."""
        # Objects without a namespace have their events in the default one.
        namespace = regarding.namespace or "default"
        name = f"{regarding.name[:230]}.{self.random.getrandbits(64):016x}"
        return {
            "apiVersion": EVENTS.api_version,
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": micro_timestamp(moment),
            "reportingController": self.component,
            "reportingInstance": self.instance,
            "regarding": regarding.wire(),
            "type": kind.value,
            "reason": reason,
            "action": action,
            "note": note,
        }


class _Likeness(NamedTuple):
    """Events that are equal in this differ in their notes alone."""

    regarding: Reference
    type: EventType
    reason: str
    action: str


@dataclass(slots=True)
class _Series:
    """One event and how often it came."""

    name: str
    namespace: str
    body: dict[str, Any]
    first: datetime
    last: datetime
    last_at: float
    count: int = 1
    written_count: int = 0
    written_at: float = 0.0


@dataclass(slots=True)
class _Allowance:
    """What one object may still cause."""

    left: float
    at: float
    notes: dict[_Likeness, set[str]] = field(default_factory=dict)


class Recorder:
    """Writes events for one component. ``run`` does the writing, until cancelled."""

    def __init__(
        self,
        api: KubernetesApi,
        component: str,
        *,
        instance: str,
        random: Random,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._api = api
        self._source = Source(component, instance, random)
        self._clock = clock
        self._backoff = Backoff(random)
        self._series: OrderedDict[tuple[_Likeness, str], _Series] = OrderedDict()
        self._allowances: OrderedDict[Reference, _Allowance] = OrderedDict()
        self._writing = asyncio.Lock()
        self.dropped = 0
        """How many events nobody will see, because there were too many or the server refused them."""

    def record(
        self, regarding: Reference, reason: str, note: str, *, action: str, kind: EventType = EventType.NORMAL
    ) -> None:
        """Note what was done (``action``) and why (``reason``), in one word each, and both in a sentence."""
        now = self._clock.monotonic()
        likeness = _Likeness(regarding, kind, reason, action)
        allowance = self._allowance(regarding, now)
        note = self._told(allowance, likeness, note)
        series = self._series.get((likeness, note))
        if series is not None and now - series.last_at <= _SERIES_SECONDS:
            series.count += 1
            series.last, series.last_at = self._clock.now(), now
            return
        if allowance.left < 1 or (len(self._series) >= _QUEUE_LIMIT and not self._forget_one()):
            self.dropped += 1
            return
        allowance.left -= 1
        self._series[likeness, note] = self._begun(likeness, note, now)

    @property
    def unwritten(self) -> int:
        """How many events nobody can see yet."""
        return sum(not series.written_count for series in self._series.values())

    async def run(self) -> None:
        """Write what was recorded, until cancelled."""
        while True:
            await self.flush()
            await self._clock.sleep(1.0)

    async def flush(self) -> None:
        """Write what is due now: new events, and counts of series that have rested.

        Who asks while another writes waits for it, and then writes the rest.
        """
        async with self._writing:
            wait = await self._write_due()
        if wait is not None:
            await self._clock.sleep(wait)

    async def _write_due(self) -> float | None:
        """Write until the server has to be left alone, and return for how many seconds."""
        for key, series in list(self._series.items()):
            now = self._clock.monotonic()
            if self._series.get(key) is not series:
                # It was forgotten or begun anew while another was written.
                continue
            if series.written_count == series.count:
                if now - series.last_at > _SERIES_SECONDS:
                    del self._series[key]
                continue
            if series.written_count and now - series.written_at < _SERIES_PAUSE:
                continue
            try:
                await self._write(series)
                self._backoff.reset()
            except TRANSIENT as error:
                return max(self._backoff.wait(), error.retry_after or 0)
            except ApiError:
                # The namespace is gone, or nobody allowed events: no later attempt would fare better.
                self.dropped += series.count - series.written_count
                if self._series.get(key) is series:
                    del self._series[key]
        return None

    async def _write(self, series: _Series) -> None:
        count = series.count
        counted = {"count": count, "lastObservedTime": micro_timestamp(series.last)}
        if not series.written_count:
            body = series.body | ({"series": counted} if count > 1 else {})
            try:
                await self._api.create(EVENTS, body)
            except AlreadyExistsError:
                # The name is this series' own: the event was written, perhaps with a lower count, and the
                # answer was lost.
                series.written_count = 1
        if series.written_count and series.written_count < count:
            try:
                await self._api.patch(
                    EVENTS, series.name, MergePatch({"series": counted}), namespace=series.namespace
                )
            except NotFoundError:
                # Servers forget events after an hour; the next write makes the event anew.
                series.written_count = 0
                return
        series.written_count, series.written_at = count, self._clock.monotonic()

    def _begun(self, likeness: _Likeness, note: str, now: float) -> _Series:
        moment = self._clock.now()
        body = self._source.event(
            likeness.regarding, likeness.type, likeness.reason, likeness.action, note, moment
        )
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        return _Series(name, namespace, body, moment, moment, now)

    def _told(self, allowance: _Allowance, likeness: _Likeness, note: str) -> str:
        """The note, or that of the one event for all notes of this reason when there were too many."""
        note = note.encode()[:_NOTE_LIMIT].decode(errors="ignore")
        notes = allowance.notes.setdefault(likeness, set())
        if note in notes:
            return note
        combined = next((each for each in notes if each.startswith(_COMBINED)), "")
        if combined:
            return combined
        if len(notes) >= _DIFFERENT_NOTES:
            note = (_COMBINED + note).encode()[:_NOTE_LIMIT].decode(errors="ignore")
        notes.add(note)
        return note

    def _allowance(self, regarding: Reference, now: float) -> _Allowance:
        allowance = self._allowances.get(regarding)
        if allowance is None:
            if len(self._allowances) >= _QUEUE_LIMIT:
                self._allowances.popitem(last=False)
            allowance = self._allowances[regarding] = _Allowance(_BURST, now)
        allowance.left = min(_BURST, allowance.left + (now - allowance.at) / _REFILL_SECONDS)
        if now - allowance.at > _SERIES_SECONDS:
            allowance.notes.clear()
        allowance.at = now
        return allowance

    def _forget_one(self) -> bool:
        """Make room by giving up a series that is written; whether there was one."""
        for key, series in self._series.items():
            if series.written_count == series.count:
                del self._series[key]
                return True
        return False
