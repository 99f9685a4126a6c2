"""A write that an API server asks about, and what it is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from closeknit.hub.problems import Problem
from closeknit.kube.errors import Cause, ForbiddenError, InvalidObjectError, Status

MOST_PROBLEMS: Final = 50
"""How many problems a refusal tells one by one; the rest is counted."""
_MOST_WARNINGS: Final = 20
"""An API server passes on only so much."""


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
        causes = [Cause(each.where, each.message) for each in self.problems[:MOST_PROBLEMS]]
        if (rest := len(self.problems) - MOST_PROBLEMS) > 0:
            causes.append(Cause("", f"Problems that are not listed: {rest}."))
        return Status(
            code=error.code,
            reason=error.reason,
            message="; ".join(
                f"{each.field}: {each.message}" if each.field else each.message for each in causes
            ),
            group=request.group,
            kind=request.kind,
            name=request.name,
            causes=tuple(causes),
        )


def told(warnings: Iterable[Problem]) -> tuple[str, ...]:
    """What is worth knowing, as far as an API server passes it on."""
    return tuple(map(str, islice(warnings, _MOST_WARNINGS)))
