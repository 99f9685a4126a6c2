"""A real API server whose webhook is down, comes back, and shows one certificate after another."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
import structlog
import yaml

from closeknit.admission.certificates import DAYS, TRUSTED_FIRST
from closeknit.admission.keeping import InSecret
from closeknit.admission.registration import MUTATING, VALIDATING, Renewal, install, trust
from closeknit.admission.reviewer import FAMILIES, Reviewer
from closeknit.admission.server import Webhook
from closeknit.admission.webhooks import Endpoint, configurations
from closeknit.installation.privileges import CERTIFICATES, Component
from closeknit.kube.clock import SYSTEM_CLOCK
from closeknit.kube.errors import ApiError, NotFoundError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.rest import Access, connect, load_access
from closeknit.testing.accounts import access_of
from closeknit.testing.clock import HandClock
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.rendered import NAMESPACE
from tests.planes import running_plane
from tests.scenario.admitted import OPERATOR, free_port, resource_of, webhook
from tests.scenario.reviewed_manifests import (
    clique_set,
    deployment,
    job,
    named,
    pack,
    pod_group,
    within,
    workflow,
)
from tests.scenario.test_run_process import asked, running

pytestmark = pytest.mark.e2e
_HALLS = "{kueue.x-k8s.io/podset-required-topology: example.com/rack}"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane that is asked after its webhook has gone; its configurations stay."""
    with running_plane() as running:
        with webhook(running):
            pass
        yield running


@pytest.fixture
def access(plane: ControlPlane) -> Access:
    return load_access(kubeconfig=str(plane.kubeconfig))


async def attempt(api: KubernetesApi, manifest: str) -> str:
    """What an API server says to a new object; empty where it takes it."""
    obj = named(manifest)
    try:
        await api.create(resource_of(obj), obj, dry_run=True)
    except ApiError as error:
        return str(error)
    return ""


ASKING = [
    pytest.param(
        pod_group(
            "{minMember: 1, topologyConstraint: {topology: racks, requiredTopologyLevel: example.com/rack}}"
        ),
        "constrained.kai",
        id="a PodGroup with a constraint",
    ),
    pytest.param(
        pod_group("{subGroups: [{name: a, minMember: 1, topologyConstraint: {topology: racks}}]}"),
        "constrained.kai",
        id="a PodGroup with a constraint on a subgroup",
    ),
    pytest.param(
        job(queue="", own="{kai.scheduler/topology: racks}"),
        "constrained.kai",
        id="a Job with KAI's annotation",
    ),
    pytest.param(clique_set(pack("rack")), "constrained.grove", id="a PodCliqueSet with a constraint"),
    pytest.param(clique_set(clique=pack("rack")), "constrained.grove", id="a constraint on a clique"),
    pytest.param(clique_set(group=pack("rack")), "constrained.grove", id="a constraint on a scaling group"),
    pytest.param(deployment(within("rack")), "constrained.dynamo", id="a deployment with a constraint"),
    pytest.param(
        deployment(component="{packDomain: rack}"), "constrained.dynamo", id="a constraint on a component"
    ),
    pytest.param(
        "{apiVersion: nvidia.com/v1alpha1, kind: DynamoGraphDeployment, metadata: {}, spec: {services: {a: "
        "{topologyConstraint: {packDomain: rack}}}}}",
        "constrained.dynamo",
        id="a constraint on a service, by name",
    ),
    pytest.param(
        workflow("{key: rack, group: a, requirementType: required}"),
        "constrained.osmo",
        id="a Workflow with keys",
    ),
    pytest.param(job(_HALLS), "constrained.kueue", id="a Job whose pods ask for a topology"),
    pytest.param(job(own=_HALLS), "constrained.kueue", id="a Job that asks for a topology"),
    pytest.param(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {}, spec: {levels: [{nodeLabel: a}]}}",
        "constrained.kueue",
        id="a Topology",
    ),
]
"""Objects that ask for a topology, in each of the ways."""


@pytest.mark.parametrize(("manifest", "entry"), ASKING)
async def test_without_a_webhook_nothing_that_asks_for_a_topology_gets_in(
    access: Access, manifest: str, entry: str
) -> None:
    async with connect(access, component="faults") as api:
        said = await attempt(api, manifest)

    assert f'failed calling webhook "{entry}.closeknit.dev"' in said


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(pod_group("{minMember: 1}"), id="a PodGroup"),
        pytest.param(clique_set(), id="a PodCliqueSet"),
        pytest.param(deployment(), id="a deployment"),
        pytest.param(job(), id="a Job that queues"),
        pytest.param(job(queue=""), id="any Job"),
        pytest.param(
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {}, spec: {}}",
            id="a flavor",
        ),
        pytest.param("{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {}, spec: {}}", id="a queue"),
    ],
)
async def test_without_a_webhook_what_asks_for_no_topology_gets_in(access: Access, manifest: str) -> None:
    async with connect(access, component="faults") as api:
        assert await attempt(api, manifest) == ""


async def test_the_administrator_of_a_topology_may_be_asked_while_operators_are_not(access: Access) -> None:
    guarded = (
        "{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {}, spec: {levels: [{nodeLabel: a}]}}"
    )
    own = configurations(
        Endpoint(client={"url": "https://127.0.0.1:1"}),
        families=["kai"],
        operators=["admin"],
        name="operators-of-their-own",
    )
    async with connect(access, component="faults") as api:
        before = await attempt(api, guarded)
        # Now the user of these tests counts as an operator, in all entries that there are.
        for resource in (MUTATING, VALIDATING):
            await api.delete(resource, "closeknit")
        await install(api, own)
        async with asyncio.timeout(60):
            # The API server hears a moment later that the first ones have gone, and of the others soon after.
            while await attempt(api, guarded):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        after = await attempt(api, guarded)
        for resource in (MUTATING, VALIDATING):
            await api.delete(resource, "operators-of-their-own")

    assert "failed calling webhook" in before
    assert after == ""


async def test_certificates_follow_each_other_while_the_api_server_asks(
    plane: ControlPlane, access: Access
) -> None:
    """The API server trusts the next authority before its certificate is shown, and is never refused."""
    clock, port = HandClock(datetime.now(UTC) - timedelta(days=DAYS * 0.9)), free_port()
    log = structlog.wrap_logger(structlog.ReturnLogger())
    bad = pod_group("{minMember: 1, topologyConstraint: {topology: none, requiredTopologyLevel: x}}")
    account = access_of(Component.ADMISSION, plane)
    async with connect(access, component="faults") as api, connect(account, component="admission") as own:
        keeper = InSecret(own, NAMESPACE, CERTIFICATES, ("127.0.0.1",), clock)
        renewal = Renewal(own, keeper, name="closeknit", clock=SYSTEM_CLOCK, random=Random(1), log=log)
        reviewer = Reviewer(own, operators={OPERATOR})
        reviewer.synced = True
        await install(
            api,
            configurations(
                Endpoint(client={"url": f"https://127.0.0.1:{port}"}), families=FAMILIES, operators=[OPERATOR]
            ),
        )
        shown = []
        # When a third of its time is left, its successor is trusted, and after a while shown.
        for passes in (timedelta(0), timedelta(days=DAYS * 0.7), TRUSTED_FIRST + timedelta(minutes=1)):
            await clock.advance(passes.total_seconds())
            kept = await renewal.first()
            listening = Webhook(reviewer, kept.current, host="127.0.0.1", port=port)
            await listening.start()
            try:
                await renewal.look(listening)
                said = await _answered(api, bad)
                shown.append(kept.current)
            finally:
                await listening.stop()
            assert "denied the request" in said
        bundle = (await api.get(VALIDATING, "closeknit"))["webhooks"][0]["clientConfig"]["caBundle"]
        again = await trust(own, "closeknit", base64.b64decode(bundle))

    assert shown[0] == shown[1] != shown[2]
    assert base64.b64decode(bundle) == shown[2].authority + shown[0].authority
    assert again == 0


async def _answered(api: KubernetesApi, manifest: str) -> str:
    """What is said once the API server has heard of the authorities, which takes it a moment."""
    said = ""
    for _ in range(50):
        said = await attempt(api, manifest)
        if "failed calling webhook" not in said and said:
            return said
        await asyncio.sleep(0.1)
    return said


def test_kubectl_lists_every_problem_on_a_line(plane: ControlPlane, tmp_path: Path) -> None:
    file = tmp_path / "group.yaml"
    spec: dict[str, Any] = {
        "subGroups": [
            {"name": "a", "topologyConstraint": {"topology": "racks", "requiredTopologyLevel": "x"}},
            {"name": "b", "minMember": 1, "parent": "c"},
        ]
    }
    kind = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "wrong"}}
    file.write_text(yaml.safe_dump({**kind, "spec": spec}), encoding="utf-8")

    with webhook(plane):
        done = subprocess.run(
            [plane.programs.kubectl, "--kubeconfig", plane.kubeconfig, "apply", "--server-side", "-f", file],
            capture_output=True,
            text=True,
            check=False,
        )

    lines = done.stderr.splitlines()
    assert lines[0].startswith('The PodGroup "wrong" is invalid')
    assert [line.split(":")[0] for line in lines[1:] if line.startswith("*")] == [
        "* spec.subGroups[1].parent",
        "* spec.subGroups[0].minMember",
        "* spec.subGroups[0].topologyConstraint.requiredTopologyLevel",
    ]


async def test_run_serves_the_webhook_until_it_is_told_to_end(plane: ControlPlane) -> None:
    port = free_port()
    parts = ("--no-scheduler", "--no-controllers", "--external=kueue")
    where = (f"--webhook-port={port}", f"--webhook-url=https://127.0.0.1:{port}")
    bad = pod_group("{minMember: 1, topologyConstraint: {topology: none, requiredTopologyLevel: x}}")
    # An administrator makes the configurations, as the chart does; their content is written by the webhook.
    made = [
        {"apiVersion": each.api_version, "kind": each.kind, "metadata": {"name": "closeknit"}}
        for each in (MUTATING, VALIDATING)
    ]
    account = plane.kubeconfig_of(plane.accounts[Component.ADMISSION.value])
    async with connect(load_access(kubeconfig=str(plane.kubeconfig)), component="faults") as api:
        for resource, bare in zip((MUTATING, VALIDATING), made, strict=True):
            with contextlib.suppress(NotFoundError):
                await api.delete(resource, "closeknit")
            await api.create(resource, bare)
        async with running(account, *parts, *where) as process:
            async with asyncio.timeout(60):
                while "denied the request" not in await attempt(api, bad):  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
            entries = (await api.get(VALIDATING, "closeknit"))["webhooks"]
            _, metrics = await asked(process.health, "/metrics")
            ready, _ = await asked(process.health, "/readyz")
            status = await process.ended(signal.SIGTERM)

    assert not [each["name"] for each in entries if "kueue" in each["name"]]
    assert 'closeknit_admission_answers_total{family="kai",path="validate",result="refused"}' in metrics
    assert (ready, status) == (200, 0)
