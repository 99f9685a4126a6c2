"""Every minimum first, and what goes beyond it in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from closeknit.engine import Engine
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.drawing import GPU
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.quota import Account
from closeknit.hub.request import Request
from closeknit.hub.resources import Resources
from closeknit.hub.shortfall import QuotaExceeded, QuotaScope
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.planning import AnyVerdict, Status, Verdict, book, least, plan, surplus
from closeknit.testing.builders import group, pods, request
from closeknit.testing.check import violations
from closeknit.testing.drawings import parse


def unit(asked: Request, *accounts: Account) -> PlaceableWorkload:
    name = ObjectName("scheduling.run.ai/v2alpha2", "PodGroup", "team", asked.name)
    return PlaceableWorkload(name, "kai", asked, accounts=accounts)


def planned(cluster: Cluster, *units: PlaceableWorkload) -> list[AnyVerdict]:
    return list(plan(Engine(cluster), cluster, units))


def got(verdicts: Sequence[AnyVerdict]) -> dict[str, int]:
    """How many pods each unit gets."""
    return {
        verdict.workload.object.name: len(verdict.outcome.assignments)
        for verdict in verdicts
        if isinstance(verdict.outcome, Placed)
    }


def elastic(
    name: str, count: int, minimum: int, required: str | None = None, preferred: str | None = None
) -> Request:
    members = pods(f"{name}-pods", count, minimum=minimum)
    return request(name, members, required=required, preferred=preferred)


EITHER = request("a", group("g1", pods("p1", 2)), group("g2", pods("p2", 2)), minimum=1)
"""Two gangs, of which one is needed."""


@dataclass
class Case:
    drawing: str
    asked: Sequence[Request]
    want: Mapping[str, int]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case("x: 4", [elastic("a", 4, 1), elastic("b", 4, 1)], {"a": 2, "b": 2}),
            id="two that can grow share what there is, where the first could have had it all",
        ),
        pytest.param(
            Case("x: 4", [elastic("a", 4, 1), request("b", pods("gang", 3))], {"a": 1, "b": 3}),
            id="a later minimum comes before pods above an earlier one",
        ),
        pytest.param(
            Case("x: 4", [elastic("a", 4, 3), request("b", pods("gang", 2))], {"a": 4}),
            id="a minimum that does not fit takes nothing from the others",
        ),
        pytest.param(
            Case("x: 8", [elastic("a", 4, 1), elastic("b", 4, 1)], {"a": 4, "b": 4}),
            id="where there is enough everybody gets everything",
        ),
        pytest.param(
            Case("x: 7", [elastic("a", 8, 2), elastic("b", 2, 1)], {"a": 5, "b": 2}),
            id="the least satisfied goes first: eight get to a half and more before two get their second",
        ),
        pytest.param(
            Case("x: 5", [elastic("a", 4, 1), elastic("b", 4, 1)], {"a": 3, "b": 2}),
            id="of the equally satisfied the first in the queue goes first",
        ),
        pytest.param(
            Case("x: 5", [EITHER, elastic("b", 4, 1)], {"a": 2, "b": 3}),
            id="a member that was left out is added whole or not at all",
        ),
        pytest.param(
            Case("x: 6", [EITHER, elastic("b", 4, 1)], {"a": 4, "b": 2}),
            id="a member that was left out is added when it is its turn",
        ),
        pytest.param(
            Case(
                "r1\n  x1: 1\nr2\n  x2: 4\n",
                [elastic("a", 3, 1, required="rack"), elastic("b", 4, 1)],
                {"a": 2, "b": 3},
            ),
            id="the domain of a minimum suits the whole count",
        ),
        pytest.param(
            Case("x: 4", [request("bad", pods("p", 1), required="row"), elastic("a", 9, 1)], {"a": 4}),
            id="a request that makes no sense stops nobody",
        ),
    ],
)
def test_who_gets_how_many_pods(case: Case) -> None:
    cluster = parse(case.drawing)
    verdicts = planned(cluster, *map(unit, case.asked))
    assert got(verdicts) == case.want


def test_what_is_given_in_turn_breaks_no_constraint_and_is_described_as_a_whole() -> None:
    cluster = parse("r1\n  x1: 2\n  x2: 2\nr2\n  x3: 4\n")
    asked = [elastic("a", 6, 1, required="rack"), elastic("b", 6, 2, preferred="rack")]
    verdicts = planned(cluster, *map(unit, asked))
    held = cluster
    for verdict in verdicts:
        assert isinstance(verdict.outcome, Placed)
        assert verdict.workload.request is not None
        assert violations(held, verdict.workload.request, verdict.outcome) == []
        (root,) = verdict.outcome.groups
        assert root.pods == len(verdict.outcome.assignments)
        assert verdict.outcome.wishes.left_out == 6 - root.pods
    nodes = Counter(a.node for v in verdicts if isinstance(v.outcome, Placed) for a in v.outcome.assignments)
    assert all(nodes[node.name] <= node.allocatable[GPU] for node in cluster.nodes)


def test_where_nothing_is_contended_the_placement_is_that_of_all_pods_at_once() -> None:
    cluster = parse("r1\n  x1: 4\n  x2: 4\nr2\n  x3: 4\n")
    first, second = elastic("a", 4, 1, preferred="rack"), elastic("b", 4, 1, preferred="rack")
    engine = Engine(cluster)
    wanted = []
    for each in (first, second):
        placed = engine.decide(each)
        assert isinstance(placed, Placed)
        engine.apply(each, placed)
        wanted.append(placed.assignments)
    found = [
        v.outcome.assignments
        for v in planned(cluster, unit(first), unit(second))
        if isinstance(v.outcome, Placed)
    ]
    assert found == wanted


def test_a_plan_leaves_the_engine_with_all_that_was_placed() -> None:
    cluster = parse("x: 5")
    engine = Engine(cluster)
    list(plan(engine, cluster, [unit(elastic("a", 4, 1)), unit(elastic("b", 4, 1))]))
    assert isinstance(engine.decide(request("c", pods("p", 1))), Unplaceable)
    engine.release("a")
    assert isinstance(engine.decide(request("c", pods("p", 3))), Placed)
    assert isinstance(engine.decide(request("c", pods("p", 4))), Unplaceable)


def test_a_plan_that_ends_early_leaves_the_engine_as_the_workload_found_it() -> None:
    cluster = parse("x: 4")
    engine, second = Engine(cluster), unit(elastic("b", 4, 1))
    found = list(plan(engine, cluster, [unit(elastic("a", 4, 1)), second], until=lambda each: each is second))
    assert got(found) == {"a": 2, "b": 2}
    # The first holds its minimum, which is what the second one saw.
    assert isinstance(engine.decide(request("c", pods("p", 3))), Placed)
    assert isinstance(engine.decide(request("c", pods("p", 4))), Unplaceable)


def test_surplus_is_decided_and_not_applied() -> None:
    cluster = parse("x: 4")
    engine = Engine(cluster)
    running = [unit(request(name, pods(name, 4, minimum=1))) for name in ("a", "b")]
    given = surplus(engine, cluster, running, accounts=_books(*running))
    assert got(given) == {"a": 2, "b": 2}
    assert isinstance(engine.decide(request("c", pods("p", 4))), Placed)


def test_the_least_of_a_verdict_keeps_the_first_pods_by_rank() -> None:
    cluster = parse("x: 4")
    engine = Engine(cluster)
    asked = unit(request("a", pods("p", 3, minimum=2, names=["first", "second", "third"])))
    (verdict,) = plan(engine, cluster, [asked])
    engine.release("a")
    assert isinstance(verdict, Verdict)
    part = least(engine, verdict)
    assert isinstance(part.outcome, Placed)
    assert [each.pod for each in part.outcome.assignments] == ["first", "second"]
    assert part.outcome.wishes.left_out == 1


EVERYTHING = Account(("cluster",), Resources({GPU: 2**40}), scope=QuotaScope.QUEUE)


def queue(name: str, limit: int, within: Account = EVERYTHING) -> Account:
    return Account(
        (f"Queue {name}",), Resources(), borrowing={GPU: limit}, scope=QuotaScope.QUEUE, within=within
    )


def _books(*units: PlaceableWorkload) -> Accounts:
    accounts = Accounts()
    for each in units:
        book(accounts, each)
    return accounts


def test_pods_are_charged_to_a_queue_as_they_run_and_its_limit_stops_the_next() -> None:
    cluster = parse("x: 8")
    team = queue("team", 5)
    verdicts = planned(cluster, unit(elastic("a", 4, 2), team), unit(elastic("b", 4, 2), team))
    assert got(verdicts) == {"a": 3, "b": 2}


def test_who_lacks_quota_is_told_the_queue_the_resource_and_who_holds_it() -> None:
    cluster = parse("x: 8")
    team = queue("team", 4)
    first, second = planned(
        cluster, unit(request("a", pods("p", 3)), team), unit(request("b", pods("p", 2)), team)
    )
    assert first.status is Status.PLACED
    assert isinstance(second.outcome, Unplaceable)
    (short,) = second.outcome.shortfalls
    assert (short.reason, short.wanted, short.fits) == (QuotaExceeded(QuotaScope.QUEUE), 2, 1)
    (fit,) = short.best
    assert (fit.domain, fit.limiting) == (("Queue team",), GPU)
    assert [(holder.workload, holder.pods, holder.amount) for holder in fit.holders] == [("a", 3, 3)]


def test_the_limit_of_a_parent_holds_for_all_its_children() -> None:
    cluster = parse("x: 8")
    department = queue("department", 4)
    one, two = queue("one", 3, department), queue("two", 3, department)
    first, second = planned(
        cluster, unit(request("a", pods("p", 3)), one), unit(request("b", pods("p", 2)), two)
    )
    assert first.status is Status.PLACED
    assert isinstance(second.outcome, Unplaceable)
    assert second.outcome.shortfalls[0].best[0].domain == ("Queue department",)


def test_running_pods_are_charged_before_anybody_is_decided() -> None:
    cluster = parse("x: 8")
    team = queue("team", 4)
    late = unit(request("late", pods("p", 3, bound=["x", "x", "x"])), team)
    verdicts = planned(cluster, unit(request("early", pods("p", 2)), team), late)
    assert verdicts[0].status is Status.UNPLACEABLE
    assert verdicts[1].status is Status.PLACED


def test_a_cheaper_choice_of_members_is_not_refused() -> None:
    cluster = parse("x: 8")
    asked = request("a", group("dear", pods("d", 2, gpus=3)), group("cheap", pods("c", 2)), minimum=1)
    (verdict,) = planned(cluster, unit(asked, queue("team", 2)))
    assert got([verdict]) == {"a": 2}
    assert isinstance(verdict.outcome, Placed)
    assert {each.pod_set for each in verdict.outcome.assignments} == {"c"}


def test_a_unit_without_accounts_pays_nothing() -> None:
    cluster = parse("x: 8")
    verdicts = planned(
        cluster, unit(request("a", pods("p", 8))), replace(unit(request("b", pods("p", 1))), accounts=())
    )
    assert [verdict.status for verdict in verdicts] == [Status.PLACED, Status.UNPLACEABLE]
