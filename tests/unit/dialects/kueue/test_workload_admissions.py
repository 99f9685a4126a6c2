"""What an admitted Workload holds: places for its pods, and quota of its queue."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.cluster import Holding
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.resources import Resources
from closeknit.hub.shortfall import QuotaExceeded, QuotaScope
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kit import held as held_by
from tests.unit.dialects.kit import reading
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
    cluster_queue,
    flavor,
    job,
    local_queue,
    node,
    queued_pod,
    queues,
    running_pod,
    topology,
    written,
)
from tests.unit.dialects.kueue.workloads import NODES, admission, hosts, pod_set, workload
from tests.unit.dialects.verdicts import decided, places_of

ONE_GPU = Resources({"nvidia.com/gpu": 1})


@pytest.mark.parametrize(
    ("assignment", "held"),
    [
        pytest.param(hosts({"n1": 3, "n3": 1}), {"n1": 3, "n3": 1}, id="slices that name hosts"),
        pytest.param(
            {
                "levels": [HOST],
                "domains": [{"values": ["n1"], "count": 3}, {"values": ["n3"], "count": 1}],
            },
            {"n1": 3, "n3": 1},
            id="domains that name hosts, as in v1beta1",
        ),
        pytest.param(
            {
                "levels": [BLOCK, RACK],
                "slices": [
                    {
                        "domainCount": 1,
                        "valuesPerLevel": [{"universal": "b"}, {"universal": "r2"}],
                        "podCounts": {"universal": 4},
                    }
                ],
            },
            {"n3": 4},
            id="a rack of one node",
        ),
    ],
)
def test_what_was_assigned_is_held(assignment: dict[str, Any], held: dict[str, int]) -> None:
    read = reading(*QUEUES, *NODES, workload(status=admission(assignment)))

    assert [str(problem) for problem in read.problems] == []
    assert sorted(held_by(read), key=lambda each: each.node) == [
        Holding("default/waits", name, ONE_GPU, pods) for name, pods in held.items()
    ]
    (known,) = read.workloads
    assert known.admitted
    assert isinstance(known, PlaceableWorkload)
    (pods,) = known.request.root.pod_sets()
    assert sorted(pods.bound) == sorted(name for name, count in held.items() for _ in range(count))


@pytest.mark.requirement("K59", "K62")
def test_others_find_neither_the_room_nor_the_quota_of_an_admitted_workload() -> None:
    texts = (*queues(quota={"nvidia.com/gpu": 12}), *NODES)
    held = workload(pod_set(8), status=admission(hosts({"n3": 8}), count=8), priority=-5)

    verdicts = decided(*texts, held, job(4, name="a", podset_required_topology=RACK), job(1, name="b"))
    assert places_of(verdicts["a"]) == ["n1"] * 4
    refused = verdicts["b"].outcome
    assert isinstance(refused, Unplaceable)
    assert refused.shortfalls[0].reason == QuotaExceeded(QuotaScope.FLAVOR)


def test_the_admission_of_a_job_holds_places_for_the_pods_that_do_not_run_yet() -> None:
    running = running_pod("n1")
    admitted = workload(owner=("Job", "train"), status=admission(hosts({"n1": 2, "n3": 2})))
    read = reading(*QUEUES, *NODES, running, job(), admitted)

    assert [str(problem) for problem in read.problems] == []
    assert sorted((each.node, each.pods) for each in read.cluster.holdings) == [
        ("n1", 1),
        ("n1", 1),
        ("n3", 2),
    ]
    (known,) = read.workloads
    assert isinstance(known, PlaceableWorkload)
    (pods,) = known.request.root.pod_sets()
    assert sorted(pods.bound) == ["n1", "n1", "n3", "n3"]


def test_the_admission_of_a_group_of_pods_is_known_by_the_groups_name() -> None:
    group = [queued_pod(f"p-{i}", "p", 2) for i in range(2)]
    admitted = workload(pod_set(2), name="p", owner=("Pod", "p-0"), status=admission(hosts({"n3": 2}), 2))
    read = reading(*QUEUES, *NODES, *group, admitted)

    assert [str(problem) for problem in read.problems] == []
    (known,) = read.workloads
    assert (known.object.kind, known.admitted) == ("Pod", True)


def test_an_assignment_to_a_domain_of_several_nodes_is_kept_to() -> None:
    tree = queues(levels=(BLOCK, RACK))
    piece = {
        "domainCount": 2,
        "valuesPerLevel": [{"universal": "b"}, {"individual": {"prefix": "r", "roots": ["1", "2"]}}],
        "podCounts": {"individual": [3, 1]},
    }
    held = workload(status=admission({"levels": [BLOCK, RACK], "slices": [piece]}), priority=-5)
    small = [node("n1", "b", "r1", 2), node("n2", "b", "r1", 2), node("n3", "b", "r2", 8)]

    verdicts = decided(*tree, *small, held, job(1, name="a", podset_required_topology=RACK))
    assert places_of(verdicts["waits"]) == ["n1", "n1", "n2"]


def test_what_is_admitted_keeps_its_flavor_and_its_quota() -> None:
    """Without a topology nobody knows yet where the pods go, but not what they may use."""
    given = (
        topology(), flavor(), flavor("spot"), local_queue(),
        cluster_queue("research", "tas", "spot", quota={"nvidia.com/gpu": 1}),
    )  # fmt: skip
    status = admission(None)
    status["admission"]["podSetAssignments"][0]["flavors"] = {"nvidia.com/gpu": "spot"}

    verdict = decided(*given, *NODES, node("s1", "b", "r3", pool="spot"), workload(status=status))["waits"]
    assert set(places_of(verdict)) == {"s1"}


def test_what_has_its_place_already_is_told_as_such() -> None:
    verdict = decided(*QUEUES, *NODES, workload(status=admission(hosts({"n1": 4}))))["waits"]

    assert isinstance(verdict.outcome, Placed)
    assert verdict.outcome.assignments == ()
    assert [group.pods for group in verdict.outcome.groups] == [4]


def test_what_is_admitted_goes_first_whatever_its_priority() -> None:
    read = reading(*QUEUES, *NODES, workload(priority=-5, status=admission(hosts({"n1": 4}))), job(name="a"))

    assert [each.object.name for each in read.workloads] == ["waits", "a"]


def test_a_held_queue_keeps_what_it_has_admitted() -> None:
    given = queues(stopPolicy="Hold")
    read = reading(*given, *NODES, workload(status=admission(hosts({"n1": 4}))))

    assert [str(problem) for problem in read.problems] == []


def test_what_is_admitted_in_a_circle_of_cohorts_keeps_the_quota_of_its_queue() -> None:
    circle = [written("Cohort", name, {"parentName": other}) for name, other in (("a", "b"), ("b", "a"))]
    given = queues(cohortName="a")
    (admitted,) = reading(*given, *circle, *NODES, workload(status=admission(hosts({"n1": 4})))).workloads
    (option,) = admitted.options

    assert [charge.account.name for charge in option.charges] == [("ClusterQueue research", "flavor tas")]
    assert option.charges[0].account.within is None


def test_pods_whose_node_has_gone_are_placed_again_beside_the_others() -> None:
    asked = pod_set(topologyRequest={"required": RACK})
    gone = workload(asked, status=admission(hosts({"n1": 2, "n9": 2})))
    assert places_of(decided(*QUEUES, *NODES, gone)["waits"]) == ["n1", "n1"]

    sick = {**admission(hosts({"n1": 2, "n2": 2})), "unhealthyNodes": [{"name": "n2"}]}
    read = reading(*QUEUES, *NODES, workload(asked, status=sick))
    assert [(each.node, each.pods) for each in read.cluster.holdings] == [("n1", 2)]


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(
            {**admission(hosts({"n1": 4})), "conditions": [{"type": "QuotaReserved", "status": "False"}]},
            id="quota that was taken back",
        ),
        pytest.param(
            {**admission(hosts({"n1": 4})), "conditions": [{"type": "Evicted", "status": "True"}]},
            id="a workload that must go",
        ),
        pytest.param({}, id="no admission"),
    ],
)
def test_what_is_not_admitted_holds_nothing(status: dict[str, Any]) -> None:
    read = reading(*QUEUES, *NODES, workload(status=status))

    assert read.cluster.holdings == ()
    assert not read.workloads[0].admitted


def test_part_of_a_pod_set_may_have_been_admitted() -> None:
    (read,) = reading(
        *QUEUES, *NODES, workload(pod_set(minCount=1), status=admission(hosts({"n1": 2}), 2))
    ).workloads  # fmt: skip

    assert isinstance(read, PlaceableWorkload)
    assert [(each.count, each.bound) for each in read.request.root.pod_sets()] == [(2, ("n1", "n1"))]
