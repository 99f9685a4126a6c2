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
from closeknit.hub.outcome import Assignment, Placed, Undecided, Unplaceable
from closeknit.hub.quota import behind
from closeknit.hub.request import PodSet
from closeknit.hub.workload import ObjectName, PlaceableWorkload, Workload
from closeknit.scheduler.deciding import (
    AnyVerdict,
    InvalidVerdict,
    Status,
    Verdict,
    book,
    charge,
    decide,
)
from closeknit.scheduler.fairness import Lane, first_in_turn, in_turn, lane
from closeknit.scheduler.needs import share
from closeknit.scheduler.portions import granted, minimum, part_of, step

if TYPE_CHECKING:
    from closeknit.engine import Engine

__all__ = [
    "AnyVerdict",
    "InvalidVerdict",
    "Status",
    "Verdict",
    "book",
    "decide",
    "least",
    "plan",
    "surplus",
]


def plan(
    engine: Engine,
    cluster: Cluster,
    workloads: Iterable[Workload],
    *,
    until: Callable[[Workload], bool] | None = None,
) -> Iterator[AnyVerdict]:
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
    if not isinstance(placed, Placed) or not elastic(verdict.workload):
        return verdict
    return replace(verdict, outcome=part_of(engine, request, placed, minimum(request, placed)))


def surplus(
    engine: Engine,
    cluster: Cluster,
    workloads: Sequence[PlaceableWorkload],
    accounts: Accounts,
) -> list[Verdict]:
    """Decide which further pods workloads get whose minimum runs, pod by pod in queue order; apply nothing.

    ``workloads`` are given in their order among equally satisfied ones. The last one that can still grow gets
    all that fits at once.
    """
    grown, books = list(workloads), accounts.copy()
    taken: list[list[Assignment]] = [[] for _ in grown]
    lanes: dict[Lane, list[tuple[float, int]]] = {}
    for i, workload in enumerate(grown):
        lanes.setdefault(lane(workload), []).append((share(workload.request.root), i))
    for heap in lanes.values():
        heapify(heap)
    with engine.fork():
        while lanes:
            heads = [heap[0] for heap in lanes.values()]
            head = first_in_turn(heads, books, lambda head: (grown[head[1]], head))
            i = head[1]
            own = lanes[lane(grown[i])]
            heappop(own)
            is_last = not own and len(lanes) == 1
            verdict = decide(engine, cluster, grown[i], books, explained=False)
            request, placed = grown[i].request, verdict.outcome
            added: Sequence[Assignment] = ()
            if isinstance(placed, Placed):
                added = placed.assignments if is_last else step(request, placed)
            if isinstance(placed, Placed) and added:
                _apply(engine, books, replace(verdict, outcome=replace(placed, assignments=tuple(added))))
                taken[i] += added
                grown[i] = replace(grown[i], request=granted(request, added))
                if not is_last:
                    heappush(own, (share(grown[i].request.root), i))
            if not own:
                del lanes[lane(grown[i])]
    return [_verdict(engine, cluster, each, some) for each, some in zip(workloads, taken, strict=True)]


def elastic(workload: Workload) -> bool:
    """Whether it can run with fewer pods than it asks for, and get more of them later.

    A workload that is charged as a whole gets its pods in one decision.
    """
    if not isinstance(workload, PlaceableWorkload) or any(option.charges for option in workload.options):
        return False
    return any(
        member.least < (member.count if isinstance(member, PodSet) else len(member.members))
        for member, _ in workload.request.root.walk()
    )


def _settled(
    engine: Engine, cluster: Cluster, queue: Sequence[Workload], accounts: Accounts
) -> list[tuple[Workload, AnyVerdict, AnyVerdict]]:
    """Per workload, what it holds while the later ones are decided, and what becomes of it in the end."""
    with engine.fork():
        order, at_once = _in_order(engine, cluster, queue, accounts.copy(), lambda verdict: verdict)
    settled = list(zip(order, at_once, at_once, strict=True))
    if not _contended(at_once):
        return settled
    with engine.fork():
        books = accounts.copy()
        order, first = _in_order(engine, cluster, queue, books, lambda verdict: least(engine, verdict))
        grown = {i: workload for i, verdict in enumerate(first) if (workload := _grown(verdict)) is not None}
        more = dict(zip(grown, surplus(engine, cluster, list(grown.values()), books), strict=True))
        final = [
            _joined(engine, verdict, more[i]) if i in more else verdict for i, verdict in enumerate(first)
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
) -> tuple[list[Workload], list[AnyVerdict]]:
    """Who is served when, and what with."""
    order: list[Workload] = []
    verdicts: list[AnyVerdict] = []
    for workload, verdict in _one_by_one(engine, cluster, queue, accounts):
        order.append(workload)
        verdicts.append(part(verdict) if isinstance(verdict, Verdict) else verdict)
        _apply(engine, accounts, verdicts[-1])
    return order, verdicts


def _one_by_one(
    engine: Engine, cluster: Cluster, queue: Sequence[Workload], accounts: Accounts
) -> Iterator[tuple[Workload, AnyVerdict]]:
    """Each workload and what becomes of it; who takes one applies it before the next.

    Where the first of a strict queue cannot be served, those behind it wait.
    """
    halted: set[str] = set()
    for workload in in_turn(queue, accounts):
        if not isinstance(workload, PlaceableWorkload):
            yield workload, InvalidVerdict(workload)
            continue
        if workload.queue in halted and not workload.admitted:
            yield workload, Verdict(workload, behind(workload.request, workload.queue))
            continue
        verdict = decide(engine, cluster, workload, accounts)
        if workload.strict and not isinstance(verdict.outcome, Placed):
            halted.add(workload.queue)
        yield workload, verdict


def _contended(verdicts: Sequence[AnyVerdict]) -> bool:
    """Whether somebody got less than all while somebody got more than a minimum."""
    less = more = False
    for verdict in verdicts:
        if isinstance(verdict.outcome, Placed):
            request, placed = verdict.workload.request, verdict.outcome
            less = less or placed.wishes.left_out > 0
            more = more or (
                elastic(verdict.workload) and len(minimum(request, placed)) < len(placed.assignments)
            )
        else:
            less = less or isinstance(verdict.outcome, Unplaceable | Undecided)
    return less and more


def _pods(verdicts: Sequence[AnyVerdict]) -> dict[ObjectName, int]:
    return {
        verdict.workload.object: len(verdict.outcome.assignments)
        for verdict in verdicts
        if isinstance(verdict.outcome, Placed)
    }


def _grown(verdict: AnyVerdict) -> PlaceableWorkload | None:
    """The workload once its minimum runs, if it may have more."""
    if not isinstance(verdict.outcome, Placed) or not elastic(verdict.workload):
        return None
    workload, placed = verdict.workload, verdict.outcome
    return replace(workload, request=granted(workload.request, placed.assignments))


def _joined(engine: Engine, first: AnyVerdict, more: Verdict) -> AnyVerdict:
    """What a workload got in two portions; ``first`` is placed."""
    added = more.outcome
    if not isinstance(first.outcome, Placed) or not isinstance(added, Placed) or not added.assignments:
        return first
    placed = first.outcome
    whole = engine.describe(first.workload.request, (*placed.assignments, *added.assignments))
    return replace(first, outcome=replace(whole, statistics=placed.statistics))


def _apply_rest(engine: Engine, first: AnyVerdict, final: AnyVerdict) -> None:
    """Let a workload that holds its first portion hold the rest as well."""
    if not isinstance(final.outcome, Placed) or not isinstance(first.outcome, Placed):
        return
    held = set(first.outcome.assignments)
    rest = tuple(each for each in final.outcome.assignments if each not in held)
    engine.apply(final.workload.request, replace(final.outcome, assignments=rest))


def _apply(engine: Engine, accounts: Accounts, verdict: AnyVerdict) -> None:
    """Let a workload hold and pay what was decided."""
    if isinstance(verdict.outcome, Placed):
        engine.apply(verdict.workload.request, verdict.outcome)
        charge(accounts, verdict)


def _verdict(
    engine: Engine, cluster: Cluster, workload: PlaceableWorkload, taken: Sequence[Assignment]
) -> Verdict:
    placed = engine.describe(workload.request, taken)
    return Verdict(workload, placed, cluster.topology_of(workload.request))
