"""``closeknit explain``: why a workload is placed where it is, or why it is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from closeknit.cli import display, loading, options, preferences, verdict_tree
from closeknit.cli.display import Branch, Tone, branch
from closeknit.cli.exits import ExitStatus, faulty, finish, refusing_invalid, tell
from closeknit.cli.loading import Given
from closeknit.cli.preferences import Missed, Why
from closeknit.cli.scheduler_names import SchedulerNames, require_names
from closeknit.cli.verdict_tree import Detail
from closeknit.hub.outcome import Choice, Placed
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, OneOf
from closeknit.hub.request import Request
from closeknit.hub.sentences import cli as sentences
from closeknit.hub.workload import Workload
from closeknit.scheduler import outcome_json, planning, wording
from closeknit.scheduler.outcome_json import Json
from closeknit.scheduler.planning import AnyVerdict, Status

if TYPE_CHECKING:
    from closeknit.engine import Engine


def explain(
    workload: Annotated[
        str, typer.Argument(metavar="WORKLOAD", help="A name, NAMESPACE/NAME or KIND/NAMESPACE/NAME.")
    ],
    files: options.Files = [],  # noqa: B006 (Typer copies it)
    *,
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
    output: Annotated[options.Text, typer.Option("-o", "--output", help="text or json.")] = options.Text.TEXT,
    settings: options.Settings = [],  # noqa: B006 (Typer copies it)
    scheduler_names: SchedulerNames = [],  # noqa: B006 (Typer copies it)
    lenient: options.Lenient = False,
) -> None:
    """Tell why a workload is placed where it is, or why not.

    Where it is not: what each of the best domains lacks, and what would help. The
    workloads before it in the queue are placed first, as plan does. With --context or --kubeconfig, it and
    what is around it may be in that cluster.
    """
    from closeknit.engine import Engine

    with refusing_invalid():
        require_names(scheduler_names)
        asked = workload.partition("/")[0] if workload.count("/") > 1 else ""
        given = loading.given(files, context, kubeconfig, settings=settings, asked=asked)
        reading = loading.reading_of(given, lenient=lenient, schedulers=scheduler_names)
        tell(reading)
        chosen = find(workload, reading.workloads, given)
        engine = Engine(reading.cluster)
        verdicts = list(
            planning.plan(engine, reading.cluster, reading.workloads, until=lambda each: each is chosen)
        )
    verdict = verdicts[-1]
    missed = list(preferences.missed(engine, verdict))
    choices = _choices(engine, verdict)
    match output:
        case options.Text.JSON:
            sys.stdout.write(f"{outcome_json.text({'outcomes': [_json(verdict, missed, choices)]})}\n")
        case options.Text.TEXT:
            display.show([told(verdict, verdicts[:-1], missed, choices)])
    if faulty(reading) or verdict.status is Status.INVALID:
        finish(ExitStatus.INVALID)
    finish(ExitStatus.DONE if verdict.status is Status.PLACED else ExitStatus.UNPLACED)


def find(name: str, workloads: Sequence[Workload], given: Given) -> Workload:
    """The workload of this name; raises ``InvalidError`` where it is none or could be several."""
    matching = [each for each in workloads if name in _spellings(each)]
    if len(matching) == 1:
        return matching[0]
    path = (Verbatim("WORKLOAD"),)
    if matching:
        names = tuple(_spellings(each)[-1] for each in matching)
        wrong = sentences.AMBIGUOUS_WORKLOAD.at(path, name=name, count=len(matching), names=names)
    elif not workloads:
        wrong = sentences.NO_WORKLOADS.at(path, name=name, holders=given.holders)
    else:
        # Near names are looked for among spellings with as many parts, and offered as such.
        parts = min(name.count("/"), 2)
        choices = {_spellings(each)[parts] for each in workloads}
        remedy = OneOf.among(name, choices)
        wrong = sentences.UNKNOWN_WORKLOAD.at(path, name=name, place=given.place, remedy=remedy)
    raise InvalidError([wrong])


def _spellings(workload: Workload) -> tuple[str, str, str]:
    name = workload.object
    return name.name, f"{name.namespace}/{name.name}", f"{name.kind}/{name.namespace}/{name.name}"


def _choices(engine: Engine, verdict: AnyVerdict) -> Sequence[Choice]:
    if not isinstance(verdict.outcome, Placed):
        return ()
    return engine.explain(verdict.workload.request, verdict.outcome)


def told(
    verdict: AnyVerdict,
    before: Sequence[AnyVerdict],
    missed: Sequence[Missed] = (),
    choices: Sequence[Choice] = (),
) -> Branch:
    """The whole explanation as a tree."""
    return branch(*verdict_tree.heading(verdict), below=_parts(verdict, before, missed, choices))


def _parts(
    verdict: AnyVerdict, before: Sequence[AnyVerdict], missed: Sequence[Missed], choices: Sequence[Choice]
) -> Iterator[Branch]:
    if before:
        titles = wording.listed([wording.title(each.workload.object) for each in before])
        placed = sum(each.status is Status.PLACED for each in before)
        yield branch((f"Before it in the queue, {placed} of {len(before)} placed: {titles}.", Tone.QUIET))
    if isinstance(verdict.outcome, Placed):
        request = verdict.workload.request
        yield from verdict_tree.notes(verdict)
        yield branch(
            ("Where its groups are", Tone.TITLE), below=verdict_tree.placement(verdict.outcome, request)
        )
        if choices:
            yield branch(("What they could choose from", Tone.TITLE), below=map(_choice, choices))
        yield from (_missed(each, request) for each in missed)
        wishes = wording.wishes(verdict.outcome, verdict.topology)
        yield branch(("How good that is", Tone.TITLE), below=(branch(wish) for wish in wishes))
    else:
        yield from verdict_tree.tree(verdict, Detail.FULL).below


def _choice(made: Choice) -> Branch:
    return branch(
        wording.choice(made), below=(branch((wording.runner_up(fit), Tone.QUIET)) for fit in made.runners_up)
    )


_REASONS = {
    Why.OUTWEIGHED: "It could, but a wish that goes before this one would suffer.",
    Why.UNKNOWN: "That was not found out: the search budget ended before.",
}


def _missed(missed: Missed, request: Request) -> Branch:
    words = f"Why {wording.printable(missed.group)} does not get one {wording.printable(missed.preferred)}"
    below = [verdict_tree.shortfall(each, request, Detail.FULL) for each in missed.shortfalls]
    if missed.why in _REASONS:
        below.insert(0, branch(_REASONS[missed.why]))
    return branch((words, Tone.TITLE), below=below)


def _json(verdict: AnyVerdict, missed: Sequence[Missed], choices: Sequence[Choice]) -> Json:
    entry = outcome_json.outcome(verdict)
    if isinstance(verdict.outcome, Placed):
        entry["choices"] = outcome_json.plain(tuple(choices))
        entry["missedPreferences"] = [
            {
                "group": each.group,
                "preferred": each.preferred,
                "why": each.why.value,
                "shortfalls": [
                    outcome_json.shortfall(short, verdict.workload.request) for short in each.shortfalls
                ],
            }
            for each in missed
        ]
    return entry
