"""Kinds: what the cluster serves, with the rules of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from closeknit.kube.embedded.schema import Schema
from closeknit.kube.embedded.store import TableKey
from closeknit.kube.errors import Cause, ConflictError, InvalidObjectError, NotFoundError, invalid
from closeknit.kube.port import Propagation
from closeknit.kube.resources import Resource

if TYPE_CHECKING:
    from closeknit.kube.embedded.core import Core

Object: TypeAlias = dict[str, Any]


class Rules:
    """What a kind adds to the rules that all kinds share. Objects may be changed in place.

    An object that is not new may share with its old version what a write has not touched: a rule that makes
    another value of that replaces it.
    """

    judges_status = False
    """Whether ``problems`` looks at the status."""

    def default(self, obj: Object) -> None:
        """Fill in what a schema's defaults cannot say; what has its defaults stays as it is."""

    def creating(self, obj: Object, core: Core) -> None:
        """Prepare a new object."""

    def updating(self, obj: Object, old: Mapping[str, Any], core: Core) -> None:
        """Prepare the next version of an object."""

    def problems(self, obj: Mapping[str, Any]) -> Iterator[Cause]:
        """What is wrong with an object beyond its schema; depends on it alone."""
        yield from ()

    def concerned(self, obj: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
        """Whether ``problems`` may say something else of an object than of its old version."""
        apart = ("metadata",) if self.judges_status else ("metadata", "status")
        return obj.keys() != old.keys() or any(
            value is not old[name] and value != old[name] for name, value in obj.items() if name not in apart
        )

    def change_problems(self, obj: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
        """What may not change this way."""
        yield from ()


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a kind keeps what its scale subresource shows, as paths of field names."""

    spec_replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``."""

    name: str
    type: str
    read: Callable[[Mapping[str, Any]], Any]
    description: str = ""
    priority: int = 0
    format: str = ""


@dataclass(slots=True, kw_only=True)
class Kind:
    """One kind in all its versions."""

    key: TableKey
    resources: dict[str, Resource]
    """By served version, the preferred one first."""
    storage: str
    """The version in which objects are kept."""
    schemas: dict[str, Schema]
    rules: Rules = field(default_factory=Rules)
    builtin: bool = True
    label_name: bool = False
    """Whether names are labels (63 characters, no dots) rather than subdomains."""
    has_status: bool = True
    """Whether the status is written by its subresource only."""
    keeps_status: bool = False
    """Whether a new object may bring its status, as a node's agent does."""
    counts_generations: bool = True
    unconditional: bool = True
    """Whether a whole object may be written without the version that it stands on."""
    scales: dict[str, Scale] = field(default_factory=dict)
    selectable: dict[str, Callable[[Mapping[str, Any]], str]] = field(default_factory=dict)
    """Fields that a selector may name."""
    columns: dict[str, tuple[Column, ...]] = field(default_factory=dict)
    propagation: Propagation = Propagation.BACKGROUND
    returns_deleted: bool = False
    """Whether a deletion is answered with the object rather than with a Status."""
    to_storage: Mapping[str, Callable[[Object], Object]] = field(default_factory=dict)
    from_storage: Mapping[str, Callable[[Object], Object]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kind's own name."""
        return self.resources[self.storage].kind

    @property
    def group(self) -> str:
        """Its API group."""
        return self.key[0]

    @property
    def qualified(self) -> str:
        """The plural with its group, as messages name it."""
        return self.resources[self.storage].qualified

    @property
    def namespaced(self) -> bool:
        """Whether objects stand in namespaces."""
        return self.resources[self.storage].namespaced

    def not_found(self, name: str) -> NotFoundError:
        """The answer where no such object is."""
        message = f'{self.qualified} "{name}" not found'
        return NotFoundError(message, group=self.group, kind=self.key[1], name=name)

    def conflict(self, name: str, detail: str) -> ConflictError:
        """The answer to a write that stands on something else than what is there."""
        message = f'Operation cannot be fulfilled on {self.qualified} "{name}": {detail}'
        return ConflictError(message, group=self.group, kind=self.key[1], name=name)

    def modified(self, name: str) -> ConflictError:
        """The answer to a write that stands on an old version."""
        detail = "the object has been modified; please apply your changes to the latest version and try again"
        return self.conflict(name, detail)

    def invalid(self, causes: Iterable[Cause], name: str) -> InvalidObjectError:
        """The refusal of an object, with every cause."""
        return invalid(causes, group=self.group, kind=self.name, name=name)

    def read_as(self, obj: Object, version: str) -> Object:
        """A stored object as a version shows it; the stored one is not changed."""
        if version == self.storage:
            return obj
        if (convert := self.from_storage.get(version)) is not None:
            return convert(obj)
        return {**obj, "apiVersion": self.resources[version].api_version}

    def stored_as(self, obj: Object, version: str) -> Object:
        """An object of a version as it is kept."""
        if version == self.storage:
            return obj
        if (convert := self.to_storage.get(version)) is not None:
            return convert(obj)
        return {**obj, "apiVersion": self.resources[self.storage].api_version}


class Kinds:
    """All kinds that are served now."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str, str], tuple[Kind, str]] = {}
        self._by_object: dict[tuple[str, str], Kind] = {}
        self.by_table: dict[TableKey, Kind] = {}
        self.revision = 0
        """Rises with every change, so that answers made of all kinds can be kept until then."""

    def add(self, kind: Kind) -> None:
        """Serve a kind, in place of an earlier one of its group and plural."""
        self.remove(kind.key)
        self.by_table[kind.key] = kind
        for version, resource in kind.resources.items():
            self._by_path[resource.group, resource.version, resource.plural] = (kind, version)
            self._by_object[resource.api_version, resource.kind] = kind
        self.revision += 1

    def remove(self, key: TableKey) -> None:
        """Serve a kind no longer."""
        old = self.by_table.pop(key, None)
        if old is not None:
            self._by_path = {path: found for path, found in self._by_path.items() if found[0] is not old}
            self._by_object = {name: kind for name, kind in self._by_object.items() if kind is not old}
            self.revision += 1

    def find(self, group: str, version: str, plural: str) -> tuple[Kind, str] | None:
        """The kind that is served under a path, and the name of its version."""
        return self._by_path.get((group, version, plural))

    def of(self, resource: Resource) -> tuple[Kind, str]:
        """The kind of a resource, and the name of its version."""
        found = self._by_path.get((resource.group, resource.version, resource.plural))
        if found is None:
            raise NotFoundError("the server could not find the requested resource")
        return found

    def of_object(self, api_version: str, name: str) -> Kind | None:
        """The kind of objects that call themselves so."""
        return self._by_object.get((api_version, name))

    def served(self) -> Iterator[tuple[Kind, Resource]]:
        """Every kind in every version."""
        for kind in self.by_table.values():
            for resource in kind.resources.values():
                yield kind, resource
