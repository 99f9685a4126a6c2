"""The objects in files, as they are handed to a cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from closeknit import dialects
from closeknit.cli.loading import sources_of
from closeknit.dialects import Located, Origin
from closeknit.hub.copying import replace
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.sentences import cli as sentences
from closeknit.scheduler.wording import printable

Object = dict[str, Any]
DESCRIBING = frozenset(kind.kind for family in dialects.DIALECTS for kind in family.describing)
"""Kinds that workloads are measured by, so they are handed over first."""


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """An object, and where it is written."""

    object: Object
    origin: Origin

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.object["kind"])

    @property
    def api_version(self) -> str:
        """The group and version of its kind."""
        return str(self.object["apiVersion"])

    @property
    def metadata(self) -> Object:
        """Its metadata; empty where that is no mapping."""
        found = self.object.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        """Its name; empty where it has none."""
        name = self.metadata.get("name")
        return name if isinstance(name, str) else ""

    def problem(self, wrong: Problem) -> Problem:
        """Something that is wrong with it, with its place and its name."""
        told = self.origin.in_file(wrong).under(*self.origin.prefix)
        named = told.of(self.kind, self.name) if self.name else told
        where = f"{self.origin.source}:{self.origin.document}:{named.where or '-'}"
        return replace(named, path=(Verbatim(where),), object="")


def objects_in(files: Sequence[str]) -> list[WrittenObject]:
    """Every object in the files, in their order; raises ``InvalidError`` with all that are none.

    An OSMO pool or workflow in its own format is the custom resource that carries it. Notes are printed.
    """
    problems: list[Problem] = []
    found: list[WrittenObject] = []
    for each in dialects.written(sources_of(files)):
        if isinstance(each, Located) and each.is_note:
            sys.stderr.write(f"note: {printable(str(each))}\n")
            continue
        if isinstance(each, Located):
            problems.append(each.problem.under(Verbatim(f"{each.source}:{each.document}:")))
            continue
        origin, content = each
        given = content if isinstance(content, dict) else {}
        if not isinstance(given.get("kind"), str):
            wrong = sentences.NO_KUBERNETES_OBJECT
        elif not isinstance(given.get("apiVersion"), str):
            wrong = sentences.NO_API_VERSION
        else:
            found.append(WrittenObject(given, origin))
            continue
        problems.append(wrong.at((Verbatim(f"{origin.source}:{origin.document}"),)))
    if problems:
        raise InvalidError(problems)
    return found
