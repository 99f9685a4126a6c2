"""What a decision costs follows what changed and what is answered, not the size of the cluster.

Nothing here looks at a clock: the counts of ``Statistics`` are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import pytest

from bench.clusters import BLOCK, RACK, ZONE, empty_cluster, half_full_cluster, node, pod
from bench.requests import gang, hard_to_pack, led, rack_gang, too_large_for_a_rack
from closeknit.engine import Engine
from closeknit.engine.explanation import variants
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.node_fits import NodeFits
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Placed, Statistics, Unplaceable
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources

SMALL = 1_000
LARGE = [
    pytest.param(20_000, id="20,000 nodes"),
    pytest.param(100_000, id="100,000 nodes", marks=pytest.mark.slow),
]


@cache
def cluster(size: int) -> Cluster:
    """Made once: it takes longer than all that is asked of it."""
    return half_full_cluster(size, seed=7)


@dataclass
class Asked:
    """An engine that remembers nothing but what a test lets it see."""

    engine: Engine
    size: int

    def cost(self, request: Request) -> Statistics:
        return self.engine.decide(request).statistics

    def placed(self, request: Request) -> Placed:
        outcome = self.engine.decide(request)
        assert isinstance(outcome, Placed)
        return outcome

    def let_in(self, request: Request) -> set[str]:
        """Place and apply; returns the nodes that this changes."""
        placed = self.placed(request)
        self.engine.apply(request, placed)
        return {assignment.node for assignment in placed.assignments}


@cache
def shared_engine(size: int) -> Engine:
    return Engine(cluster(size))


@pytest.fixture
def small() -> Asked:
    return Asked(Engine(cluster(SMALL)), SMALL)


@pytest.fixture(params=LARGE)
def large(request: pytest.FixtureRequest) -> Iterator[Asked]:
    """The large engine is shared; whatever a test applies is taken back, which costs only what it touched."""
    engine = shared_engine(request.param)
    with engine.fork():
        yield Asked(engine, request.param)


SPREAD = rack_gang("spread", gpus=8)
"""Four pods that fill a node each: a change of four nodes."""

PLAIN = [
    pytest.param(rack_gang("asked"), id="four pods in a rack"),
    pytest.param(rack_gang("asked", gpus=2), id="four larger pods in a rack"),
    pytest.param(gang("asked", 4, pod(1), preferred=RACK), id="four pods that prefer a rack"),
    pytest.param(
        gang("asked", 4, pod(1), required=ZONE, preferred=RACK), id="four pods in a zone, better a rack"
    ),
    pytest.param(gang("asked", 4, pod(1)), id="four pods anywhere"),
    pytest.param(gang("asked", 32, pod(1), required=BLOCK), id="32 pods in a block"),
    pytest.param(SPREAD, id="four pods that fill a node each"),
]


@pytest.mark.parametrize("request_", PLAIN)
def test_a_known_shape_costs_no_more_on_a_large_cluster(
    small: Asked, large: Asked, request_: Request
) -> None:
    costs = []
    for asked in (small, large):
        asked.placed(request_)
        changed = asked.let_in(rack_gang("other"))
        costs.append(asked.cost(request_))
        # The other gang has four pods; how many nodes they take depends on how full the tightest rack is.
        assert costs[-1].nodes_touched == len(changed) <= 4

    here, there = costs
    assert there.candidates <= here.candidates
    # On a large cluster the first placement is not compared with counts over all nodes, so one step more proves it.
    assert there.steps <= here.steps + 1


def test_what_cannot_fit_is_found_out_at_the_same_cost(small: Asked, large: Asked) -> None:
    request = too_large_for_a_rack("asked")
    costs = []
    for asked in (small, large):
        asked.cost(request)
        outcome = asked.engine.decide(request)
        assert isinstance(outcome, Unplaceable)
        costs.append(outcome.statistics)

    assert costs[1] == costs[0]


def test_a_shape_never_seen_is_counted_once_on_every_node(large: Asked) -> None:
    request = rack_gang("asked", cpu="1234m")

    assert large.cost(request).nodes_touched == large.size
    assert large.cost(request).nodes_touched == 0


def applied(asked: Asked) -> int:
    return len(asked.let_in(SPREAD))


def released(asked: Asked) -> int:
    changed = asked.let_in(SPREAD)
    asked.cost(rack_gang("asked"))
    asked.engine.release(SPREAD.name)
    return len(changed)


def held(asked: Asked) -> int:
    first, last = cluster(asked.size).nodes[0], cluster(asked.size).nodes[-1]
    asked.engine.hold(Holding("daemon", first.name, pod(1)))
    asked.engine.hold(Holding("daemon", last.name, pod(1)))
    return 2


def pods_released(asked: Asked) -> int:
    asked.engine.release_pods(replace(cluster(asked.size).holdings[0], pods=1))
    return 1


def cordoned(asked: Asked) -> int:
    asked.engine.change_node(replace(cluster(asked.size).nodes[17], unschedulable=True))
    return 1


def relabelled(asked: Asked) -> int:
    before = cluster(asked.size).nodes[17]
    asked.engine.change_node(replace(before, labels={**before.labels, RACK: "rack-new"}))
    return 1


def added(asked: Asked) -> int:
    asked.engine.add_node(node(SMALL, SMALL + 1))
    return 1


def removed(asked: Asked) -> int:
    asked.engine.remove_node(cluster(asked.size).nodes[17].name)
    return 1


def nothing(asked: Asked) -> int:
    asked.engine.release("nobody")
    return 0


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(applied, id="a gang that comes is counted on its own nodes"),
        pytest.param(released, id="a gang that goes is counted on its own nodes"),
        pytest.param(held, id="holdings are counted on the nodes they name"),
        pytest.param(pods_released, id="a pod that ends is counted on its own node"),
        pytest.param(nothing, id="releasing nothing costs nothing"),
    ],
)
def test_a_change_of_what_is_held_touches_the_nodes_it_names(
    large: Asked, change: Callable[[Asked], int]
) -> None:
    large.cost(rack_gang("asked"))
    named = change(large)

    assert large.cost(rack_gang("asked")).nodes_touched == named


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(cordoned, id="a node that is cordoned"),
        pytest.param(relabelled, id="a node that moves to another rack"),
        pytest.param(added, id="a node that comes"),
        pytest.param(removed, id="a node that goes"),
    ],
)
def test_a_change_of_a_node_touches_that_node_alone(small: Asked, change: Callable[[Asked], int]) -> None:
    small.cost(rack_gang("asked"))
    named = change(small)

    assert small.cost(rack_gang("asked")).nodes_touched == named


def test_few_changed_nodes_are_followed_without_array_work(
    large: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither all nodes nor the changed ones are counted by arrays, with and without prices."""
    requests = [rack_gang("asked"), gang("asked", 2, Resources({"cpu": 1000}), required=RACK)]
    for request in requests:
        large.cost(request)
    for change in (applied, held, pods_released):
        change(large)
        with monkeypatch.context() as patched:
            for of, name in ((NodeFits, "_count"), (FitTable, "_gather")):
                patched.setattr(of, name, lambda *_: pytest.fail("arrays were worked on"))
            for request in requests:
                assert large.cost(request).nodes_touched > 0


def test_a_fork_touches_what_it_changed_on_the_way_in_and_on_the_way_out(large: Asked) -> None:
    before = large.placed(rack_gang("asked"))
    tenant = cluster(large.size).holdings[0].workload
    homes = {holding.node for holding in cluster(large.size).holdings if holding.workload == tenant}

    with large.engine.fork():
        large.engine.release(tenant)
        inside = large.cost(rack_gang("asked"))
    after = large.placed(rack_gang("asked"))

    assert inside.nodes_touched == len(homes)
    assert after.statistics.nodes_touched == len(homes)
    assert after.assignments == before.assignments


def test_a_fork_in_which_nothing_happens_costs_nothing(large: Asked) -> None:
    large.cost(rack_gang("asked"))
    with large.engine.fork():
        pass

    assert large.cost(rack_gang("asked")).nodes_touched == 0


def test_a_shape_that_nobody_asks_for_is_not_recounted(large: Asked) -> None:
    asked_for, forgotten = rack_gang("asked"), rack_gang("forgotten", cpu="777m")
    large.cost(forgotten)
    large.cost(asked_for)
    changed: set[str] = set()
    for i in range(20):
        nodes = large.let_in(rack_gang(f"other-{i}"))
        assert large.cost(asked_for).nodes_touched == len(nodes)
        changed |= nodes

    assert large.cost(forgotten).nodes_touched == len(changed)


def test_shapes_that_are_forgotten_do_not_blur_the_counts(small: Asked) -> None:
    for i in range(300):
        assert small.cost(rack_gang("asked", cpu=f"{i + 1}m")).nodes_touched == SMALL


def test_trees_are_changed_for_all_groups_at_once_when_levels_are_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request of many groups is explained without making its tree anew for each of them."""
    calls = 0
    relevel = variants.releveled

    def counted(group: Group, levels: Mapping[str, str | None]) -> Group:
        nonlocal calls
        calls += 1
        return relevel(group, levels)

    monkeypatch.setattr(variants, "releveled", counted)
    groups = tuple(Group(f"g{i}", (PodSet(f"p{i}", 1, pod(8)),), required=RACK) for i in range(200))
    outcome = Engine(empty_cluster(64)).solve(Request("many", Group("all", groups), topology="bench"))

    assert isinstance(outcome, Unplaceable)
    assert calls < 50


def test_pods_of_two_shapes_are_placed_with_as_few_looks_on_a_large_cluster(
    small: Asked, large: Asked
) -> None:
    here, there = small.placed(led("asked")), large.placed(led("asked"))

    assert here.wishes.domains == there.wishes.domains == (1, 1, 1)
    # A few of them compare ways to use fewer of the 16 nodes of the tightest rack.
    assert here.statistics.steps <= 12
    assert there.statistics.candidates <= here.statistics.candidates + 1


def test_a_search_over_pods_of_two_shapes_is_done_in_so_many_steps(small: Asked) -> None:
    placed = small.placed(hard_to_pack("asked"))

    assert placed.proven
    assert placed.wishes.used == (1, 1, 1, 10, 10)
    assert placed.statistics.steps <= 1_200
