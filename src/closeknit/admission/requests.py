"""A write that an API server asks about, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from closeknit.hub.problems import Problem
from closeknit.kube.errors import Cause, ForbiddenError, InvalidObjectError, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A write that is about to happen. Nothing in it is ever changed in place."""

    operation: str
    """``CREATE``, ``UPDATE`` or ``DELETE``."""
    group: str
    version: str
    kind: str
    namespace: str = ""
    name: str = ""
    user: str = ""
    """Who writes."""
    obj: Mapping[str, Any] | None = None
    """None in a deletion."""
    old: Mapping[str, Any] | None = None
    """None in a creation."""

    @property
    def content(self) -> Mapping[str, Any]:
        """The object; in a deletion, as it was."""
        return self.obj if self.obj is not None else self.old or {}


@dataclass(frozen=True, slots=True)
class Review:
    """What is said of a write. It is allowed where there is no problem."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    forbidden: bool = False
    """Whether it is refused for who writes, and not for what is written."""

    @property
    def allowed(self) -> bool:
        """Whether the write may happen."""
        return not self.problems

    def status(self, request: Request) -> Status:
        """The refusal as Kubernetes' Status, with a cause for each problem; kubectl lists them one by one."""
        error = ForbiddenError if self.forbidden else InvalidObjectError
        return Status(
            code=error.code,
            reason=error.reason,
            message="; ".join(map(str, self.problems)),
            group=request.group,
            kind=request.kind,
            name=request.name,
            causes=tuple(Cause(each.where, each.message) for each in self.problems),
        )
