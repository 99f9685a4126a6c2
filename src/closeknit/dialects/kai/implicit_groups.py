"""A PodGroup that nobody wrote: what KAI makes of a Job, JobSet, LeaderWorkerSet or PyTorchJob.

KAI's podgrouper looks at who owns a pod and makes the PodGroup from the owner's fields and
annotations. Here the same is done from the owner alone, before there are any pods: ``jobs``,
``leader_worker_sets`` and ``pytorch_jobs`` fill these types, ``owner_fields`` decides whether KAI groups an
owner, and ``owners`` puts it together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

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
    """What pods of one kind have in common, and where the owner says so."""

    path: Path
    given: PodTemplateSpec

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
    """What the owner's controller puts on each of these pods."""
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


@dataclass(frozen=True, slots=True)
class Parent:
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
    """The tree of an implicit PodGroup."""

    subgroups: tuple[Leaf | Parent, ...]
    constraint: Constraint = NO_CONSTRAINT
    min_member: int | None = None
    min_sub_group: int | None = None

    def leaves(self) -> Iterator[Leaf]:
        """All that has pods."""
        return (each for each in self.subgroups if isinstance(each, Leaf))


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
    """Fields of the PodGroup that say nothing about placement."""
    controllers: tuple[Key, ...]
    """Who makes the pods, by which those are found that do not name the PodGroup."""
    leaf_of: Callable[[Mapping[str, str]], str | None]
    """The leaf of a pod that does not name it, by its labels; None where it belongs to another PodGroup."""
    suffix: str = ""
    """What follows the owner in the name, where one owner has several PodGroups."""

    @property
    def key(self) -> Key:
        """The key that the PodGroup would have."""
        return pod_group_key(self.owner.namespace, self.name)

    def spec(self) -> wire.PodGroupSpec:
        """The PodGroup's own fields."""
        subgroups = [each.to_subgroup() for each in self.outline.subgroups if each.name]
        return wire.PodGroupSpec(
            queue=self.queue,
            min_member=self.outline.min_member,
            min_sub_group=self.outline.min_sub_group,
            priority_class_name=self.priority_class,
            topology_constraint=self.outline.constraint.wire,
            sub_groups=subgroups or None,
        )

    def fields(self) -> dict[str, Fields]:
        """Where the constraints are written; the empty name stands for the PodGroup itself."""
        places = {"": self.outline.constraint}
        places |= {each.name: each.constraint for each in self.outline.subgroups if each.name}
        return {name: each.fields for name, each in places.items() if each.fields is not None}
