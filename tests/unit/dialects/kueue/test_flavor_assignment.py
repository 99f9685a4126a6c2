"""Which flavor a workload is tried on, and in which order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.outcome import Unplaceable
from tests.unit.dialects.kueue.kit import (
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
    written,
)
from tests.unit.dialects.kueue.quotas import NODES, placed_pods
from tests.unit.dialects.verdicts import decided, nodes_of

TWO = (topology(), flavor(), flavor("spot"), cluster_queue("research", "tas", "spot"), local_queue())


def quota_of(**flavors: int) -> dict[str, Any]:
    """A group of resources with quota for GPUs of several flavors, in the order in which they are tried."""
    given = [
        {"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": amount}]}
        for name, amount in flavors.items()
    ]
    return {"coveredResources": ["nvidia.com/gpu"], "flavors": given}


def test_flavors_are_tried_in_order() -> None:
    assert nodes_of(decided(*TWO, *NODES, job(2))["train"]) == {"n1"}


def test_the_next_flavor_is_tried_where_the_first_has_no_room() -> None:
    """Kueue stays with the flavor that has quota, and the workload pends for ever."""
    verdicts = decided(*TWO, *NODES, job(16, name="a"), job(8, name="b", podset_required_topology=RACK))

    assert nodes_of(verdicts["a"]) == {"n1", "n2"}
    assert nodes_of(verdicts["b"]) == {"s1"}


def test_the_next_flavor_is_tried_where_the_first_has_no_quota() -> None:
    queue = written("ClusterQueue", "research", {"resourceGroups": [quota_of(tas=4, spot=8)]})
    texts = (topology(), flavor(), flavor("spot"), queue, local_queue(), *NODES)

    assert nodes_of(decided(*texts, job(8))["train"]) == {"s1"}
    verdict = decided(*texts, job(9))["train"]
    assert isinstance(verdict.outcome, Unplaceable)
    (shortfall,) = verdict.outcome.shortfalls
    assert [fit.domain[1] for fit in shortfall.best] == ["flavor spot", "flavor tas"]


def test_a_node_selector_chooses_the_flavor() -> None:
    assert nodes_of(decided(*TWO, *NODES, job(2, pod={"nodeSelector": {"pool": "spot"}}))["train"]) == {"s1"}


def test_pod_sets_may_use_different_flavors() -> None:
    text = job_set(replicated("a", 1, 2), replicated("b", 1, 2, pod={"nodeSelector": {"pool": "spot"}}))

    assert nodes_of(decided(*TWO, *NODES, text)["set"]) == {"n1", "s1"}


@pytest.mark.requirement("K30")
def test_nodes_without_all_labels_of_the_topology_are_not_used() -> None:
    bare = json.loads(node("n9", "b", "r9"))
    del bare["metadata"]["labels"]["example.com/rack"]

    verdict = decided(*QUEUES, json.dumps(bare), job(1))["train"]
    assert isinstance(verdict.outcome, Unplaceable)


def test_what_runs_on_one_flavor_is_not_moved_to_another() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    container = {"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    running = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "train-0-x", "ownerReferences": [owner]},
            "spec": {"nodeName": "s1", "containers": [container]},
        }
    )

    assert nodes_of(decided(*TWO, *NODES, running, job(2))["train"]) == {"s1"}


def test_the_next_flavor_is_tried_for_all_pods_before_part_of_them_is_admitted() -> None:
    queue = written("ClusterQueue", "research", {"resourceGroups": [quota_of(tas=4, spot=6)]})
    texts = (topology(), flavor(), flavor("spot"), queue, local_queue(), *NODES)

    whole = decided(*texts, job(6, own={"job-min-parallelism": "1"}))["train"]
    assert (nodes_of(whole), placed_pods(whole)) == ({"s1"}, 6)
    part = decided(*texts, job(8, own={"job-min-parallelism": "1"}))["train"]
    assert (nodes_of(part), placed_pods(part)) == ({"s1"}, 6)


@pytest.mark.parametrize(
    ("fungibility", "nodes"),
    [
        pytest.param({}, {"n1"}, id="the first flavor that has quota, borrowed or not"),
        pytest.param({"whenCanBorrow": "MayStopSearch"}, {"n1"}, id="the same in today's word"),
        pytest.param({"whenCanBorrow": "Borrow"}, {"n1"}, id="the same in the earlier word"),
        pytest.param({"whenCanBorrow": "TryNextFlavor"}, {"s1"}, id="the next flavor before borrowing"),
    ],
)
def test_flavors_and_borrowing(fungibility: dict[str, str], nodes: set[str]) -> None:
    own = {"cohortName": "all", "resourceGroups": [quota_of(tas=2, spot=8)], "flavorFungibility": fungibility}
    texts = (
        topology(), flavor(), flavor("spot"), written("ClusterQueue", "research", own), local_queue(),
        cluster_queue("other", quota={"nvidia.com/gpu": 8}, cohortName="all"), *NODES,
    )  # fmt: skip

    assert nodes_of(decided(*texts, job(4))["train"]) == nodes
    assert nodes_of(decided(*texts, job(2))["train"]) == {"n1"}


def test_where_every_flavor_must_borrow_the_first_is_taken() -> None:
    texts = (
        topology(), flavor(), flavor("spot"),
        cluster_queue("research", "tas", "spot", quota={"nvidia.com/gpu": 1}, cohortName="all",
                      flavorFungibility={"whenCanBorrow": "TryNextFlavor"}),
        cluster_queue("other", "tas", "spot", quota={"nvidia.com/gpu": 8}, cohortName="all"), local_queue(), *NODES,
    )  # fmt: skip

    assert nodes_of(decided(*texts, job(4))["train"]) == {"n1"}
