"""What a family is: its kinds, and pure functions of one object and a view of all others.

Every package of a family has this shape. Its ``Family`` value lists the functions by the wire type of
the object that each takes; the order of a listing is the order in which objects are looked at and written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from closeknit.apis.core_v1 import Pod
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.topology import Topology
from closeknit.hub.workload import PlaceableWorkload, Workload

Object: TypeAlias = dict[str, Any]
"""An object as plain data, ready to be written."""


@dataclass(frozen=True, slots=True)
class Described:
    """The topologies of a family, and what is wrong with the objects that describe them."""

    topologies: Mapping[str, Topology] = field(default_factory=dict)
    problems: tuple[Reported, ...] = ()
    assumed: AbstractSet[str] = frozenset()
    """The topologies that no object describes; their levels are those that somebody asks for."""


class Compiled(msgspec.Struct, frozen=True, gc=False):
    """What an object asks for."""

    workloads: tuple[Workload, ...] = ()
    """Invalid ones included; none where the object asks for nothing, or another asks for the same pods."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with the object."""
    elsewhere: tuple[Reported, ...] = ()
    """Problems of other objects, such as its pods, that are found only by compiling it."""
    holdings: tuple[Holding, ...] = ()
    """What is held for pods that are not there yet."""
    notes: tuple[Problem, ...] = ()
    """Why it asks for nothing now, where that is worth knowing."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What an object becomes for a target."""

    objects: tuple[Object, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Why it becomes nothing; those that compiling reports as well are reported once."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of an object's status."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Event:
    """An event about an object."""

    type: str
    """``Normal`` or ``Warning``."""
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Status:
    """What an operator would write about an object."""

    conditions: tuple[Condition, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, eq=False)
class Family:
    """A family of kinds that people already write."""

    name: str
    """As the command line shows it."""
    kinds: tuple[Kind, ...]
    """The kinds it reads, beside Node, Pod and PriorityClass, which belong to all."""
    topologies: Callable[[View], Described]
    """The topologies that its objects describe."""
    compile: Mapping[type[Any], Callable[[Stored[Any], View], Compiled]] = field(default_factory=dict)
    """What an object asks for, by wire type."""
    check: Mapping[type[Any], Callable[[Stored[Any], View], Iterable[Problem]]] = field(default_factory=dict)
    """What is wrong with an object that asks for nothing, such as a queue or a pod without a workload."""
    render: Mapping[str, Mapping[type[Any], Callable[[Stored[Any], View], Rendered]]] = field(
        default_factory=dict
    )
    """By target, what the family's operator would create from an object."""
    express: Callable[[PlaceableWorkload, Mapping[str, Topology]], Iterator[Object]] | None = None
    """A workload of any family as objects of this one, ready to be written."""
    update: Mapping[type[Any], Callable[[Stored[Any], Stored[Any], View], Iterable[Problem]]] = field(
        default_factory=dict
    )
    """What may not change from an old object (first) to a new one."""
    status: Mapping[type[Any], Callable[[Stored[Any], View], Status]] = field(default_factory=dict)
    """The conditions and events that the operator would write about an object."""
    awaits: Mapping[type[Any], Callable[[Any], int]] = field(default_factory=dict)
    """How many pods an object must have at least before any of them is bound, by wire type.

    From its content alone, and too few rather than too many: it tells what is not worth compiling yet.
    """
    owner_of: Callable[[Stored[Pod]], Key | None] | None = None
    """The workload that a pod names as its own, from the pod alone."""
    makes: Callable[[View], AbstractSet[Key]] | None = None
    """The workloads that will be made from objects of the family, and that pods may name already.

    A pod of a family that has this function belongs to its workload only where that exists or will be made.
    """
    indexes: tuple[Index, ...] = ()
    """How its objects are found by their content."""
    borrows: tuple[str, ...] = ()
    """The families whose topologies are there for it too, where it has none of that name."""
    passed_over: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Kinds of its API groups that are known and not read, by group."""
    claimed_by: str = ""
    """The family whose labels or annotations its pods carry, where that is another one."""

    @property
    def describing(self) -> tuple[Kind, ...]:
        """The kinds that workloads are measured by, such as topologies and queues."""
        return tuple(kind for kind in self.kinds if kind.shape not in self.compile)
