"""``closeknit run`` as a process: it binds, it answers, and it ends as it is told to."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from closeknit.hub.sentences import cli, grove
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from closeknit.kube.resources import LEASES, PODS
from tests.kit.problems import line, text
from tests.scenario import bound
from tests.scenario.commands import EXAMPLES, run
from tests.scenario.groves import web

CLOSEKNIT = Path(sys.executable).with_name("closeknit")
KAI = EXAMPLES / "kai"


@dataclass
class Run:
    """A process, and where it answers."""

    process: asyncio.subprocess.Process
    health: str

    async def ended(self, number: signal.Signals) -> int:
        """Its exit status after a signal."""
        self.process.send_signal(number)
        async with asyncio.timeout(60):
            return await self.process.wait()


@asynccontextmanager
async def running(kubeconfig: Path, *more: str) -> AsyncIterator[Run]:
    process = await asyncio.create_subprocess_exec(
        CLOSEKNIT,
        "run",
        f"--kubeconfig={kubeconfig}",
        "--health-port=0",
        *more,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        first = (await process.stdout.readline()).decode()
        assert "http://127.0.0.1:" in first
        yield Run(process, first.split()[-1].rstrip("."))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[EmbeddedCluster, Path]]:
    cluster, kubeconfig = EmbeddedCluster(bound.DEFINITIONS), folder / "kubeconfig"
    async with Server(cluster) as server:
        server.write_kubeconfig(kubeconfig)
        yield cluster, kubeconfig
    await cluster.close()


async def asked(health: str, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"{health}{path}") as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
async def test_it_binds_answers_and_gives_up_its_lease_when_told_to_end(
    tmp_path: Path, number: signal.Signals
) -> None:
    objects = bound.objects_in(KAI / "nodes.yaml", KAI / "sample1.yaml", KAI / "sample1-pods.yaml")
    async with served(tmp_path) as (cluster, kubeconfig), running(kubeconfig) as started:
        await bound.create(cluster, objects)
        await bound.told(cluster, "sample1", "Scheduled", 60)

        assert await asked(started.health, "/healthz") == (200, "ok\n")
        roles = "closeknit-scheduler: leading\ncloseknit-controllers: leading\n"
        assert await asked(started.health, "/readyz") == (200, f"ok\n{roles}")
        _, metrics = await asked(started.health, "/metrics")
        assert 'closeknit_bindings_total{result="bound"} 5.0' in metrics
        assert 'closeknit_leader{lease="closeknit-scheduler"} 1.0' in metrics
        assert 'closeknit_fenced_writes_total{lease="closeknit-controllers"} 0.0' in metrics
        assert 'closeknit_largest_free{level="topology/rack",resource="nvidia.com/gpu"' in metrics
        _, snapshot = await asked(started.health, "/debug/snapshot")
        (tmp_path / "snapshot.json").write_text(snapshot)
        assert run("plan", "-f", tmp_path / "snapshot.json").exit_code == 0
        held = await cluster.get(LEASES, "closeknit-scheduler", namespace="default")
        assert held["spec"]["holderIdentity"]

        assert await started.ended(number) == 0
        given_up = await cluster.get(LEASES, "closeknit-scheduler", namespace="default")
        assert given_up["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize(
    ("more", "made"),
    [
        pytest.param((), True, id="controllers make the parts of a set"),
        pytest.param(("--no-scheduler",), True, id="without the scheduler too"),
        pytest.param(("--external=grove",), False, id="unless its own operator runs", marks=pytest.mark.slow),
        pytest.param(("--no-controllers",), False, id="or there are none", marks=pytest.mark.slow),
    ],
)
async def test_controllers_run_beside_the_scheduler(
    tmp_path: Path, more: tuple[str, ...], made: bool
) -> None:
    async with served(tmp_path) as (cluster, kubeconfig), running(kubeconfig, *more) as started:
        resources = {each.kind: each for each in await cluster.resources()}
        given = web()
        given["metadata"]["namespace"] = "default"
        await cluster.create(resources["PodCliqueSet"], given)
        gangs: list[dict[str, object]] = []
        for _ in range(120 if made else 40):
            gangs = (await cluster.list(resources["PodGang"])).items
            if gangs:
                break
            await asyncio.sleep(0.25)
        assert bool(gangs) is made
        status, roles = await asked(started.health, "/readyz")
        assert status == 200
        assert ("closeknit-controllers: leading" in roles) is ("--no-controllers" not in more)
        assert ("closeknit-scheduler: leading" in roles) is ("--no-scheduler" not in more)
        leases = {each["metadata"]["name"] for each in (await cluster.list(LEASES)).items}
        assert ("closeknit-controllers" in leases) is ("--no-controllers" not in more)
        assert ("closeknit-scheduler" in leases) is ("--no-scheduler" not in more)
        assert await started.ended(signal.SIGTERM) == 0


async def test_the_map_is_served_by_a_process_of_its_own_that_ends_with_this_one(tmp_path: Path) -> None:
    """It takes the same single pods for workloads as the scheduler."""
    options = ("--map-port=0", "--scheduler-name=nightly", "--no-controllers")
    async with served(tmp_path) as (cluster, kubeconfig), running(kubeconfig, *options) as started:
        container = {"name": "main", "image": "x"}
        for name, scheduler in (("ours", "nightly"), ("theirs", "closeknit")):
            given = {
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"schedulerName": scheduler, "containers": [container]},
            }
            await cluster.create(PODS, {"apiVersion": "v1", "kind": "Pod", **given})
        assert started.process.stdout is not None
        announced = ""
        while "http://" not in announced:
            announced = (await started.process.stdout.readline()).decode()
            assert announced, "It ended."
        address = announced.split()[-1].rstrip("/")

        shown: list[str] = []
        for _ in range(120):
            status, page = await asked(address, "/api/v1/workloads")
            assert status == 200
            if shown := [each["name"] for each in json.loads(page)["items"]]:
                break
            await asyncio.sleep(0.25)
        assert shown == ["ours"]
        assert await started.ended(signal.SIGTERM) == 0
        with pytest.raises(aiohttp.ClientError):
            await asked(address, "/")


@pytest.mark.requirement("G10", "G17")
async def test_an_operator_that_cannot_write_its_topology_ends_with_a_message(tmp_path: Path) -> None:
    foreign = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "grove-topology"},
        "spec": {"levels": [{"nodeLabel": "other"}]},
    }
    configuration = EXAMPLES / "grove" / "operator-configuration.yaml"
    async with served(tmp_path) as (cluster, kubeconfig):
        await cluster.create(bound.TOPOLOGIES, foreign)
        process = await asyncio.create_subprocess_exec(
            CLOSEKNIT,
            "run",
            f"--kubeconfig={kubeconfig}",
            "--health-port=0",
            f"--operator-config={configuration}",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            _, said = await process.communicate()
    assert process.returncode == 2
    refused = said.decode().splitlines()[-1]
    before_reason = text(grove.TOPOLOGY_NOT_WRITTEN, name="grove-topology", reason="REASON").partition(
        "REASON"
    )[0]
    assert before_reason in refused
    assert "Topology grove-topology" in refused


@pytest.mark.slow
async def test_of_two_one_works_and_the_other_takes_over(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as (cluster, kubeconfig),
        running(kubeconfig) as first,
        running(kubeconfig) as second,
    ):
        nodes = bound.objects_in(KAI / "nodes.yaml")
        await bound.create(cluster, nodes)
        await bound.create(cluster, bound.objects_in(KAI / "sample1.yaml", KAI / "sample1-pods.yaml"))
        await bound.told(cluster, "sample1", "Scheduled", 60)

        assert await first.ended(signal.SIGTERM) == 0
        await bound.create(cluster, bound.objects_in(KAI / "sample2.yaml", KAI / "sample2-pods.yaml"))
        await bound.told(cluster, "sample2", "Scheduled", 60)
        assert await second.ended(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(
            ("--kubeconfig=/does/not/exist",),
            "--kubeconfig: ",
            id="a kubeconfig that is not there",
        ),
        pytest.param(
            ("--scheduler-name=Not A Name",),
            line(cli.NO_SCHEDULER_NAME, "--scheduler-name", name="Not A Name"),
            id="a scheduler name that no pod could have",
        ),
        pytest.param(
            ("--external=slurm",),
            line(cli.NO_OPERATOR, "--external", name="slurm", known="dynamo, grove, kai, kueue, osmo"),
            id="a family that nobody knows",
        ),
        pytest.param(
            ("--no-scheduler", "--no-controllers"),
            line(cli.NOTHING_TO_RUN, "--no-scheduler"),
            id="nothing to run",
        ),
        pytest.param(
            ("--no-scheduler", "--dry-run"),
            line(cli.NOTHING_TO_RUN, "--no-scheduler"),
            id="controllers, which a dry run does without",
        ),
        pytest.param(
            ("--health-host=192.0.2.1", "--health-port=8081"),
            line(cli.CANNOT_LISTEN, "--health-port", port=8081, reason="Cannot assign requested address"),
            id="an address of another machine",
        ),
    ],
)
def test_wrong_usage_is_refused(words: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    given = words if "kubeconfig" in words[0] else (*words, f"--kubeconfig={_some_kubeconfig(tmp_path)}")

    result = run("run", *given)

    assert result.exit_code == 2
    assert result.stderr.startswith(complaint)


def _some_kubeconfig(folder: Path) -> Path:
    path = folder / "kubeconfig"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {}}]\n"
    )
    return path
