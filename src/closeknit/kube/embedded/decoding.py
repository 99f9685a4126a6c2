"""From what a client sent to an object of its kind: read, pruned, defaulted, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

import msgspec

from closeknit.kube.embedded import metadata
from closeknit.kube.embedded.checking import (
    DUPLICATE,
    MAX_CAUSES,
    REQUIRED,
    TYPE_INVALID,
    Causes,
    Findings,
    settle,
)
from closeknit.kube.embedded.core import WriteOptions
from closeknit.kube.embedded.kinds import Kind, Object
from closeknit.kube.embedded.schema import canonical_json
from closeknit.kube.embedded.store import Record
from closeknit.kube.errors import BadRequestError, Cause

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


MOST_FINDINGS: Final = 100
"""How many unknown fields are named; as many as kube-apiserver names."""


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
        report_findings(kind, version, _unknown(found.unknown), options)
    if found.causes:
        _refuse_unreadable(kind, version, obj, found.causes)
    if len(owners := meta.get("ownerReferences") or ()) > 1:
        # By their JSON: comparing each with all before it takes hours for the owners that 3 MiB can name.
        unique: dict[bytes, Any] = {}
        for owner in owners:
            unique.setdefault(canonical_json(owner), owner)
        meta["ownerReferences"] = list(unique.values())
    return obj, found.causes


def stored(kind: Kind, record: Record) -> Object:
    """A stored object as the kind's schema settles it now, which may be another than when it was stored."""
    schema = kind.schemas[kind.storage]
    if record.schema is schema:
        return record.obj
    obj = copied(record.obj)
    settle(schema, obj, "", Findings(canonical=kind.builtin))
    return obj


def report_findings(kind: Kind, version: str, findings: Sequence[str], options: WriteOptions) -> None:
    """Refuse fields that are unknown or repeated, warn of them, or pass them over, as the writer asked."""
    if findings and options.field_validation == "Strict":
        raise _strictly(kind, version, findings)
    if options.field_validation == "Warn":
        options.warnings.extend(findings)


def _unknown(paths: Iterable[str]) -> list[str]:
    return [f'unknown field "{path}"' for path in islice(paths, MOST_FINDINGS)]


def refuse_undeclared(kind: Kind, version: str, obj: Object, options: WriteOptions) -> None:
    """Refuse an applied configuration with fields that the kind does not have: nobody could own them."""
    found = Findings(complete=False)
    settle(kind.schemas[version], obj, "", found)
    if not (unknown := found.unknown):
        return
    if options.field_validation == "Strict":
        raise _strictly(kind, version, _unknown(unknown))
    resource, meta = kind.resources[version], obj.get("metadata") or {}
    named = f"{meta.get('namespace', '')}/{meta.get('name', '')}; {resource.group}/{resource.version}"
    said = "; ".join(f".{path}: field not declared in schema" for path in unknown[:MOST_FINDINGS])
    raise BadRequestError(f"failed to create typed patch object ({named}, Kind={resource.kind}): {said}")


def _strictly(kind: Kind, version: str, findings: Sequence[str]) -> BadRequestError:
    return BadRequestError(
        f'{kind.name} in version "{version}" cannot be handled as a {kind.name}: '
        f"strict decoding error: {', '.join(findings)}"
    )


def _refuse_unreadable(kind: Kind, version: str, obj: Object, causes: list[Cause]) -> None:
    """Wrong types end the request here: no rule can read such an object."""
    if len(causes) >= MAX_CAUSES:
        # There may be more, which were not kept.
        raise kind.invalid(causes, str(obj["metadata"].get("name", "")))
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
    found = Causes()
    # Rules read the fields that objects must have. Kubernetes reads a zero value where one is missing.
    complete = all(cause.reason != REQUIRED for cause in causes)
    judged = old if known and old is not None else {}
    if not judged or metadata.differs(obj["metadata"], judged["metadata"]):
        found.extend(
            metadata.problems(obj["metadata"], namespaced=kind.namespaced, label_name=kind.label_name)
        )
    if complete and (not judged or kind.rules.concerned(obj, judged)):
        found.extend(kind.rules.problems(obj))
    found.extend(sorted(causes, key=lambda cause: cause.reason == DUPLICATE))
    if complete and old is not None:
        found.extend(kind.rules.change_problems(obj, old))
    if found:
        raise kind.invalid(dict.fromkeys(found), str(obj["metadata"].get("name", "")))
