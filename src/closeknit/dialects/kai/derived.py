"""A PodGroup that nobody wrote: what KAI makes of a Job, JobSet, LeaderWorkerSet or PyTorchJob.

KAI's podgrouper looks at who owns a pod and makes the PodGroup from the owner's fields and
annotations. Here the same is done from the owner alone, before there are any pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from closeknit.apis import kai_keys as keys
from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.apis.core_v1 import PodTemplateSpec
from closeknit.apis.scheduling_run_ai_v2alpha2 import UNCONSTRAINED, TopologyConstraint
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.kai.constraints import Fields
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown

MOST_PODS = 150_000
"""How many pods one owner may have: as many as Kubernetes supports in a cluster."""
MOST_SEGMENTS = 10_000


@dataclass(frozen=True, slots=True)
class Template:
    """What pods of one kind have in common, and where the owner says so."""

    path: str
    given: PodTemplateSpec

    @property
    def annotations_path(self) -> str:
        """Where its annotations stand."""
        return f"{self.path}.metadata.annotations"


@dataclass(frozen=True, slots=True)
class Close:
    """A constraint, and where its author wrote it."""

    constraint: TopologyConstraint = UNCONSTRAINED
    fields: Fields | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """Equal pods. The empty name stands for the PodGroup itself, which then has no subgroups."""

    name: str
    template: Template
    pods: tuple[str, ...]
    minimum: int
    minimum_path: str
    parent: str = ""
    close: Close = Close()
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the owner's controller puts on each of these pods."""
    index_label: str = ""
    """The label that carries a pod's number, if there is one."""
    first: int = 0
    """The number of the first pod."""


@dataclass(frozen=True, slots=True)
class Parent:
    """Subgroups that belong together, of which so many must run at once."""

    name: str
    minimum: int
    close: Close = Close()


@dataclass(frozen=True, slots=True)
class Outline:
    """What the tree of a PodGroup is made of."""

    parts: tuple[Leaf | Parent, ...]
    close: Close = Close()
    min_member: int | None = None
    min_sub_group: int | None = None

    def leaves(self) -> Iterator[Leaf]:
        """All that has pods."""
        return (part for part in self.parts if isinstance(part, Leaf))


@dataclass(frozen=True, slots=True)
class Derived:
    """One PodGroup and its owner."""

    manifest: Stored[Any]
    name: str
    queue: str
    queue_path: str
    priority_class: str
    priority_path: str
    outline: Outline
    problems: tuple[Problem, ...]
    further: Mapping[str, str]
    """Fields of the PodGroup that say nothing about placement."""
    holders: tuple[str, ...]
    """Under which names pods may be known that do not name the PodGroup."""
    leaf_of: Callable[[ReadPod], str | None]
    """The leaf of a pod that does not name it; None where the pod belongs to another PodGroup."""
    suffix: str = ""
    """What follows the owner in the name, where one owner has several PodGroups."""

    def spec(self) -> wire.PodGroupSpec:
        """The PodGroup's own fields."""
        subgroups = [_subgroup(part) for part in self.outline.parts if part.name]
        return wire.PodGroupSpec(
            queue=self.queue,
            min_member=self.outline.min_member,
            min_sub_group=self.outline.min_sub_group,
            priority_class_name=self.priority_class,
            topology_constraint=self.outline.close.constraint,
            sub_groups=subgroups or None,
        )

    def fields(self) -> dict[str, Fields]:
        """Where the constraints are written; the empty name stands for the PodGroup itself."""
        places = {
            "": self.outline.close,
            **{part.name: part.close for part in self.outline.parts if part.name},
        }
        return {name: close.fields for name, close in places.items() if close.fields is not None}


def _subgroup(part: Leaf | Parent) -> wire.SubGroup:
    if isinstance(part, Parent):
        return wire.SubGroup(
            name=part.name, min_sub_group=part.minimum, topology_constraint=part.close.constraint
        )
    return wire.SubGroup(
        name=part.name,
        parent=part.parent,
        min_member=part.minimum,
        topology_constraint=part.close.constraint,
    )


def close_of(
    annotations: Mapping[str, str],
    path: str,
    *,
    levels: tuple[str, str] = (keys.REQUIRED, keys.PREFERRED),
    inherited: tuple[Mapping[str, str], str] | None = None,
) -> Close:
    """The constraint that annotations ask for; a topology without a level asks for nothing.

    ``inherited`` are annotations further up, and their path, that may name the topology instead.
    """
    required, preferred = (annotations.get(key, "") for key in levels)
    if not (required or preferred):
        return Close()
    topology, topology_path = annotations.get(keys.TOPOLOGY, ""), path
    if not topology and inherited is not None and inherited[0].get(keys.TOPOLOGY):
        topology, topology_path = inherited[0][keys.TOPOLOGY], inherited[1]
    return Close(
        TopologyConstraint(
            topology=topology, required_topology_level=required, preferred_topology_level=preferred
        ),
        Fields(within(topology_path, keys.TOPOLOGY), within(path, levels[0]), within(path, levels[1])),
    )


def whole_number(
    annotations: Mapping[str, str], key: str, path: str, allowed: tuple[int, int], found: list[Problem]
) -> int | None:
    """The number that an annotation holds, None where there is none or where it cannot be used."""
    written = annotations.get(key)
    if written is None:
        return None
    least, most = allowed
    number = int(written) if written.isascii() and written.isdecimal() and len(written) < 10 else -1
    if least <= number <= most:
        return number
    if most < least:
        message = "There are no pods to count. Leave it out."
    else:
        message = f"{shown(written)} is not possible. Write a whole number from {least} to {most}, in quotes."
    found.append(as_told(within(path, key), message))
    return None


def count(value: int | None, default: int, path: str, found: list[Problem]) -> int:
    """How many of something there are; what is out of range is added to ``found`` and counts as none."""
    number = default if value is None else value
    if not 0 <= number <= MOST_PODS:
        found.append(as_told(path, f"{number} is out of range. Allowed are 0 to {MOST_PODS}."))
        return 0
    return number
