"""A PodGroup that nobody wrote: what KAI makes of a Job, JobSet, LeaderWorkerSet or PyTorchJob.

KAI's podgrouper looks at who owns a pod and makes the PodGroup from the owner's fields and
annotations. Here the same is done from the owner alone, before there are any pods: ``jobs``,
``leader_worker_sets`` and ``pytorch_jobs`` fill these types, ``owner_fields`` decides whether KAI groups an
owner, and ``owners`` puts it together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.apis.core_v1 import PodTemplateSpec
from closeknit.apis.scheduling_run_ai_v2alpha2 import UNCONSTRAINED, TopologyConstraint
from closeknit.dialects.kai.constraints import Fields
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.workload import ObjectName


def pod_group_key(namespace: str, name: str) -> Key:
    """The key of a PodGroup."""
    return Key("scheduling.run.ai", "PodGroup", namespace, name)


@dataclass(frozen=True, slots=True)
class Template:
    """A pod template of an owner, and its path there."""

    path: Path
    given: PodTemplateSpec
    written: Mapping[str, Any] | None = field(default=None, compare=False)
    """As a plain object, where it does not stand at the path."""

    @property
    def annotations(self) -> Path:
        """Where its annotations stand."""
        return (*self.path, "metadata", "annotations")


@dataclass(frozen=True, slots=True)
class Constraint:
    """A topology constraint, and where its author wrote it."""

    wire: TopologyConstraint = UNCONSTRAINED
    fields: Fields | None = None


NO_CONSTRAINT = Constraint()


@dataclass(frozen=True, slots=True)
class Leaf:
    """Equal pods. The empty name stands for the PodGroup itself, which then has no subgroups."""

    name: str
    template: Template
    pods: tuple[str, ...]
    minimum: int
    minimum_path: Path
    parent: str = ""
    constraint: Constraint = NO_CONSTRAINT
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the owner's controller puts on the pods of this leaf; all leaves have the same keys."""
    index_label: str = ""
    """The label that carries a pod's number, if there is one."""
    first: int = 0
    """The number of the first pod."""

    def to_subgroup(self) -> wire.SubGroup:
        """As KAI writes it."""
        return wire.SubGroup(
            name=self.name,
            parent=self.parent,
            min_member=self.minimum,
            topology_constraint=self.constraint.wire,
        )


class Parent(NamedTuple):
    """Subgroups that belong together, of which so many must run at once."""

    name: str
    minimum: int
    constraint: Constraint = NO_CONSTRAINT

    def to_subgroup(self) -> wire.SubGroup:
        """As KAI writes it."""
        return wire.SubGroup(
            name=self.name, min_sub_group=self.minimum, topology_constraint=self.constraint.wire
        )


@dataclass(frozen=True, slots=True)
class Outline:
    """The part of a PodGroup that depends on the owner's kind."""

    subgroups: tuple[Leaf | Parent, ...]
    controllers: tuple[Key, ...]
    """Who makes the pods, by which those are found that do not name the PodGroup."""
    labels: Mapping[str, str]
    """What the owner's controller puts on all pods."""
    constraint: Constraint = NO_CONSTRAINT
    min_member: int | None = None
    min_sub_group: int | None = None
    suffix: str = ""
    """What follows the owner in the name, where one owner has several PodGroups."""


@dataclass(frozen=True, slots=True)
class ImplicitGroup:
    """One PodGroup that KAI would make of an owner."""

    owner: ObjectName
    name: str
    queue: str
    queue_path: Path
    priority_class: str
    priority_path: Path
    outline: Outline
    problems: tuple[Problem, ...]
    """What is wrong with the owner."""
    passed_on: Mapping[str, str]
    """Fields of the PodGroup that do not affect placement."""
    pool: str = ""
    """The pool of nodes that its pods are for; empty for all."""

    def leaves(self) -> list[Leaf]:
        """All that has pods."""
        return [each for each in self.outline.subgroups if isinstance(each, Leaf)]

    @property
    def key(self) -> Key:
        """The key that the PodGroup would have."""
        return pod_group_key(self.owner.namespace, self.name)

    def spec(self) -> wire.PodGroupSpec:
        """The PodGroup's own fields."""
        subgroups = tuple(each.to_subgroup() for each in self.outline.subgroups if each.name)
        return wire.PodGroupSpec(
            queue=self.queue,
            min_member=self.outline.min_member,
            min_sub_group=self.outline.min_sub_group,
            priority_class_name=self.priority_class,
            topology_constraint=self.outline.constraint.wire,
            sub_groups=subgroups or None,
        )

    def fields(self) -> dict[str, Fields]:
        """The owner's fields that hold the constraints; the empty name stands for the PodGroup itself."""
        places = {"": self.outline.constraint}
        places |= {each.name: each.constraint for each in self.outline.subgroups if each.name}
        return {name: each.fields for name, each in places.items() if each.fields is not None}


def leaf_by_labels(leaves: Sequence[Leaf]) -> Callable[[Mapping[str, str]], str | None]:
    """Finds the leaf of a pod by its labels; None where it belongs to no leaf.

    Of leaves with the same labels, the pod's number decides.
    """
    by_labels: dict[tuple[str | None, ...], list[Leaf]] = {}
    keys = tuple(leaves[0].labels) if leaves else ()
    for leaf in sorted(leaves, key=_first):
        by_labels.setdefault(tuple(leaf.labels.values()), []).append(leaf)

    def leaf_of(labels: Mapping[str, str]) -> str | None:
        alike = by_labels.get(tuple(labels.get(key) for key in keys), [])
        if len(alike) < 2:
            return alike[0].name if alike else None
        number = labels.get(alike[0].index_label, "")
        if not number.isdecimal() or len(number) > 9:
            return None
        leaf = alike[max(bisect_right(alike, int(number), key=_first) - 1, 0)]
        return leaf.name if int(number) < leaf.first + len(leaf.pods) else None

    return leaf_of


def _first(leaf: Leaf) -> int:
    return leaf.first
