"""The map of the chart on a real API server: its arguments, its account, and nothing more."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from closeknit.dialects import DIALECTS
from closeknit.installation.privileges import READ, Component
from closeknit.kube.certificates import certificate
from closeknit.kube.errors import ForbiddenError
from closeknit.kube.port import KubernetesApi, MergePatch
from closeknit.kube.resources import NODES, PODS, SECRETS, Resource
from closeknit.kube.rest import connect, load_access
from closeknit.live.following import kinds_read
from closeknit.server.routes import ROOT, ROUTES
from closeknit.testing.accounts import access_of, grant
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.controlling import definitions
from closeknit.testing.rendered import NAMESPACE, rendered
from tests.planes import skipped_without_go
from tests.scenario.admitted import resource_of
from tests.scenario.controlled import define
from tests.unit.scheduler.objects import node, pod, pod_group, together, topology

pytestmark = pytest.mark.e2e
CLOSEKNIT = Path(sys.executable).with_name("closeknit")
CHART = Path(__file__).parents[2] / "deploy" / "chart"
PATIENCE = 240.0
"""Seconds; a busy machine takes long to start a process."""
TOKEN = "a-token-of-the-test"
RULES = Resource("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", False)
_WAITS = pod_group("waits", minMember=3, topologyConstraint=together("rack"))
OBJECTS = (
    topology("rack"),
    *(node(name, 2, rack="r") for name in ("n0", "n1")),
    pod_group("runs", minMember=1),
    pod("runs-0", "runs", on="n0"),
    _WAITS,
    *(pod(f"waits-{i}", "waits", gpus=2) for i in range(3)),
)


@pytest.fixture(scope="module")
@skipped_without_go()
def chart() -> list[dict[str, Any]]:
    """What the chart makes for the map."""
    values = ("map.enabled=true", "map.certificateSecret=c", "map.tokenSecret=t")
    made = [each for each in yaml.safe_load_all(rendered(CHART, *values)) if each]
    return [each for each in made if each["metadata"]["name"] == "closeknit-map"]


@pytest.fixture
async def admin(plane: ControlPlane, chart: list[dict[str, Any]]) -> AsyncIterator[KubernetesApi]:
    """An administrator of a cluster that grants the account of the map what the chart says."""
    async with connect(load_access(kubeconfig=str(plane.kubeconfig)), component="e2e") as api:
        await grant(api, chart)
        await define(api, definitions())
        yield api


@dataclass
class Map:
    """A map that is served."""

    address: str
    session: aiohttp.ClientSession

    async def read(self, path: str, method: str = "GET", **more: Any) -> Any:
        """A document."""
        async with self.session.request(method, f"{self.address}{path}", **more) as answer:
            body = await answer.read()
            assert answer.status == 200, body
            return json.loads(body)

    async def until(self, path: str, holds: Callable[[Any], bool]) -> None:
        """Return when something holds of a document."""
        async with asyncio.timeout(PATIENCE):
            while not holds(await self.read(path)):  # noqa: ASYNC110 (another process hears of it)
                await asyncio.sleep(0.2)


@asynccontextmanager
async def serving(plane: ControlPlane, chart: list[dict[str, Any]], folder: Path) -> AsyncIterator[Map]:
    """``closeknit web`` with the arguments of the chart, on loopback."""
    shown = certificate("127.0.0.1")
    for name, content in (
        ("tls.crt", shown.chain),
        ("tls.key", shown.key),
        ("token", TOKEN.encode()),
    ):
        (folder / name).write_bytes(content)
    (deployment,) = (each for each in chart if each["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    here = {"/certificates": str(folder), "/token": str(folder), "0.0.0.0": "127.0.0.1", "8443": "0"}
    arguments = []
    for each in container["args"]:
        name, _, value = each.partition("=")
        place, slash, file = value.rpartition("/")
        arguments.append(f"{name}={here.get(place, place)}{slash}{here.get(file, file)}" if value else name)
    account = plane.kubeconfig_of(plane.accounts[Component.MAP.value])
    process = await asyncio.create_subprocess_exec(
        CLOSEKNIT, *arguments, f"--kubeconfig={account}", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = (await process.stdout.readline()).decode()
        assert "https://" in line, line
        trusted = ssl.create_default_context(cadata=shown.authority.decode())
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trusted), headers={"Authorization": f"Bearer {TOKEN}"}
        ) as session:
            yield Map(line.split()[-1].rstrip("/"), session)
    finally:
        process.terminate()
        await process.wait()


async def test_it_needs_nothing_but_its_role(
    plane: ControlPlane, admin: KubernetesApi, chart: list[dict[str, Any]], tmp_path: Path
) -> None:
    """It answers whatever can be asked, and tells of a pod that is bound later."""
    for each in OBJECTS:
        await admin.create(NODES if each["kind"] == "Node" else resource_of(each), each)
    async with serving(plane, chart, tmp_path) as shown:
        await shown.until(
            f"{ROOT}/workloads",
            lambda said: (
                {each["name"]: (each.get("state"), each.get("pods")) for each in said["items"]}
                # What is as usual is left out: running is.
                == {"runs": (None, 1), "waits": ("pending", None)}
            ),
        )
        for route in ROUTES:
            path = route.path.format(kind="PodGroup", namespace="default", name="waits")
            if route.path.endswith("/outcome"):
                continue  # No scheduler runs that would have said something.
            body = (
                {"data": json.dumps({**_WAITS, "metadata": {"name": "new"}})}
                if route.method == "POST"
                else {}
            )
            assert await shown.read(ROOT + path, route.method, **body)
        seen = await shown.read(f"{ROOT}/map")
        assert seen["nodes"]["name"] == ["n0", "n1"]

        query = f"generation={seen['generation']}&version={seen['version']}&topology={seen['topology']}"
        async with (
            asyncio.timeout(PATIENCE),
            shown.session.get(f"{shown.address}{ROOT}/events?{query}") as events,
        ):
            await admin.create(PODS, pod("other", on="n1"))
            told = b""
            while b"other" not in told:
                told += await events.content.readany()
        assert b"event: update" in told
        async with aiohttp.ClientSession() as stranger:
            refused = await stranger.get(f"{shown.address}{ROOT}/map", ssl=False)
            assert refused.status == 401


async def test_its_account_reads_every_kind_that_is_shown_and_writes_none(
    plane: ControlPlane, admin: KubernetesApi
) -> None:
    async with connect(access_of(Component.MAP, plane), component="e2e") as api:
        served = {(each.group, each.kind): each for each in await admin.resources()}
        wanted = kinds_read(DIALECTS)
        shown = [served[kind.group, kind.kind] for kind in wanted if (kind.group, kind.kind) in served]
        assert len(shown) > 20
        for each in shown:
            await api.list(each)
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": RULES.kind, "metadata": {}}
        said = await api.create(RULES, {**review, "spec": {"namespace": "default"}})
        allowed = said["status"]["resourceRules"]
        assert not said["status"].get("incomplete")
        # Everybody may ask what they may do.
        writing = [each for each in allowed if not set(each["verbs"]) <= set(READ)]
        assert {group for each in writing for group in each["apiGroups"]} <= {
            "authentication.k8s.io",
            "authorization.k8s.io",
        }
        for attempt in (
            api.create(PODS, pod("mine")),
            api.patch(NODES, "n0", MergePatch({"metadata": {"labels": {"rack": "other"}}})),
            api.delete(PODS, "runs-0", namespace="default"),
            api.list(SECRETS),
            api.get(SECRETS, "t", namespace=NAMESPACE),
        ):
            with pytest.raises(ForbiddenError):
                await attempt
