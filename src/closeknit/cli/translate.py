"""``closeknit translate``: the objects that a dialect's rules produce."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from enum import Enum, StrEnum
from typing import Annotated

import typer

from closeknit import dialects
from closeknit.apis.kai_keys import QUEUE
from closeknit.cli import loading, manifests, options
from closeknit.cli.exits import (
    ExitStatus,
    complain,
    finish,
    refusing_invalid,
    remark_live,
    remark_noted,
    remark_skipped,
)
from closeknit.dialects.family import Object
from closeknit.dialects.grove.legacy_spelling import in_legacy_spelling
from closeknit.hub.problems import Problem
from closeknit.scheduler.wording import printable, title
from closeknit.text.documents import Located

_LISTED = 5
"""How many names a note lists before it counts the rest."""


class GroveVersion(StrEnum):
    """Which spelling of Grove's objects to write."""

    TODAY = "today"
    ALPHA8 = "alpha8"
    """Up to v0.1.0-alpha.8: ClusterTopology and ``packDomain``."""


Target = Enum("Target", {name: name for name in dialects.TARGETS})  # type: ignore[misc]


def translate(
    files: options.Files,
    to: Annotated[Target, typer.Option("--to", help="What the objects are for.")],
    *,
    output: Annotated[options.Manifests, typer.Option("-o", "--output", help="How to print them.")] = (
        options.Manifests.YAML
    ),
    grove_version: Annotated[
        GroveVersion,
        typer.Option(help="How to spell Grove's objects: as today, or as before it was changed."),
    ] = GroveVersion.TODAY,
    settings: options.Settings = [],  # noqa: B006 (Typer copies it)
    lenient: options.Lenient = False,
) -> None:
    """Print the objects that each workload becomes.

    They are spelled as their projects spell them today. A family's own rules come first: what its
    operator would create. Where it has none for the target, the workload is said over again in the
    target's words.
    """
    with refusing_invalid():
        sources = loading.sources_of(files, settings)
        translation = dialects.translate(sources, to.value, lenient=lenient)
    objects, problems = list(translation.objects), list(translation.problems)
    if grove_version is GroveVersion.ALPHA8:
        unsaid: list[Problem] = []
        objects = in_legacy_spelling(objects, unsaid)
        problems.extend(Located("--grove-version alpha8", 0, problem) for problem in unsaid)
    complain(problems)
    remark_skipped(translation.skipped)
    remark_live(translation.notes, most=len(translation.notes))
    remark_noted(translation.noted)
    sys.stderr.writelines(f"note: {note}\n" for note in _renamed(translation))
    sys.stderr.writelines(f"note: {note}\n" for note in _unwritten(translation, to.value))
    sys.stderr.writelines(f"note: {note}\n" for note in _without_queue(objects, to.value))
    write = manifests.as_yaml if output is options.Manifests.YAML else manifests.as_json
    sys.stdout.writelines(write(objects))
    finish(ExitStatus.INVALID if problems else ExitStatus.DONE)


def _renamed(translation: dialects.Translation) -> Iterator[str]:
    """What to look for under another name than it was given."""
    for each in translation.renamed:
        if each.topology:
            what = f'its topology "{printable(each.topology)}" is written as'
        else:
            what = "it is written as"
        other = title(each.other) if each.other is not None else "another of that name"
        yield f'{title(each.object)}: {what} "{printable(each.name)}", to tell it from {other}.'


def _without_queue(objects: Sequence[Object], target: str) -> Iterator[str]:
    """Which PodGroups name no queue, so that KAI would pass over them."""
    made = [each for each in objects if target == "kai" and each["kind"] == "PodGroup"]
    names = [each["metadata"]["name"] for each in made if not each["spec"].get("queue")]
    if names:
        listed = ", ".join(map(printable, names[:_LISTED]))
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        yield (
            f"KAI schedules no PodGroup without a queue, and none is named for {listed}{more}. "
            f"Set the label {QUEUE} on the workload."
        )


def _unwritten(translation: dialects.Translation, target: str) -> Iterator[str]:
    """Why there is nothing to be seen of a workload, so that it is no riddle."""
    others = ", ".join(each for each in dialects.TARGETS if each != target)
    for name in translation.unwritten:
        yield f"{title(name)}: nothing is left to write for {target}. Other targets: {others}."
    if not (translation.objects or translation.problems or translation.unwritten):
        yield f"The files hold no workload, so there is nothing to write for {target}."
