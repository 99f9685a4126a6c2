"""Server-side apply, and the record of who wrote what that it stands on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from closeknit.hub.problems import InvalidError
from closeknit.kube.embedded import ownership
from closeknit.kube.embedded.kinds import Kind
from closeknit.kube.embedded.ownership import SELF, Fields, is_atomic, item_key
from closeknit.kube.embedded.schema import ANYTHING, Schema
from closeknit.kube.errors import Cause, ConflictError
from closeknit.text import json as text

Entry: TypeAlias = dict[str, Any]
"""One manager's part of ``metadata.managedFields``."""

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
MAX_MANAGERS: Final = 10
"""So many managers that update are kept apart; the oldest beyond are merged, as Kubernetes does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who writes, and how."""

    manager: str
    api_version: str
    time: str
    subresource: str = ""
    operation: str = "Update"

    def wrote(self, entry: Entry) -> bool:
        """Whether an entry is this writer's."""
        return (
            entry.get("manager") == self.manager
            and entry.get("operation") == self.operation
            and entry.get("subresource", "") == self.subresource
            and (self.operation == "Apply" or entry.get("apiVersion") == self.api_version)
        )

    def entry(self, fields: Fields) -> Entry:
        """The entry of this writer, as of now."""
        entry = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        if self.subresource:
            entry["subresource"] = self.subresource
        return entry


def updated(
    kind: Kind, before: Mapping[str, Any], after: Mapping[str, Any], entries: list[Entry], writer: Writer
) -> list[Entry]:
    """The entries after a write that takes over whatever it changes."""
    if not before:
        schema = kind.schemas[kind.storage]
        created = ownership.created(schema, after, builtin=kind.builtin, status=not kind.has_status)
        return [writer.entry(created)]
    # Where the status has a way of its own to be written, this one does not own it.
    status = writer.subresource == "status" or not kind.has_status
    comparison = ownership.compare(
        kind.schemas[kind.storage], before, after, builtin=kind.builtin, status=status
    )
    if comparison.same:
        return entries
    written, removed = comparison.written, comparison.removed
    lost = ownership.union(written, removed)
    own: Fields = {}
    kept: list[Entry] = []
    for entry in entries:
        fields = entry.get("fieldsV1") or {}
        if writer.wrote(entry):
            own = ownership.difference(fields, removed)
        elif left := ownership.difference(fields, lost):
            kept.append(entry if left == fields else {**entry, "fieldsV1": left})
    own = ownership.union(own, written)
    if own:
        kept.append(writer.entry(own))
    return _in_order(_few(kept))


def _in_order(entries: list[Entry]) -> list[Entry]:
    """Those who apply first, then by time and name, whoever wrote last."""
    words = ("operation", "time", "manager", "apiVersion", "subresource")
    return sorted(entries, key=lambda entry: tuple(str(entry.get(word, "")) for word in words))


def _few(entries: list[Entry]) -> list[Entry]:
    updaters = [entry for entry in entries if entry.get("operation") == "Update"]
    if len(updaters) <= MAX_MANAGERS:
        return entries
    old = sorted(updaters, key=lambda entry: str(entry.get("time")))[: len(updaters) - MAX_MANAGERS + 1]
    fields: Fields = {}
    for entry in old:
        fields = ownership.union(fields, entry.get("fieldsV1") or {})
    ancient = {**old[-1], "manager": "ancient-changes", "fieldsV1": fields}
    ancient.pop("subresource", None)
    return [ancient, *(entry for entry in entries if not any(entry is one for one in old))]


def apply(
    kind: Kind, live: Mapping[str, Any], wanted: Mapping[str, Any], writer: Writer, *, force: bool
) -> tuple[dict[str, Any], list[Entry]]:
    """What an object becomes when a manager applies what it wants, and the entries then.

    Fields of other managers that would change are a ConflictError unless forced.
    What the manager applied before and no longer names goes away, unless others own it.
    """
    entries: list[Entry] = list((live.get("metadata") or {}).get("managedFields") or ())
    earlier: Fields = {}
    others: list[Entry] = []
    for entry in entries:
        if writer.wrote(entry):
            earlier = entry.get("fieldsV1") or {}
        else:
            others.append(entry)
    schema = kind.schemas[kind.storage]
    wishes = ownership.applied(schema, wanted)
    merged = merge(schema, live, wanted)
    owned = wishes
    for entry in others:
        owned = ownership.union(owned, entry.get("fieldsV1") or {})
    merged = _without(schema, merged, earlier, owned)
    comparison = ownership.compare(schema, live, merged, builtin=kind.builtin)
    written, removed = comparison.written, comparison.removed
    own_before = _applied_by_client(schema, live) if writer.manager == "kubectl" else {}
    conflicts: list[tuple[Entry, Fields]] = []
    kept: list[Entry] = []
    for entry in others:
        fields = entry.get("fieldsV1") or {}
        clash = ownership.intersection(fields, written)
        if contested := ownership.difference(clash, own_before):
            conflicts.append((entry, contested))
        if left := ownership.difference(ownership.difference(fields, clash), removed):
            kept.append(entry if left == fields else {**entry, "fieldsV1": left})
    if conflicts and not force:
        raise conflict(conflicts)
    before = next((entry for entry in entries if writer.wrote(entry)), {})
    mine = writer.entry(wishes)
    if comparison.same:
        # Whoever changes nothing has not written: the time stays what it was, if there was one.
        mine.pop("time")
        if "time" in before:
            mine["time"] = before["time"]
    return merged, _in_order([*kept, mine])


def note_last_applied(obj: dict[str, Any], applied: Mapping[str, Any], writer: Writer) -> None:
    """Keep the annotation true by which kubectl remembers what it applied, where there is one."""
    annotations = obj["metadata"].get("annotations") or {}
    if writer.manager == "kubectl" and LAST_APPLIED in annotations:
        text = json.dumps(applied, sort_keys=True, separators=(",", ":")) + "\n"
        obj["metadata"]["annotations"] = {**annotations, LAST_APPLIED: text}


def _applied_by_client(schema: Schema, live: Mapping[str, Any]) -> Fields:
    """What kubectl applied last before it left the work to the server, and nobody has changed since."""
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    try:
        last, _ = text.decode(annotations.get(LAST_APPLIED, "").encode())
    except (InvalidError, UnicodeEncodeError):
        return {}
    if not isinstance(last, dict):
        return {}
    changed = ownership.compare(schema, live, merge(schema, live, last))
    return ownership.difference(ownership.applied(schema, last), changed.written)


def conflict(conflicts: list[tuple[Entry, Fields]]) -> ConflictError:
    """The refusal to take fields of other managers, each named with its owner."""
    causes: list[Cause] = []
    said: list[str] = []
    for entry, fields in conflicts:
        who = _who(entry)
        paths = list(ownership.members(fields))
        causes.extend(Cause(path, f"conflict with {who}", "FieldManagerConflict") for path in paths)
        if len(paths) == 1:
            said.append(f"conflict with {who}: {paths[0]}")
        else:
            said.append(f"conflicts with {who}:\n" + "\n".join(f"- {path}" for path in paths))
    count = len(causes)
    return ConflictError(
        f"Apply failed with {count} conflict{'' if count == 1 else 's'}: " + "\n".join(said),
        causes=tuple(causes),
    )


def _who(entry: Entry) -> str:
    who = json.dumps(entry.get("manager", ""))
    if subresource := entry.get("subresource"):
        who += f' with subresource "{subresource}"'
    if entry.get("operation") == "Update":
        who += f" using {entry.get('apiVersion')}"
    return who


def merge(schema: Schema, live: Any, wanted: Any) -> Any:
    """The live value with what is wanted laid over it; lists with keys are merged item by item."""
    if live.__class__ is not wanted.__class__ or is_atomic(schema, wanted):
        return wanted
    if wanted.__class__ is dict:
        merged = dict(live)
        for name, value in wanted.items():
            part = schema.child(name) or ANYTHING
            merged[name] = merge(part, live[name], value) if name in live else value
        return merged
    items = schema.items or ANYTHING
    by_key = {item_key(schema, item): item for item in wanted}
    result = [
        merge(items, item, by_key.pop(key)) if (key := item_key(schema, item)) in by_key else item
        for item in live
    ]
    return [*result, *by_key.values()]


def _without(schema: Schema, value: Any, earlier: Fields, owned: Fields) -> Any:
    """The value without what was applied earlier and nobody owns now."""
    if value.__class__ is dict:
        return _object_without(schema, value, earlier, owned)
    items = schema.items or ANYTHING
    kept = []
    for item in value:
        key = item_key(schema, item)
        before = earlier.get(key)
        if before is None:
            kept.append(item)
        elif key in owned:
            deeper = not is_atomic(items, item)
            kept.append(_without(items, item, before, owned[key]) if deeper else item)
    return kept


def _object_without(schema: Schema, value: dict[str, Any], earlier: Fields, owned: Fields) -> dict[str, Any]:
    result = dict(value)
    for element, before in earlier.items():
        name = element[2:]
        if element == SELF or not element.startswith("f:") or name not in result:
            continue
        now = owned.get(element)
        part = schema.child(name) or ANYTHING
        item = result[name]
        if now is None and (not before or (SELF in before and part.is_map)):
            del result[name]
        elif before and not is_atomic(part, item):
            left = _without(part, item, before, now or {})
            if left or now is not None:
                result[name] = left
            else:
                del result[name]
    return result
