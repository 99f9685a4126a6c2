"""Assert problems by code, path and facts instead of by message text.

``findings(problems)`` is what was reported, ``finding(code, where, **facts)`` what a test expects. The
``repr`` of a finding is the call that builds it, so a failing comparison prints what to write.

Where a test can only see text (standard error, a condition, an admission denial), it renders the expected
text from the catalogue with ``text`` or ``line``. Rewording a message then changes both sides; the wording
itself is asserted once, in ``tests/messages``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from closeknit.dialects.store.objects import Reported
from closeknit.hub import sentences
from closeknit.hub.copying import replace
from closeknit.hub.problems import Code, Fact, Problem
from closeknit.text.documents import Located


@dataclass(frozen=True)
class Finding:
    """A reported problem: where, which code, and the facts of its message in any order."""

    where: str
    """As printed before the message: ``1:spec.x`` for the first document of a file, ``spec.x`` for an object."""
    code: str
    facts: frozenset[tuple[str, Fact]]

    def __repr__(self) -> str:
        facts = "".join(f", {name}={fact!r}" for name, fact in sorted(self.facts, key=lambda pair: pair[0]))
        where = f", {self.where!r}" if self.where else ""
        return f"finding({catalogue_name(self.code)}{where}{facts})"


def finding(code: Code, where: str = "", /, **facts: Fact) -> Finding:
    """The problem that a test expects. Exactly the facts of the message must be given."""
    problem = code.at((), **facts)
    return Finding(where, code.name, frozenset(problem.facts))


def findings(reported: Iterable[Problem | Located | Reported]) -> list[Finding]:
    """What was reported, in order. A located problem names its document, without the name of the file."""
    return [_finding(each) for each in reported]


def _finding(reported: Problem | Located | Reported) -> Finding:
    if isinstance(reported, Problem):
        return Finding(reported.where, reported.code.name, frozenset(reported.facts))
    of_object = _finding(reported.problem)
    if isinstance(reported, Reported):
        return of_object
    if reported.document is not None:
        return replace(of_object, where=f"{reported.document}:{of_object.where or '-'}")
    name = reported.object
    named = "/".join(filter(None, (name.kind, name.namespace, name.name))) if name is not None else "-"
    return replace(
        of_object, where=": ".join(filter(None, (f"{named} in {reported.source}", of_object.where)))
    )


def text(code: Code, /, **facts: Fact) -> str:
    """The message of a code and its facts, as the catalogue words it today."""
    return code.at((), **facts).message


def line(code: Code, where: str = "", /, **facts: Fact) -> str:
    """The message behind the place it is reported at."""
    return f"{where}: {text(code, **facts)}" if where else text(code, **facts)


def catalogue() -> Iterator[tuple[str, str, Code]]:
    """Every message code: its catalogue, its name there, and the code."""
    for module in sorted(each.name for each in pkgutil.iter_modules(sentences.__path__)):
        for name, value in vars(importlib.import_module(f"{sentences.__name__}.{module}")).items():
            if isinstance(value, Code):
                yield module, name, value


def catalogue_name(code: str) -> str:
    """A code as tests write it, such as ``kueue.NO_QUOTA``."""
    return _names().get(code, repr(code))


@cache
def _names() -> dict[str, str]:
    return {code.name: f"{module}.{name}" for module, name, code in reversed(list(catalogue()))}
