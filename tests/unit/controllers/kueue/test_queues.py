"""The order of queues, cohorts, and what keeps a Workload from its quota, on an embedded cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.controllers.kueue import daemons
from closeknit.controllers.kueue.daemons import owed
from closeknit.dialects.core.kinds import KINDS
from closeknit.dialects.store.store import Store
from closeknit.dialects.store.view import View
from closeknit.kube.port import DeleteOptions, Propagation
from closeknit.live.entries import whole_entry_of
from closeknit.testing.controlling import Controlled
from tests.unit.controllers.kueue.test_live import RACKS, bound, conditions, objects, run
from tests.unit.dialects.kueue.kit import (
    QUEUES,
    RACK,
    cluster_queue,
    flavor,
    job,
    local_queue,
    node,
    queues,
    topology,
)


@pytest.mark.requirement("K77", "K78")
@pytest.mark.parametrize(
    ("strategy", "want"),
    [
        pytest.param("BestEffortFIFO", "True", id="who fits passes who does not"),
        pytest.param("StrictFIFO", None, id="nobody is passed"),
    ],
)
def test_the_order_of_a_queue(strategy: str, want: str | None) -> None:
    async def live(cluster: Controlled) -> None:
        await cluster.settle(2)
        await cluster.create(*objects(job(1, name="small")))
        await cluster.quiet()
        assert (await conditions(cluster, "large"))["QuotaReserved"] == "False ExceedsMaxQuota"
        small = (await conditions(cluster, "small")).get("QuotaReserved")
        assert (small.split()[0] if small else None) == want

    queue = cluster_queue(quota={"nvidia.com/gpu": 4}, queueingStrategy=strategy)
    run(live, *queues(queue), *RACKS, job(5, name="large"))


def test_who_moves_to_another_queue_lets_those_behind_it_go() -> None:
    async def live(cluster: Controlled) -> None:
        await cluster.settle(2)
        await cluster.create(*objects(job(1, name="small")))
        await cluster.quiet()
        assert "QuotaReserved" not in await conditions(cluster, "small")
        await cluster.patch("Job", "large", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "guests"}}})
        await cluster.quiet()
        assert (await conditions(cluster, "large"))["QuotaReserved"] == "False ExceedsMaxQuota"
        assert (await conditions(cluster, "small"))["Admitted"] == "True Admitted"

    strict: dict[str, Any] = {"quota": {"nvidia.com/gpu": 4}, "queueingStrategy": "StrictFIFO"}
    given = [
        cluster_queue(**strict), local_queue(), cluster_queue("other", **strict), local_queue("guests", "other"),
    ]  # fmt: skip
    run(live, topology(), flavor(), *given, *RACKS, job(5, name="large"))


def test_a_queue_that_stops_being_strict_lets_all_be_tried() -> None:
    async def live(cluster: Controlled) -> None:
        await cluster.settle(2)
        await cluster.create(*objects(job(1, name="b"), job(3, name="c"), job(1, name="d")))
        await cluster.quiet()
        await cluster.patch("ClusterQueue", "research", {"spec": {"queueingStrategy": "BestEffortFIFO"}})
        await cluster.quiet()
        found = {name: (await conditions(cluster, name))["QuotaReserved"].split()[0] for name in "abcd"}
        assert found == {"a": "False", "b": "True", "c": "True", "d": "False"}
        await cluster.delete("Job", "b", options=DeleteOptions(propagation=Propagation.BACKGROUND))
        await cluster.quiet()
        assert (await conditions(cluster, "d"))["QuotaReserved"].split()[0] == "True"

    queue = cluster_queue(quota={"nvidia.com/gpu": 4}, queueingStrategy="StrictFIFO")
    run(live, *queues(queue), *RACKS, job(5, name="a"))


@pytest.mark.requirement("K118")
def test_queues_of_a_cohort_lend_each_other_what_they_do_not_use() -> None:
    async def live(cluster: Controlled) -> None:
        assert (await conditions(cluster))["Admitted"] == "True Admitted"
        (used,) = (await cluster.get("ClusterQueue", "research"))["status"]["flavorsUsage"]
        assert used["resources"] == [{"name": "nvidia.com/gpu", "total": "6", "borrowed": "2"}]

    given = [
        cluster_queue(name, quota={"nvidia.com/gpu": 4}, cohortName="all") for name in ("research", "other")
    ]
    run(live, topology(), flavor(), *given, local_queue(), *RACKS, job(6))


@pytest.mark.requirement("K77")
def test_the_second_flavor_is_used_where_the_first_has_no_room() -> None:
    async def live(cluster: Controlled) -> None:
        (workload,) = await cluster.every("Workload")
        (given,) = workload["status"]["admission"]["podSetAssignments"]
        assert given["flavors"] == {"nvidia.com/gpu": "spot"}
        assert set(await bound(cluster)) == {"s"}

    texts = (topology(), flavor(), flavor("spot"), cluster_queue("research", "tas", "spot"), local_queue())
    run(
        live,
        *texts,
        node("n", "b", "r", 2),
        node("s", "b", "r2", 8, pool="spot"),
        job(4, podset_required_topology=RACK),
    )


@pytest.mark.requirement("K87")
def test_a_queue_without_its_topology_is_not_active_until_it_is_there() -> None:
    async def live(cluster: Controlled) -> None:
        (active,) = (await cluster.get("ClusterQueue", "research"))["status"]["conditions"]
        assert (active["status"], active["reason"]) == ("False", "TopologyNotFound")
        assert (await conditions(cluster))["QuotaReserved"] == "False Suspended"
        await cluster.create(json.loads(topology()))
        await cluster.quiet()
        (active,) = (await cluster.get("ClusterQueue", "research"))["status"]["conditions"]
        assert (active["status"], active["reason"]) == ("True", "Ready")
        assert (await conditions(cluster))["Admitted"] == "True Admitted"

    run(live, flavor(), cluster_queue(), local_queue(), *RACKS, job(4, podset_required_topology=RACK))


@pytest.mark.requirement("K63", "K64")
@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [
        pytest.param("ClusterQueue", "research", "ClusterQueueStopped", id="a ClusterQueue"),
        pytest.param("LocalQueue", "team", "LocalQueueStopped", id="a LocalQueue"),
    ],
)
def test_a_queue_is_drained_and_goes_on(kind: str, name: str, reason: str) -> None:
    async def live(cluster: Controlled) -> None:
        await cluster.patch(kind, name, {"spec": {"stopPolicy": "HoldAndDrain"}})
        await cluster.settle(40)
        assert (await conditions(cluster))["Evicted"] == f"True {reason}"
        assert await cluster.every("Pod") == []
        await cluster.patch(kind, name, {"spec": {"stopPolicy": "None"}})
        await cluster.quiet()
        assert (await conditions(cluster))["Admitted"] == "True Admitted"
        assert len(list(filter(None, await bound(cluster)))) == 4

    run(live, *QUEUES, *RACKS, job(4))


@pytest.mark.requirement("K49")
def test_a_workload_follows_its_job_as_long_as_it_waits() -> None:
    async def live(cluster: Controlled) -> None:
        assert (await conditions(cluster))["QuotaReserved"] == "False ExceedsMaxQuota"
        await cluster.patch("Job", "train", {"spec": {"parallelism": 2, "completions": 2}})
        await cluster.quiet()
        (workload,) = await cluster.every("Workload")
        assert workload["spec"]["podSets"][0]["count"] == 2
        assert (await conditions(cluster))["Admitted"] == "True Admitted"

    small = queues(quota={"nvidia.com/gpu": 2})
    run(live, *small, *RACKS, job(4))


@pytest.mark.requirement("K26", "K60")
def test_daemon_sets_count_before_their_pods_are_there() -> None:
    container = {"name": "agent", "image": "agent", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec: dict[str, Any] = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    agents = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec}
    view = View(Store(daemons.INDEXES))
    view.put(whole_entry_of(KINDS[0], "v1", json.loads(node("n0", "b", "r", 4))))
    view.put(whole_entry_of(daemons.KINDS[0], "apps/v1", agents))
    (held,) = view.derive(owed, "n0")
    assert dict(held.resources) == {"nvidia.com/gpu": 1}
    assert view.derive(owed, "n1") == ()
