"""What goes when something else goes: dependents of owners, contents of namespaces, objects of definitions.

It listens to every write that counts and keeps what has to be looked at; ``sweep``
does the work, so that no write happens in the middle of another.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from closeknit.kube.embedded import decoding, definitions, writing
from closeknit.kube.embedded.core import Core, WriteOptions
from closeknit.kube.embedded.deleting import FOREGROUND, ORPHAN, remove
from closeknit.kube.embedded.kinds import Kind, Object
from closeknit.kube.embedded.store import Event, Key, Record, Table, TableKey
from closeknit.kube.errors import ApiError
from closeknit.kube.port import DeleteOptions, Propagation

Place: TypeAlias = tuple[TableKey, Key]


class _Found(Enum):
    """What has become of an owner."""

    LIVING = auto()
    GONE = auto()
    UNKNOWN = auto()
    """Its kind is not served, or it would be in a namespace and its dependent is cluster-wide."""


_BACKGROUND: Final = DeleteOptions(propagation=Propagation.BACKGROUND)
_QUIET: Final = WriteOptions(manager="")


class Garbage:
    """Who owns whom, and who has to go."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._places: dict[str, Place] = {}
        """By uid, where an object is."""
        self._dependents: dict[str, dict[Place, None]] = {}
        """By the uid of an owner, those that name it."""
        self._work: deque[Place] = deque()
        self._undecided: dict[Place, None] = {}
        """Those with an owner that cannot be looked up, until another kind is served."""
        self._revision = 0
        """Of the kinds, when the undecided were last looked at."""
        self._orphaned: deque[str] = deque()
        self._spaces: dict[str, None] = {}
        self._definitions: dict[str, None] = {}
        self._sweeping = False

    @property
    def idle(self) -> bool:
        """Whether nothing has to be looked at."""
        if self._work or self._orphaned or self._spaces or self._definitions:
            return False
        return not self._undecided or self._revision == self._core.kinds.revision

    def notice(self, table: Table, event: Event) -> None:
        """Take note of a write."""
        before, after = event.before, event.after
        record = after or before
        assert record is not None
        place = (table.key, record.key)
        owners = after.obj["metadata"].get("ownerReferences") if after is not None else None
        earlier = before.obj["metadata"].get("ownerReferences") if before is not None else None
        if earlier != owners:
            for owner in earlier or ():
                self._dependents.get(owner["uid"], {}).pop(place, None)
            for owner in owners or ():
                self._dependents.setdefault(owner["uid"], {})[place] = None
            if any(self._owner(owner, record.key[0]) is not _Found.LIVING for owner in owners or ()):
                self._work.append(place)
        if after is None:
            assert before is not None
            uid = before.obj["metadata"]["uid"]
            self._places.pop(uid, None)
            if uid in self._dependents:
                self._orphaned.append(uid)
            for owner in earlier or ():
                if (waiting := self._places.get(owner["uid"])) is not None:
                    self._work.append(waiting)
            self._notice_end(table, record)
        else:
            if before is None:
                self._places[after.obj["metadata"]["uid"]] = place
            if "deletionTimestamp" in after.obj["metadata"]:
                self._work.append(place)
                if table.key == writing.NAMESPACES_TABLE:
                    self._spaces[after.key[1]] = None
                elif table.key == definitions.TABLE:
                    self._definitions[after.key[1]] = None

    def _notice_end(self, table: Table, record: Record) -> None:
        namespace = record.key[0]
        if namespace and not table.spaces.get(namespace):
            space = self._core.store.table(writing.NAMESPACES_TABLE).get(("", namespace))
            if space is not None and "deletionTimestamp" in space.obj["metadata"]:
                self._spaces[namespace] = None
        if not table.count:
            self._definitions[f"{table.key[1]}.{table.key[0]}"] = None

    def sweep(self) -> None:
        """Do all that has to be done, and what follows from it."""
        if self._sweeping:
            return
        self._sweeping = True
        try:
            while not self.idle:
                if self._undecided and self._revision != self._core.kinds.revision:
                    self._revision = self._core.kinds.revision
                    self._work.extend(self._undecided)
                    self._undecided.clear()
                while self._orphaned:
                    for place in list(self._dependents.pop(self._orphaned.popleft(), ())):
                        self._work.append(place)
                if self._work:
                    self._look(self._work.popleft())
                elif self._spaces:
                    name = next(iter(self._spaces))
                    del self._spaces[name]
                    self._empty_namespace(name)
                elif self._definitions:
                    name = next(iter(self._definitions))
                    del self._definitions[name]
                    self._empty_definition(name)
        finally:
            self._sweeping = False

    def _look(self, place: Place) -> None:
        """See whether an object has to go, or can go now."""
        kind = self._core.kinds.by_table.get(place[0])
        record = self._core.store.table(place[0]).get(place[1])
        if kind is None or record is None:
            return
        meta = record.obj["metadata"]
        finalizers = meta.get("finalizers") or ()
        if "deletionTimestamp" in meta:
            if ORPHAN in finalizers:
                self._release(kind, record)
            elif FOREGROUND in finalizers:
                self._delete_dependents_first(kind, record)
        elif owners := meta.get("ownerReferences"):
            self._judge(place, kind, record, owners)

    def _judge(self, place: Place, kind: Kind, record: Record, owners: list[dict[str, Any]]) -> None:
        """Delete what has no owner left; drop owners that are gone where others remain.

        Nothing happens while one of them cannot be looked up, as in Kubernetes.
        """
        found = [self._owner(owner, record.key[0]) for owner in owners]
        if _Found.UNKNOWN in found:
            self._undecided[place] = None
            self._revision = self._core.kinds.revision
            return
        living = [owner for owner, state in zip(owners, found, strict=True) if state is _Found.LIVING]
        if not living:
            self._remove(kind, record, _BACKGROUND)
        elif len(living) < len(owners):
            self._write(kind, record, {"ownerReferences": living})

    def _owner(self, owner: dict[str, Any], namespace: str) -> _Found:
        """What has become of an owner of an object in a namespace.

        It is looked up by its kind, the namespace of its dependent and its name, and must have the uid: the
        uid of an object of another namespace or kind makes no owner (isDangling in Kubernetes'
        pkg/controller/garbagecollector).
        """
        kind = self._core.kinds.of_object(owner["apiVersion"], owner["kind"])
        if kind is None or (kind.namespaced and not namespace):
            return _Found.UNKNOWN
        place = self._places.get(owner["uid"])
        expected = (namespace if kind.namespaced else "", owner["name"])
        return _Found.LIVING if place == (kind.key, expected) else _Found.GONE

    def _dependents_of(self, record: Record) -> list[tuple[Kind, Record]]:
        found = []
        uid = record.obj["metadata"]["uid"]
        for table, key in self._dependents.get(uid, ()):
            kind = self._core.kinds.by_table.get(table)
            dependent = self._core.store.table(table).get(key)
            if kind is not None and dependent is not None and self._has_owner(dependent, uid):
                found.append((kind, dependent))
        return found

    def _has_owner(self, dependent: Record, uid: str) -> bool:
        """Whether the object of this uid is what a reference of another means."""
        return any(
            one["uid"] == uid and self._owner(one, dependent.key[0]) is _Found.LIVING
            for one in dependent.obj["metadata"].get("ownerReferences") or ()
        )

    def _release(self, kind: Kind, record: Record) -> None:
        """Let the dependents forget their owner, and then the owner go."""
        uid = record.obj["metadata"]["uid"]
        for its_kind, dependent in self._dependents_of(record):
            owners = dependent.obj["metadata"].get("ownerReferences") or ()
            self._write(
                its_kind, dependent, {"ownerReferences": [one for one in owners if one["uid"] != uid]}
            )
        self._drop_finalizer(kind, record, ORPHAN)

    def _delete_dependents_first(self, kind: Kind, record: Record) -> None:
        uid = record.obj["metadata"]["uid"]
        blocked = False
        for its_kind, dependent in self._dependents_of(record):
            owners = dependent.obj["metadata"].get("ownerReferences") or ()
            others = [
                one
                for one in owners
                if one["uid"] != uid and self._owner(one, dependent.key[0]) is not _Found.GONE
            ]
            if others:
                self._write(its_kind, dependent, {"ownerReferences": others})
                continue
            blocking = any(one["uid"] == uid and one.get("blockOwnerDeletion") for one in owners)
            if "deletionTimestamp" not in dependent.obj["metadata"]:
                wish = Propagation.FOREGROUND if self._dependents_of(dependent) else Propagation.BACKGROUND
                gone = self._remove(its_kind, dependent, DeleteOptions(propagation=wish))
                blocked |= blocking and not gone
            else:
                blocked |= blocking
        if not blocked:
            self._drop_finalizer(kind, record, FOREGROUND)

    def _drop_finalizer(self, kind: Kind, record: Record, finalizer: str) -> None:
        current = self._core.table(kind).get(record.key)
        if current is not None:
            left = [one for one in current.obj["metadata"].get("finalizers") or () if one != finalizer]
            self._write(kind, current, {"finalizers": left})

    def _remove(self, kind: Kind, record: Record, options: DeleteOptions) -> bool:
        try:
            return remove(self._core, kind, record, options)[1]
        except ApiError:
            return False

    def _write(self, kind: Kind, record: Record, changes: dict[str, Any]) -> None:
        obj: Object = decoding.copied(record.obj)
        obj["metadata"].update(changes)
        writing.store_change(self._core, kind, record, obj, _QUIET)

    def _empty_namespace(self, name: str) -> None:
        """Delete what stands in a namespace that is going; let it go when nothing is left."""
        core = self._core
        spaces = core.store.table(writing.NAMESPACES_TABLE)
        record = spaces.get(("", name))
        if record is None or "deletionTimestamp" not in record.obj["metadata"]:
            return
        left = False
        for key, table in list(core.store.tables.items()):
            kind = core.kinds.by_table.get(key)
            if kind is None or not kind.namespaced:
                continue
            for item in list(table.records(name)):
                if "deletionTimestamp" not in item.obj["metadata"]:
                    self._remove(kind, item, _BACKGROUND)
            left |= bool(table.spaces.get(name))
        if left:
            return
        obj = decoding.copied(record.obj)
        obj["spec"] = {}
        kind = core.kinds.by_table[writing.NAMESPACES_TABLE]
        writing.store_change(core, kind, record, obj, _QUIET)

    def _empty_definition(self, name: str) -> None:
        """Delete the objects of a definition that is going; let it go with its kind when none is left."""
        core = self._core
        record = core.store.table(definitions.TABLE).get(("", name))
        if record is None or "deletionTimestamp" not in record.obj["metadata"]:
            return
        spec = record.obj["spec"]
        key = (spec["group"], spec["names"]["plural"])
        kind = core.kinds.by_table.get(key)
        table = core.store.table(key)
        if kind is not None:
            for item in list(table.records()):
                if "deletionTimestamp" not in item.obj["metadata"]:
                    self._remove(kind, item, _BACKGROUND)
        if self._orphaned:
            # Their dependents are judged while the kind of their owners is known.
            self._definitions[name] = None
        elif not table.count:
            core.kinds.remove(key)
            core.store.drop(key)
            self._drop_finalizer(core.kinds.by_table[definitions.TABLE], record, definitions.CLEANUP)
