"""What is told about a unit, in sentences for people and as JSON for programs.

Two reports that are equal say the same, so that who writes them can tell whether there is anything to write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from closeknit.hub import quota
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Placed, Shortfall, Undecided, Unplaceable
from closeknit.hub.problems import Problem
from closeknit.hub.request import Request
from closeknit.hub.sentences import kai as sentences
from closeknit.hub.workload import Workload
from closeknit.scheduler import outcome_json, wording
from closeknit.scheduler.planning import Verdict
from closeknit.scheduler.preemption import Displacement

Json: TypeAlias = dict[str, Any]

_LONGEST_MESSAGE = 1000
"""Bytes; an event holds no more than 1024."""
_LONGEST_OUTCOME = 8192
"""Characters; all annotations of an object may have 256 KiB."""
_SHORTFALLS = 3
_HELPS = 2
_EXCLUDED = 2
_NAMES = 5
_PROBLEMS = 8
_AWAITING = (sentences.TOO_FEW_PODS, sentences.PODS_AWAITED, sentences.PODS_MISSING)


class State(Enum):
    """What became of a unit, as the reason of its condition."""

    SCHEDULED = "Scheduled"
    UNSCHEDULABLE = "Unschedulable"
    NOT_READY = "NotReady"
    """Pods that must run with the others do not exist yet."""
    RELEASED = "Released"
    """It was bound in part, could not be completed, and its pods were told to go."""
    DISPLACED = "Displaced"
    """Its pods were told to go, to make room for a unit of higher priority."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause: a word that programs know, and sentences, of which the first says what is wrong."""

    reason: str
    brief: str
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is told about one unit."""

    state: State
    brief: str
    """What is the matter. Where this stays the same, the reason has not changed."""
    message: str
    """The same with where, who and what would help, which changes with the cluster."""
    reasons: tuple[Reason, ...] = ()
    outcome: str = ""
    """What the annotation says."""
    plan: str = ""
    """Who is displaced for it; part of the message."""

    def says_the_same(self, other: Report | None) -> bool:
        """Whether the reason is the same, however much the details differ."""
        return other is not None and (self.state, self.brief) == (other.state, other.brief)


def report(verdict: Verdict, plan: Displacement | None = None) -> Report:
    """What is told about a unit that was decided, and about who is displaced for it."""
    state, reasons = _told(verdict)
    if verdict.kept_for:
        names = _listed([wording.printable(each) for each in verdict.kept_for])
        words = f"There is room, but it is kept for {names}, ahead in the queue and without room yet."
        reasons = (Reason("PlaceKept", words, words), *reasons)
    if plan is None:
        return _report(state, reasons, _outcome(verdict))
    words = _planned(plan)
    told = _report(state, (Reason("Displacing", words, words), *reasons), _outcome(verdict, plan))
    return replace(told, plan=words)


def released(why: str) -> Report:
    """What is told about a unit that was let go because it could not be completed."""
    return _let_go(State.RELEASED, f"It was bound in part and could not be completed: {why}")


def displaced(by: Workload, why: str) -> Report:
    """What is told about a unit that makes room for another."""
    return _let_go(State.DISPLACED, f"It makes room for {wording.title(by.object)}: {why}")


def waiting_pods(verdict: Verdict) -> tuple[str, ...]:
    """The names of pods that exist and were given no node."""
    if verdict.workload.request is None:
        return ()
    given: set[str] = set()
    if isinstance(verdict.outcome, Placed):
        given = {each.pod for each in verdict.outcome.assignments}
    return tuple(
        name for pods in verdict.workload.request.root.pod_sets() for name in pods.pods if name not in given
    )


def bounded(text: str) -> str:
    """The text, cut where it is longer than an event can hold."""
    encoded = text.encode()
    if len(encoded) <= _LONGEST_MESSAGE:
        return text
    return encoded[: _LONGEST_MESSAGE - 3].decode(errors="ignore") + "…"


def _report(state: State, reasons: tuple[Reason, ...], outcome: str) -> Report:
    brief, message = (
        " ".join(texts) for texts in zip(*((each.brief, each.message) for each in reasons), strict=True)
    )
    return Report(state, bounded(brief), bounded(message), reasons, outcome)


def _let_go(state: State, why: str) -> Report:
    told = {"status": state.value.lower(), "why": bounded(why)}
    return _report(state, (Reason(state.value, why, why),), _written(told))


def _told(verdict: Verdict) -> tuple[State, tuple[Reason, ...]]:
    match verdict.outcome:
        case Placed() as placed:
            words = " ".join(_placement(placed))
            return State.SCHEDULED, (Reason("Scheduled", words, words),)
        case (Unplaceable() | Undecided()) as outcome:
            return State.UNSCHEDULABLE, tuple(_shortfalls(outcome, verdict.workload.request))
        case None:
            words = _joined(verdict.problems)
            awaiting = only_awaits_pods(verdict.problems)
            state = State.NOT_READY if awaiting else State.UNSCHEDULABLE
            return state, (Reason("NotReady" if awaiting else "Invalid", words, words),)


def only_awaits_pods(problems: Iterable[Problem]) -> bool:
    """Whether nothing is wrong with a unit but that pods which must run do not exist yet."""
    return all(problem.code in _AWAITING for problem in problems)


def _planned(plan: Displacement) -> str:
    """Who is displaced, and where there is room then."""
    some = [
        f"{wording.printable(each.holder)} ({wording.counted(each.pods, 'pod')})" for each in plan.victims
    ]
    who = _listed(some)
    placed = plan.verdict.outcome
    then = f" Then it fits: {' '.join(_placement(placed))}" if isinstance(placed, Placed) else ""
    return f"{who} {'is' if len(plan.victims) == 1 else 'are'} displaced to make room for it.{then}"


def _listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    some = [*names[:_NAMES], *([f"{len(names) - _NAMES} more"] if len(names) > _NAMES else [])]
    return " and ".join(filter(None, (", ".join(some[:-1]), some[-1])))


def _placement(placed: Placed) -> Iterator[str]:
    """How large the placement is, and the domain of each group that asked for one, else of the whole."""
    yield f"{wording.size(placed)}."
    asked = [group for group in placed.groups if group.required or group.preferred]
    for group in asked or placed.groups[:1]:
        reach = wording.reach(group)
        whole = group.parent is None
        yield f"{_capital(reach)}." if whole else f"{wording.printable(group.name)}: {reach}."


def _shortfalls(outcome: Unplaceable | Undecided, request: Request | None) -> Iterator[Reason]:
    if isinstance(outcome, Undecided):
        words = "Whether there is a place was not found out within the search budget; it is tried again."
        yield Reason("Undecided", words, words)
    for short in outcome.shortfalls[:_SHORTFALLS]:
        name = "OverLimit" if short.level in quota.LEVELS else "PodSchedulingErrors"
        yield Reason(name, wording.need(short), bounded(" ".join(_shortfall(short, request))))
    if len(outcome.shortfalls) > _SHORTFALLS:
        more = wording.counted(len(outcome.shortfalls) - _SHORTFALLS, "more group") + " cannot be placed."
        yield Reason("PodSchedulingErrors", more, more)
    if not outcome.shortfalls and isinstance(outcome, Unplaceable):
        words = "There is no place for it in the cluster as it is."
        yield Reason("PodSchedulingErrors", words, words)


def _shortfall(short: Shortfall, request: Request | None) -> Iterator[str]:
    """What is missing, where it is nearest and who holds it there, and the smallest change that helps."""
    yield wording.need(short)
    yield from (_capital(wording.domain_fit(fit)) for fit in short.best[:1])
    yield from (wording.exclusion(each) for each in short.excluded[:_EXCLUDED])
    if request is not None:
        yield from (wording.relaxation(each, request) for each in short.relaxations[:_HELPS])


def _capital(sentence: str) -> str:
    """The sentence, with a capital at its beginning unless that is a name."""
    return sentence[:1].upper() + sentence[1:] if sentence.partition(" ")[0].isalpha() else sentence


def _joined(problems: Sequence[Problem]) -> str:
    texts = [wording.printable(str(problem)) for problem in problems[:_PROBLEMS]]
    rest = len(problems) - _PROBLEMS
    return " ".join([*texts, f"{rest} more."] if rest > 0 else texts)


def _outcome(verdict: Verdict, plan: Displacement | None = None) -> str:
    """The outcome as JSON, as ``plan -o json`` has it, without what the object and its pods say themselves.

    Where it would be too long, the last entries of its lists are left out, and ``truncated`` says so.
    """
    told = outcome_json.outcome(verdict)
    kept = {key: value for key, value in told.items() if key not in ("workload", "dialect", "pods")}
    if verdict.kept_for:
        kept["placeKeptFor"] = list(verdict.kept_for)
    if plan is not None:
        displaced = [{"workload": each.holder, "pods": each.pods} for each in plan.victims]
        kept = {"status": kept.pop("status"), "plan": {"displaces": displaced}, **kept}
    text = _written(kept)
    for most in (64, 16, 4, 1, 0):
        if len(text) <= _LONGEST_OUTCOME:
            break
        text = _written({**_cut(kept, most), "truncated": True})
    return text


def _cut(value: Any, most: int) -> Any:
    if isinstance(value, dict):
        return {key: _cut(each, most) for key, each in value.items()}
    if isinstance(value, list):
        return [_cut(each, most) for each in value[:most]]
    return value[:256] if isinstance(value, str) else value


def _written(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
