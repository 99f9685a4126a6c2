"""Documents recognised by their kind, decoded, and told apart by their names."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.dialects.collected import collected
from closeknit.dialects.manifests import DEFAULT_NAMESPACE, Broken, Kind, Manifest, Named, OwnFile
from closeknit.dialects.paths import join, within
from closeknit.dialects.places import Located, Skipped
from closeknit.dialects.shapes import decode
from closeknit.dialects.spelling import found, is_slip
from closeknit.dialects.text.documents import Document
from closeknit.hub.problems import Problem, nearest, shown, suggestion
from closeknit.hub.workload import ObjectName


class Catalogue:
    """All kinds that are read, and those that are known and passed over."""

    def __init__(self, kinds: Iterable[Kind], passed_over: Mapping[str, frozenset[str]]) -> None:
        self._kinds: dict[tuple[str, str], list[Kind]] = defaultdict(list)
        # Two dialects may read the same kind, each the objects that speak to it; both declare it alike.
        for kind in dict.fromkeys(kinds):
            self._kinds[kind.group, kind.kind].append(kind)
        self._known = defaultdict(set, {group: set(names) for group, names in passed_over.items()})
        for group, name in self._kinds:
            self._known[group].add(name)
        every = itertools.chain.from_iterable(self._kinds.values())
        self._files = [(kind, kind.own_file) for kind in every if kind.own_file is not None]

    def manifests(
        self, documents: Iterable[Document], *, lenient: bool
    ) -> Iterator[Manifest[Any] | Broken | Located | Skipped]:
        """Yield the object of every document after its problems; of two with one name, the first."""
        seen: dict[tuple[str, str, str, str], str] = {}
        for document in documents:
            for prefix, content in _unpacked(document.content):
                for path, whole, own_file in self._wholes(content):
                    here = join(prefix, path)
                    yield from self._manifest(document, here, whole, own_file, seen, lenient=lenient)

    def _manifest(
        self,
        document: Document,
        prefix: str,
        content: Any,
        own_file: OwnFile | None,
        seen: dict[tuple[str, str, str, str], str],
        *,
        lenient: bool,
    ) -> Iterator[Manifest[Any] | Broken | Located | Skipped]:
        kind = self._kind(content)
        if kind is None:
            name = _identity(content, kind)
            yield Skipped(document.source, document.number, name.api_version, name.kind)
            return
        identity = _identity(content, kind)
        decoded, problems = (
            (None, (kind,))
            if isinstance(kind, Problem)
            else _decoded(kind, content, own_file, lenient=lenient)
        )
        here = f"{document.source}, document {document.number}" + (f", {prefix}" if prefix else "")
        key = (identity.api_version.rpartition("/")[0], identity.kind, identity.namespace, identity.name)
        again = identity.name and seen.setdefault(key, here) != here
        if again:
            message = f"There is already a {identity.kind} {shown(identity.name)} in {seen[key]}."
            problems = (*problems, Problem("metadata.name", f"{message} Remove one, or rename it."))
        if own_file is not None:
            problems = tuple(own_file.seen(problem) for problem in problems)
        for problem in problems:
            whole = Problem(join(prefix, problem.path), problem.message)
            yield Located(document.source, document.number, whole, identity)
        if isinstance(kind, Problem) or again:
            return
        if decoded is None:
            yield Broken(identity, kind.shape, problems)
        else:
            written = content if kind.verbatim else {}
            yield Manifest(
                document.source, document.number, prefix, identity, decoded, problems, written, own_file
            )

    def _wholes(self, content: Any) -> Iterator[tuple[str, Any, OwnFile | None]]:
        """A document as an object; a file that some kind knows as its own is put into one.

        Where several files stand in one document, each with its path.
        """
        if not isinstance(content, dict) or "apiVersion" in content or "kind" in content:
            yield "", content, None
            return
        for kind, own_file in self._files:
            if own_file.mark in content:
                yield "", own_file.whole(content, f"{kind.group}/{kind.versions[0]}", kind.kind), own_file
                return
        found = False
        for kind, own_file in self._files:
            for way in own_file.together:
                for path, file in collected(content, way, own_file.name[-1]):
                    found = True
                    yield path, own_file.whole(file, f"{kind.group}/{kind.versions[0]}", kind.kind), own_file
        if not found:
            yield "", content, None

    def _kind(self, content: Any) -> Kind | Problem | None:
        """The kind of a document; None for one that is of no concern here."""
        if not isinstance(content, dict):
            return Problem(
                "", f"Found {found(content)} where an object with apiVersion and kind is expected."
            )
        for key in ("apiVersion", "kind"):
            if not isinstance(content.get(key), str) or not content[key]:
                return Problem(key, f"An object needs {key}, a string such as {_EXAMPLES[key]}.")
        group, _, version = content["apiVersion"].rpartition("/")
        name = content["kind"]
        if (kinds := self._kinds.get((group, name))) is not None:
            for kind in kinds:
                if version in kind.versions:
                    return kind
            allowed = [f"{group}/{version}".lstrip("/") for kind in kinds for version in kind.versions]
            remedy = suggestion(content["apiVersion"], allowed)
            return Problem("apiVersion", f"{name} is not read in version {shown(version)}. {remedy}")
        if group in self._known:
            return None if name in self._known[group] else _unknown_kind(name, self._known[group])
        meant = nearest(group, [other for other, kind_name in self._kinds if kind_name == name])
        # A group that is merely similar, as "scheduling.x-k8s.io" is, belongs to another project.
        if meant and is_slip(group, meant):
            return Problem(
                "apiVersion", f"There is no API group {shown(group)}. Did you mean {shown(meant)}?"
            )
        return None


_EXAMPLES = {"apiVersion": '"v1"', "kind": '"Node"'}
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)


def _unpacked(content: Any) -> Iterator[tuple[str, Any]]:
    """An object with its path, or in place of a list of objects its items, at any depth.

    Items of a typed list such as ``PodList`` need not repeat what they are. A list that has nothing but
    its kind and metadata is empty; one that has other fields is an object of its own, or misspelt.
    """
    pending = [("", content)]
    while pending:
        path, outer = pending.pop()
        kind = outer.get("kind") if isinstance(outer, dict) else None
        items = outer.get("items") if isinstance(outer, dict) else None
        if isinstance(kind, str) and outer.keys() <= {"apiVersion", "kind", "metadata"}:
            items = []
        if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list):
            yield path, outer
            continue
        told = (
            {"apiVersion": outer.get("apiVersion"), "kind": kind.removesuffix("List")}
            if kind != "List"
            else {}
        )
        pending.extend(
            (within(path, "items", i), {**told, **item} if told and isinstance(item, dict) else item)
            for i, item in reversed(list(enumerate(items)))
        )


def _identity(content: Any, kind: Kind | Problem | None) -> ObjectName:
    """What is known of an object's name, even where the object has problems."""
    fields = content if isinstance(content, dict) else {}
    metadata = fields.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    written = [fields.get("apiVersion"), fields.get("kind"), metadata.get("namespace"), metadata.get("name")]
    api_version, name_of_kind, namespace, name = (
        _safe(text) if isinstance(text, str) else "" for text in written
    )
    if isinstance(kind, Kind):
        namespace = (namespace or DEFAULT_NAMESPACE) if kind.namespaced else ""
    return ObjectName(api_version, name_of_kind, namespace, name)


def _safe(text: str) -> str:
    """The text, unless it could harm a terminal; no valid name is changed."""
    return text if text.isprintable() and len(text) <= 316 else ascii(text[:80])[1:-1]


def _decoded(
    kind: Kind, content: Any, own_file: OwnFile | None, *, lenient: bool
) -> tuple[Any, tuple[Problem, ...]]:
    """The object if it has the right shape and a name that Kubernetes would accept.

    A name that was taken from a file of its own is judged by who knows such files, if they have a rule.
    """
    decoded, problems = decode(kind.shape, content, lenient=lenient)
    if decoded is None:
        return None, problems
    metadata = cast(Named, decoded).metadata
    if own_file is not None and own_file.own_names:
        return decoded, problems
    if kind.named and not metadata.name:
        return None, (*problems, Problem("metadata.name", "An object needs a name."))
    wrong = tuple(_name_problems(metadata))
    # A file of its own is no object yet, so its rules can be told beside a name that none could have.
    return None if wrong and own_file is None else decoded, (*problems, *wrong)


def _name_problems(metadata: ObjectMeta) -> Iterator[Problem]:
    for key, text in (("name", metadata.name), ("namespace", metadata.namespace)):
        if text and (len(text) > 253 or not _SUBDOMAIN.fullmatch(text)):
            yield Problem(
                f"metadata.{key}",
                f"{shown(text)} is not a valid name. Allowed are at most 253 lower-case letters, digits,"
                " dashes and dots, with a letter or digit at both ends of each part.",
            )


def _unknown_kind(name: str, known: Iterable[str]) -> Problem:
    return Problem("kind", f"There is no kind {shown(name)} in this API group. {suggestion(name, known)}")
