"""The kinds that somebody reads, files that hold only the ``spec`` of one, and where an object was written.

Some tools keep files of their own, without ``apiVersion``, ``kind`` and ``metadata``. Such a
file is read as the ``spec`` of the object that carries it, so families see objects only. Where an object was
written is kept beside the store by those who read files: an object in the store does not know its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.hub.paths import Path, text_of
from closeknit.hub.problems import Problem
from closeknit.hub.workload import ObjectName
from closeknit.text.documents import Located

DEFAULT_NAMESPACE = "default"
UNNAMED = "#"
"""How the keys of objects begin that have no name; no name of an object does."""


@dataclass(frozen=True, slots=True)
class OwnFile:
    """How a kind is written in files that hold nothing but its ``spec``."""

    mark: str
    """The key at the top by which such a file is known."""
    name: tuple[str, ...]
    """Where in the file its name stands; capitals and underscores give way to what Kubernetes allows."""
    unnamed: str = ""
    """The name of a file that gives none."""
    together: tuple[tuple[str, ...], ...] = ()
    """Paths at which several such files stand, in a document without apiVersion and kind."""
    own_names: bool = False
    """Whether names in such files have a rule of their own, which allows no more than Kubernetes does."""

    def whole(self, content: dict[str, Any], api_version: str, kind: str) -> dict[str, Any]:
        """The object that carries this file."""
        name: Any = content
        for step in self.name:
            name = name.get(step) if isinstance(name, dict) else None
        plain = name.lower().replace("_", "-") if isinstance(name, str) else ""
        metadata = {"name": plain or self.unnamed}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": content}

    def path_in_file(self, path: Path) -> Path:
        """A path of the object, as the author of the file sees it."""
        if path == ("metadata", "name"):
            return self.name or (self.mark,)
        return path[1:] if path[:1] == ("spec",) else path


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that somebody reads."""

    group: str
    """Empty for the core group."""
    kind: str
    versions: tuple[str, ...]
    """Those that are read, the preferred one first. Versions that differ in shape are kinds of their own."""
    shape: type[KubernetesObject]
    namespaced: bool = True
    own_file: OwnFile | None = None
    """How it is written without apiVersion and kind, if it ever is."""
    named: bool = True
    """Whether an object needs a name. A configuration file has a kind, but nobody calls it by a name."""
    verbatim: bool = False
    """Whether its documents are kept as they were written, for those who write them again with changes."""
    served: bool = True
    """Whether it is read from clusters too, and not from files alone."""
    optional: bool = False
    """Whether Kubernetes itself has it, but not in every version and setting; who lacks it misses nothing."""
    workload: bool = False
    """Whether every object of the kind is a workload, even one that cannot be read."""


def files_at(content: dict[str, Any], way: Sequence[str], name: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the files at the end of a path of keys, each with its path; lists on the way are gone through.

    At the end is a list of files, or a mapping of files by their names. There a file gets its name in
    the field of that name, unless it has one. What is no mapping is passed over.
    """
    reached: list[tuple[Path, Any]] = [((), content)]
    for step in way:
        reached = [
            ((*path, step), outer[step])
            for path, outer in _items(reached)
            if isinstance(outer, dict) and step in outer
        ]
    for path, outer in reached:
        if isinstance(outer, dict):
            for key, file in outer.items():
                if isinstance(file, dict):
                    yield (*path, key), file if file.get(name) else {**file, name: key}
        elif isinstance(outer, list):
            yield from ((at, file) for at, file in _items([(path, outer)]) if isinstance(file, dict))


def _items(reached: list[tuple[Path, Any]]) -> Iterator[tuple[Path, Any]]:
    for path, outer in reached:
        if isinstance(outer, list):
            yield from (((*path, i), item) for i, item in enumerate(outer))
        else:
            yield path, outer


class Origin(NamedTuple):
    """Where an object was written."""

    source: str
    document: int | None
    """Counted from 1 within the source; None for an object of a cluster."""
    prefix: Path
    """The path of the object in its document; empty unless it was an item of a list."""
    own_file: OwnFile | None = None
    """Set where the document was a file without apiVersion and kind."""

    @property
    def live(self) -> bool:
        """Whether a cluster holds the object, and no file."""
        return self.document is None

    def in_file(self, problem: Problem) -> Problem:
        """A problem of the object, at the path that its author sees, counted from the object."""
        return problem if self.own_file is None else problem.moved(self.own_file.path_in_file)

    def located(self, problem: Problem, name: ObjectName | None) -> Located:
        """A problem of the object, with its place."""
        return Located(self.source, self.document, self.in_file(problem).under(*self.prefix), name)

    def __str__(self) -> str:
        whole = self.source if self.live else f"{self.source}, document {self.document}"
        return f"{whole}, {text_of(self.prefix)}" if self.prefix else whole


@dataclass(frozen=True, slots=True)
class Skipped:
    """A document of a kind that no family reads, such as a Service."""

    source: str
    document: int | None
    api_version: str
    kind: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """An object of a cluster in whose place one from a file is taken."""

    object: ObjectName
    by: Origin
