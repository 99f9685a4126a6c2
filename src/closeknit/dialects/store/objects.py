"""Objects as dialects see them: by shape, each with where it was written and what is wrong with it.

Some tools keep files of their own, without ``apiVersion``, ``kind`` and ``metadata``. Such a
file is read as the ``spec`` of the object that carries it, so dialects see objects only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.wire import Wire
from closeknit.dialects.wire.sources import Located
from closeknit.hub.paths import join, path_of
from closeknit.hub.problems import Problem, as_told
from closeknit.hub.workload import ObjectName


class Named(Protocol):
    """A wire shape of a whole object."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its name, labels and so on."""


_O = TypeVar("_O", bound=Named)
_T = TypeVar("_T")
_O_co = TypeVar("_O_co", bound=Named, covariant=True)

DEFAULT_NAMESPACE = "default"


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
    """Ways of keys at whose end several such files stand, in a document without apiVersion and kind."""
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

    def seen(self, problem: Problem) -> Problem:
        """A problem of the object, at the path that the author of the file sees."""
        if problem.where == "metadata.name":
            return as_told(path_of(self.name) or self.mark, problem.message)
        return as_told(problem.where.removeprefix("spec").removeprefix("."), problem.message)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that somebody reads."""

    group: str
    """Empty for the core group."""
    kind: str
    versions: tuple[str, ...]
    """Those that are read, the preferred one first. Versions that differ in shape are kinds of their own."""
    shape: type[Wire]
    namespaced: bool = True
    own_file: OwnFile | None = None
    """How it is written without apiVersion and kind, if it ever is."""
    named: bool = True
    """Whether an object needs a name. A configuration file has a kind, but nobody calls it by a name."""
    verbatim: bool = False
    """Whether its documents are kept as they were written, for those who write them again with changes."""


@dataclass(frozen=True, slots=True)
class Manifest(Generic[_O_co]):
    """An object, and where it was found."""

    source: str
    document: int
    prefix: str
    """The path of the object in its document; empty unless it was an item of a list."""
    object: ObjectName
    content: _O_co
    problems: tuple[Problem, ...] = ()
    """What is wrong with its shape although it could be read; already reported."""
    written: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False, compare=False)
    """The whole object as it was written, unused fields included; empty unless its kind is kept verbatim."""
    own_file: OwnFile | None = None
    """Set where the document was a file without apiVersion and kind."""

    @property
    def name(self) -> str:
        """The object's own name."""
        return self.object.name

    @property
    def namespace(self) -> str:
        """The object's namespace, ``default`` where it says nothing."""
        return self.object.namespace

    def seen(self, problem: Problem) -> Problem:
        """A problem of this object, at the path that its author sees, counted from the object."""
        return problem if self.own_file is None else self.own_file.seen(problem)

    def located(self, problem: Problem) -> Located:
        """A problem of this object, with its place."""
        inner = self.seen(problem)
        whole = as_told(join(self.prefix, inner.where), inner.message)
        return Located(self.source, self.document, whole, self.object)


@dataclass(frozen=True, slots=True)
class Broken:
    """An object that could not be read. Others may name it, which is no mistake of theirs."""

    object: ObjectName
    shape: type[Wire]
    problems: tuple[Problem, ...]
    """What is wrong with it; already reported."""


class Manifests:
    """All objects, by shape."""

    def __init__(self, found: Iterable[Manifest[Any] | Broken]) -> None:
        self._by_shape: dict[type, list[Manifest[Any]]] = defaultdict(list)
        self._broken: dict[type, list[Broken]] = defaultdict(list)
        self._made: dict[tuple[object, ...], tuple[Any, tuple[object, ...]]] = {}
        for one in found:
            if isinstance(one, Broken):
                self._broken[one.shape].append(one)
            else:
                self._by_shape[type(one.content)].append(one)

    def once(self, make: Callable[..., _T], *beside: object) -> _T:
        """What a function makes of these objects, worked out when it is first asked for.

        ``beside`` is what the function is given as well. It is known by its identity, so asking with
        an equal value means working it out again.
        """
        key = (make, *map(id, beside))
        if key not in self._made:
            # What stands beside is kept, so that no other value can have its identity.
            self._made[key] = (make(self, *beside), beside)
        return cast(_T, self._made[key][0])

    def of(self, shape: type[_O]) -> Sequence[Manifest[_O]]:
        """The objects of this shape, in the order of the documents."""
        return self._by_shape.get(shape, [])

    def broken(self, shape: type[Wire]) -> Sequence[Broken]:
        """The objects that should have had this shape and could not be read."""
        return self._broken.get(shape, [])

    def origin(self, workload: ObjectName) -> Manifest[Any]:
        """The object that a workload was read from, as far as names tell.

        One of several workloads of an object is called by its name, a dot and more; one of several
        objects together, such as pods, has a name of its own and is told at the first of them.
        """
        every = [one for manifests in self._by_shape.values() for one in manifests]
        alike = [one for one in every if one.object.kind == workload.kind]
        near = [one for one in alike if one.namespace == workload.namespace]
        name = workload.name
        while all(one.name != name for one in near) and "." in name:
            name = name.rpartition(".")[0]
        return next((one for one in near if one.name == name), (near or alike or every)[0])

    def named(self, shape: type[Wire]) -> Iterator[ObjectName]:
        """The objects of this shape that exist, whether they could be read or not."""
        yield from (manifest.object for manifest in self._by_shape.get(shape, []))
        yield from (broken.object for broken in self._broken.get(shape, []))
