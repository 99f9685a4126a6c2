"""What the scheduler believes of an object that it cannot work with, and when it tries it again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from closeknit.dialects.core.kinds import KINDS
from closeknit.dialects.kai import KAI
from closeknit.hub.failures import Step
from closeknit.hub.keys import Key
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload
from closeknit.live.containment import FIRST, FIRST_WITHHELD
from closeknit.scheduler import cluster_state, units
from closeknit.scheduler.cluster_state import ClusterState
from tests.unit.scheduler.objects import GPU, node, pod, pod_group

_KINDS = {kind.kind: kind for kind in (*KINDS, *KAI.kinds)}


def key_of(kind: str, name: str) -> Key:
    own = _KINDS[kind]
    return Key(own.group, kind, "default" if own.namespaced else "", name)


def put(state: ClusterState, *objects: dict[str, Any]) -> None:
    for obj in objects:
        kind = _KINDS[obj["kind"]]
        typed = msgspec.convert(obj, kind.shape) if obj["kind"] in ("Pod", "Node") else obj
        state.heard(kind, obj["apiVersion"], key_of(obj["kind"], obj["metadata"]["name"]), typed)


def failing(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, poisoned: str) -> list[int]:
    """Let a function fail for an object of this name; how often it did."""
    original, hits = getattr(module, name), [0]

    def broken(*given: Any, **named: Any) -> Any:
        if any(poisoned in str(getattr(each, "name", getattr(each, "key", ""))) for each in given):
            hits[0] += 1
            raise ZeroDivisionError(poisoned)
        return original(*given, **named)

    monkeypatch.setattr(module, name, broken)
    return hits


def free(state: ClusterState, name: str) -> int:
    held = sum(holding.resources.get(GPU, 0) for holding in state.all_holdings() if holding.node == name)
    return state.nodes[name].allocatable.get(GPU, 0) - held if name in state.nodes else 0


def test_a_pod_that_cannot_be_counted_holds_what_it_asks_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ClusterState, "_holding", "poison")
    state = ClusterState()

    put(state, node("n"), pod("poison", on="n", gpus=3, phase="Running"), pod("p", on="n", phase="Running"))
    state.news()

    assert free(state, "n") == 8 - 3 - 1


def test_a_node_takes_no_pods_while_one_runs_there_of_which_nothing_can_be_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = ClusterState()
    put(state, node("n"), node("m"))
    with monkeypatch.context() as patch:
        failing(patch, ClusterState, "_holding", "poison")
        failing(patch, cluster_state, "read_pod", "poison")
        put(state, pod("poison", on="n", gpus=3, phase="Running"))
        state.news()
        assert set(state.nodes) == {"m"}
        assert not state.is_counted(key_of("Pod", "poison"))

    state.containment.now += FIRST
    state.news()
    assert set(state.nodes) == {"n", "m"}
    assert free(state, "n") == 5


def test_a_node_takes_pods_again_when_the_pod_is_gone_that_could_not_be_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = ClusterState()
    failing(monkeypatch, ClusterState, "_holding", "poison")
    failing(monkeypatch, cluster_state, "read_pod", "poison")
    put(state, node("n"), pod("poison", on="n", phase="Running"))
    assert not state.nodes

    state.heard(_KINDS["Pod"], "v1", key_of("Pod", "poison"), None)

    assert set(state.nodes) == {"n"}
    assert state.containment.failing == 0


def test_a_node_of_which_devices_cannot_be_counted_offers_what_it_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing(monkeypatch, cluster_state, "node_of", "poison")
    state = ClusterState()

    put(state, node("poison"), node("n"))

    assert {name: each.allocatable[GPU] for name, each in state.nodes.items()} == {"poison": 8, "n": 8}


def test_a_unit_that_cannot_be_compiled_is_tried_again_when_it_changes_or_has_backed_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hits = failing(monkeypatch, units, "place_object", "poison")
    state = ClusterState()
    group = pod_group("poison", minMember=1)
    put(state, node("n"), group, pod("p", "poison"), pod_group("sound", minMember=1), pod("q", "sound"))
    for _ in range(3):
        state.news()

    assert isinstance(state.units[key_of("PodGroup", "poison")], InvalidWorkload)
    assert isinstance(state.units[key_of("PodGroup", "sound")], PlaceableWorkload)
    assert hits == [1]
    put(state, {**group, "spec": {"minMember": 1, "priorityClassName": "train"}})
    state.news()
    assert hits == [2]
    state.containment.now += 2 * FIRST
    monkeypatch.undo()
    state.news()
    assert isinstance(state.units[key_of("PodGroup", "poison")], PlaceableWorkload)
    assert state.containment.failing == 0


def test_a_withheld_object_is_shown_as_unreadable_until_its_time_comes() -> None:
    state = ClusterState()
    key = key_of("PodGroup", "g")
    state.containment.note(key, Step.READ, KeyError("x"), withhold=True)
    put(state, node("n"), pod_group("g", minMember=1), pod("p", "g"))
    state.news()
    assert isinstance(state.units[key], InvalidWorkload)

    state.containment.now += FIRST_WITHHELD
    state.news()

    assert isinstance(state.units[key], PlaceableWorkload)
