"""A workload as a dialect read it: who it is, where it queues, and what it asks for."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.quota import Account, Option
from closeknit.hub.request import Request


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


class Workload(msgspec.Struct, frozen=True, gc=False):
    """Something to place. Without a request it is invalid, and ``problems`` say why."""

    object: ObjectName
    dialect: str
    request: Request | None
    problems: tuple[Problem, ...] = ()
    priority: int = 0
    """Higher goes first."""
    created: str = ""
    """RFC 3339 creation time; empty where unknown, which goes last."""
    admitted: bool = False
    """Whether it has its quota already, and so goes before all that wait."""
    options: tuple[Option, ...] = ()
    """Ways to run it, tried in order: the first that has quota and finds room is taken.

    Empty where there is only one, which costs nothing; else ``request`` is that of the first.
    """
    accounts: tuple[Account, ...] = ()
    """Accounts that its pods are charged to as they run, each pod for what it asks of what they count."""
    run_seconds: float | None = None
    """How long it runs at most once it has started; None where it does not say."""
    preemptible: bool = True
    """Whether it may be displaced for others once it runs."""
    preempts: bool = True
    """Whether others may be displaced for it while it waits."""
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
    """Its pods that have a node already; told even where there is no request."""

    @property
    def key(self) -> Key:
        """The object that asks for it."""
        return self.maker or self.object.key
