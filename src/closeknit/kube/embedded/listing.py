"""Lists in pages: all pages of one list show the same moment."""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec

from closeknit.kube.embedded.core import Core
from closeknit.kube.embedded.kinds import Kind
from closeknit.kube.embedded.selectors import field_test, label_test
from closeknit.kube.embedded.store import Key, Record, Table
from closeknit.kube.embedded.watches import Filter, too_old
from closeknit.kube.errors import BadRequestError, DeadlineExceededError, GoneError
from closeknit.kube.numbers import digits
from closeknit.kube.port import Selection

_KEPT: Final = 64
"""So many lists that are not read to their end are remembered; the oldest are forgotten first."""


@dataclass(frozen=True, slots=True)
class Found:
    """A page of records."""

    records: list[Record]
    version: int
    token: str = ""
    remaining: int | None = None


def filter_of(kind: Kind, selection: Selection) -> Filter:
    """Which records a selection sees."""
    namespace = selection.namespace if kind.namespaced else ""
    return Filter(namespace, label_test(selection.labels), field_test(selection.fields, kind.selectable))


class Lists:
    """Lists that are being read page by page."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._open: OrderedDict[int, tuple[Kind, list[Record], int]] = OrderedDict()
        self._number = 0

    def page(
        self,
        kind: Kind,
        selection: Selection,
        *,
        limit: int = 0,
        token: str = "",
        resource_version: str = "",
        exact: bool = False,
    ) -> Found:
        """The first page, or the next one; ``exact`` for the records as of ``resource_version``."""
        if token:
            return self._next(kind, token, limit)
        version = self._core.store.settled
        if resource_version not in ("", "0") and read_version(resource_version) > self._core.store.version:
            raise DeadlineExceededError(
                f"Too large resource version: {resource_version}, current: {version}", retry_after=1
            )
        seen = filter_of(kind, selection)
        table = self._core.table(kind)
        if exact:
            version = read_version(resource_version)
            found = [record for record in records_at(table, version) if seen.sees(record)]
            return self._first_page(kind, found, limit, version)
        name = _only_name(selection)
        if name and seen.namespace:
            record = table.get((seen.namespace, name))
            found = [record] if record is not None and seen.sees(record) else []
        elif seen.labels is None and seen.fields is None:
            found = list(table.records(seen.namespace))
        else:
            found = [record for record in table.records(seen.namespace) if seen.sees(record)]
        return self._first_page(kind, found, limit, version)

    def _first_page(self, kind: Kind, found: list[Record], limit: int, version: int) -> Found:
        if not 0 < limit < len(found):
            return Found(found, version)
        self._number += 1
        self._open[self._number] = (kind, found, version)
        if len(self._open) > _KEPT:
            self._open.popitem(last=False)
        return self._cut(self._number, limit, 0)

    def _cut(self, number: int, limit: int, start: int) -> Found:
        _, records, version = self._open[number]
        end = start + limit
        if limit <= 0 or end >= len(records):
            del self._open[number]
            return Found(records[start:], version)
        token = base64.urlsafe_b64encode(msgspec.json.encode([number, end])).decode()
        return Found(records[start:end], version, token, len(records) - end)

    def _next(self, kind: Kind, token: str, limit: int) -> Found:
        try:
            number, start = msgspec.json.decode(base64.urlsafe_b64decode(token), type=tuple[int, int])
        except (ValueError, binascii.Error, msgspec.DecodeError):
            number, start = 0, -1
        if start < 0:
            raise BadRequestError("continue key is not valid: it is none that this server made")
        found = self._open.get(number)
        if found is None or found[0].key != kind.key:
            raise GoneError(
                "The provided continue parameter is too old to display a consistent list result. "
                "List again without it."
            )
        self._open.move_to_end(number)
        return self._cut(number, limit, start)


def records_at(table: Table, version: int) -> list[Record]:
    """The records of a table as of a version: those of now, with the events since then undone.

    GoneError if one of those events is forgotten.
    """
    place = table.place_after(version)
    if place is None:
        raise too_old(version, table.oldest)
    then: dict[Key, Record | None] = {}
    for event in islice(table.log, place - table.dropped, None):
        record = event.after or event.before
        assert record is not None
        then.setdefault(record.key, event.before)
    if not then:
        return list(table.records())
    unchanged = (record for record in table.records() if record.key not in then)
    return sorted((*unchanged, *filter(None, then.values())), key=lambda record: record.key)


def _only_name(selection: Selection) -> str:
    word = "metadata.name="
    if selection.fields.startswith(word) and "," not in selection.fields:
        return selection.fields.removeprefix(word).lstrip("=")
    return ""


def read_version(text: str) -> int:
    """A resource version as a number."""
    if (version := digits(text)) is None:
        raise BadRequestError(
            f'Invalid value: "{text}": a resource version is a number that this server gave out'
        )
    return version
