"""Recognise documents by their kind, decode them, and tell them apart by their keys."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.dialects.wire.decoding import decode, found, is_slip, passed_over
from closeknit.dialects.wire.kinds import (
    DEFAULT_NAMESPACE,
    UNNAMED,
    Kind,
    Origin,
    OwnFile,
    Replaced,
    Skipped,
    files_at,
)
from closeknit.hub.keys import Key
from closeknit.hub.nearest import nearest
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem, parted
from closeknit.hub.sentences import wire as sentences
from closeknit.hub.workload import ObjectName
from closeknit.text.documents import Document, Located


class Found(NamedTuple):
    """An object, as far as it could be read, and where it was written."""

    kind: Kind
    key: Key
    object: ObjectName
    origin: Origin
    content: Any
    """The decoded object; None where it cannot be read."""
    problems: tuple[Problem, ...]
    """What is wrong with its shape; already reported."""
    written: dict[str, Any]
    """The whole object, where its kind is kept verbatim."""


class Registry:
    """All kinds that are read, and those that are known and passed over."""

    def __init__(self, kinds: Iterable[Kind], passed_over: Iterable[Mapping[str, frozenset[str]]]) -> None:
        self._kinds: dict[tuple[str, str], list[Kind]] = defaultdict(list)
        # Two families may read the same kind, each the objects that speak to it; both declare it alike.
        for kind in dict.fromkeys(kinds):
            self._kinds[kind.group, kind.kind].append(kind)
        self._known: dict[str, set[str]] = defaultdict(set)
        for group, names in (each for listed in passed_over for each in listed.items()):
            self._known[group] |= names
        for (group, name), listed in self._kinds.items():
            # Of a group that is somebody else's, kinds may exist that are not listed here.
            if any(kind.served for kind in listed):
                self._known[group].add(name)
        every = itertools.chain.from_iterable(self._kinds.values())
        self._files = [(kind, kind.own_file) for kind in every if kind.own_file is not None]

    def objects(
        self, documents: Iterable[Document], *, lenient: bool, namespace: str = DEFAULT_NAMESPACE
    ) -> Iterator[Found | Located | Skipped | Replaced]:
        """Yield the object of every document after its problems; of two with one key, the first.

        ``namespace`` is that of objects which name none. Fields of a cluster's objects that are not known
        are no problem: its server knows them.
        """
        seen: dict[Key, Origin] = {}
        generated: Counter[str] = Counter()
        for origin, whole in self.written(documents):
            named = with_name(whole, generated)
            yield from self._object(origin, named, seen, namespace, lenient=lenient)

    def written(self, documents: Iterable[Document]) -> Iterator[tuple[Origin, Any]]:
        """Yield every object as it was written. Lists are taken apart; files of their own become objects."""
        for document in documents:
            for prefix, content in _unpacked(document.content):
                for path, whole, own_file in self._wholes(content):
                    yield Origin(document.source, document.number, (*prefix, *path), own_file), whole

    def _object(
        self, origin: Origin, content: Any, seen: dict[Key, Origin], namespace: str, *, lenient: bool
    ) -> Iterator[Found | Located | Skipped | Replaced]:
        kind = self._kind(content)
        name = _identity(content, kind, namespace)
        if kind is None:
            yield Skipped(origin.source, origin.document, name.api_version, name.kind)
            return
        if origin.live and name.key in seen:
            yield Replaced(name, seen[name.key])
            return
        decoded, problems = (
            (None, (kind,)) if isinstance(kind, Problem) else _decoded(kind, content, origin, lenient=lenient)
        )
        if problems and isinstance(kind, Kind) and not kind.served:
            # Somebody else's object, of which only a part is known here: who has the rules may judge it.
            yield Skipped(origin.source, origin.document, name.api_version, name.kind)
            return
        key = name.key
        if not key.name:
            # Nobody calls it by a name, so several of them are different objects.
            key = key._replace(name=f"{UNNAMED}{len(seen)}")
        first = seen.setdefault(key, origin)
        if first is not origin:
            again = sentences.OBJECT_TWICE.at(
                ("metadata", "name"), kind=name.kind, name=name.name, origin=str(first)
            )
            problems = (*problems, again)
        for problem in problems:
            yield origin.located(problem, name)
        problems, _ = parted(problems)
        if isinstance(kind, Problem) or first is not origin:
            return
        yield Found(kind, key, name, origin, decoded, problems, content if kind.verbatim else {})

    def _wholes(self, content: Any) -> Iterator[tuple[Path, Any, OwnFile | None]]:
        """A document as an object; a file that some kind knows as its own is put into one.

        Where several files stand in one document, each with its path.
        """
        if not isinstance(content, dict) or "apiVersion" in content or "kind" in content:
            yield (), content, None
            return
        for kind, own_file in self._files:
            if own_file.mark in content:
                yield (), own_file.whole(content, f"{kind.group}/{kind.versions[0]}", kind.kind), own_file
                return
        found = False
        for kind, own_file in self._files:
            for way in own_file.together:
                for path, file in files_at(content, way, own_file.name[-1]):
                    found = True
                    yield path, own_file.whole(file, f"{kind.group}/{kind.versions[0]}", kind.kind), own_file
        if not found:
            yield (), content, None

    def _kind(self, content: Any) -> Kind | Problem | None:
        """The kind of a document; None for one that is of no concern here."""
        if not isinstance(content, dict):
            return sentences.NO_OBJECT.at((), found=found(content))
        for key in ("apiVersion", "kind"):
            if not isinstance(content.get(key), str) or not content[key]:
                return sentences.UNTYPED_OBJECT.at((key,), field=key, example=_EXAMPLES[key])
        group, _, version = content["apiVersion"].rpartition("/")
        name = content["kind"]
        if (kinds := self._kinds.get((group, name))) is not None:
            for kind in kinds:
                if version in kind.versions:
                    return kind
            allowed = [f"{group}/{version}".lstrip("/") for kind in kinds for version in kind.versions]
            remedy = OneOf.among(content["apiVersion"], allowed)
            code = sentences.UNKNOWN_VERSION
            return code.at(("apiVersion",), kind=name, version=version, remedy=remedy)
        if group in self._known:
            if name in self._known[group]:
                return None
            remedy = OneOf.among(name, self._known[group])
            return sentences.UNKNOWN_KIND.at(("kind",), kind=name, remedy=remedy)
        meant = nearest(group, [other for other, kind_name in self._kinds if kind_name == name])
        # A group that is merely similar, as "scheduling.x-k8s.io" is, belongs to another project.
        if meant and group not in _OTHERS and is_slip(group, meant):
            return sentences.UNKNOWN_GROUP.at(("apiVersion",), group=group, near=meant)
        return None


_OTHERS = frozenset({"scheduling.x-k8s.io"})
"""API groups of other projects whose names are like those of groups that are read."""
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What servers end generated names with: no vowels, so that no words come about."""
_EXAMPLES = {"apiVersion": "v1", "kind": "Node"}
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)


def _unpacked(content: Any) -> Iterator[tuple[Path, Any]]:
    """An object with its path, or in place of a list of objects its items, at any depth.

    Items of a typed list such as ``PodList`` need not repeat what they are. A list that has nothing but
    its kind and metadata is empty; one that has other fields is an object of its own, or misspelt.
    """
    pending: list[tuple[Path, Any]] = [((), content)]
    while pending:
        path, outer = pending.pop()
        kind = outer.get("kind") if isinstance(outer, dict) else None
        if not isinstance(kind, str) or not kind.endswith("List"):
            yield path, outer
            continue
        items = [] if outer.keys() <= {"apiVersion", "kind", "metadata"} else outer.get("items")
        if not isinstance(items, list):
            yield path, outer
            continue
        typed = (
            {"apiVersion": outer.get("apiVersion"), "kind": kind.removesuffix("List")}
            if kind != "List"
            else {}
        )
        pending.extend(
            ((*path, "items", i), {**typed, **item} if typed and isinstance(item, dict) else item)
            for i, item in reversed(list(enumerate(items)))
        )


def with_name(content: Any, generated: Counter[str]) -> Any:
    """An object that leaves its name to the server with one of the kind that a server would give.

    The name follows from the content, so that the order of documents does not show; equal ones are counted.
    """
    metadata = content.get("metadata") if isinstance(content, dict) else None
    if not isinstance(metadata, dict) or metadata.get("name"):
        return content
    stem = metadata.get("generateName")
    if not isinstance(stem, str) or not stem:
        return content
    written = json.dumps(content, sort_keys=True, default=str)
    digest = hashlib.sha256(f"{written}{generated[written] or ''}".encode()).digest()
    generated[written] += 1
    ending = "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:5])
    kept = {key: value for key, value in metadata.items() if key != "generateName"}
    # A server cuts a long beginning, so that the whole stays a name.
    return {**content, "metadata": {**kept, "name": f"{stem[:248]}{ending}"}}


def _identity(content: Any, kind: Kind | Problem | None, default_namespace: str) -> ObjectName:
    """What is known of an object's name, even where the object has problems."""
    fields = content if isinstance(content, dict) else {}
    metadata = fields.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespace = _safe(metadata.get("namespace"))
    if isinstance(kind, Kind):
        namespace = (namespace or default_namespace) if kind.namespaced else ""
    name = _safe(metadata.get("name"))
    return ObjectName(_safe(fields.get("apiVersion")), _safe(fields.get("kind")), namespace, name)


def _safe(text: Any) -> str:
    """The text, unless it could harm a terminal; no valid name is changed."""
    if not isinstance(text, str):
        return ""
    return text if text.isprintable() and len(text) <= 316 else ascii(text[:80])[1:-1]


def _decoded(kind: Kind, content: Any, origin: Origin, *, lenient: bool) -> tuple[Any, tuple[Problem, ...]]:
    """The object if it has the right shape and a name that Kubernetes would accept.

    A name that was taken from a file of its own is judged by who knows such files, if they have a rule.
    """
    own_file = origin.own_file
    decoded, wrong = decode(kind.shape, content, lenient=origin.live)
    problems = passed_over(wrong, lenient=lenient)
    if decoded is None:
        return None, problems
    metadata = decoded.metadata
    if own_file is not None and own_file.own_names:
        return decoded, problems
    if kind.named and not metadata.name:
        return None, (*problems, sentences.NAMELESS.at(("metadata", "name")))
    misnamed = tuple(_name_problems(metadata))
    # A file of its own is no object yet, so it is checked even if no object could have its name.
    return None if misnamed and own_file is None else decoded, (*problems, *misnamed)


def is_name(text: str) -> bool:
    """Whether an object can have this name."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def _name_problems(metadata: ObjectMeta) -> Iterator[Problem]:
    for key, text in (("name", metadata.name), ("namespace", metadata.namespace)):
        if text and not is_name(text):
            yield sentences.INVALID_NAME.at(("metadata", key), name=text)
