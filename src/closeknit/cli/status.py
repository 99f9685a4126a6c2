"""``closeknit status``: the conditions and events that each object would have."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from closeknit import dialects
from closeknit.cli import loading, options
from closeknit.cli.clusters import upper
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid, remark_live, remark_skipped
from closeknit.scheduler import outcome_json
from closeknit.scheduler.wording import printable, title


def status(
    files: options.Files = [],  # noqa: B006 (Typer copies it)
    *,
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
    output: Annotated[options.Text, typer.Option("-o", "--output", help="text or json.")] = options.Text.TEXT,
    lenient: options.Lenient = False,
) -> None:
    """Print the conditions and events of each object in the files.

    They are those that the object's own operator would write, in its own words, as far as the files tell.
    With --context or --kubeconfig, the objects of that cluster are told of as well.
    """
    with refusing_invalid():
        given = loading.given(files, context, kubeconfig)
        found = dialects.statuses(given.sources, lenient=lenient)
    problems = [each for each in found.problems if not each.live]
    complain(problems)
    remark_skipped(found.skipped)
    remark_live([each for each in found.problems if each.live])
    if output is options.Text.JSON:
        listed = [_entry(each) for each in found.objects]
        sys.stdout.write(f"{outcome_json.text({'objects': listed})}\n")
    else:
        sys.stdout.writelines(f"{printable(line)}\n" for line in _lines(found, given.holders))
    finish(ExitStatus.INVALID if problems else ExitStatus.DONE)


def _lines(found: dialects.Statuses, holders: str) -> Iterator[str]:
    for each in found.objects:
        for condition in each.conditions:
            what = f"{condition.type} is {condition.status} ({condition.reason})"
            yield f"{title(each.object)}: {what}: {condition.message}"
        for event in each.events:
            yield f"{title(each.object)}: event {event.type} {event.reason}: {event.message}"
    if not found.objects and not found.problems:
        yield f"{upper(holders)} no object that an operator would write a status for."


def _entry(each: dialects.ObjectStatus) -> outcome_json.Json:
    return {
        "object": outcome_json.plain(each.object),
        "dialect": each.family,
        "conditions": outcome_json.plain(each.conditions),
        "events": outcome_json.plain(each.events),
    }
