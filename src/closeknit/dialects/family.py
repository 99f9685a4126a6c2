"""What a dialect is: its kinds, and functions from its objects to hub types.

All dialects have this one shape, and none knows of another. Each function sees
everything that was read, because people mix files freely; it yields what it could
make of it, and beside that the problems it met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from closeknit.apis.core_v1 import Pod
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.core.priority import Priorities
from closeknit.dialects.store.objects import Kind, Manifests
from closeknit.dialects.wire.sources import Located
from closeknit.hub.cluster import Holding
from closeknit.hub.topology import Topology
from closeknit.hub.workload import Workload

Object: TypeAlias = dict[str, Any]
"""A manifest as plain data, ready to be written."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What workloads are read against."""

    topologies: Mapping[str, Topology]
    """By name, those of all dialects; the reader's own before others of the same name."""
    pods: Mapping[str, tuple[ReadPod, ...]]
    """By the workload that claims them. One whose node has gone is left out.

    Those of other families' workloads are here as well, under names that are nobody's.
    """
    priorities: Priorities
    lenient: bool = False
    names: AbstractSet[str] = frozenset()
    """The workloads that pods may name in the reader's words, whichever family they are of."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A family of kinds that people already write."""

    name: str
    """As the command line shows it."""
    kinds: tuple[Kind, ...]
    """The kinds it reads, beside Node, Pod and PriorityClass, which belong to all."""
    topologies: Callable[[Manifests], Iterator[Topology | Located]]
    """The layouts it describes, and all problems with them."""
    workload_of: Callable[[Pod, str], str | None]
    """The name of the workload that a pod of this namespace belongs to, if it speaks this dialect."""
    workloads: Callable[[Manifests, Surroundings], Iterator[Workload | Located]]
    """The workloads, invalid ones included, and all problems with them and with the pods they claim."""
    names: Callable[[Manifests], AbstractSet[str]] | None = None
    """The workloads that exist, whether they can be read or not; None where pods alone make one."""
    claimed_by: str = ""
    """The family that claims its pods, where they do not tell themselves that they are of this one."""
    borrows: tuple[str, ...] = ()
    """The families whose topologies are there for it too, where it has none of that name."""
    holdings: Callable[[Manifests, Surroundings], Iterator[Holding]] | None = None
    """What is held for pods that are not there yet, if its objects can say that."""
    passed_over: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Kinds of its API groups that are known and not read, by group."""
    translations: Mapping[str, Callable[[Manifests, Surroundings], Iterator[Object | Located]]] = field(
        default_factory=dict
    )
    """By target, the objects that the family's own rules produce from its objects."""
    express: Callable[[Workload, Mapping[str, Topology]], Iterator[Object]] | None = None
    """A workload of any dialect as objects of this family, ready to be written."""
