"""Everything that the scheduler believes of its cluster, as one document that ``closeknit plan -f`` reads.

Objects hold what the scheduler reads of them and no more. Pods that are being bound are shown where they will
run. The list says that it follows a cluster, and whose pods are ours to bind, so that it is planned as the
scheduler would: no pods are assumed, and those of other schedulers are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from closeknit.apis.wire import plain
from closeknit.dialects.reading import SCHEDULERS
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Entry


def snapshot(entries: Iterable[Entry], schedulers: Iterable[str]) -> Iterator[bytes]:
    """The pieces of the document. Objects that could not be read are left out."""
    # Entries never change; only the collection does, and it is copied before the first piece.
    held = [entry for entry in entries if isinstance(entry, Stored)]
    return _pieces(held, ",".join(sorted(schedulers)))


def _pieces(held: Iterable[Stored[Any]], schedulers: str) -> Iterator[bytes]:
    metadata = msgspec.json.encode({"annotations": {SCHEDULERS: schedulers}})
    yield b'{"apiVersion":"v1","kind":"List","metadata":' + metadata + b',"items":['
    before = b"\n"
    for entry in held:
        fields = entry.written or plain(entry.content)
        name = entry.object
        yield before + msgspec.json.encode({**fields, "apiVersion": name.api_version, "kind": name.kind})
        before = b",\n"
    yield b"\n]}\n"
