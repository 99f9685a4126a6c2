"""What is known to go wrong in Kueue, said in its own manifests, and how it goes here."""

from __future__ import annotations

import json

import pytest

from closeknit.engine import Engine
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.sentences import kueue
from closeknit.hub.shortfall import NoDomain
from closeknit.scheduler.planning import AnyVerdict, plan
from tests.kit.problems import finding
from tests.unit.dialects.kit import reading, reported
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
    cluster_queue,
    job,
    job_set,
    node,
    queues,
    replicated,
    running_pod,
)
from tests.unit.dialects.kueue.problems import TEMPLATE, annotation


def decided(*texts: str) -> AnyVerdict:
    read = reading(*texts)
    assert [str(problem) for problem in read.problems] == []
    (verdict,) = plan(Engine(read.cluster), read.cluster, read.workloads)
    return verdict


def where(verdict: AnyVerdict) -> dict[str, set[str]]:
    """The nodes of each pod set."""
    assert isinstance(verdict.outcome, Placed)
    found: dict[str, set[str]] = {}
    for each in verdict.outcome.assignments:
        found.setdefault(each.pod_set.partition("/")[0], set()).add(each.node)
    return found


def test_pod_sets_are_placed_together_whatever_their_order() -> None:
    """Racks of 5 and 4, pod sets of 2, 4 and 3: taken in the order of the spec, the third finds no rack."""
    sets = job_set(
        *(replicated(name, 1, count, podset_required_topology=RACK) for name, count in (("a", 2), ("b", 4), ("c", 3)))
    )  # fmt: skip
    placed = where(decided(*QUEUES, node("five", "b", "r5", 5), node("four", "b", "r4", 4), sets))

    assert placed == {"a": {"five"}, "b": {"four"}, "c": {"five"}}


def test_pods_without_gpus_leave_the_only_gpus_to_those_that_need_them() -> None:
    queue = cluster_queue(quota={"cpu": 99, "nvidia.com/gpu": 99})
    host = json.loads(node("gpu", "b", "r1", 2))
    host["status"]["allocatable"]["cpu"] = 2
    plain = json.loads(node("cpu", "b", "r2", 0))
    plain["status"]["allocatable"]["cpu"] = 4
    launcher = replicated("launcher", 1, 2, podset_required_topology=RACK)
    worker = replicated("worker", 1, 2, podset_required_topology=RACK)
    containers = [launcher["template"]["spec"], worker["template"]["spec"]]
    for spec, amounts in zip(containers, ({"cpu": 1}, {"cpu": 1, "nvidia.com/gpu": 1}), strict=True):
        spec["template"]["spec"]["containers"][0]["resources"] = {"limits": amounts}
    texts = (*queues(queue), json.dumps(host), json.dumps(plain))

    assert where(decided(*texts, job_set(launcher, worker))) == {"launcher": {"cpu"}, "worker": {"gpu"}}


@pytest.mark.requirement("K120")
def test_a_pod_never_gets_the_sum_of_two_nodes() -> None:
    """With racks as the lowest level, Kueue adds up the nodes of a rack and admits what fits on none of them."""
    texts = queues(levels=(BLOCK, RACK))
    verdict = decided(*texts, node("n1", "b", "r", 1), node("n2", "b", "r", 1), job(1, gpus=2))

    assert isinstance(verdict.outcome, Unplaceable)


def test_a_leader_is_placed_by_its_own_selector() -> None:
    jobs = job_set(
        replicated("leader", 1, 1, pod={"nodeSelector": {"head": "yes"}}, podset_required_topology=RACK, podset_group_name="g"),
        replicated("workers", 1, 2, podset_required_topology=RACK, podset_group_name="g"),
    )  # fmt: skip
    hosts = (node("x1", "b", "r"), node("x2", "b", "r", head="yes"))

    assert where(decided(*QUEUES, *hosts, jobs))["leader"] == {"x2"}


def test_a_leader_that_is_too_large_is_not_told_that_all_pods_fit() -> None:
    """Kueue says that 4 out of 4 pods fit, and refuses."""
    jobs = job_set(
        replicated("leader", 1, 1, gpus=9, podset_required_topology=RACK, podset_group_name="g"),
        replicated("workers", 1, 4, podset_required_topology=RACK, podset_group_name="g"),
    )
    outcome = decided(*QUEUES, node("x1", "b", "r"), jobs).outcome

    assert isinstance(outcome, Unplaceable)
    assert all(shortfall.fits < shortfall.wanted for shortfall in outcome.shortfalls)


def test_twenty_pods_take_ten_and_ten_rather_than_nineteen_and_one() -> None:
    hosts = [
        node(name, "b", rack, size) for name, rack, size in (("a", "1", 19), ("b", "2", 10), ("c", "3", 10))
    ]
    placed = decided(*QUEUES, *hosts, job(20, podset_preferred_topology=RACK))

    assert len(where(placed)["main"]) == 2


def test_an_unconstrained_launcher_leaves_the_only_gpu_node_to_the_worker() -> None:
    """Kueue fills the node with the least room first, which is the only one that the worker could use."""
    queue = cluster_queue(quota={"cpu": 99, "nvidia.com/gpu": 99})
    small, large = json.loads(node("gpu", "b", "r1", 1)), json.loads(node("cpu", "b", "r2", 0))
    small["status"]["allocatable"]["cpu"], large["status"]["allocatable"]["cpu"] = 1, 4
    jobs = [replicated(name, 1, 1, podset_unconstrained_topology="true") for name in ("launcher", "worker")]
    for each, amounts in zip(jobs, ({"cpu": 1}, {"cpu": 1, "nvidia.com/gpu": 1}), strict=True):
        each["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": amounts}
    texts = (*queues(queue), json.dumps(small), json.dumps(large))

    assert where(decided(*texts, job_set(*jobs))) == {"launcher": {"cpu"}, "worker": {"gpu"}}


@pytest.mark.parametrize(
    ("asked", "hosts"),
    [
        pytest.param(
            job(4, podset_required_topology=RACK), {"a0", "a1", "a2", "a3"}, id="a rack: the tightest one"
        ),
        pytest.param(job(4, podset_preferred_topology=HOST), {"b"}, id="a host, preferred"),
    ],
)
def test_one_host_that_takes_all_pods_is_better_than_four_if_the_job_names_hosts(
    asked: str, hosts: set[str]
) -> None:
    """Kueue takes the rack with the least room, and four hosts of it."""
    nodes = [node(f"a{i}", "b", "ra", 1) for i in range(4)]

    assert where(decided(*QUEUES, *nodes, node("b", "b", "rb", 5), asked)) == {"main": hosts}


def test_pods_of_two_sets_share_a_block_where_one_has_room_for_both() -> None:
    """Kueue fills the tightest block with the first, and has to go elsewhere with the second."""
    hosts = (node("small", "b1", "r1", 2), node("large", "b2", "r2", 4))
    sets = job_set(*(replicated(name, 1, 2, podset_required_topology=BLOCK) for name in ("a", "b")))

    assert where(decided(*QUEUES, *hosts, sets)) == {"a": {"large"}, "b": {"large"}}


def test_a_lost_node_is_replaced_beside_the_others_although_that_is_only_preferred() -> None:
    """Kueue takes the tightest host, in another block."""
    running = running_pod("kept")
    hosts = (node("kept", "b1", "r1", 1), node("near", "b1", "r1", 2), node("far", "b2", "r2", 1))

    placed = where(decided(*QUEUES, *hosts, running, job(2, podset_preferred_topology=RACK)))
    assert placed == {"main": {"near"}}


def test_every_pod_of_a_sliced_set_has_a_place_or_the_size_is_refused() -> None:
    """Kueue admits five pods in slices of two, and the fifth waits for ever."""
    asking = job(5, podset_slice_required_topology=RACK, podset_slice_size="2")

    assert reported(*QUEUES, asking) == [
        finding(
            kueue.PODS_LEFT_OVER, f"5:{annotation(TEMPLATE, 'podset-slice-size')}", left=1, pods=5, size=2
        )
    ]


def test_nested_slices_are_all_placed() -> None:
    """Balanced placement returned empty or short assignments for some of these."""
    hosts = [node(f"h{i}", "b", f"r{i}", 3) for i in range(4)]
    layers = json.dumps([{"topology": RACK, "size": 3}, {"topology": HOST, "size": 1}])
    verdict = decided(
        *QUEUES,
        *hosts,
        job(12, podset_preferred_topology=BLOCK, podset_slice_required_topology_constraints=layers),
    )

    assert isinstance(verdict.outcome, Placed)
    assert len(verdict.outcome.assignments) == 12


def test_a_refusal_names_level_and_domain_and_what_would_help() -> None:
    """Kueue tells the best domain's count alone, and only the first pod set that fails."""
    sets = job_set(*(replicated(name, 1, 3, podset_required_topology=RACK) for name in ("a", "b")))
    outcome = decided(*QUEUES, node("x1", "b", "r1", 2), node("x2", "b", "r2", 2), sets).outcome

    assert isinstance(outcome, Unplaceable)
    assert {shortfall.group for shortfall in outcome.shortfalls} >= {"a", "b"}
    for shortfall in outcome.shortfalls:
        if shortfall.group in ("a", "b"):
            assert (shortfall.reason, shortfall.wanted, shortfall.fits) == (NoDomain(RACK), 3, 2)
            assert {fit.domain for fit in shortfall.best} == {("b", "r1"), ("b", "r2")}


def test_two_nodes_that_fail_at_once_are_both_replaced() -> None:
    """Kueue evicts the whole workload at the second."""
    status = {
        "admission": {
            "clusterQueue": "research",
            "podSetAssignments": [
                {
                    "name": "main",
                    "flavors": {"nvidia.com/gpu": "tas"},
                    "topologyAssignment": {
                        "levels": [HOST],
                        "domains": [{"values": [name], "count": 1} for name in ("x1", "x2", "x3")],
                    },
                }
            ],
        }
    }
    template = json.loads(job(3))["spec"]["template"]
    pod_set = {"name": "main", "count": 3, "template": template, "topologyRequest": {"required": RACK}}
    workload = json.dumps(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "Workload",
            "metadata": {"name": "w"},
            "spec": {"queueName": "team", "podSets": [pod_set]},
            "status": status,
        }
    )
    left = (node("x1", "b", "r", 1), node("x4", "b", "r", 2), node("y", "b", "r2", 8))

    assert where(decided(*QUEUES, *left, workload)) == {"main": {"x4"}}
