"""What is known to go wrong in Kueue, said in its own manifests, and how it goes here."""

from __future__ import annotations

import json

from closeknit.cli.planning import Verdict, plan
from closeknit.engine import Engine
from closeknit.hub.outcome import Placed, Unplaceable
from tests.unit.dialects.kit import reading
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    QUEUES,
    RACK,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    node,
    replicated,
    topology,
)


def decided(*texts: str) -> Verdict:
    read = reading(*texts)
    assert [str(problem) for problem in read.problems] == []
    (verdict,) = plan(Engine(read.cluster), read.cluster, read.workloads)
    return verdict


def where(verdict: Verdict) -> dict[str, set[str]]:
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
    texts = (topology(), flavor(), queue, local_queue(), json.dumps(host), json.dumps(plain))

    assert where(decided(*texts, job_set(launcher, worker))) == {"launcher": {"cpu"}, "worker": {"gpu"}}


def test_a_pod_never_gets_the_sum_of_two_nodes() -> None:
    """With racks as the lowest level, Kueue adds up the nodes of a rack and admits what fits on none of them."""
    texts = (topology("tree", BLOCK, RACK), flavor(), cluster_queue(), local_queue())
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
