"""What a gang costs, counted and not timed: compiles, decisions, searches and writes."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any

import pytest

from closeknit.apis.closeknit_keys import OUTCOME
from closeknit.dialects import ownership
from closeknit.dialects.compiling import place_object
from closeknit.dialects.core.pods import ReadPod, read_pod
from closeknit.dialects.kai.compile import read_pod_group
from closeknit.dialects.kai.terms import group_terms, spec_terms
from closeknit.dialects.ownership import pod_of
from closeknit.dialects.store.objects import Stored
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed, Statistics
from closeknit.hub.request import Request
from closeknit.hub.workload import PlaceableWorkload
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.loading import load
from closeknit.scheduler import cluster_state
from closeknit.scheduler.binder import Binder
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.commit import Bind
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.known_failures import KnownFailures
from closeknit.scheduler.settings import Settings
from closeknit.testing.clock import HandClock
from tests.unit.scheduler.living import DEFINITIONS, living
from tests.unit.scheduler.objects import entry, node, pod, pod_group, together
from tests.unit.scheduler.racks import NODES, gang

GANGS = 10


async def test_a_gang_is_compiled_when_it_is_whole_and_when_it_is_bound_and_decided_once() -> None:
    async with living(NODES) as live:
        await live.create(*(obj for number in range(GANGS) for obj in gang(f"g{number}")))
        await live.settle(5)
        counted = live.scheduler.state.view.worked_out

        assert live.scheduler.counters.bindings == 4 * GANGS
        assert live.scheduler.counters.decisions == GANGS
        assert counted[read_pod_group] == 2 * GANGS
        assert counted[group_terms] == GANGS
        assert counted[spec_terms] == 1
        assert counted[pod_of] == 2 * 4 * GANGS


async def test_pods_that_come_before_their_groups_are_not_compiled_again_with_every_other_group() -> None:
    async with living(NODES) as live:
        gangs = [gang(f"g{number}") for number in range(GANGS)]
        await live.create(*(pod for _, *pods in gangs for pod in pods))
        await live.settle(5)
        counted = live.scheduler.state.view.worked_out
        before = counted[place_object]
        for group, *_ in gangs:
            await live.create(group)
            await live.settle(5)

        assert live.scheduler.counters.bindings == 4 * GANGS
        # Each pod once, since its group speaks for it now; each group when it comes and when it is bound.
        assert counted[place_object] - before == (4 + 2) * GANGS


async def test_a_pod_is_read_when_it_comes_and_when_it_has_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()

    def counting(stored: Stored[Any]) -> ReadPod:
        read[stored.name] += 1
        return read_pod(stored)

    for module in (ownership, cluster_state):
        monkeypatch.setattr(module, "read_pod", counting)
    async with living(NODES) as live:
        await live.create(*(obj for number in range(GANGS) for obj in gang(f"g{number}")))
        await live.settle(5)

    assert len(read) == 4 * GANGS
    assert set(read.values()) == {2}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            {"metadata": {"annotations": {OUTCOME: "{}"}}}, id="the outcome that we wrote ourselves"
        ),
        pytest.param({"status": {"conditions": [{"type": "Scheduled"}]}}, id="its conditions"),
        pytest.param({"metadata": {"resourceVersion": "7", "generation": 2}}, id="its version"),
    ],
)
def test_what_says_nothing_new_of_a_pod_group_has_nothing_compiled(change: dict[str, Any]) -> None:
    state = ClusterState()
    for each in (*NODES, *gang("g")):
        state.put(entry(each))
    state.news()
    before = Counter(state.view.worked_out)
    group = gang("g")[0]

    state.put(entry({**group, **change, "metadata": {**group["metadata"], **change.get("metadata", {})}}))

    assert not state.news().units
    assert state.view.worked_out == before


def test_a_condition_that_the_server_adds_to_a_bound_pod_has_nothing_compiled() -> None:
    state = ClusterState()
    for each in (*NODES, *gang("g", 1)):
        state.put(entry(each))
    state.assume(Key("", "Pod", "default", "g-0"), "n1")
    state.news()
    before = Counter(state.view.worked_out)
    bound = pod("g-0", "g", gpus=2, on="n1")
    bound["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]

    state.put(entry(bound))

    assert not state.news().units
    assert state.view.worked_out == before


def test_a_unit_that_is_being_bound_is_compiled_when_that_is_done() -> None:
    state = ClusterState()
    for each in (*NODES, *gang("g", 1)):
        state.put(entry(each))
    state.news()
    state.assume(Key("", "Pod", "default", "g-0"), "n1")

    assert not state.news(is_binding=lambda _: True).units
    assert not state.news(is_binding=lambda _: True).units
    (unit,) = state.news().units.values()
    assert unit is not None
    assert [each.name for each in unit.running] == ["g-0"]


def test_a_unit_that_goes_while_it_is_being_bound_is_told_at_once() -> None:
    state = ClusterState()
    for each in (*NODES, *gang("g", 1)):
        state.put(entry(each))
    state.news()
    key = Key("scheduling.run.ai", "PodGroup", "default", "g")
    state.remove(key)

    assert state.news(is_binding=lambda _: True).units[key] is None


# ------------------------------------------------------------------------------------- equal failures


def requests(*groups: list[dict[str, Any]]) -> tuple[ClusterState, list[Request]]:
    """A state with these gangs, and what each asks for."""
    state = ClusterState()
    for each in (*NODES, pod("other-0", gpus=5, on="n0"), *(obj for group in groups for obj in group)):
        state.put(entry(each))
    state.news()
    units = [unit for unit in state.units.values() if unit.object.kind == "PodGroup"]
    return state, [unit.request for unit in units if isinstance(unit, PlaceableWorkload)]


def parts(name: str, first: str = "a") -> list[dict[str, Any]]:
    """A PodGroup of two subgroups that do not fit into one rack together."""
    subgroups = [{"name": each, "minMember": 3} for each in (first, "b")]
    group = pod_group(name, subGroups=subgroups, topologyConstraint=together("rack"))
    pods = [pod(f"{name}-{part}-{i}", name, gpus=6, subgroup=part) for part in (first, "b") for i in range(3)]
    return [group, *pods]


@pytest.mark.parametrize(
    ("first", "second", "reused"),
    [
        pytest.param(gang("g", 40), gang("h", 40), 1, id="gangs too large for any rack"),
        pytest.param(gang("g", 4, 9), gang("h", 4, 9), 1, id="pods too large for any node"),
        pytest.param(parts("g"), parts("h"), 1, id="two subgroups"),
        pytest.param(parts("g"), parts("h", "c"), 0, id="subgroups of other names"),
        pytest.param(gang("g", 40), gang("h", 41), 0, id="another number of pods"),
        pytest.param(gang("g", 40), gang("h", 40, 1), 0, id="other amounts"),
        pytest.param(gang("g", 4), gang("h", 4), 0, id="gangs that fit"),
    ],
)
def test_equal_requests_are_explained_once_and_each_as_if_asked_alone(
    first: list[dict[str, Any]], second: list[dict[str, Any]], reused: int
) -> None:
    state, (one, other) = requests(first, second)
    known = KnownFailures()

    alone = [state.engine.solve(request) for request in (one, other)]
    found = [known.solve(state.engine, request) for request in (one, other)]

    # What the search has counted depends on who asked before.
    assert [replace(each, statistics=Statistics()) for each in found] == [
        replace(each, statistics=Statistics()) for each in alone
    ]
    assert known.reused == reused


def test_after_a_change_it_is_searched_again() -> None:
    state, (one, other) = requests(gang("g", 12, 8), gang("h", 12, 8))
    known = KnownFailures()
    first = known.solve(state.engine, one)

    for number in range(12, 20):
        state.put(entry(node(f"n{number}", zone="z", rack="r2")))
    assert not isinstance(first, Placed)
    assert isinstance(known.solve(state.engine, other), Placed)
    assert known.reused == 0


async def test_a_storm_of_equal_gangs_without_room_is_explained_once() -> None:
    async with living(NODES) as live:
        await live.create(*(obj for number in range(GANGS) for obj in gang(f"g{number}", 40)))
        await live.settle(2)

        assert live.scheduler.counters.decisions == GANGS
        assert live.scheduler.core.failures.reused == GANGS - 1


# --------------------------------------------------------------------------------------------- writes


class Counting:
    """An API that notes the writes asked of it, in order."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self.writes: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in ("bind", "create", "patch"):
            self.writes.append(name)
        return getattr(self._api, name)


class Unheard:
    """A log that nobody reads."""

    def info(self, event: str, **facts: Any) -> None:
        """Pass over it."""

    def warning(self, event: str, **facts: Any) -> None:
        """Pass over it."""


@pytest.mark.parametrize(
    ("pod_events", "events"),
    [
        pytest.param(True, 5, id="an event for each of its four pods"),
        pytest.param(False, 1, id="no events of pods"),
    ],
)
async def test_a_gang_takes_two_writes_beside_bindings_and_events_and_bindings_go_first(
    *, pod_events: bool, events: int
) -> None:
    clock = HandClock()
    cluster = EmbeddedCluster(DEFINITIONS, clock=clock, dice=Random(1))
    api: Any = Counting(cluster)
    settings = Settings(connections=4, pod_events=pod_events)
    instance = Instance(api, settings, identity="one", log=Unheard(), random=Random(2), clock=clock)
    await load(cluster, NODES)
    work = asyncio.create_task(instance.run())
    await clock.advance(1)

    for number in range(GANGS):
        await load(cluster, gang(f"g{number}"))
        await clock.advance(0.5)
    bindings = list(api.writes)
    for _ in range(80):
        await clock.advance(0.25)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await cluster.close()

    assert bindings == ["bind"] * 4 * GANGS
    # The outcome as an annotation, and conditions.
    assert Counter(api.writes) == {"bind": 4 * GANGS, "patch": 2 * GANGS, "create": events * GANGS}


class Answering:
    """An API that binds at once."""

    async def bind(self, *_: object, **__: object) -> None:
        return


async def test_a_rush_of_bindings_lasts_until_they_come_slower_than_connections_in_two_seconds() -> None:
    clock = HandClock()
    api: Any = Answering()
    binder = Binder(api, lambda _: None, clock=clock, random=Random(1), connections=4)

    work = asyncio.create_task(binder.run())
    seen = []
    for calls, seconds in ((3, 0.0), (1, 0.5), (0, 1.6), (1, 0.0)):
        for number in range(calls):
            binder.send(Bind(Key("", "Pod", "default", f"p{number}"), "", "n"))
        await clock.advance(seconds)
        seen.append(binder.busy)
    work.cancel()

    assert seen == [False, True, False, False]
