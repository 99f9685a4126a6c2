"""The port: what everything above can ask of a Kubernetes API, whichever adapter stands behind it.

Objects are plain data, as JSON has it, so that no unknown field is ever lost.
A reader that knows what it wants names a type (``into=Pod``) and gets objects
of that type, decoded by msgspec; what it writes is plain data all the same.

What ``get``, ``list`` and the writes return belongs to the caller. What a
watch hands out may be shared with other watchers and is not to be changed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, overload

import msgspec

from closeknit.kube.resources import Resource

Object: TypeAlias = dict[str, Any]
"""One object as JSON has it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some or all objects of a list, as of one resource version."""

    items: list[T]
    resource_version: str
    """Where a watch goes on from."""
    token: str = ""
    """What to pass for the next page; empty on the last one."""
    remaining: int | None = None
    """How many objects follow, where the server says so."""
    versions: Sequence[str] = ()
    """The resource version of each item, since a reader's type need not hold it."""


class Identity(msgspec.Struct, frozen=True, gc=False):
    """Which object, and in which version: what is read to compare a copy with the server."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = msgspec.field(name="resourceVersion", default="")


class ChangeType(Enum):
    """What happened to an object, as a watch with its selectors sees it."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One change of one object. A deleted one is handed out as it was last."""

    type: ChangeType
    object: T
    resource_version: str
    """Where a watch goes on from after this change."""


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """Nothing before this resource version is missing; a watch can go on from here."""

    resource_version: str


WatchEvent: TypeAlias = Change[T] | Bookmark


class Propagation(Enum):
    """What becomes of the objects that name a deleted one as their owner."""

    BACKGROUND = "Background"
    """They are deleted after it."""
    FOREGROUND = "Foreground"
    """They are deleted before it."""
    ORPHAN = "Orphan"
    """They stay, and forget their owner."""


@dataclass(frozen=True, slots=True)
class MergePatch:
    """RFC 7396: objects are merged, everything else is replaced, null removes."""

    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """RFC 6902: add, remove, replace, move, copy and test, one after the other, all or none."""

    operations: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StrategicMergePatch:
    """Kubernetes' own: like a merge, but lists of kinds that say so are merged by their keys.

    Custom resources do not take it (415).
    """

    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ApplyPatch:
    """Server-side apply: what this manager wants, and nothing else; what it no longer names, it gives up.

    Fields of another manager are a conflict unless ``force`` takes them over.
    The object is made where it is missing.
    """

    body: Mapping[str, Any]
    manager: str
    force: bool = False


Patch: TypeAlias = MergePatch | JsonPatch | StrategicMergePatch | ApplyPatch


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """How to delete."""

    grace_period: int | None = None
    """Seconds; 0 deletes at once. None leaves it to the kind."""
    propagation: Propagation | None = None
    """None leaves it to the kind."""
    uid: str = ""
    """Only an object with this uid is deleted (409 otherwise)."""
    resource_version: str = ""
    """Only an object in this version is deleted (409 otherwise)."""
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which objects of a resource; all of them, unless told otherwise."""

    namespace: str = ""
    """Empty for all namespaces, and for resources without."""
    labels: str = ""
    """A label selector, such as ``app=web,tier in (a, b),!canary``."""
    fields: str = ""
    """A field selector, such as ``spec.nodeName=n1,status.phase!=Failed``."""


EVERYTHING = Selection()
DELETE = DeleteOptions()


class _WrittenMetadata(msgspec.Struct, rename="camel", frozen=True):
    resource_version: str = ""


class Written(msgspec.Struct, frozen=True):
    """What is read of an answer by those who only wait until their write is seen."""

    metadata: _WrittenMetadata = _WrittenMetadata()

    @classmethod
    def of(cls, resource_version: str) -> Written:
        """The same of an answer with this version."""
        return cls(_WrittenMetadata(resource_version))

    @property
    def resource_version(self) -> str:
        """The version that the write has made."""
        return self.metadata.resource_version


class KubernetesApi(Protocol):
    """A cluster that can be asked.

    Every method raises :class:`~closeknit.kube.errors.ApiError`, most often one
    of its subclasses, and nothing else for what a server or a network can do.
    The namespace of an object that is written stands in its metadata.
    ``subresource`` is ``status``, ``scale`` or another that the resource has.
    """

    @overload
    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = "", into: None = None
    ) -> Object: ...
    @overload
    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = "", into: type[T]
    ) -> T: ...
    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str = "",
        subresource: str = "",
        into: type[Any] | None = None,
    ) -> Any:
        """One object."""
        ...

    @overload
    async def list(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        token: str = "",
        resource_version: str = "",
        into: None = None,
    ) -> Page[Object]: ...
    @overload
    async def list(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        token: str = "",
        resource_version: str = "",
        into: type[T],
    ) -> Page[T]: ...
    async def list(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        token: str = "",
        resource_version: str = "",
        into: type[Any] | None = None,
    ) -> Page[Any]:
        """Objects in the order of namespace and name; one page where ``limit`` is above 0.

        All pages of a list show the same moment. A token that is too old raises
        GoneError. ``resource_version="0"`` allows an answer from a server's cache.
        """
        ...

    async def identities(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str,
        limit: int = 0,
        token: str = "",
    ) -> Page[Identity]:
        """The objects as of exactly this resource version, by their metadata alone.

        It costs the server and the network a small part of a list. GoneError if that moment is forgotten.
        """
        ...

    @overload
    def watch(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        timeout: float | None = None,
        opened: Callable[[], None] | None = None,
        into: None = None,
    ) -> AsyncGenerator[WatchEvent[Object], None]: ...
    @overload
    def watch(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        timeout: float | None = None,
        opened: Callable[[], None] | None = None,
        into: type[T],
    ) -> AsyncGenerator[WatchEvent[T], None]: ...
    def watch(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        timeout: float | None = None,
        opened: Callable[[], None] | None = None,
        into: type[Any] | None = None,
    ) -> AsyncGenerator[WatchEvent[Any], None]:
        """Changes after a resource version, in order, with bookmarks between them.

        Without a resource version, or with ``"0"``, every present object comes
        first, as added. It ends when the server ends it or ``timeout`` seconds
        are over, and raises GoneError when the version is too old. It is one
        connection: who wants to go on calls again with the last version seen.
        ``opened`` is called when the server has taken the watch, and changes
        that were missed before come at once.
        Close it (``contextlib.aclosing``) to let go of the connection.
        """
        ...

    @overload
    async def create(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        *,
        field_manager: str = "",
        dry_run: bool = False,
        into: None = None,
    ) -> Object: ...

    @overload
    async def create(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        *,
        field_manager: str = "",
        dry_run: bool = False,
        into: type[T],
    ) -> T: ...

    async def create(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        *,
        field_manager: str = "",
        dry_run: bool = False,
        into: type[Any] | None = None,
    ) -> Any:
        """Make an object, and return it as it is stored.

        ``into`` names a type that holds what is read of the answer, such as ``Written``.
        """
        ...

    async def replace(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Write a whole object. ConflictError where its resource version is given and not the present one."""
        ...

    @overload
    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Patch,
        *,
        namespace: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        into: None = None,
    ) -> Object: ...

    @overload
    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Patch,
        *,
        namespace: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        into: type[T],
    ) -> T: ...

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Patch,
        *,
        namespace: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        into: type[Any] | None = None,
    ) -> Any:
        """Change a part of an object. ``field_manager`` names who writes; an apply names its own.

        ``into`` names a type that holds what is read of the answer, such as ``Written``.
        """
        ...

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", options: DeleteOptions = DELETE
    ) -> Object:
        """Ask for an object to go.

        Returns the server's answer: the object, where it stays until its finalizers
        or its grace period are done with, else the object or a Status of success.
        """
        ...

    async def delete_collection(
        self, resource: Resource, selection: Selection, *, options: DeleteOptions = DELETE
    ) -> None:
        """Ask for every object of a selection to go. A resource with namespaces needs one named."""
        ...

    async def bind(
        self,
        pod: str,
        node: str,
        *,
        namespace: str,
        uid: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Put a pod on a node. ConflictError where it has one already, or another uid than the one named."""
        ...

    async def evict(self, pod: str, *, namespace: str, options: DeleteOptions = DELETE) -> None:
        """Ask for a pod to go unless a disruption budget forbids it now (TooManyRequestsError)."""
        ...

    async def resources(self) -> tuple[Resource, ...]:
        """Everything that is served, each group's preferred version first."""
        ...

    async def version(self) -> str:
        """The version of Kubernetes that the server speaks, such as ``v1.36.4``."""
        ...


PAGE_SIZE = 500


async def pages(
    api: KubernetesApi, resource: Resource, selection: Selection = EVERYTHING, *, limit: int = PAGE_SIZE
) -> AsyncIterator[Page[Object]]:
    """Every page of a list, one after the other."""
    page = await api.list(resource, selection, limit=limit)
    yield page
    while page.token:
        page = await api.list(resource, selection, limit=limit, token=page.token)
        yield page
