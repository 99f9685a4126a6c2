"""Whose pods are Closeknit's to bind: one option, and one meaning, for all commands that tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli as sentences

OPTION = "--scheduler-name"

SchedulerNames = Annotated[
    list[str],
    typer.Option(
        OPTION,
        metavar="NAME",
        help="A schedulerName of pods that Closeknit binds. May repeat."
        " Left out: closeknit and kai-scheduler.",
    ),
]


def schedulers_named(names: Sequence[str]) -> frozenset[str]:
    """The schedulers that are meant: the usual ones where none is named; refuses what no pod could name."""
    from closeknit.dialects.lone_pods import SCHEDULERS

    require_names(names)
    return frozenset(names) or SCHEDULERS


def require_names(names: Sequence[str]) -> None:
    """Refuse what no pod could name."""
    from closeknit.dialects.wire.registry import is_name

    wrong = [
        sentences.NO_SCHEDULER_NAME.at((Verbatim(OPTION),), name=name) for name in names if not is_name(name)
    ]
    if wrong:
        raise InvalidError(wrong)
