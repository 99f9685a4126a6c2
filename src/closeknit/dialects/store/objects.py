"""One object as families see it: decoded, under its key, with what is wrong with its shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Wire
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.workload import ObjectName

_O_co = TypeVar("_O_co", bound=KubernetesObject, covariant=True)


class Reported(msgspec.Struct, frozen=True, gc=False):
    """A problem, and the object that it is reported for."""

    key: Key
    problem: Problem


class _Entry(msgspec.Struct, frozen=True, gc=False):
    key: Key
    object: ObjectName

    @property
    def name(self) -> str:
        """The object's own name."""
        return self.object.name

    @property
    def namespace(self) -> str:
        """The object's namespace, ``default`` where it has none."""
        return self.object.namespace


class Stored(_Entry, Generic[_O_co], frozen=True, gc=False):
    """An object that could be read."""

    content: _O_co
    problems: tuple[Problem, ...] = ()
    """What is wrong with its shape although it could be read; already reported."""
    written: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The whole object of the manifest, unused fields included; empty unless its kind is kept verbatim."""
    bare: bool = False
    """Whether its manifest has no apiVersion, kind and metadata, and so no namespace either."""
    live: bool = False
    """Whether it comes from a cluster, whose pods are all there are, and not from a file."""

    @property
    def shape(self) -> type[Any]:
        """The wire type."""
        return type(self.content)

    def report(self, problem: Problem) -> Reported:
        """A problem of this object."""
        return Reported(self.key, problem)


class Unreadable(_Entry, frozen=True, gc=False):
    """An object that could not be read. Others may name it, which is no mistake of theirs."""

    shape: type[Wire]
    problems: tuple[Problem, ...]
    """What is wrong with it; already reported."""
