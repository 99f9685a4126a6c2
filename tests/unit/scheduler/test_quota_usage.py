"""Queues are charged for pods, from when these are assumed to be bound until their eviction is accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.keys import Key
from closeknit.hub.quota import Account
from closeknit.hub.resources import Resources
from closeknit.scheduler.changes import QuotaChanged
from closeknit.scheduler.cluster_state import ClusterState
from tests.unit.dialects.kai.owned import job_set, replicated
from tests.unit.scheduler.living import living
from tests.unit.scheduler.objects import GPU, entry, node, of_set, pod, pod_group, queue

LIMITED = {"quota": 2, "limit": 2}


def state_of(*objects: dict[str, Any]) -> ClusterState:
    state = ClusterState()
    for each in objects:
        state.put(entry(each))
    state.news()
    return state


def gpus_used(state: ClusterState, name: str = "q") -> int:
    return state.usage.accounts.used(Account((f"Queue {name}",), Resources()), GPU)


def released(state: ClusterState) -> set[tuple[str, ...]]:
    """The accounts that were given something back since the last look."""
    changes = state.news().changes
    return {name for change in changes if isinstance(change, QuotaChanged) for name in change.accounts}


GANG = (node("n1"), queue("q", gpu=LIMITED), pod_group("g", minMember=2, queue="q"))


@pytest.mark.parametrize(
    ("fields", "used"),
    [
        pytest.param({"on": "n1"}, 2, id="a pod that runs"),
        pytest.param({"on": "gone"}, 2, id="a pod on a node that is not there"),
        pytest.param({}, 1, id="a pod that waits"),
        pytest.param({"on": "n1", "phase": "Succeeded"}, 1, id="a pod that has succeeded"),
        pytest.param({"on": "n1", "phase": "Failed"}, 1, id="a pod that has failed"),
        pytest.param(
            {"on": "n1", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
            1,
            id="a pod that is being deleted",
        ),
        pytest.param({"on": "n1", "subgroup": "none-such"}, 2, id="a pod that makes its gang invalid"),
    ],
)
def test_a_queue_is_charged_for(fields: dict[str, Any], used: int) -> None:
    assert gpus_used(state_of(*GANG, pod("p1", "g", on="n1"), pod("p2", "g", **fields))) == used


def test_a_pod_that_is_being_deleted_uses_its_node_and_no_quota() -> None:
    leaving = pod("p2", "g", on="n1", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    state = state_of(*GANG, pod("p1", "g", on="n1"), leaving)

    assert len(list(state.all_holdings())) == 2
    assert gpus_used(state) == 1


def test_an_accepted_eviction_releases_quota_before_the_server_reports_it() -> None:
    state = state_of(*GANG, pod("p1", "g", on="n1"), pod("p2", "g", on="n1"))
    state.evicted(Key("", "Pod", "default", "p2"), "uid-of-another")
    assert (gpus_used(state), released(state)) == (2, set())

    state.evicted(Key("", "Pod", "default", "p2"), "uid-p2")

    assert gpus_used(state) == 1
    assert released(state) == {("Queue q",), ("the cluster",)}


def test_usage_that_is_left_out_of_a_decision_is_not_reported_as_given_back() -> None:
    state = state_of(*GANG, pod("p1", "g", on="n1"), pod("p2", "g", on="n1"))
    released(state)
    with state.without_usage([Key("", "Pod", "default", "p1")]):
        assert gpus_used(state) == 1

    assert gpus_used(state) == 2
    assert released(state) == set()


def test_a_gang_without_pods_uses_nothing() -> None:
    state = state_of(*GANG, pod("p1", "g", on="n1"), pod("p2", "g", on="n1"))
    for name in ("p1", "p2"):
        state.remove(Key("", "Pod", "default", name))

    assert gpus_used(state) == 0
    assert ("Queue q",) in released(state)


def test_pods_of_all_jobs_of_a_job_set_are_charged_to_its_queue() -> None:
    owner = json.loads(job_set(replicated("a", 2, 1)))
    owner["metadata"] |= {"namespace": "default", "uid": "u", "labels": {"kai.scheduler/queue": "q"}}

    state = state_of(node("n"), queue("q", gpu=LIMITED), owner, *(of_set(f"p{i}", i) for i in range(2)))

    assert gpus_used(state) == 2


def test_who_is_let_out_of_a_queue_gives_room_to_those_beside_it() -> None:
    """The parent of a queue that moves is given back what that queue uses."""
    state = state_of(
        queue("all", gpu=LIMITED),
        queue("q", parent="all", gpu=LIMITED),
        node("n1"),
        pod_group("g", minMember=2, queue="q"),
        *(pod(f"p{i}", "g", on="n1") for i in range(2)),
    )
    assert gpus_used(state, "all") == 2
    state.put(entry(queue("q", gpu=LIMITED)))

    assert ("Queue all",) in released(state)
    assert (gpus_used(state), gpus_used(state, "all")) == (2, 0)


async def test_a_unit_at_the_limit_of_its_queue_runs_after_it_has_preempted_another() -> None:
    """S5: the queue was charged for the victim until its PodGroup was deleted."""
    objects = (
        node("n1"),
        queue("q", gpu={"quota": 1, "limit": 1}),
        pod_group("train", minMember=1, queue="q", priorityClassName="train"),
        pod("train-0", "train", on="n1", terminationGracePeriodSeconds=0),
    )
    async with living(objects) as cluster:
        high = {"minMember": 1, "queue": "q", "priorityClassName": "build-preemptible"}
        await cluster.create(pod_group("build", **high), pod("build-0", "build"))
        await cluster.settle(10)

        assert await cluster.nodes() == {"build-0": "n1"}


async def test_a_victim_that_comes_back_does_not_keep_its_preemptor_out() -> None:
    """S17: the victim was evicted every minute, and got its place back each time."""
    objects = (
        node("n1"),
        queue("q", gpu={"quota": 6, "limit": 6}),
        pod_group("low", minMember=4, queue="q"),
        *(pod(f"low-{i}", "low", on="n1", terminationGracePeriodSeconds=0) for i in range(4)),
    )
    async with living(objects) as cluster:
        high = {"minMember": 2, "queue": "q", "priorityClassName": "build-preemptible"}
        await cluster.create(pod_group("high", **high), *(pod(f"high-{i}", "high", gpus=2) for i in range(2)))
        for _ in range(90):
            await cluster.settle(1)
            # What a controller does that creates its pods one by one.
            there = await cluster.nodes()
            if missing := [name for i in range(4) if (name := f"low-{i}") not in there]:
                await cluster.create(pod(missing[0], "low", terminationGracePeriodSeconds=0))

        nodes = await cluster.nodes()
        assert {name: on for name, on in nodes.items() if on} == {"high-0": "n1", "high-1": "n1"}
