"""Verdicts for people: a tree with groups, domains and nodes, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from closeknit.cli.display import Branch, Tone, branch
from closeknit.hub.outcome import Assignment, GroupReach, Placed, Shortfall, Undecided, Unplaceable
from closeknit.hub.problems import Problem
from closeknit.hub.request import PodSet, Request
from closeknit.scheduler import wording
from closeknit.scheduler.planning import AnyVerdict, Status
from closeknit.scheduler.wording import counted, listed, printable

NODES = 12
"""A group on more nodes than this shows the first ones and counts the rest."""

_TONES = {
    Status.PLACED: Tone.GOOD,
    Status.UNPLACEABLE: Tone.BAD,
    Status.UNDECIDED: Tone.DOUBTFUL,
    Status.INVALID: Tone.BAD,
}


class Detail(Enum):
    """How much is shown of a shortfall; the value is how many of the best domains."""

    BRIEF = 3
    FULL = 10


def tree(verdict: AnyVerdict, detail: Detail = Detail.BRIEF) -> Branch:
    """What became of one workload."""
    below: Iterable[Branch]
    if isinstance(verdict.outcome, Placed):
        below = placement(verdict.outcome, verdict.workload.request)
    elif isinstance(verdict.outcome, Unplaceable | Undecided):
        request = verdict.workload.request
        below = (shortfall(short, request, detail) for short in verdict.outcome.shortfalls)
    else:
        below = problems(verdict.problems)
    return branch(*heading(verdict), below=(*notes(verdict), *below))


def heading(verdict: AnyVerdict) -> tuple[tuple[str, Tone], ...]:
    """Who it is and what became of it, in one line."""
    title = (wording.title(verdict.workload.object), Tone.TITLE)
    head = (title, (f": {wording.status(verdict.status)}", _TONES[verdict.status]))
    if not isinstance(verdict.outcome, Placed):
        return head
    return (
        *head,
        (f", {wording.size(verdict.outcome)}", Tone.PLAIN if verdict.outcome.proven else Tone.DOUBTFUL),
    )


def placement(placed: Placed, request: Request) -> Iterator[Branch]:
    """The groups with what they reached, and below each its nodes with their pods."""
    owners = {
        member.name: parent.name
        for member, parent in request.root.walk()
        if isinstance(member, PodSet) and parent is not None
    }
    pods: dict[str, list[Assignment]] = {}
    for assignment in placed.assignments:
        pods.setdefault(owners[assignment.pod_set], []).append(assignment)
    inner: dict[str | None, list[GroupReach]] = {}
    for group in placed.groups:
        inner.setdefault(group.parent, []).append(group)

    def below(name: str) -> Iterator[Branch]:
        for each in inner.get(name, ()):
            yield branch((printable(each.name), Tone.TITLE), ": ", *_reach(each), below=below(each.name))
        yield from _nodes(pods.get(name, ()))

    for root in inner.get(None, ()):
        if root.level is not None:
            yield branch("all pods ", *_reach(root))
        yield from below(root.name)


def _reach(group: GroupReach) -> tuple[tuple[str, Tone], ...]:
    return ((wording.reach(group), Tone.PLAIN if group.satisfied else Tone.DOUBTFUL),)


def _nodes(assignments: Iterable[Assignment]) -> Iterator[Branch]:
    nodes = wording.pods_by_node(assignments)
    for name, pods in list(nodes.items())[:NODES]:
        names = listed([printable(pod.pod) for pod in pods], 4)
        yield branch(printable(name), (f": {counted(len(pods), 'pod')} ({names})", Tone.QUIET))
    if len(nodes) > NODES:
        rest = list(nodes.values())[NODES:]
        yield branch(
            (f"and {counted(sum(map(len, rest)), 'pod')} on {counted(len(rest), 'more node')}", Tone.QUIET)
        )


def shortfall(short: Shortfall, request: Request, detail: Detail) -> Branch:
    """Why one group cannot be placed, and what would help."""
    domains = [branch(wording.domain_fit(fit)) for fit in short.best[: detail.value]]
    if len(short.best) > detail.value:
        domains.append(branch((f"and {counted(len(short.best) - detail.value, 'more domain')}", Tone.QUIET)))
    excluded = [branch((wording.exclusion(each), Tone.QUIET)) for each in short.excluded]
    helps = [branch((wording.relaxation(each, request), Tone.GOOD)) for each in short.relaxations]
    below = [*domains, *excluded, *helps]
    if detail is Detail.FULL:
        parts = (
            ("Where most would fit", domains),
            ("Nodes that take none", excluded),
            ("What would help", helps),
        )
        below = [branch((name, Tone.TITLE), below=part) for name, part in parts if part]
    return branch((wording.need(short), Tone.BAD), below=below)


def problems(found: Sequence[Problem]) -> Iterator[Branch]:
    """Each problem on a line of its own."""
    return (branch((printable(str(problem)), Tone.BAD)) for problem in found)


def notes(verdict: AnyVerdict) -> Iterator[Branch]:
    """What is worth knowing about the workload."""
    return (branch((f"note: {printable(str(note))}", Tone.DOUBTFUL)) for note in verdict.notes)


def lines(verdict: AnyVerdict) -> Iterator[str]:
    """The same for scripts and pipes: every line names its workload, and every pod has its own."""
    title = wording.title(verdict.workload.object)
    yield "".join(word for word, _ in heading(verdict))
    yield from (f"{title}: note: {printable(str(note))}" for note in verdict.notes)
    if isinstance(verdict.outcome, Placed):
        for group in verdict.outcome.groups:
            yield f"{title}: group {printable(group.name)}: {wording.reach(group)}"
        for each in verdict.outcome.assignments:
            group_name = printable(wording.known_as(each.pod_set, None))
            yield f"{title}: pod {printable(each.pod)} ({group_name}) on {printable(each.node)}"
    elif isinstance(verdict.outcome, Unplaceable | Undecided):
        request = verdict.workload.request
        for short in verdict.outcome.shortfalls:
            yield f"{title}: why: {wording.need(short)}"
            yield from (f"{title}: domain: {wording.domain_fit(fit)}" for fit in short.best)
            yield from (f"{title}: nodes: {wording.exclusion(excluded)}" for excluded in short.excluded)
            yield from (
                f"{title}: help: {wording.relaxation(relaxed, request)}" for relaxed in short.relaxations
            )
    else:
        yield from (f"{title}: problem: {printable(str(problem))}" for problem in verdict.problems)
