"""Reads answers: plain data, or straight into the type that a reader names.

A reader's type holds the fields that it reads; msgspec skips the rest without building it, which is what
keeps a mirror of many pods small.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from closeknit.kube.errors import InternalServerError, Status, error_of
from closeknit.kube.port import Bookmark, Change, ChangeType, Identity, Page, WatchEvent
from closeknit.kube.resources import Resource


class _ListMeta(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    token: str = msgspec.field(name="continue", default="")
    remaining: int | None = msgspec.field(name="remainingItemCount", default=None)


class _ObjectMeta(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(name="resourceVersion", default="")


class _Versioned(msgspec.Struct, frozen=True):
    metadata: _ObjectMeta = _ObjectMeta()


class _Versions(msgspec.Struct, frozen=True):
    items: list[_Versioned] | None = None


class _Identified(msgspec.Struct, frozen=True):
    metadata: Identity


class _Identities(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: list[_Identified] | None = None


class _Heading(msgspec.Struct, frozen=True):
    type: str
    object: _Versioned


class _RawList(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None = None
    metadata: _ListMeta = _ListMeta()


class _Listed(msgspec.Struct, frozen=True):
    items: list[Any] | None
    metadata: _ListMeta


class _Name(msgspec.Struct, frozen=True):
    namespace: str = ""
    name: str = ""


class _Named(msgspec.Struct, frozen=True):
    metadata: _Name = _Name()


_log = logging.getLogger(__name__)
_items = msgspec.json.Decoder(_RawList)
_named = msgspec.json.Decoder(_Named)
_heading = msgspec.json.Decoder(_Heading)
_plain: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])
_versions = msgspec.json.Decoder(_Versions)
_identities = msgspec.json.Decoder(_Identities)


class Decoder:
    """Reads objects, lists and watch events of one resource into one type."""

    def __init__(self, resource: Resource, into: Any) -> None:
        self._resource = resource
        self._into = into
        plain: Any = dict[str, Any]
        self._object: msgspec.json.Decoder[Any] = msgspec.json.Decoder(into or plain)
        event = msgspec.defstruct("Event", [("object", into or plain)], frozen=True)
        self._event: msgspec.json.Decoder[Any] = msgspec.json.Decoder(event)
        item: Any = plain if into is None else _with_its_kind(into, resource)
        self._item = item
        listed = msgspec.defstruct(
            "List", [("items", list[item] | None, None), ("metadata", _ListMeta, _ListMeta())], frozen=True
        )
        self._list: msgspec.json.Decoder[Any] = msgspec.json.Decoder(listed)
        self._one: msgspec.json.Decoder[Any] = msgspec.json.Decoder(item)

    def object(self, answer: bytes) -> Any:
        """One object."""
        try:
            return self._object.decode(answer)
        except msgspec.DecodeError as error:
            raise self._unreadable(error) from error

    def page(self, answer: bytes) -> Page[Any]:
        """A list, or a page of one. Items get the kind that a server leaves out in lists."""
        try:
            with _no_collection():
                listed = self._list.decode(answer)
        except msgspec.ValidationError:
            listed = self._one_by_one(answer)
        except msgspec.DecodeError as error:
            raise self._unreadable(error) from error
        items = listed.items or []
        if self._into is None:
            for item in items:
                item.setdefault("apiVersion", self._resource.api_version)
                item.setdefault("kind", self._resource.kind)
            versions = [item.get("metadata", {}).get("resourceVersion", "") for item in items]
        else:
            if self._item is not self._into:
                items = [self._into(**msgspec.structs.asdict(item)) for item in items]
            # The type need not hold them, so they are read apart, which takes a third of the first reading.
            versions = [each.metadata.resource_version for each in _versions.decode(answer).items or ()]
        meta = listed.metadata
        return Page(items, meta.resource_version, meta.token, meta.remaining, versions)

    def identities(self, answer: bytes) -> Page[Identity]:
        """A list of metadata alone, or a page of one; a server may send whole objects instead."""
        try:
            listed = _identities.decode(answer)
        except msgspec.DecodeError as error:
            raise self._unreadable(error) from error
        items = [each.metadata for each in listed.items or ()]
        meta = listed.metadata
        versions = [each.resource_version for each in items]
        return Page(items, meta.resource_version, meta.token, meta.remaining, versions)

    def event(self, line: bytes) -> WatchEvent[Any]:
        """One line of a watch. An error that the server tells there is raised."""
        try:
            heading = _heading.decode(line)
            if heading.type == "ERROR":
                raise error_of(Status.read(_plain.decode(line)["object"], code=500))
            version = heading.object.metadata.resource_version
            if heading.type == "BOOKMARK":
                return Bookmark(version)
            return self._change(ChangeType(heading.type), line, version)
        except (msgspec.DecodeError, ValueError) as error:
            raise self._unreadable(error) from error

    def _one_by_one(self, answer: bytes) -> Any:
        """A page without the items that cannot be read, so that they keep no others from being read."""
        try:
            listed = _items.decode(answer)
        except msgspec.DecodeError as error:
            raise self._unreadable(error) from error
        items = []
        for item in listed.items or ():
            try:
                items.append(self._one.decode(item))
            except msgspec.DecodeError as error:
                self._pass_over(bytes(item), error)
        return _Listed(items, listed.metadata)

    def _change(self, change: ChangeType, line: bytes, version: str) -> WatchEvent[Any]:
        """A change of an object; no more than its version if the object cannot be read."""
        try:
            return Change(change, self._event.decode(line).object, version)
        except msgspec.ValidationError as error:
            self._pass_over(line, error)
            return Bookmark(version)

    def _pass_over(self, text: bytes, error: msgspec.DecodeError) -> None:
        try:
            name = _named.decode(text).metadata
        except msgspec.DecodeError:
            name = _Name()
        facts = self._resource.kind, name.namespace, name.name, error
        _log.warning("%s %s/%s was passed over: it cannot be read: %s", *facts)

    def _unreadable(self, error: Exception) -> InternalServerError:
        kind = self._resource.kind
        return InternalServerError(f"The server's answer cannot be read as {kind}: {error}")


_made: dict[tuple[Resource, Any], Decoder] = {}


def decoder(resource: Resource, into: type[Any] | None) -> Decoder:
    """The decoder of a resource and a type (None for plain data), made once."""
    key = (resource, into)
    if (made := _made.get(key)) is None:
        made = _made[key] = Decoder(resource, into)
    return made


def _with_its_kind(into: Any, resource: Resource) -> Any:
    """The type, where ``apiVersion`` and ``kind`` may be missing: in a list, the list alone says them."""
    if not (isinstance(into, type) and issubclass(into, msgspec.Struct)):
        return into
    known = {"apiVersion": resource.api_version, "kind": resource.kind}
    missing = [
        (field.name, str, msgspec.field(name=field.encode_name, default=known[field.encode_name]))
        for field in msgspec.structs.fields(into)
        if field.required and field.encode_name in known
    ]
    if not missing:
        return into
    return msgspec.defstruct(
        into.__name__,
        missing,
        bases=(into,),
        module=into.__module__,
        frozen=into.__struct_config__.frozen,
        kw_only=True,
    )


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from walking, again and again, over objects that are all still needed."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
