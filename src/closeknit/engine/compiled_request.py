"""A request, compiled: levels as numbers, shapes as tables, members in name order.

A *constraint* is what a placement must satisfy; a *wish* is one by which placements are compared,
in the order of ``criteria.CRITERIA``.

Sorting members by name is what keeps the order in which they were listed out of
every decision that follows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from typing import TypeAlias

from closeknit.engine.budget import UNPACED, Pace
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.neighbour_rules import NeighbourRules
from closeknit.engine.node_fits import PodShape
from closeknit.engine.tree import Tree
from closeknit.hub.request import Group, PodSet


@dataclass(slots=True, eq=False)
class PodSetVar:
    """A pod set of a compiled request: which nodes its pods get is to be decided."""

    index: int
    name: str
    pods: PodSet
    shape: int
    """The number of its pods' shape, which tables and demands are listed by."""
    need: int
    """Pods that must still be placed for the set to be formed."""
    open: int
    """Pods that may still be placed, the needed ones included."""
    bound: list[int]
    """Positions of running pods, one entry a pod."""
    twin: str = ""
    """Equal for members that can be exchanged for each other without a difference."""


@dataclass(slots=True, eq=False)
class GroupVar:
    """A group of a compiled request: which domain it gets is to be decided."""

    index: int
    name: str
    group: Group
    parent: GroupVar | None
    required: int
    """The level, or -1."""
    preferred: int
    """The level, or -1."""
    least: int
    members: list[Part] = field(default_factory=list)
    pod_sets: list[PodSetVar] = field(default_factory=list)
    """All pod sets of the subtree."""
    bound: list[int] = field(default_factory=list)
    """Positions of all running pods of the subtree."""
    need: list[int] = field(default_factory=list)
    """Per shape, the fewest pods that must be placed for the group to be formed."""
    open: list[int] = field(default_factory=list)
    """Per shape, the most pods that can be placed."""
    twin: str = ""

    @property
    def size(self) -> int:
        """The fewest pods that must be placed."""
        return sum(self.need)


Part: TypeAlias = GroupVar | PodSetVar


def formed(part: Part) -> bool:
    """Whether running pods alone form it."""
    if isinstance(part, PodSetVar):
        return part.need == 0
    return sum(formed(member) for member in part.members) >= part.least


class Goal(Enum):
    """What compiling keeps of a request."""

    WISHES = "wishes"
    """All of it."""
    CONSTRAINTS = "constraints"
    """What a placement must satisfy: no preference, no pod above a minimum, no member that need not be.

    What satisfies the whole request satisfies this once pods are left out, so both are placeable or neither.
    """
    ANY_PODS = "any pods"
    """The same with pods above a minimum and members that need not be as a choice, each number as good.

    For rules among pods that may be kept with more pods and not with fewer.
    """
    EVERYTHING = "everything"
    """The same with all pods, those above a minimum and those of every member: none may be left out."""


@dataclass(slots=True)
class CompiledRequest:
    """All that a search needs to know."""

    tree: Tree
    tables: list[FitTable]
    """By shape."""
    rows: list[int]
    """The ledger rows that any of the shapes asks for."""
    demand: list[list[int]]
    """By shape, units per pod for each of the rows."""
    root: GroupVar
    groups: list[GroupVar]
    pod_sets: list[PodSetVar]
    goal: Goal
    named: int
    """The level at which domains are scored: ``criteria.named_level``."""
    names_level: bool
    """Whether any group names a level."""
    room: FitTable | None
    """The table of the shape of most pods, without rules about other pods; None if there is no pod set."""
    neighbours: NeighbourRules | None = None
    """Rules among its pods that tables and demands do not say; shapes are then roles."""
    pace: Pace = UNPACED
    """Interrupts its searches."""


def compile_request(
    root: Group,
    tree: Tree,
    tables: list[FitTable],
    *,
    shape_of: dict[str, int],
    slot_of: dict[str, int],
    named: int,
    plain: list[FitTable] | None = None,
    goal: Goal = Goal.WISHES,
    neighbours: NeighbourRules | None = None,
    pace: Pace = UNPACED,
) -> CompiledRequest:
    """Number everything; ``shape_of`` gives each pod set's shape by the set's name.

    ``named`` is the scored level; ``plain`` has the tables without rules about other pods.
    """
    wishful, choice = goal is Goal.WISHES, goal in (Goal.WISHES, Goal.ANY_PODS)
    groups: list[GroupVar] = []
    pod_sets: list[PodSetVar] = []
    level_of = {label: i for i, label in enumerate(tree.labels)}

    def pod_set_var(pods: PodSet) -> PodSetVar:
        bound = sorted(int(tree.positions[slot_of[node]]) for node in pods.bound)
        need = pods.open if goal is Goal.EVERYTHING else max(pods.least - len(bound), 0)
        made = PodSetVar(
            len(pod_sets), pods.name, pods, shape_of[pods.name], need, pods.open if choice else need, bound
        )
        made.twin = _digest((made.shape, need, made.open) if not bound else ("only", pods.name))
        pod_sets.append(made)
        return made

    def group_var(group: Group, parent: GroupVar | None) -> GroupVar:
        made = GroupVar(
            len(groups),
            group.name,
            group,
            parent,
            level_of[group.required] if group.required is not None else -1,
            level_of[group.preferred] if group.preferred is not None and wishful else -1,
            len(group.members) if goal is Goal.EVERYTHING else group.least,
        )
        groups.append(made)
        for member in sorted(group.members, key=lambda member: member.name):
            part: Part = pod_set_var(member) if isinstance(member, PodSet) else group_var(member, made)
            made.members.append(part)
            made.pod_sets.extend([part] if isinstance(part, PodSetVar) else part.pod_sets)
            made.bound.extend(part.bound)
        made.bound.sort()
        shapes = range(len(tables))
        made.open = [sum(pods.open for pods in made.pod_sets if pods.shape == s) for s in shapes]
        missing = made.least - sum(formed(part) for part in made.members)
        lacking = [need_of(part, len(tables)) for part in made.members if not formed(part)]
        made.need = [sum(sorted(need[s] for need in lacking)[: max(missing, 0)]) for s in shapes]
        alike = (made.required, made.preferred, made.least, *sorted(part.twin for part in made.members))
        made.twin = _digest(alike if not made.bound else ("only", made.name))
        return made

    top = group_var(root, None)
    rows = sorted({row for table in tables for row, _ in table.fits.demand})
    demand = [[dict(table.fits.demand).get(row, 0) for row in rows] for table in tables]
    names_level = any(group.group.required or group.group.preferred for group in groups)
    room = _main_table(pod_sets, plain or tables)
    return CompiledRequest(
        tree, tables, rows, demand, top, groups, pod_sets, goal, named, names_level, room, neighbours, pace
    )


def _main_table(pod_sets: list[PodSetVar], tables: list[FitTable]) -> FitTable | None:
    """The table of the shape that most pods have; of several, that of the first pod set by name."""
    pods: dict[PodShape, int] = {}
    for pod_set in pod_sets:
        shape = tables[pod_set.shape].fits.shape
        pods[shape] = pods.get(shape, 0) + pod_set.pods.open
    most = min(pod_sets, key=lambda each: (-pods[tables[each.shape].fits.shape], each.name), default=None)
    return tables[most.shape] if most is not None else None


def _digest(facts: tuple[object, ...]) -> str:
    """A short name for what something looks like: its length does not grow with the depth of a tree."""
    return blake2b(repr(facts).encode(), digest_size=16).hexdigest()


def need_of(part: Part, shapes: int) -> list[int]:
    """Per shape, the fewest pods that must be placed for a member to be formed."""
    if isinstance(part, GroupVar):
        return part.need
    return [part.need if s == part.shape else 0 for s in range(shapes)]
