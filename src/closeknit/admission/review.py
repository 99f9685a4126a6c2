"""Whether a write may happen: the rules of the families, asked about one object and a view of all others.

The view is given back as it was. What it says is what the families say of files, with two differences. What
is only missing yet, such as a queue or a priority class, is no reason to refuse anything here: objects come
in any order. And in an update only what was not wrong before is a reason, since a topology may have changed
under objects that exist, and they must be able to go on and to end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from closeknit.admission.requests import Request, Review, told
from closeknit.admission.reviewed import reviewed_by
from closeknit.apis.closeknit_keys import MANAGED_BY, OPERATOR
from closeknit.dialects.compiling import check_object
from closeknit.dialects.family import Family
from closeknit.dialects.store.objects import Stored, Unreadable
from closeknit.dialects.store.store import Entry
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.decoding import decode, fitting
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.hub.problems import Category, Problem, Severity
from closeknit.hub.sentences import admission as sentences
from closeknit.hub.workload import ObjectName, PlaceableWorkload

COLLECTORS: Final = frozenset(
    f"system:serviceaccount:kube-system:{name}"
    for name in ("generic-garbage-collector", "namespace-controller")
)
"""Who deletes for Kubernetes itself what nobody owns any more."""


def review(family: Family, request: Request, view: View, operators: frozenset[str]) -> Review:
    """What a family says of a write. ``operators`` are the users who may touch what operators have made."""
    row = reviewed_by(family.name, request.group, request.kind)
    if row is None:
        return Review()
    if request.user in operators:
        # What operators write follows from what was admitted. Of protected kinds an API server does not
        # even ask, since operators write these before anybody can answer.
        return Review()
    if row.protected and request.user not in COLLECTORS:
        made = [each for each in (request.old, request.obj) if each is not None and _made_by_operator(each)]
        if made:
            problem = sentences.MANAGED.at(("metadata", "labels", MANAGED_BY), kind=request.kind)
            return Review((problem,), forbidden=True)
    kind = _kind(family, request)
    if request.obj is None or kind is None or (request.obj.get("metadata") or {}).get("deletionTimestamp"):
        return Review()
    new = entry_of(kind, request, request.obj, exists=request.old is not None)
    found = _problems(family, view, new, exists=request.old is not None)
    passed = {each for each in found if each.severity is not Severity.PROBLEM or _may_wait(family, new, each)}
    changes: list[Problem] = []
    wrong = len(passed) < len(found)
    if request.old is not None and (wrong or kind.shape in family.update):
        old = entry_of(kind, request, request.old, exists=True)
        if wrong:
            passed.update(_problems(family, view, old, exists=True))
        changes.extend(_changes(family, view, old, new))
    return Review(
        tuple(dict.fromkeys((*changes, *(each for each in found if each not in passed)))),
        told(each for each in found if each in passed),
    )


def _may_wait(family: Family, entry: Entry, problem: Problem) -> bool:
    """Whether an object with this problem is admitted, because another object can resolve it later.

    A workload reports in its conditions what it waits for.
    """
    match problem.category:
        case Category.WAITING:
            return True
        case Category.UNRESOLVED_REFERENCE:
            return entry.shape not in family.compile
        case Category.INVALID | Category.SKIPPABLE:
            return False


def _made_by_operator(obj: Mapping[str, Any]) -> bool:
    labels = (obj.get("metadata") or {}).get("labels") or {}
    return labels.get(MANAGED_BY) == OPERATOR


def _kind(family: Family, request: Request) -> Kind | None:
    asked = (request.group, request.kind)
    for kind in family.kinds:
        if (kind.group, kind.kind) == asked and request.version in kind.versions:
            return kind
    return None


def entry_of(kind: Kind, request: Request, obj: Mapping[str, Any], *, exists: bool) -> Entry:
    """The object of a request as a store keeps it; a new one without what only the server writes."""
    metadata = obj.get("metadata") or {}
    if not exists:
        metadata = {
            name: value for name, value in metadata.items() if name not in ("uid", "creationTimestamp")
        }
    content = {**obj, "metadata": metadata}
    namespace = (request.namespace or metadata.get("namespace", "")) if kind.namespaced else ""
    name = request.name or metadata.get("name") or metadata.get("generateName", "")
    key = Key(kind.group, kind.kind, namespace, name)
    named = ObjectName(f"{request.group}/{request.version}".lstrip("/"), kind.kind, namespace, name)
    decoded, problems = fitting(kind.shape, content), tuple[Problem, ...]()
    if decoded is None:
        # Null means that nothing is written, and the server leaves it standing.
        content = _without_nulls(content) if b"null" in msgspec.json.encode(content) else content
        decoded, problems = decode(kind.shape, content, lenient=True)
    if decoded is None:
        return Unreadable(key, named, kind.shape, problems)
    return Stored(key, named, decoded, problems, content if kind.verbatim else {})


def _without_nulls(value: Any) -> Any:
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _problems(family: Family, view: View, entry: Entry, *, exists: bool) -> Sequence[Problem]:
    """Everything that is wrong with an object, were it there."""
    if isinstance(entry, Unreadable):
        return entry.problems
    key, there, existing = entry.key, view.entry(entry.key), view.existing
    view.put(entry)
    view.existing = frozenset({key}) if exists else frozenset()
    try:
        found = dict.fromkeys((*entry.problems, *_told(family, view, entry)))
    finally:
        view.existing = existing
        if there is None:
            view.remove(key)
        else:
            view.put(there)
    return tuple(found)


def _told(family: Family, view: View, entry: Stored[Any]) -> Iterator[Problem]:
    key = entry.key
    yield from (each.problem for each in view.derive(family.topologies).problems if each.key == key)
    if entry.shape in family.check:
        yield from check_object(view, family, key)
    if entry.shape in family.compile:
        # What a family accepts, the hub accepts too; it is asked again before anything is placed.
        compiled = family.compile[entry.shape](entry, view)
        yield from compiled.problems
        yield from (each.problem for each in compiled.elsewhere if each.key == key)
        yield from compiled.notes
        for workload in compiled.workloads:
            if not isinstance(workload, PlaceableWorkload):
                yield from workload.problems
            yield from workload.notes


def _changes(family: Family, view: View, old: Entry, new: Entry) -> Iterator[Problem]:
    """Everything about an update that cannot be made in place."""
    if isinstance(old, Stored) and isinstance(new, Stored) and new.shape in family.update:
        yield from family.update[new.shape](old, new, view)
