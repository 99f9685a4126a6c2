"""A workload as a dialect read it: who it is, where it queues, and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass

from closeknit.hub.problems import Problem
from closeknit.hub.quota import Option
from closeknit.hub.request import Request


@dataclass(frozen=True, slots=True)
class ObjectName:
    """The identity of a Kubernetes object; ``namespace`` is empty for a cluster-wide kind."""

    api_version: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Workload:
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
    notes: tuple[Problem, ...] = ()
    """What is worth knowing about it, and no reason to refuse it."""
