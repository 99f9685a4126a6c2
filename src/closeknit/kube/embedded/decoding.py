"""From what a client sent to an object of its kind: read, pruned, defaulted, checked."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from closeknit.kube.embedded import metadata
from closeknit.kube.embedded.checking import DUPLICATE, TYPE_INVALID, Findings, settle
from closeknit.kube.embedded.core import WriteOptions
from closeknit.kube.embedded.kinds import Kind, Object
from closeknit.kube.embedded.store import Record
from closeknit.kube.errors import BadRequestError, Cause

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


def copied(obj: Mapping[str, Any]) -> Object:
    """A copy that shares nothing with the original, which must be JSON."""
    try:
        found = _decode(_encode(obj))
    except (TypeError, ValueError, RecursionError, OverflowError) as problem:
        raise BadRequestError(f"The object is not JSON: {problem}.") from None
    if not isinstance(found, dict):
        raise BadRequestError("The object must be a JSON object.")
    return found


def read(
    kind: Kind,
    version: str,
    obj: Object,
    options: WriteOptions,
    *,
    settled: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Object, list[Cause]]:
    """Make an object of what was sent, in place, and say what its schema does not allow.

    What it shares with ``settled``, an object that the same schema has settled, is good and stays as it is;
    fields that are the same become shared.
    What cannot be read at all is a BadRequestError; so are unknown fields, where they are to be refused.
    """
    resource = kind.resources[version]
    api_version = obj.setdefault("apiVersion", resource.api_version)
    name = obj.setdefault("kind", resource.kind)
    if api_version != resource.api_version:
        raise BadRequestError(
            f"the API version in the data ({api_version}) does not match "
            f"the expected API version ({resource.api_version})"
        )
    if name != resource.kind:
        raise BadRequestError(f"the object provided is a {name}; this resource takes {resource.kind} objects")
    if obj.get("metadata") is None:
        obj["metadata"] = {}
    if not isinstance(obj["metadata"], dict):
        raise BadRequestError(f"{resource.kind}: metadata must be an object.")
    for name, item in settled.items():
        sent = obj.get(name)
        # Compared as JSON as well, for which true is not 1.
        if sent is not item and name != "metadata" and sent == item and _encode(sent) == _encode(item):
            obj[name] = item
    # Fields of the metadata are written into it before it is stored, so it is shared field by field.
    meta = obj["metadata"] = dict(obj["metadata"])
    found = Findings(canonical=kind.builtin)
    settle(kind.schemas[version], obj, "", found, settled)
    if found.unknown:
        _report(kind, version, found.unknown, options)
    if found.causes:
        _refuse_unreadable(kind, version, obj, found.causes)
    if len(owners := meta.get("ownerReferences") or ()) > 1:
        meta["ownerReferences"] = [owner for index, owner in enumerate(owners) if owner not in owners[:index]]
    return obj, found.causes


def stored(kind: Kind, record: Record) -> Object:
    """A stored object as the kind's schema settles it now, which may be another than when it was stored."""
    schema = kind.schemas[kind.storage]
    if record.schema is schema:
        return record.obj
    obj = copied(record.obj)
    settle(schema, obj, "", Findings(canonical=kind.builtin))
    return obj


def _report(kind: Kind, version: str, unknown: list[str], options: WriteOptions) -> None:
    if options.field_validation == "Strict":
        raise _strictly(kind, version, unknown)
    if options.field_validation == "Warn":
        options.warnings.extend(f'unknown field "{path}"' for path in unknown)


def refuse_undeclared(kind: Kind, version: str, obj: Object, options: WriteOptions) -> None:
    """Refuse an applied configuration with fields that the kind does not have: nobody could own them."""
    found = Findings(complete=False)
    settle(kind.schemas[version], obj, "", found)
    if not (unknown := found.unknown):
        return
    if options.field_validation == "Strict":
        raise _strictly(kind, version, unknown)
    resource, meta = kind.resources[version], obj.get("metadata") or {}
    named = f"{meta.get('namespace', '')}/{meta.get('name', '')}; {resource.group}/{resource.version}"
    said = "; ".join(f".{path}: field not declared in schema" for path in unknown)
    raise BadRequestError(f"failed to create typed patch object ({named}, Kind={resource.kind}): {said}")


def _strictly(kind: Kind, version: str, unknown: list[str]) -> BadRequestError:
    listed = ", ".join(f'unknown field "{path}"' for path in unknown)
    return BadRequestError(
        f'{kind.name} in version "{version}" cannot be handled as a {kind.name}: '
        f"strict decoding error: {listed}"
    )


def _refuse_unreadable(kind: Kind, version: str, obj: Object, causes: list[Cause]) -> None:
    """Wrong types end the request here: no rule can read such an object."""
    wrong = [cause for cause in causes if cause.reason == TYPE_INVALID]
    if not wrong:
        return
    if kind.builtin or any(cause.field.startswith("metadata") for cause in wrong):
        said = "; ".join(f"{cause.field}: {cause.message}" for cause in wrong)
        raise BadRequestError(
            f'{kind.name} in version "{version}" cannot be handled as a {kind.name}: {said}'
        )
    raise kind.invalid(causes, str(obj["metadata"].get("name", "")))


def refuse_invalid(
    kind: Kind,
    obj: Object,
    old: Mapping[str, Any] | None,
    causes: list[Cause],
    *,
    known: bool = False,
) -> None:
    """Raise InvalidObjectError with everything that the rules of all kinds and of this one find.

    Where the old object is ``known`` to be good, what has not changed is not judged again.
    """
    found: list[Cause] = []
    judged = old if known and old is not None else {}
    if not judged or metadata.differs(obj["metadata"], judged["metadata"]):
        found.extend(
            metadata.problems(obj["metadata"], namespaced=kind.namespaced, label_name=kind.label_name)
        )
    if not judged or kind.rules.concerned(obj, judged):
        found.extend(kind.rules.problems(obj))
    found.extend(sorted(causes, key=lambda cause: cause.reason == DUPLICATE))
    if old is not None:
        found.extend(kind.rules.change_problems(obj, old))
    if found:
        raise kind.invalid(dict.fromkeys(found), str(obj["metadata"].get("name", "")))
