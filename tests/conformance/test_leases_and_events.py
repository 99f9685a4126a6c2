"""Leases and events, on servers rather than on a stand-in, by whoever may do no more than the chart grants."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from random import Random

from closeknit.kube.errors import NotFoundError
from closeknit.kube.events import EventType, Recorder, Reference
from closeknit.kube.leases import Lease, Terms
from closeknit.kube.port import KubernetesApi, Selection
from closeknit.kube.resources import CORE_EVENTS, EVENTS, LEASES
from closeknit.testing.rendered import NAMESPACE
from tests.conformance.cluster import PATIENCE, Cluster

LEASE = "closeknit-scheduler"
TERMS = Terms(duration=60, renew_within=40, every=0.2)
"""Long enough for a holder that the machine keeps from renewing; a lease is handed on well before."""


async def test_one_of_many_holds_a_lease_and_hands_it_on(cluster: Cluster, scheduler: KubernetesApi) -> None:
    with suppress(NotFoundError):
        await cluster.api.delete(LEASES, LEASE, namespace=NAMESPACE)
    turns: list[str] = []
    working: list[str] = []

    async def work(name: str) -> None:
        assert working == []
        working.append(name)
        turns.append(name)
        await asyncio.sleep(0.3)
        working.remove(name)

    leases = [
        Lease(scheduler, LEASE, namespace=NAMESPACE, identity=name, random=Random(name), terms=TERMS)
        for name in "abcd"
    ]
    await asyncio.wait_for(
        asyncio.gather(*(lease.hold(partial(work, lease.identity)) for lease in leases)), PATIENCE
    )

    assert sorted(turns) == list("abcd")
    spec = (await cluster.api.get(LEASES, LEASE, namespace=NAMESPACE))["spec"]
    assert spec["holderIdentity"] == ""
    assert spec["leaseTransitions"] == 3


async def test_events_are_kept_and_counted(cluster: Cluster, scheduler: KubernetesApi) -> None:
    pod = await cluster.create_pod("p")
    about = Reference("v1", "Pod", "p", cluster.namespace, pod["metadata"]["uid"])
    recorder = Recorder(scheduler, "closeknit.dev/test", instance="t-0", random=Random(1))
    recorder.record(about, "Waiting", "No rack has room.", action="Scheduling", kind=EventType.WARNING)
    await recorder.flush()
    (series,) = recorder._series.values()
    recorder.record(about, "Waiting", "No rack has room.", action="Scheduling", kind=EventType.WARNING)
    series.written_at -= 100
    await recorder.flush()

    here = Selection(namespace=cluster.namespace)
    (event,) = (await cluster.api.list(EVENTS, here)).items
    assert (event["note"], event["series"]["count"]) == ("No rack has room.", 2)
    assert event["regarding"]["uid"] == pod["metadata"]["uid"]
    (older,) = (await cluster.api.list(CORE_EVENTS, here)).items
    assert (older["message"], older["involvedObject"]["name"]) == ("No rack has room.", "p")
    assert recorder.dropped == 0


async def test_events_about_what_is_gone_are_dropped(scheduler: KubernetesApi) -> None:
    recorder = Recorder(scheduler, "closeknit.dev/test", instance="t-0", random=Random(1))
    recorder.record(Reference("v1", "Pod", "p", "nowhere"), "Lost", "x", action="Watching")
    await recorder.flush()

    assert recorder.dropped == 1
