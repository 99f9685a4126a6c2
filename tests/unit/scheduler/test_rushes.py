"""What is passed over while many changes come at once, and for how long."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.compiling import place_object
from closeknit.dialects.kai.compile import read_pod_group
from closeknit.hub.sentences import kai
from closeknit.hub.workload import IncompleteWorkload, InvalidWorkload, PlaceableWorkload, Workload
from closeknit.scheduler.cluster_state import ClusterState
from tests.unit.scheduler.objects import entry, pod
from tests.unit.scheduler.racks import NODES, gang


def test_a_gang_whose_pods_come_one_by_one_is_compiled_in_a_rush_when_the_last_has_come() -> None:
    state = ClusterState()
    group, *pods = gang("g")
    for each in (*NODES, group, pods[0]):
        state.put(entry(each))
    counted = state.view.worked_out

    for each in pods[1:3]:
        assert not state.news(hurried=True).units
        assert state.postponed
        state.put(entry(each))
    assert counted[read_pod_group] == 0
    state.put(entry(pods[3]))
    (unit,) = state.news(hurried=True).units.values()

    assert not state.postponed
    assert unit is not None
    assert isinstance(unit, PlaceableWorkload)
    assert counted[read_pod_group] == 1


def test_what_else_is_wrong_with_a_gang_that_lacks_pods_is_told_however_long_a_rush_is() -> None:
    state = ClusterState()
    group, *pods = gang("g", priorityClassName="unheard-of")
    for each in (*NODES, group, pods[0]):
        state.put(entry(each))

    looks = [state.news(hurried=True).units for _ in range(20)]

    (unit,) = (unit for found in looks for unit in found.values())
    assert isinstance(unit, InvalidWorkload)
    assert "unheard-of" in str(unit.problems)


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        pytest.param({}, IncompleteWorkload, id="nothing else is wrong with it"),
        pytest.param(
            {"priorityClassName": "unheard-of"}, InvalidWorkload, id="something else is wrong with it"
        ),
    ],
)
def test_a_gang_known_to_lack_pods_is_compiled_again_in_a_rush_when_the_last_has_come(
    spec: dict[str, Any], kind: type[Workload]
) -> None:
    state = ClusterState()
    group, *pods = gang("g", **spec)
    for each in (*NODES, group, pods[0]):
        state.put(entry(each))
    (unit,) = state.news().units.values()
    assert type(unit) is kind
    counted = state.view.worked_out

    for each in pods[1:3]:
        state.put(entry(each))
        assert not state.news(hurried=True).units
        assert state.postponed
    assert counted[read_pod_group] == 1
    state.put(entry(pods[3]))
    state.news(hurried=True)

    assert not state.postponed
    assert counted[read_pod_group] == 2


@pytest.mark.parametrize(
    ("group", "first"),
    [
        pytest.param(
            gang("g", pods=1, priorityClassName="unheard-of")[0], pod("g-0", "g"), id="it lacks no pods"
        ),
        pytest.param(gang("g")[0], pod("g-0", "g", on="n0"), id="one of its pods runs"),
    ],
)
def test_a_gang_that_cannot_be_placed_is_not_passed_over_in_a_rush_where(
    group: dict[str, Any], first: dict[str, Any]
) -> None:
    state = ClusterState()
    for each in (*NODES, group, first):
        state.put(entry(each))
    state.news()
    counted = state.view.worked_out[read_pod_group]

    state.put(entry(pod("g-1", "g")))
    state.news(hurried=True)

    assert not state.postponed
    assert state.view.worked_out[read_pod_group] == counted + 1


def test_a_pod_whose_gang_comes_later_is_not_compiled_by_itself_in_a_rush() -> None:
    state = ClusterState()
    group, *pods = gang("g")
    for each in (*NODES, *pods):
        state.put(entry(each))
    assert not state.news(hurried=True).units
    assert state.postponed
    state.put(entry(group))

    (unit,) = state.news(hurried=True).units.values()

    assert unit is not None
    assert isinstance(unit, PlaceableWorkload)
    assert state.view.worked_out[place_object] == 1


def test_a_pod_whose_gang_never_comes_is_told_so_however_long_a_rush_is() -> None:
    state = ClusterState()
    for each in (*NODES, *gang("g", pods=1)[1:]):
        state.put(entry(each))

    looks = [state.news(hurried=True).units for _ in range(20)]

    (unit,) = (unit for found in looks for unit in found.values())
    assert unit is not None
    assert unit.object.kind == "Pod"
    assert not state.postponed


def test_a_pod_that_changes_while_its_gang_does_not_come_is_told_so_as_soon() -> None:
    state = ClusterState()
    (_, alone) = gang("g", pods=1)
    for each in NODES:
        state.put(entry(each))

    looks = []
    for number in range(20):
        alone["metadata"]["labels"] = {"seen": str(number)}
        state.put(entry(alone))
        looks.append(state.news(hurried=True).units)

    assert any(looks)


def test_a_pod_that_names_no_gang_is_not_passed_over_in_a_rush() -> None:
    state = ClusterState()
    for each in (*NODES, pod("alone")):
        state.put(entry(each))

    (unit,) = state.news(hurried=True).units.values()

    assert unit is not None
    assert isinstance(unit, PlaceableWorkload)


def test_a_pod_that_comes_before_its_gang_is_not_compiled_by_itself_once_the_gang_is_there() -> None:
    state = ClusterState()
    group, *pods = gang("g")
    for each in (*NODES, *pods, group):
        state.put(entry(each))

    (unit,) = state.news().units.values()

    assert unit is not None
    assert isinstance(unit, PlaceableWorkload)
    assert state.view.worked_out[place_object] == 1


def test_what_a_gang_lacks_is_told_anew_as_soon_as_the_rush_is_over() -> None:
    state = ClusterState()
    group, *pods = gang("g")
    for each in (*NODES, group, pods[0]):
        state.put(entry(each))
    state.news(hurried=True)
    state.put(entry(pods[1]))
    state.news(hurried=True)

    (unit,) = state.news().units.values()

    assert isinstance(unit, IncompleteWorkload)
    facts = dict(unit.problems[0].facts)
    assert (unit.problems[0].code, facts["given"], facts["missing"]) == (kai.PODS_MISSING, "2 are there", 2)


def test_a_gang_that_needs_fewer_pods_than_before_is_not_passed_over_for_long_however_long_a_rush_is() -> (
    None
):
    state = ClusterState()
    group, *pods = gang("g")
    for each in (*NODES, group, pods[0]):
        state.put(entry(each))
    state.news(hurried=True)
    state.put(entry({**group, "spec": {**group["spec"], "minMember": 1}}))

    looks = [state.news(hurried=True).units for _ in range(20)]

    (unit,) = (unit for found in looks for unit in found.values())
    assert unit is not None
    assert isinstance(unit, PlaceableWorkload)


def test_a_job_whose_pods_its_controller_has_made_is_compiled_in_a_rush_too() -> None:
    state = ClusterState()
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "schedulerName": "kai-scheduler"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default", "uid": "j"},
        "spec": {"parallelism": 2, "completions": 2, "template": template},
    }
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    for each in (*NODES, job):
        state.put(entry(each))
    state.news(hurried=True)
    for number in range(2):
        made = pod(f"j-{number}")
        made["metadata"] |= {"ownerReferences": [owner], "labels": {"batch.kubernetes.io/job-name": "j"}}
        state.put(entry(made))
    state.news(hurried=True)

    assert not state.postponed
    assert all(isinstance(unit, PlaceableWorkload) for unit in state.units.values())
