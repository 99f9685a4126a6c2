"""An API with admission in front of it: the embedded cluster, or a real API server that calls the webhook."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from random import Random
from typing import Any

import structlog
import yaml

from closeknit.admission.embedded import admit
from closeknit.admission.instance import Admission, Settings, following_for
from closeknit.admission.keeping import InMemory
from closeknit.admission.registration import MUTATING, VALIDATING, install
from closeknit.admission.reviewed import REVIEWED
from closeknit.admission.reviewer import Reviewer
from closeknit.admission.webhooks import Endpoint, configurations
from closeknit.dialects.definitions import FAMILIES
from closeknit.installation.privileges import Component
from closeknit.kube.clock import SYSTEM_CLOCK
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import AlreadyExistsError, ApiError, NotFoundError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import JOBS, PODS, Resource
from closeknit.testing.accounts import seen_by
from closeknit.testing.control_plane import ControlPlane
from tests.scenario.controlled import granted

Json = dict[str, Any]
OPERATOR = "system:serviceaccount:closeknit-system:closeknit-controllers"
DEFINITIONS = [one.written() for family in FAMILIES.values() for one in family]
RESOURCES = {
    (each["spec"]["names"]["kind"], version["name"], each["spec"]["group"]): Resource(
        each["spec"]["group"],
        version["name"],
        each["spec"]["names"]["plural"],
        each["spec"]["names"]["kind"],
        namespaced=each["spec"]["scope"] == "Namespaced",
    )
    for each in DEFINITIONS
    for version in each["spec"]["versions"]
}

DESCRIBED = """
{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: racks}, spec: {levels: [
  {nodeLabel: example.com/zone}, {nodeLabel: example.com/block}, {nodeLabel: example.com/rack}]}}
---
{apiVersion: grove.io/v1alpha1, kind: ClusterTopologyBinding, metadata: {name: grove-topology}, spec: {levels: [
  {domain: zone, key: example.com/zone}, {domain: block, key: example.com/block}, {domain: rack, key: example.com/rack}]}}
---
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: guarded, labels: {app.kubernetes.io/managed-by: closeknit}}
spec: {levels: [{domain: zone, key: example.com/zone}, {domain: rack, key: example.com/rack}]}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: halls}, spec: {levels: [
  {nodeLabel: example.com/block}, {nodeLabel: example.com/rack}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: gpus}, spec: {
  nodeLabels: {pool: gpus}, topologyName: halls}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: gpus, resources: [{name: cpu, nominalQuota: 100}]}]}]}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team, namespace: default}, spec: {clusterQueue: research}}
---
{apiVersion: osmo.closeknit.dev/v1alpha1, kind: Pool, metadata: {name: pool}, spec: {name: pool, topology_keys: [
  {key: zone, label: example.com/zone}, {key: rack, label: example.com/rack}]}}
"""
"""What workloads are measured by."""


def resource_of(obj: Json) -> Resource:
    """The resource of an object."""
    group, _, version = obj["apiVersion"].rpartition("/")
    if obj["kind"] in ("Job", "Pod"):
        return JOBS if obj["kind"] == "Job" else PODS
    return RESOURCES[obj["kind"], version, group]


async def describe(api: KubernetesApi) -> None:
    """Create what workloads are measured by, where it is not there yet."""
    for each in yaml.safe_load_all(DESCRIBED):
        with contextlib.suppress(AlreadyExistsError):
            await api.create(resource_of(each), each)


@asynccontextmanager
async def embedded(*families: str) -> AsyncIterator[EmbeddedCluster]:
    """An embedded cluster that reviews writes."""
    cluster = EmbeddedCluster(DEFINITIONS)
    reviewer = Reviewer(cluster, families=families or tuple(REVIEWED), operators={OPERATOR})
    admit(cluster, reviewer)
    async with following_for(reviewer, cluster, SYSTEM_CLOCK, Random(1)) as synced:
        await synced
        await describe(cluster.acting_as(OPERATOR))
        yield cluster
    await cluster.close()


@contextmanager
def webhook(plane: ControlPlane) -> Iterator[None]:
    """The webhook of a real API server, in a thread of its own, with all that workloads are measured by.

    An administrator makes the webhook configurations, as the chart does; the webhook has the role of the chart.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    ready, ended = asyncio.Event(), asyncio.Event()

    async def run() -> None:
        log = structlog.wrap_logger(structlog.ReturnLogger())
        async with granted(plane, DEFINITIONS) as api:
            await _forget_earlier(api)
            await describe(api)
            settings = Settings(operators=frozenset({OPERATOR}), port=free_port())
            endpoint = Endpoint(client={"url": f"https://127.0.0.1:{settings.port}"})
            made = configurations(endpoint, families=settings.families, operators=settings.operators)
            await install(api, made)
            keeper = InMemory(("127.0.0.1",), SYSTEM_CLOCK)
            own = seen_by(Component.ADMISSION, api)
            admission = Admission(own, settings, keeper, log=log, random=Random(1))
            await admission.start()
            running = asyncio.create_task(admission.run())
            await _answering(api)
            ready.set()
            await ended.wait()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    done = asyncio.run_coroutine_threadsafe(run(), loop)
    waiting = asyncio.run_coroutine_threadsafe(ready.wait(), loop)
    try:
        while not waiting.done():
            with contextlib.suppress(TimeoutError):
                waiting.result(timeout=0.2)
            if done.done():
                waiting.cancel()
                done.result()
        yield
    finally:
        loop.call_soon_threadsafe(ended.set)
        done.result(timeout=60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=60)
        loop.close()


async def _forget_earlier(api: KubernetesApi) -> None:
    """Remove the configurations of a webhook that is gone, which refuse what asks for a topology."""
    for resource in (MUTATING, VALIDATING):
        with contextlib.suppress(NotFoundError):
            await api.delete(resource, "closeknit")
            # An API server hears of it a moment later.
            await asyncio.sleep(1)


async def _answering(api: KubernetesApi) -> None:
    """Return when the API server asks the webhook, and is answered."""
    async with asyncio.timeout(60):
        while True:
            try:
                await api.create(
                    RESOURCES["PodGroup", "v2alpha2", "scheduling.run.ai"],
                    {
                        "apiVersion": "scheduling.run.ai/v2alpha2",
                        "kind": "PodGroup",
                        "metadata": {"name": "asked", "namespace": "default"},
                        "spec": {
                            "minMember": 1,
                            "topologyConstraint": {"topology": "none", "requiredTopologyLevel": "x"},
                        },
                    },
                    dry_run=True,
                )
            except ApiError as error:
                if "denied the request" in str(error):
                    return
            await asyncio.sleep(0.1)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
