"""PodGroups that must share a domain, each scheduled by itself."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.planning import Verdict, decide
from tests.unit.scheduler.objects import entry, node, pod, pod_group, together, topology

FIRST, SECOND, THIRD = "first", "second", "third"


def group(name: str, *, level: str = "zone", leader: str = FIRST, **spec: Any) -> dict[str, Any]:
    """A PodGroup of two pods that requires a zone, the same one as that of its leader."""
    made = pod_group(name, **{"minMember": 2, "topologyConstraint": together("zone"), **spec})
    annotations = {"closeknit.dev/shared-domain": leader, "closeknit.dev/shared-domain-level": level}
    made["metadata"]["annotations"] = annotations
    return made


def pods(name: str, *on: str) -> list[dict[str, Any]]:
    """The two pods of a PodGroup, and the nodes of those that run."""
    return [pod(f"{name}-{i}", name, gpus=4, on=on[i] if i < len(on) else "") for i in range(2)]


def cluster(**zones: int) -> list[dict[str, Any]]:
    """Zones of so many nodes with 8 GPUs."""
    nodes = [
        node(f"{zone}{i}", zone=zone, rack=f"{zone}-r{i}")
        for zone, number in zones.items()
        for i in range(number)
    ]
    return [topology("zone", "rack"), *nodes]


class Following:
    """A state that follows these objects."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.state = ClusterState()
        self.put(*objects)

    def put(self, *objects: dict[str, Any]) -> None:
        for each in objects:
            self.state.put(entry(each))
        self.state.news()

    def decided(self, name: str) -> Verdict:
        """What becomes of a PodGroup now."""
        unit = self.state.units[Key("scheduling.run.ai", "PodGroup", "default", name)]
        assert isinstance(unit, PlaceableWorkload)
        return decide(self.state.engine, self.state.topologies, unit)

    def zones(self, name: str) -> set[str]:
        """The zones in which a PodGroup would be placed now; empty if it would not."""
        outcome = self.decided(name).outcome
        if not isinstance(outcome, Placed):
            return set()
        assert {each.pod for each in outcome.assignments} <= {f"{name}-0", f"{name}-1"}
        return {each.node[0] for each in outcome.assignments}


def test_the_first_chooses_a_domain_in_which_the_others_fit() -> None:
    objects = [*cluster(a=1, b=2), group(FIRST), *pods(FIRST)]
    assert Following(*objects).zones(FIRST) == {"a"}
    assert Following(*objects, group(SECOND), *pods(SECOND)).zones(FIRST) == {"b"}


@pytest.mark.parametrize(
    ("gpus", "zone"),
    [
        pytest.param("4", {"b"}, id="of 4 GPUs each, that do not fit beside the first"),
        pytest.param("0", {"a"}, id="without GPUs, that fit"),
    ],
)
def test_the_first_makes_way_for_pods_that_do_not_exist_yet(gpus: str, zone: set[str]) -> None:
    second = group(SECOND)
    second["metadata"]["annotations"]["closeknit.dev/pod-resources"] = f'{{"nvidia.com/gpu": "{gpus}"}}'

    assert Following(*cluster(a=1, b=2), group(FIRST), *pods(FIRST), second).zones(FIRST) == zone


def test_the_first_makes_way_for_pods_that_a_gate_holds_back() -> None:
    gated = pods(SECOND)
    for each in gated:
        each["spec"]["schedulingGates"] = [{"name": "wait"}]
    # Beside the first, zone a has room for two pods of one GPU, which is what would be assumed.
    nodes = [topology("zone", "rack"), node("a0", 10, zone="a", rack="r"), node("b0", 16, zone="b", rack="r")]

    assert Following(*nodes, group(FIRST), *pods(FIRST), group(SECOND), *gated).zones(FIRST) == {"b"}


def test_the_first_goes_where_as_many_of_the_others_fit_as_possible() -> None:
    """All of them fit into two zones, and into no single one."""
    others = [made for name in (SECOND, THIRD) for made in (group(name), *pods(name))]

    assert Following(*cluster(a=1, b=2), group(FIRST), *pods(FIRST), *others).zones(FIRST) == {"b"}


def test_a_replacement_stays_near_its_own_pods_if_others_run_elsewhere() -> None:
    following = Following(
        *cluster(b=4, c=4), group(FIRST), *pods(FIRST, "c0", "c0"), group(SECOND), *pods(SECOND, "b0")
    )

    assert following.zones(SECOND) == {"b"}


def test_the_first_goes_into_a_domain_that_is_too_small_for_all_if_there_is_no_other() -> None:
    following = Following(*cluster(a=1), group(FIRST), *pods(FIRST), group(SECOND), *pods(SECOND))

    assert following.zones(FIRST) == {"a"}


def test_what_is_reported_of_the_first_does_not_count_the_others() -> None:
    alone = Following(*cluster(b=2), group(FIRST), *pods(FIRST)).decided(FIRST).outcome
    beside = Following(*cluster(b=2), group(FIRST), *pods(FIRST), group(SECOND), *pods(SECOND))
    outcome = beside.decided(FIRST).outcome

    assert isinstance(alone, Placed)
    assert isinstance(outcome, Placed)
    assert (len(outcome.assignments), outcome.wishes.left_out) == (2, 0)
    assert [each.name for each in outcome.groups] == [each.name for each in alone.groups]


def test_the_shortfall_of_the_first_names_none_of_the_others() -> None:
    following = Following(
        *cluster(a=1), group(FIRST, minMember=2), *pods(FIRST, "a0", "gone")[1:], group(SECOND), *pods(SECOND)
    )
    following.put(*(pod(f"first-{i}", FIRST, gpus=8) for i in range(2)))

    outcome = following.decided(FIRST).outcome
    assert not isinstance(outcome, Placed)
    assert SECOND not in repr(outcome)


@pytest.mark.parametrize(
    ("running", "zone"),
    [
        pytest.param({FIRST: ("b0", "b0")}, {"b"}, id="where the first runs"),
        pytest.param({SECOND: ("c0", "c0")}, {"c"}, id="where another runs"),
        pytest.param({FIRST: ("b0",)}, {"b"}, id="where a part of the first runs"),
        pytest.param({FIRST: ("c0", "c0"), SECOND: ("b0",)}, {"c"}, id="where most of them run"),
        pytest.param({FIRST: ("b0", "gone")}, {"b"}, id="where they run on nodes that exist"),
    ],
)
def test_the_others_follow(running: dict[str, tuple[str, ...]], zone: set[str]) -> None:
    others = [made for name in (FIRST, SECOND) for made in (group(name), *pods(name, *running.get(name, ())))]
    following = Following(*cluster(a=1, b=4, c=4), *others, group(THIRD), *pods(THIRD))

    assert following.zones(THIRD) == zone


def test_one_that_is_assumed_to_run_is_followed_at_once() -> None:
    following = Following(*cluster(a=4, b=4), group(FIRST), *pods(FIRST), group(SECOND), *pods(SECOND))
    for i in range(2):
        following.state.assume(Key("", "Pod", "default", f"first-{i}"), "b3")
    following.state.news()

    assert following.zones(SECOND) == {"b"}


def test_one_that_follows_waits_if_the_domain_is_full() -> None:
    following = Following(
        *cluster(a=1, b=4), group(FIRST), *pods(FIRST, "a0", "a0"), group(SECOND), *pods(SECOND)
    )

    assert following.zones(SECOND) == set()


def test_domains_of_one_name_in_different_zones_are_different() -> None:
    nodes = [node(f"{zone}{i}", zone=zone, rack="r") for zone in "ab" for i in range(2)]
    shared: dict[str, Any] = {"level": "rack", "topologyConstraint": together("rack")}
    following = Following(
        topology("zone", "rack"),
        *nodes,
        group(FIRST, **shared),
        *pods(FIRST, "b0", "b0"),
        group(SECOND, **shared),
        *pods(SECOND),
    )

    assert following.zones(SECOND) == {"b"}


@pytest.mark.parametrize(
    "level",
    [pytest.param("row", id="a level that the topology does not have"), pytest.param("", id="no level")],
)
def test_nothing_is_shared_with(level: str) -> None:
    following = Following(
        *cluster(a=1, b=4),
        group(FIRST, level=level),
        *pods(FIRST, "b0", "b0"),
        group(SECOND, level=level),
        *pods(SECOND),
    )

    assert following.zones(SECOND) == {"a"}


def test_pods_that_are_being_deleted_keep_nobody_in_their_domain() -> None:
    leaving = pods(FIRST, "b0", "b0")
    for each in leaving:
        each["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    following = Following(*cluster(a=1, b=4), group(FIRST), *leaving, group(SECOND), *pods(SECOND))

    assert following.zones(SECOND) == {"a"}
