"""Units that have pods on nodes, and which of their pods they can lose without losing their minimum."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TypeAlias

import msgspec

from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.request import Member, PodSet
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload, Workload


class BoundPod(msgspec.Struct, frozen=True, gc=False):
    """A pod that holds a node, bound or assumed to be."""

    key: Key
    uid: str
    holding: Holding
    """With no pods for one that uses quota only, because its place is not decided here."""
    started: float
    """On the scheduler's clock: when it was bound, or ``status.startTime`` once the kubelet wrote it."""
    group: str = ""
    """The group or pod set of the unit's request that counts it, as in ``hub.workload.RunningPod``."""
    labels: tuple[tuple[str, str], ...] = ()
    """Sorted by key; disruption budgets select by them."""

    @property
    def node(self) -> str:
        """The node that it holds."""
        return self.holding.node

    def seconds_run(self, now: float) -> float:
        """Seconds of work that are lost when it is evicted."""
        return max(now - self.started, 0.0)


class _Leaf(msgspec.Struct, frozen=True):
    """Pods of which any ``least`` must run."""

    pods: tuple[BoundPod, ...]
    least: int

    def is_formed(self, gone: Collection[Key]) -> bool:
        return sum(pod.key not in gone for pod in self.pods) >= self.least

    def formed_at(self) -> float:
        started = sorted(pod.started for pod in self.pods)
        if self.least > len(started):
            return inf
        return started[self.least - 1] if self.least > 0 else -inf


class _Inner(msgspec.Struct, frozen=True):
    """Members of which any ``least`` must be formed."""

    members: tuple[_Node, ...]
    least: int

    @property
    def pods(self) -> tuple[BoundPod, ...]:
        return tuple(pod for member in self.members for pod in member.pods)

    def is_formed(self, gone: Collection[Key]) -> bool:
        return sum(member.is_formed(gone) for member in self.members) >= self.least

    def formed_at(self) -> float:
        times = sorted(member.formed_at() for member in self.members)
        if self.least > len(times):
            return inf
        return times[self.least - 1] if self.least > 0 else -inf


_Node: TypeAlias = _Leaf | _Inner


@dataclass(frozen=True, eq=False)
class RunningUnit:
    """A gang or a single pod that holds capacity now."""

    workload: Workload
    holder: str
    """The name under which accounts know what it uses, unique among units.

    The engine may know several single pods under one name, that of their controller.
    """
    pods: tuple[BoundPod, ...]
    """All of its pods that hold a node, without those that are being deleted."""
    being_bound: bool = False
    """Whether a commit of it is under way, so that none of its pods may be evicted."""

    @cached_property
    def _tree(self) -> _Node | None:
        """The unit's minimum over the pods that run; None if it is unknown, so that all pods belong to it."""
        if not isinstance(self.workload, PlaceableWorkload):
            return None
        by_group: dict[str, list[BoundPod]] = {}
        for pod in self.pods:
            by_group.setdefault(pod.group, []).append(pod)
        tree = _tree(self.workload.request.root, by_group)
        # Pods that no group of the request counts leave with the whole unit only.
        return tree if not by_group else None

    @cached_property
    def is_whole(self) -> bool:
        """Whether its minimum runs."""
        return self._tree is not None and self._tree.is_formed(())

    @cached_property
    def runs_since(self) -> float:
        """The moment at which its minimum had started.

        Of the start times of its pods, in order, the one that completed the minimum. Minus infinity if less
        than its minimum runs: then no minimum run time protects it. If its request is not valid, so that its
        minimum is not known, the last start time.
        """
        started = [pod.started for pod in self.pods]
        if self._tree is None:
            return max(started, default=-inf) if isinstance(self.workload, InvalidWorkload) else -inf
        formed = self._tree.formed_at()
        return max(formed, min(started, default=-inf)) if formed < inf else -inf

    def keeps_minimum(self, gone: Collection[Key]) -> bool:
        """Whether the unit is only shrunk when these of its pods go.

        The minimum must still run, and no group that was formed may be left with a part of its minimum: a
        replica goes whole or not at all. A unit that asks for it only goes whole.
        """
        tree = self._tree
        return self.workload.shrinks and tree is not None and tree.is_formed(gone) and _is_clean(tree, gone)

    def shrinkings(self) -> Iterator[tuple[BoundPod, ...]]:
        """The smallest sets of pods that the unit can lose and keep its minimum.

        Single pods, and groups that only go whole. Every set of pods that the unit can lose is a union of
        these; not every union is one, which ``keeps_minimum`` decides.
        """
        if self.workload.shrinks and self.is_whole and self._tree is not None:
            yield from self._shrinkings(self._tree, root=True)

    def _shrinkings(self, node: _Node, *, root: bool) -> Iterator[tuple[BoundPod, ...]]:
        pods = node.pods
        if not root and len(pods) > 1 and self.keeps_minimum({pod.key for pod in pods}):
            yield pods
        if isinstance(node, _Inner):
            for member in node.members:
                yield from self._shrinkings(member, root=False)
        else:
            yield from ((pod,) for pod in pods if self.keeps_minimum({pod.key}))


def _tree(member: Member, by_group: dict[str, list[BoundPod]]) -> _Node:
    """The minimum of a member over its running pods, which are taken out of ``by_group``."""
    mine = by_group.pop(member.name, None)
    if isinstance(member, PodSet):
        return _Leaf(tuple(mine or ()), member.least)
    if mine is not None:
        # A leaf of a dialect: its pods may be of several shapes, and any of them count.
        return _Leaf(tuple(mine), _least_pods(member))
    return _Inner(tuple(_tree(inner, by_group) for inner in member.members), member.least)


def _least_pods(member: Member) -> int:
    """The fewest pods with which a member is formed."""
    if isinstance(member, PodSet):
        return member.least
    return sum(sorted(_least_pods(inner) for inner in member.members)[: member.least])


def _is_clean(node: _Node, gone: Collection[Key]) -> bool:
    """Whether every group that was formed is still formed or gone whole."""
    if node.is_formed(()) and not node.is_formed(gone):
        return all(pod.key in gone for pod in node.pods)
    return isinstance(node, _Leaf) or all(_is_clean(member, gone) for member in node.members)


@dataclass(frozen=True, slots=True)
class Victim:
    """Pods of one unit that are evicted together: all of them, or surplus."""

    unit: RunningUnit
    pods: tuple[BoundPod, ...]
    """By key."""

    is_broken: bool
    """Whether the unit is evicted whole; otherwise it is shrunk and keeps its minimum."""

    @property
    def holder(self) -> str:
        """The name of the unit in the engine and the accounts."""
        return self.unit.holder
