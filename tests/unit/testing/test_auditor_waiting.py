"""Who waits although there is room, or although others could go; each line of a table is one cluster."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.testing.auditor import Cluster
from closeknit.testing.auditor_waiting import Priorities, Waiting
from tests.unit.scheduler.objects import GPU, node, pod, pod_group, together, topology

NODES = [node(f"n{i}", 4, zone="z", rack=f"r{i // 2}") for i in range(4)]
"""Two racks of two nodes of four GPUs."""
HIGH: dict[str, Any] = {"priorityClassName": "high"}
RACK: dict[str, Any] = {"topologyConstraint": together("rack")}


def waiting(*objects: Any) -> Waiting:
    groups = [each for each in objects if each["kind"] == "PodGroup"]
    for number, each in enumerate(groups):
        each["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{number:02}Z"
    pods = [each for each in objects if each["kind"] == "Pod"]
    cluster = Cluster(NODES, pods, groups, [topology("zone", "rack")])
    return Waiting(cluster, GPU, ("zone", "rack"), Priorities({"high": 75}, usual=0))


def gang(name: str, *on: str, gpus: int = 4, least: int | None = None, **spec: Any) -> list[dict[str, Any]]:
    """A gang with one pod for each node that is named, or for each that is empty and waits."""
    made = pod_group(name, minMember=len(on) if least is None else least, **spec)
    return [made, *(pod(f"{name}-{i}", name, gpus=gpus, on=host) for i, host in enumerate(on))]


def two_parts(name: str, number: int, gpus: int) -> list[dict[str, Any]]:
    """A gang of two subgroups with so many pods, each in a rack."""
    parts = [{"name": part, "minMember": number, **RACK} for part in ("left", "right")]
    pods = [
        pod(f"{name}-{part}-{i}", name, gpus=gpus, subgroup=part)
        for part in ("left", "right")
        for i in range(number)
    ]
    return [pod_group(name, subGroups=parts), *pods]


BUSY = gang("busy", "n0", "n2")
HALVES = gang("half", "n0", "n1", "n2", "n3", gpus=2)


@pytest.mark.parametrize(
    ("objects", "names"),
    [
        pytest.param(gang("g", "", "", **RACK), ["g"], id="a rack is free"),
        pytest.param([*BUSY, *gang("g", "", "", **RACK)], [], id="each rack has one node left"),
        pytest.param([*BUSY, *gang("g", "", "")], ["g"], id="two nodes are left, and no rack is required"),
        pytest.param(gang("g", "", least=2), [], id="a pod is missing"),
        pytest.param(gang("g", "n0", "", "", least=1, **RACK), ["g"], id="one more fits where it runs"),
        pytest.param(
            [*gang("x", "n1"), *gang("g", "n0", "", least=1, **RACK)],
            [],
            id="its own rack has no room for more",
        ),
        pytest.param(two_parts("g", 2, 4), ["g"], id="a rack for each of two parts"),
        pytest.param([*gang("x", "n0"), *two_parts("g", 2, 4)], [], id="one rack for two parts"),
        pytest.param(
            [*gang("x", "n0", "n1"), *two_parts("g", 2, 2)], ["g"], id="one rack with room for both parts"
        ),
    ],
)
def test_who_is_overlooked(objects: list[dict[str, Any]], names: list[str]) -> None:
    assert list(waiting(*objects).overlooked()) == names


@pytest.mark.parametrize(
    ("objects", "reserving", "names"),
    [
        pytest.param([*BUSY, *gang("a", "", "", **RACK), *gang("b", "")], False, ["b"], id="not by default"),
        pytest.param(
            [*BUSY, *gang("a", "", "", **RACK), *gang("b", "")], True, [], id="where a place is kept"
        ),
        pytest.param(
            [*BUSY, *gang("b", ""), *gang("a", "", "", priorityClassName="high", **RACK)],
            False,
            [],
            id="where others go for it",
        ),
        pytest.param(
            [*BUSY, *gang("more", "n1", "", least=1), *gang("a", "", "", **RACK)],
            True,
            [],
            id="who has its minimum comes after all who lack theirs",
        ),
        pytest.param(
            [*HALVES, *gang("a", ""), *gang("b", "", gpus=2)],
            True,
            ["b"],
            id="not where it fits whichever node is kept",
        ),
        pytest.param(
            [*HALVES, *gang("a", "", ""), *gang("b", *3 * [""], gpus=2)],
            True,
            [],
            id="where it fits only on nodes that may be kept",
        ),
        pytest.param(
            [*BUSY, *gang("never", *3 * [""], **RACK), *gang("b", "")],
            True,
            ["b"],
            id="not after one that fits on no empty cluster, for which nothing is kept",
        ),
    ],
)
def test_who_comes_after_one_that_is_blocked(
    objects: list[dict[str, Any]], *, reserving: bool, names: list[str]
) -> None:
    assert list(waiting(*objects).overlooked(reserving=reserving)) == names


@pytest.mark.parametrize(
    ("objects", "names"),
    [
        pytest.param([*BUSY, *gang("g", "", "", **HIGH, **RACK)], ["g"], id="one of higher priority"),
        pytest.param([*BUSY, *gang("g", "", "", **RACK)], [], id="not one of equal priority"),
        pytest.param([*BUSY, *gang("g", "", **HIGH)], [], id="not one for which there is room"),
        pytest.param(
            [*BUSY, *gang("a", "", "", **RACK), *gang("g", "")],
            [],
            id="not one that waits beside room that is kept, and nobody of lower priority runs",
        ),
        pytest.param(
            [*HALVES, *gang("a", "", **HIGH), *gang("g", "", **HIGH)], ["a", "g"], id="two, each elsewhere"
        ),
        pytest.param(
            [*HALVES, *gang("a", "", "", "", **HIGH), *gang("g", "", "", **HIGH)],
            ["a"],
            id="not one whose place may be kept for another before it",
        ),
    ],
)
def test_who_could_displace_others(objects: list[dict[str, Any]], names: list[str]) -> None:
    assert list(waiting(*objects).could_displace(reserving=True)) == names
