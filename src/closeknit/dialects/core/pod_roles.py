"""The pods that somebody's controller makes: roles of gangs, read from an object as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from closeknit.apis.core_v1 import PodTemplateSpec
from closeknit.dialects.core.kinds import value_at
from closeknit.dialects.core.pods import MOST_PODS
from closeknit.dialects.wire.decoding import decode
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem, Range
from closeknit.hub.sentences import core as sentences


@dataclass(frozen=True, slots=True)
class PodRole:
    """Equal pods of a gang."""

    name: str
    template: PodTemplateSpec
    path: Path
    """Of the template, or of what it was made of."""
    written: Mapping[str, Any]
    """The template as it was written, or made."""
    count: int
    minimum: int | None = None
    """How many must run for the gang to start, by its controller's own field; None where it has none."""
    minimum_path: Path = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the controller puts on the pods of this role alone."""
    index_label: str = ""
    """The label that holds the number of a pod within its role, if there is one."""


@dataclass(frozen=True, slots=True)
class Gang:
    """What starts together."""

    roles: tuple[PodRole, ...]
    suffix: str = ""
    """What follows the object in its name, where an object has several."""


class Written:
    """An object as it was written, and what is wrong with it so far."""

    def __init__(self, content: Mapping[str, Any], found: list[Problem], path: Path = ()) -> None:
        self.content = content
        self.found = found
        self.path = path
        """Where it stands, if it is part of another object."""

    @property
    def name(self) -> str:
        """Its own name."""
        return str(value_at(self.content, ("metadata",)).get("name") or "")

    def at(self, *path: str | int) -> Any:
        """What stands at a path; None where nothing does."""
        value: Any = self.content
        for step in path:
            if isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                value = value.get(step) if isinstance(value, Mapping) else None
        return value

    def listed(self, *path: str | int) -> list[Any]:
        """The list at a path; empty where there is none."""
        value = self.at(*path)
        return value if isinstance(value, list) else []

    def number(self, path: Path, default: int) -> int:
        """The number of something; what cannot be one is a problem, and counts as none."""
        value = self.at(*path)
        if value is None:
            return default
        if type(value) is int and 0 <= value <= MOST_PODS:
            return value
        where, allowed = (*self.path, *path), Range(0, MOST_PODS)
        self.found.append(sentences.OUT_OF_RANGE.at(where, value=str(value), allowed=allowed))
        return 0

    def role(
        self, name: str, path: Path, count: int, written: Mapping[str, Any] | None = None, /, **more: Any
    ) -> Iterator[PodRole]:
        """A role of the template that stands at a path, or that was made of what stands there."""
        where = (*self.path, *path)
        given = self.at(*path) if written is None else written
        if not isinstance(given, dict):
            self.found.append(sentences.NO_TEMPLATE.at(where))
            return
        template, wrong = decode(PodTemplateSpec, given)
        self.found.extend(problem.under(*where) for problem in wrong)
        if template is not None:
            yield PodRole(name, template, where, given, count, **more)
