"""What becomes of many workloads: every minimum first, and what goes beyond it in turn.

Each workload's minimum is served in the order of the queue before any workload gets pods above its minimum.
Those are then served step by step, always to the workload of which the smallest part runs. Where there is
enough for everybody this comes to the same as giving each workload all its pods at once, and so that is
what is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Assignment, Placed
from closeknit.hub.quota import behind
from closeknit.hub.request import PodSet
from closeknit.hub.workload import ObjectName, Workload
from closeknit.scheduler.deciding import Status, Verdict, book, charge, decide, topology_of
from closeknit.scheduler.fairness import Turn, in_turn, turn
from closeknit.scheduler.needs import share
from closeknit.scheduler.portions import granted, minimum, part_of, step

if TYPE_CHECKING:
    from closeknit.engine import Engine

__all__ = ["Status", "Verdict", "book", "decide", "least", "plan", "surplus"]


def plan(
    engine: Engine,
    cluster: Cluster,
    workloads: Iterable[Workload],
    *,
    until: Callable[[Workload], bool] | None = None,
) -> Iterator[Verdict]:
    """Decide the workloads in the order given, each seeing the earlier ones placed.

    Workloads that run already have their quota before all others. Ends after the first workload for
    which ``until`` holds; that one is not applied, so that the engine is as the workload found it: where pods
    above the minimum are served in turn, the earlier ones then hold their minimum.
    """
    queue = list(workloads)
    accounts = Accounts()
    for workload in queue:
        book(accounts, workload)
    if not any(map(elastic, queue)):
        for workload, verdict in _one_by_one(engine, cluster, queue, accounts):
            yield verdict
            if until is not None and until(workload):
                return
            _apply(engine, accounts, verdict)
        return
    settled = _settled(engine, cluster, queue, accounts)
    for workload, first, verdict in settled:
        yield verdict
        if until is not None and until(workload):
            return
        _apply(engine, accounts, first)
    for _, first, verdict in settled:
        _apply_rest(engine, first, verdict)


def least(engine: Engine, verdict: Verdict) -> Verdict:
    """The verdict with no more pods than must run at once; the engine is as it was decided on."""
    request, placed = verdict.workload.request, verdict.outcome
    if request is None or not isinstance(placed, Placed) or not elastic(verdict.workload):
        return verdict
    return replace(verdict, outcome=part_of(engine, request, placed, minimum(request, placed)))


def surplus(
    engine: Engine, cluster: Cluster, workloads: Sequence[Workload], accounts: Accounts
) -> list[Verdict]:
    """Which further pods workloads get whose minimum runs, the least satisfied first; nothing is applied.

    Of those that are equally satisfied the first goes first. The last one that can still grow gets all
    that fits at once.
    """
    grown, books = list(workloads), accounts.copy()
    taken: list[list[Assignment]] = [[] for _ in grown]
    turns = [(_turn(each, books), i) for i, each in enumerate(grown)]
    heapify(turns)
    with engine.fork():
        while turns:
            _, i = heappop(turns)
            now = (_turn(grown[i], books), i)
            if turns and now > turns[0]:
                # Others of its queue were served since, and so it is not its turn any more.
                heappush(turns, now)
                continue
            verdict = decide(engine, cluster, grown[i], books, explained=False)
            request, placed = grown[i].request, verdict.outcome
            if request is None or not isinstance(placed, Placed):
                continue
            added = step(request, placed) if turns else placed.assignments
            if not added:
                continue
            _apply(engine, books, replace(verdict, outcome=replace(placed, assignments=tuple(added))))
            taken[i] += added
            grown[i] = replace(grown[i], request=granted(request, added))
            if turns:
                heappush(turns, (_turn(grown[i], books), i))
    return [_verdict(engine, cluster, each, some) for each, some in zip(workloads, taken, strict=True)]


def elastic(workload: Workload) -> bool:
    """Whether it can run with fewer pods than it asks for, and get more of them later.

    A workload that is charged as a whole gets its pods in one decision.
    """
    if workload.request is None or any(option.charges for option in workload.options):
        return False
    return any(
        member.least < (member.count if isinstance(member, PodSet) else len(member.members))
        for member, _ in workload.request.root.walk()
    )


def _settled(
    engine: Engine, cluster: Cluster, queue: Sequence[Workload], accounts: Accounts
) -> list[tuple[Workload, Verdict, Verdict]]:
    """Per workload, what it holds while the later ones are decided, and what becomes of it in the end."""
    with engine.fork():
        order, at_once = _in_order(engine, cluster, queue, accounts.copy(), lambda verdict: verdict)
    settled = list(zip(order, at_once, at_once, strict=True))
    if not _contended(at_once):
        return settled
    with engine.fork():
        books = accounts.copy()
        order, first = _in_order(engine, cluster, queue, books, lambda verdict: least(engine, verdict))
        grown = [_grown(verdict) for verdict in first]
        more = surplus(engine, cluster, [each for each in grown if each is not None], books)
        rest = iter(more)
        final = [
            _joined(engine, verdict, next(rest)) if each is not None else verdict
            for verdict, each in zip(first, grown, strict=True)
        ]
    if _pods(final) == _pods(at_once):
        return settled
    return list(zip(order, first, final, strict=True))


def _in_order(
    engine: Engine,
    cluster: Cluster,
    queue: Sequence[Workload],
    accounts: Accounts,
    part: Callable[[Verdict], Verdict],
) -> tuple[list[Workload], list[Verdict]]:
    """Who is served when, and what with."""
    order: list[Workload] = []
    verdicts: list[Verdict] = []
    for workload, verdict in _one_by_one(engine, cluster, queue, accounts):
        order.append(workload)
        verdicts.append(part(verdict))
        _apply(engine, accounts, verdicts[-1])
    return order, verdicts


def _one_by_one(
    engine: Engine, cluster: Cluster, queue: Sequence[Workload], accounts: Accounts
) -> Iterator[tuple[Workload, Verdict]]:
    """Each workload and what becomes of it; who takes one applies it before the next.

    Where the first of a strict queue cannot be served, those behind it wait.
    """
    halted: set[str] = set()
    for workload in in_turn(queue, accounts):
        if workload.queue in halted and workload.request is not None and not workload.admitted:
            yield workload, Verdict(workload, behind(workload.request))
            continue
        verdict = decide(engine, cluster, workload, accounts)
        if workload.strict and workload.request is not None and not isinstance(verdict.outcome, Placed):
            halted.add(workload.queue)
        yield workload, verdict


def _contended(verdicts: Sequence[Verdict]) -> bool:
    """Whether somebody got less than all while somebody got more than a minimum."""
    less = more = False
    for verdict in verdicts:
        request, placed = verdict.workload.request, verdict.outcome
        if isinstance(placed, Placed) and request is not None:
            less = less or placed.wishes.left_out > 0
            more = more or (
                elastic(verdict.workload) and len(minimum(request, placed)) < len(placed.assignments)
            )
        else:
            less = less or placed is not None
    return less and more


def _pods(verdicts: Sequence[Verdict]) -> dict[ObjectName, int]:
    return {
        verdict.workload.object: len(verdict.outcome.assignments)
        for verdict in verdicts
        if isinstance(verdict.outcome, Placed)
    }


def _grown(verdict: Verdict) -> Workload | None:
    """The workload once its minimum runs, if it may have more."""
    request, placed = verdict.workload.request, verdict.outcome
    if request is None or not isinstance(placed, Placed) or not elastic(verdict.workload):
        return None
    return replace(verdict.workload, request=granted(request, placed.assignments))


def _joined(engine: Engine, first: Verdict, more: Verdict) -> Verdict:
    """What a workload got in two portions."""
    request, placed, added = first.workload.request, first.outcome, more.outcome
    assert request is not None
    assert isinstance(placed, Placed)
    if not isinstance(added, Placed) or not added.assignments:
        return first
    whole = engine.describe(request, (*placed.assignments, *added.assignments))
    return replace(first, outcome=replace(whole, statistics=placed.statistics))


def _apply_rest(engine: Engine, first: Verdict, final: Verdict) -> None:
    """Let a workload that holds its first portion hold the rest as well."""
    request, placed = final.workload.request, final.outcome
    if request is None or not isinstance(placed, Placed) or not isinstance(first.outcome, Placed):
        return
    held = set(first.outcome.assignments)
    rest = tuple(each for each in placed.assignments if each not in held)
    engine.apply(request, replace(placed, assignments=rest))


def _apply(engine: Engine, accounts: Accounts, verdict: Verdict) -> None:
    """Let a workload hold and pay what was decided."""
    taken = verdict.workload.request
    if taken is not None and isinstance(verdict.outcome, Placed):
        engine.apply(taken, verdict.outcome)
        charge(accounts, verdict)


def _turn(workload: Workload, accounts: Accounts) -> tuple[Turn, float]:
    satisfied = share(workload.request.root) if workload.request is not None else 1.0
    return turn(workload, accounts), satisfied


def _verdict(engine: Engine, cluster: Cluster, workload: Workload, taken: Sequence[Assignment]) -> Verdict:
    assert workload.request is not None
    return Verdict(workload, engine.describe(workload.request, taken), (), topology_of(cluster, workload))
