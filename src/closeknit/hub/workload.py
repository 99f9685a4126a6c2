"""Workloads as a dialect compiled them: identity, queue, and either a request or what prevents one.

What a workload is follows from its type, and never from the codes of its problems:

| type | has a request | problems | reported as |
|---|---|---|---|
| ``PlaceableWorkload`` | yes | none | what the scheduler decides |
| ``IncompleteWorkload`` | no | only that pods do not exist yet | ``NotReady`` |
| ``InvalidWorkload`` | no | anything else, and maybe missing pods as well | ``Unschedulable`` |
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import msgspec

from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.quota import Account, Option
from closeknit.hub.request import Group, Request, satisfied

STALENESS_GRACE = 60.0
"""Seconds that a gang may stay below its minimum unless it specifies another time, as in KAI."""


class ObjectName(msgspec.Struct, frozen=True, gc=False):
    """The identity of a Kubernetes object; ``namespace`` is empty for a cluster-wide kind."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        """The same identity in every version."""
        return Key(self.api_version.rpartition("/")[0], self.kind, self.namespace, self.name)


class RunningPod(NamedTuple):
    """A pod that has a node, and the group of the request that it belongs to."""

    group: str
    name: str
    """Its own, without the namespace, which is the workload's."""


class Companions(msgspec.Struct, frozen=True, gc=False):
    """Groups of workloads that are scheduled later, and in the same domain as this one."""

    level: str
    """The node label of the level of the domain."""
    groups: tuple[Group, ...]


class _Identified(msgspec.Struct, frozen=True, gc=False):
    """Fields that may be passed by position."""

    object: ObjectName
    dialect: str


class WorkloadBase(_Identified, frozen=True, gc=False, kw_only=True):
    """What every workload has; a dialect fills it in before it knows whether there will be a request."""

    priority: int = 0
    """Higher goes first."""
    created: str = ""
    """RFC 3339 creation time; empty where unknown, which goes last."""
    admitted: bool = False
    """Whether it has its quota already, and so goes before all that wait."""
    options: tuple[Option, ...] = ()
    """Ways to run it, tried in order: the first that has quota and finds room is taken.

    Empty where there is only one, which costs nothing; else ``request`` is that of the first. A workload
    without a request keeps its options, because it is charged for the quota that it has already.
    """
    accounts: tuple[Account, ...] = ()
    """Accounts that its pods are charged to as they run, each pod for what it asks of what they count."""
    run_seconds: float | None = None
    """How long it runs at most once it has started, enforced by Kubernetes; None where nothing ends it."""
    grace_period: float | None = STALENESS_GRACE
    """Seconds that it may stay below its minimum once pods of it run; None for ever."""
    preemptible: bool = True
    """Whether it may be displaced for others once it runs."""
    preempts: bool = True
    """Whether others may be displaced for it while it waits."""
    shrinks: bool = True
    """Whether pods above its minimum may be displaced alone; otherwise all of them go together."""
    preemption_delay: float = 0.0
    """Seconds that it waits before others may be evicted for it."""
    queue: str = ""
    """The queue within which it keeps its order, where queues are charged for whole workloads."""
    strict: bool = False
    """Whether nobody of its queue may pass it."""
    maker: Key | None = None
    """The object that it was compiled from, where that has another name; see ``key``."""
    notes: tuple[Problem, ...] = ()
    """What is worth knowing about it, and no reason to refuse it."""
    if_left_out: tuple[Problem, ...] = ()
    """What is worth knowing besides where pods above its minimum are left out."""
    running: tuple[RunningPod, ...] = ()
    """Its pods that have a node already; filled in even where there is no request."""
    companions: Companions | None = None
    """What should fit into the domain that is chosen for it; None once it or one of them runs."""

    @property
    def key(self) -> Key:
        """The object that asks for it."""
        return self.maker or self.object.key

    def placeable(
        self,
        request: Request,
        *,
        notes: tuple[Problem, ...] | None = None,
        running: tuple[RunningPod, ...] | None = None,
    ) -> PlaceableWorkload:
        """The same workload with a request; ``notes`` and ``running`` replace its own."""
        # Written out: one is made per gang, and by way of a dict it takes 0.9 us instead of 0.6.
        return PlaceableWorkload(
            self.object,
            self.dialect,
            request,
            priority=self.priority,
            created=self.created,
            admitted=self.admitted,
            options=self.options,
            accounts=self.accounts,
            run_seconds=self.run_seconds,
            grace_period=self.grace_period,
            preemptible=self.preemptible,
            preempts=self.preempts,
            shrinks=self.shrinks,
            preemption_delay=self.preemption_delay,
            queue=self.queue,
            strict=self.strict,
            maker=self.maker,
            notes=self.notes if notes is None else notes,
            if_left_out=self.if_left_out,
            running=self.running if running is None else running,
            companions=self.companions,
        )

    def invalid(
        self, problems: tuple[Problem, ...], *, missing_pods: int = 0, complete: bool | None = None
    ) -> InvalidWorkload:
        """The same workload with what is wrong with it.

        ``complete``: whether its minimum runs; None to conclude it from the request, if there is one.
        """
        if complete is None:
            complete = isinstance(self, PlaceableWorkload) and satisfied(self.request.root)
        return InvalidWorkload(**self._unplaceable(problems, missing_pods), complete=complete)

    def incomplete(self, problems: tuple[Problem, ...], *, missing_pods: int) -> IncompleteWorkload:
        """The same workload with what states that pods do not exist yet."""
        return IncompleteWorkload(**self._unplaceable(problems, missing_pods))

    def _unplaceable(self, problems: tuple[Problem, ...], missing_pods: int) -> dict[str, Any]:
        fields = msgspec.structs.asdict(self)
        fields.pop("request", None)
        fields.update(problems=problems, missing_pods=missing_pods)
        return fields


class PlaceableWorkload(WorkloadBase, frozen=True, gc=False):
    """A workload that can be scheduled."""

    request: Request


class InvalidWorkload(WorkloadBase, frozen=True, gc=False):
    """A workload that cannot be scheduled as it is written."""

    problems: tuple[Problem, ...]
    """What is wrong with it, in the order in which it is reported; missing pods included."""
    missing_pods: int = 0
    """As that of ``IncompleteWorkload``; 0 where pods are not among what is wrong."""
    complete: bool = False
    """Whether the pods of its minimum run all the same: it became invalid later, or is bound by others."""


class IncompleteWorkload(WorkloadBase, frozen=True, gc=False):
    """A valid workload that waits for pods which must run at once and do not exist yet."""

    problems: tuple[Problem, ...]
    """What states that, and nothing else."""
    missing_pods: int
    """The fewest pods that can complete it: what the group lacks that lacks least."""


UnplaceableWorkload: TypeAlias = InvalidWorkload | IncompleteWorkload
Workload: TypeAlias = PlaceableWorkload | UnplaceableWorkload
