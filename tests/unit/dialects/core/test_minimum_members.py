"""Pods of one leaf that differ in shape: any ``minMember`` of them will do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import combinations
from random import Random
from typing import Any

import pytest

from closeknit.dialects import group_of
from closeknit.dialects.core import minimum_members as crews
from closeknit.dialects.core.minimum_members import FEW, MOST_CHOICES
from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import PlaceableWorkload
from tests import brute
from tests.unit.dialects.kit import node, pod, pod_group, reading, request, unseen

BIG, SMALL, OTHER = (8, 1), (1, 1), (1, 9)
"""GPUs and CPUs of a pod: the small one is easier to place than both others, of which neither is."""


def asked(shape: tuple[int, int]) -> Resources:
    gpus, cpus = shape
    return Resources.parse({"nvidia.com/gpu": gpus, "cpu": cpus})


def shaped(name: str, shape: tuple[int, int], subgroup: str = "", **spec: Any) -> str:
    requests = {"nvidia.com/gpu": shape[0], "cpu": shape[1]}
    containers = [{"name": "main", "resources": {"requests": requests}}]
    return pod(name, "g", subgroup, containers=containers, **spec)


def machine(name: str, gpus: int, cpus: int = 100) -> str:
    return node(name, **{"nvidia.com/gpu": str(gpus), "cpu": str(cpus)})


def gang(least: int, shapes: Iterable[tuple[int, int]], *nodes: str) -> tuple[Cluster, Request]:
    """A PodGroup of pods ``w-0``, ``w-1`` and so on that ask for this."""
    found = reading(
        *nodes,
        pod_group({"minMember": least}),
        *(shaped(f"w-{i}", shape) for i, shape in enumerate(shapes)),
    )
    assert [str(problem) for problem in found.problems] == []
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    return found.cluster, unseen(workload.request)


def one(name: str, pod_name: str, shape: tuple[int, int]) -> PodSet:
    return PodSet(name, 1, asked(shape), pods=(pod_name,))


def test_the_pods_that_are_easier_to_place_are_those_that_must_run() -> None:
    _, found = gang(2, [BIG, SMALL, BIG])

    assert found.root == Group(
        "default/g",
        (
            PodSet("default/1", 2, asked(BIG), minimum=1, pods=("w-0", "w-2")),
            one("default/2", "w-1", SMALL),
        ),
    )


def test_pods_of_which_none_is_easier_are_counted_one_by_one() -> None:
    _, found = gang(2, [BIG, OTHER, BIG])

    assert found.root == Group(
        "default/g",
        (one("default/1", "w-0", BIG), one("default/2", "w-1", OTHER), one("default/3", "w-2", BIG)),
        minimum=2,
    )


def test_pods_beyond_what_any_choice_needs_stay_together() -> None:
    _, found = gang(1, [BIG, OTHER, BIG, BIG])

    assert found.root == Group(
        "default/g",
        (
            one("default/1", "w-0", BIG),
            one("default/2", "w-1", OTHER),
            PodSet("default/3", 2, asked(BIG), minimum=0, pods=("w-2", "w-3")),
        ),
        minimum=2,
    )


def test_of_a_large_leaf_only_those_that_can_stand_in_for_each_other_are_counted_one_by_one() -> None:
    workers = [f"w-{i}" for i in range(1, 41)]
    _, found = gang(38, [BIG, *(OTHER for _ in workers)])

    assert found.root == Group(
        "default/g",
        (
            PodSet("default/1", 39, asked(OTHER), minimum=37, pods=(*workers[:37], *workers[38:])),
            Group(
                "default/any-1-of-2",
                (one("default/2", "w-0", BIG), one("default/3", "w-38", OTHER)),
                minimum=1,
            ),
        ),
    )
    assert {group_of(pods.name) for pods in found.root.pod_sets()} == {"default"}


def test_running_pods_count_and_their_sets_are_there_already() -> None:
    given = [shaped("w-0", BIG), shaped("w-1", OTHER), shaped("w-2", OTHER, nodeName="n")]
    found = request(machine("n", 8), pod_group({"minMember": 2}), *given)

    assert found.root == Group(
        "default/g",
        (
            PodSet("default/1", 1, asked(OTHER), bound=("n",)),
            one("default/2", "w-0", BIG),
            one("default/3", "w-1", OTHER),
        ),
        minimum=2,
    )


@pytest.mark.parametrize(
    ("least", "shapes"),
    [
        pytest.param(3, [OTHER, BIG, OTHER], id="where all must run, nothing is chosen"),
        pytest.param(0, [OTHER, BIG, OTHER], id="where none must run, nothing is chosen"),
        pytest.param(2, [BIG, BIG, BIG], id="where all are alike, nothing is chosen"),
        pytest.param(2, [BIG, OTHER, SMALL, SMALL], id="where enough are the easiest, nothing is chosen"),
        pytest.param(2, [SMALL, SMALL, (8, 9)], id="where the hardest is not needed, nothing is chosen"),
    ],
)
def test_where_nothing_is_chosen_there_is_one_pod_set_for_each_shape(
    least: int, shapes: list[tuple[int, int]]
) -> None:
    _, found = gang(least, shapes)

    assert len(found.root.members) == len(set(shapes))
    assert found.root.minimum is None
    assert sum(pods.least for pods in found.root.pod_sets()) == least


@pytest.mark.parametrize(
    "harder",
    [
        pytest.param({"nodeSelector": {"zone": "a"}}, id="a node selector"),
        pytest.param({"tolerations": [{"operator": "Exists"}]}, id="a toleration"),
    ],
)
def test_pods_for_different_nodes_are_never_the_easier_ones(harder: dict[str, Any]) -> None:
    found = request(pod_group({"minMember": 1}), shaped("w-0", SMALL), shaped("w-1", BIG, **harder))

    assert [pods.pods for pods in found.root.pod_sets()] == [("w-0",), ("w-1",)]
    assert found.root.minimum == 1


def test_a_pod_that_needs_a_port_is_not_easier_than_one_that_needs_none() -> None:
    with_port = json.loads(shaped("w-0", SMALL))
    with_port["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    found = request(pod_group({"minMember": 1}), json.dumps(with_port), shaped("w-1", BIG))

    assert [pods.pods for pods in found.root.pod_sets()] == [("w-0",), ("w-1",)]
    assert found.root.minimum == 1


def test_a_pod_that_is_harder_to_place_than_all_others_is_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "FEW", 0)
    _, found = gang(1, [(8, 9), BIG, OTHER])

    assert found.root.members == (
        PodSet("default/1", 1, asked((8, 9)), minimum=0, pods=("w-0",)),
        one("default/2", "w-1", BIG),
        one("default/3", "w-2", OTHER),
    )
    assert found.root.minimum == 2


@pytest.mark.parametrize("shape", [SMALL, OTHER], ids=["an easier one", "another one"])
def test_a_gang_whose_first_pod_fits_nowhere_is_placed_with_the_others(shape: tuple[int, int]) -> None:
    cluster, found = gang(2, [BIG, shape, shape, shape], machine("n", 2))

    placed = Engine(cluster).solve(found)

    assert isinstance(placed, Placed)
    assert [each.pod for each in placed.assignments] == ["w-1", "w-2"]
    assert placed.wishes.left_out == 2
    assert [group.name for group in placed.groups] == ["default/g"]


@pytest.mark.parametrize("shape", [SMALL, OTHER], ids=["an easier one", "another one"])
def test_a_gang_that_no_choice_of_pods_saves_is_told_by_its_own_name(shape: tuple[int, int]) -> None:
    cluster, found = gang(3, [BIG, shape, shape, shape], machine("n", 2))

    refused = Engine(cluster).solve(found)

    assert isinstance(refused, Unplaceable)
    assert [(short.group, short.wanted, short.fits) for short in refused.shortfalls] == [("default/g", 3, 2)]


def test_a_subgroup_chooses_among_its_own_pods() -> None:
    spec = {"subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 1}]}
    given = [
        shaped("a-0", BIG, "a"),
        shaped("a-1", OTHER, "a"),
        shaped("b-0", BIG, "b"),
        shaped("b-1", BIG, "b"),
    ]

    found = request(pod_group(spec), *given)

    assert found.root.members == (
        Group("a", (one("a/1", "a-0", BIG), one("a/2", "a-1", OTHER)), minimum=1),
        Group("b", (PodSet("b/1", 2, asked(BIG), minimum=1, pods=("b-0", "b-1")),)),
    )


@pytest.mark.parametrize("few", [FEW, 0], ids=["plain trees", "trees with a group for the choice"])
@pytest.mark.parametrize("seed", range(40))
def test_as_many_pods_run_as_the_best_choice_of_pods_allows(
    seed: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against every choice of pods, each tried as a gang of its own."""
    monkeypatch.setattr(crews, "FEW", few)
    rng = Random(seed)
    shapes = [(rng.randint(0, 3), rng.randint(0, 3)) for _ in range(rng.randint(2, 5))]
    least = rng.randint(0, len(shapes))
    nodes = [machine(f"n{i}", rng.randint(0, 4), rng.randint(0, 4)) for i in range(rng.randint(1, 3))]
    cluster, found = gang(least, shapes, *nodes)
    most = max(size for size in range(len(shapes) + 1) if _fits(cluster, found, shapes, size))

    placed = Engine(cluster).solve(found)

    assert brute.feasible(cluster, found) == (most >= least)
    assert isinstance(placed, Placed) == (most >= least)
    if isinstance(placed, Placed):
        assert len(placed.assignments) == most


def _fits(cluster: Cluster, request: Request, shapes: Sequence[tuple[int, int]], size: int) -> bool:
    """Whether some choice of so many pods can run all at once."""
    choices = (
        Group("all", tuple(PodSet(str(i), 1, asked(shapes[i])) for i in chosen))
        for chosen in combinations(range(len(shapes)), size)
    )
    return any(brute.feasible(cluster, replace(request, root=choice)) for choice in choices)


@pytest.mark.parametrize("least", [1, 30, 63, 64, 65, 100, 150, 199])
@pytest.mark.parametrize("shapes", [(BIG, OTHER), (BIG, OTHER, SMALL), (BIG, BIG, BIG, OTHER)], ids=str)
def test_however_many_pods_there_are_few_are_counted_one_by_one_and_no_fewer_run(
    least: int, shapes: tuple[tuple[int, int], ...]
) -> None:
    _, found = gang(least, [shapes[i % len(shapes)] for i in range(200)])
    groups = [group for group, _ in found.root.walk() if isinstance(group, Group)]
    sets = list(found.root.pod_sets())
    # A set that needs no pod counts as a member, but not as a pod.
    at_once = sum(
        group.least - sum(isinstance(member, Group) or member.least == 0 for member in group.members)
        if group.minimum is not None
        else sum(member.least for member in group.members if isinstance(member, PodSet))
        for group in groups
    )

    assert at_once == least
    assert sum(pods.count for pods in sets) == 200
    assert len(sets) <= MOST_CHOICES + len(set(shapes))


@pytest.mark.parametrize("name", ["1", "2", "any-1-of-2"])
def test_a_pod_group_may_be_called_as_its_pods_would_be(name: str) -> None:
    given = [shaped(f"w-{i}", OTHER if i else BIG).replace('"g"', f'"{name}"') for i in range(41)]

    assert request(pod_group({"minMember": 38}, name=name), *given).root.name == f"default/{name}"
    assert request(pod_group({"minMember": 2}, name=name)).root.name == f"default/{name}"
