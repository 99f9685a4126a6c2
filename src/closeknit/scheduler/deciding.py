"""What becomes of one workload on a cluster as it is: ways to run, quota, placement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Assignment, DomainFit, Outcome, Placed, Undecided, Unplaceable
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.quota import Option, refused
from closeknit.hub.request import Group, Request
from closeknit.hub.topology import Topology
from closeknit.hub.workload import Companions, PlaceableWorkload, UnplaceableWorkload, Workload
from closeknit.scheduler.gangs.states import BelowMinimum
from closeknit.scheduler.known_failures import KnownFailures
from closeknit.scheduler.metering import cheapest_first, lacking_for, metered
from closeknit.scheduler.needs import needs_others
from closeknit.scheduler.portions import limited, minimum, part_of, within

if TYPE_CHECKING:
    from closeknit.engine import Engine


class Status(Enum):
    """What became of a workload, in the words of the JSON output."""

    PLACED = "placed"
    UNPLACEABLE = "unplaceable"
    UNDECIDED = "undecided"
    INVALID = "invalid"


class Failed(msgspec.Struct, frozen=True, gc=False):
    """A request that could not be decided or carried out, for another reason than a lack of capacity.

    The engine rejects it on this cluster, the API server rejects its bindings, or the scheduler has a bug.
    """

    problems: tuple[Problem, ...]


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """One workload that can be placed, and what became of it."""

    workload: PlaceableWorkload
    outcome: Outcome | Failed
    topology: Topology | None = None
    """The topology along which the workload is packed."""
    option: Option | None = None
    """The way to run that was taken, if there was a choice; pods left out for lack of quota included."""
    kept_for: tuple[str, ...] = ()
    """The units for which the room is kept that there is for the workload; they go before it in the queue."""
    below: BelowMinimum | None = None
    """The state of a gang that is not placed and of which fewer pods run than must."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why it failed, if it did."""
        return self.outcome.problems if isinstance(self.outcome, Failed) else ()

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What is worth knowing about the workload, given what became of it."""
        left_out = isinstance(self.outcome, Placed) and self.outcome.wishes.left_out > 0
        return (*self.workload.notes, *(self.workload.if_left_out if left_out else ()))

    @property
    def status(self) -> Status:
        """The outcome in one word."""
        match self.outcome:
            case Placed():
                return Status.PLACED
            case Unplaceable():
                return Status.UNPLACEABLE
            case Undecided():
                return Status.UNDECIDED
            case Failed():
                return Status.INVALID


class InvalidVerdict(msgspec.Struct, frozen=True, gc=False):
    """One workload that is not decided, because it is invalid or incomplete."""

    workload: UnplaceableWorkload
    below: BelowMinimum | None = None
    """The state of a gang of which fewer pods run than must."""

    @property
    def outcome(self) -> None:
        """None, so that the type of ``AnyVerdict.outcome`` tells which verdict it is."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the workload."""
        return self.workload.problems

    @property
    def topology(self) -> None:
        """None: nothing is packed."""

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What is worth knowing about the workload."""
        return self.workload.notes

    @property
    def status(self) -> Status:
        """The outcome in one word."""
        return Status.INVALID


AnyVerdict: TypeAlias = Verdict | InvalidVerdict
"""A type checker that knows the outcome to be ``Placed`` also knows that the workload has a request."""


def decide(
    engine: Engine,
    cluster: Cluster,
    workload: PlaceableWorkload,
    accounts: Accounts | None = None,
    *,
    explained: bool = True,
    failures: KnownFailures | None = None,
) -> Verdict:
    """What becomes of one workload on the cluster as it is now; nothing is applied or charged.

    Of several ways to run, the first that has quota and finds room for all pods is taken, and is the
    request of the verdict's workload; else the one that finds room for most. Where none finds room, the
    first that has quota says why; where none has quota, that is what is said. Unless ``explained``, a
    lack of room is only stated, which costs far less. ``failures`` are those known of this engine.
    """
    metered = accounts if workload.accounts else None
    if metered is not None and (short := lacking_for(metered, workload)) is not None:
        return Verdict(workload, short, cluster.topology_of(workload.request))
    solve: Callable[[Request], Outcome] = engine.solve if explained else engine.decide
    if failures is not None:
        solve = partial(failures.solve, engine, explained=explained)
    verdict = _first_that_fits(engine, solve, cluster, workload, accounts)
    return _afforded(engine, solve, verdict, metered) if metered is not None else verdict


def _first_that_fits(
    engine: Engine,
    solve: Callable[[Request], Outcome],
    cluster: Cluster,
    workload: PlaceableWorkload,
    accounts: Accounts | None,
) -> Verdict:
    options = workload.options or (Option(workload.request),)
    lacking: list[DomainFit] = []
    verdicts: list[Verdict] = []
    most = max(option.pods for option in options)
    for option, part in _affordable(workload, options, accounts, lacking):
        asking = workload if part.request is workload.request else replace(workload, request=part.request)
        found = _decided(engine, solve, cluster, asking)
        if isinstance(found.outcome, Placed) and part is not option:
            wishes = found.outcome.wishes
            left_out = wishes.left_out + option.pods - part.pods
            found = replace(found, outcome=replace(found.outcome, wishes=replace(wishes, left_out=left_out)))
        verdicts.append(replace(found, option=option) if workload.options else found)
        if _placed(verdicts[-1]) == most:
            break
    if verdicts:
        return max(verdicts, key=_placed)
    return Verdict(workload, refused(options[0], lacking), cluster.topology_of(workload.request))


def _affordable(
    workload: Workload, options: Sequence[Option], accounts: Accounts | None, lacking: list[DomainFit]
) -> Iterator[tuple[Option, Option]]:
    """The ways that have quota, each with the part of it that has; ``lacking`` is what the others lack."""
    if accounts is None:
        yield from ((option, option) for option in options)
        return
    for option in accounts.in_order(options):
        short = () if _has_quota(workload, option) else accounts.lacking(option)
        if not short:
            yield option, option
        elif (part := accounts.affordable(option)) is not None:
            yield option, part
        else:
            lacking.extend(fit for fit in short if fit not in lacking)


def _placed(verdict: Verdict) -> int:
    """How many pods would run; fewer than none where nothing is placed."""
    if not isinstance(verdict.outcome, Placed):
        return -1
    option = verdict.option or Option(verdict.workload.request)
    return option.pods - verdict.outcome.wishes.left_out


def _decided(
    engine: Engine, solve: Callable[[Request], Outcome], cluster: Cluster, workload: PlaceableWorkload
) -> Verdict:
    topology = cluster.topology_of(workload.request)
    try:
        if workload.companions is not None:
            placed = _with_companions(engine, solve, workload.request, workload.companions)
            if placed is not None:
                return Verdict(workload, placed, topology)
        return Verdict(workload, solve(workload.request), topology)
    except InvalidError as error:
        return Verdict(workload, Failed(error.problems), topology)


def _with_companions(
    engine: Engine, solve: Callable[[Request], Outcome], request: Request, companions: Companions
) -> Placed | None:
    """Place a request in a domain that has room for as many as possible of those that will follow it.

    None if that finds no placement; the request by itself then has none either, or a search of its own.
    """
    root = request.root
    later = Group(f"{root.name}/companions", companions.groups, minimum=0)
    whole = Group(f"{root.name}/with-companions", (root, later), required=companions.level)
    outcome = solve(replace(request, root=whole))
    if not isinstance(outcome, Placed):
        return None
    own = {pods.name for pods in root.pod_sets()}
    placed = engine.describe(request, [each for each in outcome.assignments if each.pod_set in own])
    return replace(placed, statistics=outcome.statistics)


def _has_quota(workload: Workload, option: Option) -> bool:
    """Whether it was admitted before, or some of its pods run already."""
    return workload.admitted or any(pods.bound for pods in option.request.root.pod_sets())


def book(accounts: Accounts, workload: Workload) -> None:
    """Charge a workload for what it has already; charged again, the later charge counts.

    That is its quota if it was admitted or some of its pods run, and else what its running pods ask for.
    """
    for option in workload.options[:1]:
        if _has_quota(workload, option):
            accounts.charge(option)
    if workload.accounts and isinstance(workload, PlaceableWorkload):
        accounts.charge(metered(workload))


def charge(accounts: Accounts, verdict: Verdict) -> None:
    """Charge a workload for what was decided, on top of what it has already."""
    if not isinstance(verdict.outcome, Placed):
        return
    if verdict.option is not None:
        accounts.charge(verdict.option, verdict.outcome.wishes.left_out)
    if verdict.workload.accounts:
        accounts.charge(metered(verdict.workload, verdict.outcome.assignments))


def _afforded(
    engine: Engine, solve: Callable[[Request], Outcome], verdict: Verdict, accounts: Accounts
) -> Verdict:
    """The verdict with as many pods as there is quota for, in domains that are chosen for these pods."""
    workload, placed = verdict.workload, verdict.outcome
    if not isinstance(placed, Placed):
        return verdict

    def affordable(some: Sequence[Assignment]) -> bool:
        return not accounts.lacking(metered(workload, some))

    taken = within(workload.request, placed, affordable)
    if taken is None:
        cost = metered(workload, minimum(workload.request, placed))
        lacking = accounts.lacking(cost)
        # Where there is a choice of members, those that need the least of what is short may still do.
        taken = within(cheapest_first(workload.request, lacking[0].limiting), placed, affordable)
        if taken is None:
            return replace(verdict, outcome=refused(cost, lacking, workload.accounts[0].scope))
    if len(taken) < len(placed.assignments) and not needs_others(workload.request):
        # Pods without quota must not draw the others into a larger domain than they need.
        alone = solve(limited(workload.request, taken))
        if isinstance(alone, Placed) and len(alone.assignments) == len(taken):
            described = engine.describe(workload.request, alone.assignments)
            return replace(verdict, outcome=replace(described, statistics=alone.statistics))
    return replace(verdict, outcome=part_of(engine, workload.request, placed, taken))
