from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from closeknit.hub.keys import Key
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.overcommitment import LaterBinding, Overcommitment
from tests.unit.scheduler.objects import entry, node, pod, pod_group


class Watched:
    """A state that a test changes, and what is to be evicted after each change."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.state = ClusterState()
        self.overcommitment = Overcommitment(self.state)
        self.now = 0.0
        self.busy: set[Key] = set()
        for each in objects:
            self.state.put(entry(each))
        assert self.look() == []

    def look(self, *objects: dict[str, Any], seconds: float = 1.0) -> list[str]:
        """The names of the pods that are to be evicted after these objects came or changed."""
        return [each.pod.name for each in self.bindings(*objects, seconds=seconds)]

    def bindings(self, *objects: dict[str, Any], seconds: float = 1.0) -> list[LaterBinding]:
        for each in objects:
            self.state.put(entry(each))
        self.now += seconds
        self.state.news(now=self.now)
        return self.overcommitment.look(self.now, self.busy.__contains__)


def on(
    name: str, gpus: int = 8, *, started: str = "", created: str = "", scheduler: str = "closeknit"
) -> dict[str, Any]:
    """A pod on the node n that its kubelet has accepted at this second, if any."""
    made = pod(name, gpus=gpus, on="n", scheduler=scheduler, phase="Running" if started else "Pending")
    if started:
        made["status"]["startTime"] = f"2026-01-01T00:00:{started}Z"
    if created:
        made["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{created}Z"
    return made


def key(name: str) -> Key:
    return Key("", "Pod", "default", name)


def test_a_binding_that_nobody_expected_is_evicted_from_a_node_that_was_full() -> None:
    watched = Watched(node("n"), on("first", started="01"))
    (later,) = watched.bindings(on("late", started="02"))
    assert later == LaterBinding(key("late"), "uid-late", "n", key("late"))


@pytest.mark.parametrize(
    ("known", "came", "later"),
    [
        pytest.param(
            on("a", started="05"), on("b", started="04"), "a", id="the one that its kubelet accepted later"
        ),
        pytest.param(on("a", started="05"), on("b"), "b", id="the one that no kubelet has accepted yet"),
        pytest.param(
            on("a", started="05", created="09"),
            on("b", started="05", created="08"),
            "a",
            id="of two in the same second, the one that was created later",
        ),
        pytest.param(
            on("a", started="05", created="09"),
            on("b", started="05", created="09"),
            "b",
            id="of two alike, the last by name",
        ),
    ],
)
def test_the_later_binding_is(known: dict[str, Any], came: dict[str, Any], later: str) -> None:
    assert Watched(node("n"), known).look(came) == [later]


def test_only_pods_without_room_beside_earlier_ones_are_evicted() -> None:
    watched = Watched(node("n"), on("a", 4, started="01"), on("b", 2, started="02"))
    late = [on("c", 4, started="03"), on("d", 2, started="04"), on("e", 2, started="05")]
    assert watched.look(*late) == ["c", "e"]


@pytest.mark.parametrize("kubelet", ["", "09"], ids=["not accepted yet", "accepted later"])
def test_a_pod_of_another_scheduler_that_came_later_costs_ours_nothing(kubelet: str) -> None:
    watched = Watched(node("n"), on("ours", started="01"))
    assert watched.look(on("theirs", started=kubelet, scheduler="other")) == []
    assert watched.look(seconds=100) == []


def test_ours_is_evicted_where_it_came_after_one_of_another_scheduler() -> None:
    watched = Watched(node("n"), on("theirs", started="01", scheduler="other"))
    assert watched.look(on("ours", started="02")) == ["ours"]


def test_nothing_is_evicted_from_a_node_that_offers_less_than_before() -> None:
    watched = Watched(node("n"), on("a", 4, started="01"), on("b", 4, started="02"))
    assert watched.look(node("n", 6)) == []
    assert (watched.look(seconds=100), len(watched.overcommitment)) == ([], 1)
    assert watched.look(node("n")) == []
    assert len(watched.overcommitment) == 0


def test_nothing_is_evicted_where_a_pod_has_grown() -> None:
    watched = Watched(node("n"), on("a", 4, started="01"), on("b", 4, started="02"))
    assert watched.look(on("b", 6, started="02")) == []


def test_nothing_is_evicted_where_a_node_shrank_as_a_pod_came() -> None:
    watched = Watched(node("n"), on("a", 4, started="01"))
    assert watched.look(node("n", 6), on("b", 4, started="02")) == []


def test_nothing_is_evicted_from_a_node_that_was_overcommitted_when_the_term_began() -> None:
    watched = Watched(node("n"), on("a", started="01"), on("b", started="02"))
    assert (watched.look(seconds=100), len(watched.overcommitment)) == ([], 1)


def test_what_comes_to_a_node_that_has_shrunk_is_evicted_alone() -> None:
    watched = Watched(node("n"), on("a", 4, started="01"), on("b", 4, started="02"))
    watched.look(node("n", 6))
    assert watched.look(on("c", 1, started="03")) == ["c"]


def test_a_node_that_fits_again_is_judged_by_what_it_offers() -> None:
    watched = Watched(node("n"), on("a", 4, started="01"), on("b", 4, started="02"))
    watched.look(node("n", 6))
    watched.state.remove(key("b"))
    assert (watched.look(), len(watched.overcommitment)) == ([], 0)
    assert watched.look(on("c", 4, started="03")) == ["c"]


def test_a_pod_that_leaves_an_exceeded_node_leaves_no_room_for_others() -> None:
    watched = Watched(node("n"), on("a", 4, started="01"), on("b", 2, started="02"), on("c", 2, started="03"))
    watched.look(node("n", 4))
    watched.state.remove(key("c"))
    assert watched.look() == []
    assert watched.look(on("d", 2, started="04")) == ["d"]


def test_the_outcome_of_bindings_under_way_is_waited_for() -> None:
    watched = Watched(node("n"), pod("mine", gpus=8))
    watched.state.assume(key("mine"), "n")
    assert watched.look(on("late", started="02")) == []
    # The server has the binding of ours, and its kubelet accepted it after the other one.
    assert watched.look(on("mine", started="03")) == ["mine"]


def test_a_binding_that_did_not_come_about_costs_nobody_anything() -> None:
    watched = Watched(node("n"), pod("mine", gpus=8))
    watched.state.assume(key("mine"), "n")
    assert watched.look(on("late", started="02")) == []
    watched.state.forget(key("mine"))
    assert (watched.look(), len(watched.overcommitment)) == ([], 0)


def test_a_pod_that_leaves_already_makes_room() -> None:
    leaving = on("first", started="01")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:03Z"
    watched = Watched(node("n"), leaving)
    assert watched.look(on("late", started="02")) == []
    assert watched.overcommitment.next_time() is None


def test_nothing_is_evicted_of_a_unit_that_something_is_under_way_for() -> None:
    watched = Watched(node("n"), on("first", started="01"))
    watched.busy.add(key("late"))
    assert watched.look(on("late", started="02")) == []
    watched.busy.clear()
    assert watched.look() == ["late"]


def test_an_eviction_is_requested_again_after_waits_that_grow_until_the_pod_has_gone() -> None:
    watched = Watched(node("n"), on("first", started="01"))
    requested: list[float] = []
    if watched.look(on("late", started="02")):
        requested.append(watched.now)
    while len(requested) < 10:
        at = watched.overcommitment.next_time()
        assert at is not None
        assert watched.look(seconds=(at - watched.now) / 2) == []
        if watched.look(seconds=at - watched.now):
            requested.append(watched.now)
    waits = [after - before for before, after in pairwise(requested)]
    assert waits == pytest.approx([10, 20, 40, 80, 160, 320, 600, 600, 600])
    watched.state.remove(key("late"))
    assert watched.look(seconds=1000) == []
    assert watched.overcommitment.next_time() is None


def test_the_unit_of_an_evicted_pod_is_its_gang() -> None:
    member = on("late", started="02")
    member["metadata"]["annotations"] = {"pod-group-name": "g"}
    watched = Watched(node("n"), pod_group("g", minMember=1), on("first", started="01"))
    (later,) = watched.bindings(member)
    assert later.unit == Key("scheduling.run.ai", "PodGroup", "default", "g")
