"""What is reported about a unit: a typed state with its cause, texts for people and JSON for programs.

Two reports that are equal say the same, so that who writes them can tell whether there is anything to write.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from closeknit.hub.copying import replace
from closeknit.hub.outcome import GroupReach, Outcome, Placed, Shortfall, Undecided, Unplaceable
from closeknit.hub.problems import Problem
from closeknit.hub.request import Request
from closeknit.hub.shortfall import BehindStrictFifo, NoDomain, PodTooLarge, QuotaExceeded
from closeknit.hub.workload import IncompleteWorkload, PlaceableWorkload, Workload
from closeknit.scheduler import outcome_json, wording
from closeknit.scheduler.deciding import AnyVerdict, Failed, Verdict
from closeknit.scheduler.gangs.states import BelowMinimum, Stale
from closeknit.scheduler.preempt.preemptions import Plan

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


class State(Enum):
    """What became of a unit, as the reason of its condition."""

    SCHEDULED = "Scheduled"
    UNSCHEDULABLE = "Unschedulable"
    NOT_READY = "NotReady"
    """Pods that must run with the others do not exist yet."""
    STALE = "Stale"
    """Its minimum ran and has lost pods, which do not exist yet; the rest is evicted after a grace period."""
    RELEASED = "Released"
    """It was bound in part, could not be completed, and its pods were told to go."""
    STALE_EVICTED = "StaleGangEvicted"
    """Its minimum ran and lost pods, and the rest was evicted after the grace period."""
    DISPLACED = "Displaced"
    """Its pods were told to go, to make room for a unit of higher priority."""


class ConstraintState(Enum):
    """Whether the pods of a running unit satisfy its required levels, as the reason of a condition."""

    SATISFIED = "Satisfied"
    VIOLATED = "RequiredLevelViolated"
    """They share no domain of a level that it requires: the constraint was added or changed since they were
    bound, or the topology or labels of nodes were, or others bound them."""
    UNKNOWN = "SpecificationInvalid"
    """Its specification became invalid, as by the loss of its Topology, so nothing can be checked."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: a word that programs know, its cause as a value, and the text rendered from it."""

    reason: str
    cause: Hashable
    """The facts that ``brief`` states. Reasons with equal causes are no news, however ``message`` changes."""
    brief: str
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is told about one unit."""

    state: State
    brief: str
    """What is the matter."""
    message: str
    """The same with where, who and what would help, which changes with the cluster."""
    reasons: tuple[Reason, ...] = ()
    outcome: str = ""
    """What the annotation says."""
    plan: Hashable = None
    """The facts of the preemption plan, None without one."""
    constraint: ConstraintState = ConstraintState.SATISFIED
    """Of a unit that runs; ``SATISFIED`` for any other."""
    constraint_message: str = ""
    """Why its constraint is violated or unknown."""

    @property
    def cause(self) -> tuple[State, tuple[tuple[str, Hashable], ...]]:
        """What is the matter, as a value."""
        return self.state, tuple((reason.reason, reason.cause) for reason in self.reasons)

    def says_the_same(self, other: Report | None) -> bool:
        """Whether the reason is the same, however much the details differ."""
        return other is not None and self.cause == other.cause


def report(verdict: AnyVerdict, plan: Plan | None = None, evicted_at: str | None = None) -> Report:
    """What is told about a unit that was decided, and about which pods are evicted for it.

    ``evicted_at``: the date at which the running pods of a gang below its minimum are evicted.
    """
    state, reasons = _told(verdict)
    if verdict.below is not None:
        state, reasons = _below_minimum(verdict.below, evicted_at, state, reasons)
    if isinstance(verdict, Verdict) and verdict.kept_for:
        names = _listed([wording.printable(each) for each in verdict.kept_for])
        words = f"There is room, but it is kept for {names}, ahead in the queue and without room yet."
        kept_for = (verdict.kept_for[:_NAMES], len(verdict.kept_for))
        reasons = (Reason("PlaceKept", kept_for, words, words), *reasons)
    if plan is None:
        made = _report(state, reasons, _outcome(verdict))
        violated = _violated(verdict.outcome) if isinstance(verdict.outcome, Placed) else []
        return _with_violations(made, violated) if violated else made
    words, victims = _planned(plan), tuple((victim.holder, len(victim.pods)) for victim in plan.victims)
    placement = _placement_cause(plan.verdict.outcome)
    # A plan without victims waits for no budget, and its text names none.
    budgets = (plan.waits_for[:_NAMES], len(plan.waits_for)) if victims else ()
    cause = (victims[:_NAMES], len(victims), budgets, placement)
    told = _report(state, (Reason("Displacing", cause, words, words), *reasons), _outcome(verdict, plan))
    return replace(told, plan=(victims, placement))


def running(workload: Workload, placed: Placed | None) -> Report:
    """The report of a unit whose minimum runs, whoever bound its pods and whatever changed since.

    ``placed`` describes where its pods run; None for an invalid unit, of which that is not known.
    """
    pods = len(workload.running)
    problems = () if isinstance(workload, PlaceableWorkload) else workload.problems
    outcome: Json = {"status": "placed", "running": pods}
    if placed is None:
        words = wording.runs_though_invalid(pods, _joined(problems))
        cause: Hashable = (pods, problems[:_PROBLEMS], len(problems))
        outcome["problems"] = [outcome_json.problem(problem) for problem in problems]
    else:
        words = " ".join([wording.runs(pods), *_reaches(placed)])
        cause = (pods, *_reach_causes(placed))
        outcome["groups"] = outcome_json.groups(placed)
    reason = Reason(State.SCHEDULED.value, cause, words, words)
    made = _report(State.SCHEDULED, (reason,), _within_limit(outcome))
    if placed is None:
        return replace(made, constraint=ConstraintState.UNKNOWN, constraint_message=made.message)
    return _with_violations(made, _violated(placed))


def running_while_others_wait(runs: Report, waits: Report) -> Report:
    """The report of a unit whose minimum runs, with the preemption plan for its surplus."""
    outcome: Json = {**json.loads(runs.outcome), "plan": json.loads(waits.outcome).get("plan")}
    made = _report(runs.state, (*runs.reasons, *waits.reasons), _within_limit(outcome))
    return replace(
        made, plan=waits.plan, constraint=runs.constraint, constraint_message=runs.constraint_message
    )


def _below_minimum(
    below: BelowMinimum, evicted_at: str | None, state: State, reasons: tuple[Reason, ...]
) -> tuple[State, tuple[Reason, ...]]:
    """The same state and reasons, with what runs of a gang below its minimum."""
    stale = isinstance(below, Stale)
    words = wording.below_minimum(below, evicted_at)
    # The time itself, and not its date: a clock that is corrected is no news.
    cause = (len(below.running), below.evicted_at, below.refused)
    reason = Reason(State.STALE.value if stale else "PartiallyBound", cause, words, words)
    # A replacement that finds no room is unschedulable, which autoscalers look for.
    return State.STALE if stale and state is State.NOT_READY else state, (reason, *reasons)


def released(below: BelowMinimum) -> Report:
    """The report of a gang below its minimum, the running pods of which are being evicted."""
    state = State.STALE_EVICTED if isinstance(below, Stale) else State.RELEASED
    return _let_go(state, len(below.running), wording.evicted(below))


def displaced(preemptor: Workload) -> Report:
    """The report of a unit that was preempted for another."""
    why = f"It makes room for {wording.title(preemptor.object)}: {why_displaced(preemptor)}"
    return _let_go(State.DISPLACED, preemptor.object, why)


def why_displaced(preemptor: Workload) -> str:
    """Why a unit is preempted, as logged."""
    name = preemptor.object
    return f"It is displaced so that {name.kind} {name.namespace}/{name.name} fits."


def waiting_pods(verdict: Verdict) -> tuple[str, ...]:
    """The names of pods that exist and were given no node."""
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


def _let_go(state: State, facts: Hashable, why: str) -> Report:
    told = {"status": state.value.lower(), "why": bounded(why)}
    return _report(state, (Reason(state.value, facts, why, why),), _written(told))


def _told(verdict: AnyVerdict) -> tuple[State, tuple[Reason, ...]]:
    match verdict.outcome:
        case Placed() as placed:
            words = " ".join(_placement(placed))
            return State.SCHEDULED, (Reason("Scheduled", _placement_cause(placed), words, words),)
        case (Unplaceable() | Undecided()) as outcome:
            return State.UNSCHEDULABLE, tuple(_shortfalls(outcome, verdict.workload.request))
        case Failed() | None:
            words = _joined(verdict.problems)
            cause = (verdict.problems[:_PROBLEMS], len(verdict.problems))
            if isinstance(verdict.workload, IncompleteWorkload):
                return State.NOT_READY, (Reason("NotReady", cause, words, words),)
            return State.UNSCHEDULABLE, (Reason("Invalid", cause, words, words),)


def _planned(plan: Plan) -> str:
    """Which pods are to be evicted, and where the unit fits then."""
    placed = plan.verdict.outcome
    then = f" Then it fits: {' '.join(_placement(placed))}" if isinstance(placed, Placed) else ""
    if not plan.victims:
        return f"It waits for pods that are being deleted.{then}"
    victims = [
        f"{wording.printable(victim.holder)} ({wording.counted(len(victim.pods), 'pod')})"
        for victim in plan.victims
    ]
    verb = "is" if len(plan.victims) == 1 else "are"
    after = f", once {_listed(plan.waits_for)} allows it" if plan.waits_for else ""
    return f"{_listed(victims)} {verb} to be evicted so that it fits{after}.{then}"


def _listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    some = [*names[:_NAMES], *([f"{len(names) - _NAMES} more"] if len(names) > _NAMES else [])]
    return " and ".join(filter(None, (", ".join(some[:-1]), some[-1])))


def _placement(placed: Placed) -> Iterator[str]:
    """How large the placement is, and the domain of each group that asked for one, else of the whole."""
    yield f"{wording.size(placed)}."
    yield from _reaches(placed)


def _reached(group: GroupReach) -> str:
    """How close a group came, under its name unless it is the whole."""
    reach = wording.reach(group)
    return f"{_capital(reach)}." if group.parent is None else f"{wording.printable(group.name)}: {reach}."


def _reaches(placed: Placed) -> Iterator[str]:
    """What is required and does not hold, and how close the other groups came that are reported."""
    yield from map(wording.violation, _violated(placed))
    yield from (_reached(group) for group in _reported_groups(placed) if not group.violated)


def _reach_causes(placed: Placed) -> tuple[Hashable, Hashable]:
    """What ``_reaches`` states."""
    others = (group for group in _reported_groups(placed) if not group.violated)
    return tuple(map(_violation_cause, _violated(placed))), tuple(map(_reach_cause, others))


def _violated(placed: Placed) -> list[GroupReach]:
    return [group for group in placed.groups if group.violated]


def _violation_cause(group: GroupReach) -> Hashable:
    """What ``wording.violation`` states."""
    if group.level is None:
        return group.name, group.required
    shared = group.domains[0] if group.satisfied else len(group.domains)
    return group.name, group.required, group.level, shared


def _with_violations(made: Report, violated: Sequence[GroupReach]) -> Report:
    if not violated:
        return made
    why = bounded(" ".join(map(wording.violation, violated)))
    return replace(made, constraint=ConstraintState.VIOLATED, constraint_message=why)


def _reported_groups(placed: Placed) -> Sequence[GroupReach]:
    """The groups that asked for a level; the whole if none did."""
    return tuple(group for group in placed.groups if group.required or group.preferred) or placed.groups[:1]


def _placement_cause(outcome: Outcome | Failed) -> Hashable:
    """What ``_placement`` states, no more and no less; None without a placement.

    An elastic gang that grows by one pod a second must not report each of them: the pods of a group are
    compared only where the text counts them.
    """
    if not isinstance(outcome, Placed):
        return None
    pods = len(outcome.assignments)
    running = max((group.pods for group in outcome.groups), default=0) if not pods else 0
    nodes = len({assignment.node for assignment in outcome.assignments})
    left_out = outcome.wishes.left_out
    return pods, nodes, running, left_out, outcome.proven, _reach_causes(outcome)


def _reach_cause(group: GroupReach) -> Hashable:
    """What ``wording.reach`` states of a group, under its name unless it is the whole."""
    name = None if group.parent is None else group.name
    if group.level is None:
        return name, group.pods
    if not group.satisfied:
        return name, group.level, group.domains[: wording.LISTED], len(group.domains)
    return name, group.level, group.domains[0], group.required, group.preferred


def _need_cause(short: Shortfall) -> Hashable:
    """What ``wording.need`` states, no more and no less.

    The capacity of the largest node is left out: an autoscaler that adds and removes nodes would make
    the same report news again and again.
    """
    match short.reason:
        case BehindStrictFifo():
            return short.group
        case QuotaExceeded():
            return short.group, short.wanted, short.fits
        case NoDomain(level=level) | PodTooLarge(level=level):
            if short.fits >= short.wanted:
                return short.group, level, short.wanted
            at_least = any(fit.at_least for fit in short.best)
            return short.group, level, short.wanted, short.fits, at_least


def _shortfalls(outcome: Unplaceable | Undecided, request: Request) -> Iterator[Reason]:
    if isinstance(outcome, Undecided):
        words = "Whether there is a place was not found out within the search budget; it is tried again."
        yield Reason("Undecided", None, words, words)
    for short in outcome.shortfalls[:_SHORTFALLS]:
        name = "OverLimit" if isinstance(short.reason, QuotaExceeded) else "PodSchedulingErrors"
        brief, message = wording.need(short), bounded(" ".join(_shortfall(short, request)))
        yield Reason(name, _need_cause(short), brief, message)
    if len(outcome.shortfalls) > _SHORTFALLS:
        number = len(outcome.shortfalls) - _SHORTFALLS
        more = wording.counted(number, "more group") + " cannot be placed."
        yield Reason("PodSchedulingErrors", number, more, more)
    if not outcome.shortfalls and isinstance(outcome, Unplaceable):
        words = "There is no place for it in the cluster as it is."
        yield Reason("PodSchedulingErrors", None, words, words)


def _shortfall(short: Shortfall, request: Request) -> Iterator[str]:
    """What is missing, where it is nearest and who holds it there, and the smallest change that helps."""
    yield wording.need(short)
    yield from (_capital(wording.domain_fit(fit)) for fit in short.best[:1])
    yield from (wording.exclusion(each) for each in short.excluded[:_EXCLUDED])
    yield from (wording.relaxation(each, request) for each in short.relaxations[:_HELPS])


def _capital(sentence: str) -> str:
    """The sentence, with a capital at its beginning unless that is a name."""
    return sentence[:1].upper() + sentence[1:] if sentence.partition(" ")[0].isalpha() else sentence


def _joined(problems: Sequence[Problem]) -> str:
    texts = [wording.printable(str(problem)) for problem in problems[:_PROBLEMS]]
    rest = len(problems) - _PROBLEMS
    return " ".join([*texts, f"{rest} more."] if rest > 0 else texts)


def _outcome(verdict: AnyVerdict, plan: Plan | None = None) -> str:
    """The outcome as JSON, as ``plan -o json`` has it, without what the object and its pods say themselves.

    Where it would be too long, the last entries of its lists are left out, and ``truncated`` says so.
    """
    told = outcome_json.outcome(verdict)
    kept = {key: value for key, value in told.items() if key not in ("workload", "dialect", "pods")}
    if isinstance(verdict, Verdict) and verdict.kept_for:
        kept["placeKeptFor"] = list(verdict.kept_for)
    if plan is not None:
        displaced = [{"workload": each.holder, "pods": len(each.pods)} for each in plan.victims]
        kept = {"status": kept.pop("status"), "plan": {"displaces": displaced}, **kept}
    return _within_limit(kept)


def _within_limit(outcome: Json) -> str:
    """The outcome as text; the last entries of its lists are left out if it would be too long."""
    text = _written(outcome)
    for most in (64, 16, 4, 1, 0):
        if len(text) <= _LONGEST_OUTCOME:
            break
        text = _written({**_cut(outcome, most), "truncated": True})
    return text


def _cut(value: Any, most: int) -> Any:
    if isinstance(value, dict):
        return {key: _cut(each, most) for key, each in value.items()}
    if isinstance(value, list):
        return [_cut(each, most) for each in value[:most]]
    return value[:256] if isinstance(value, str) else value


def _written(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
