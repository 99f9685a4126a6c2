"""The chart and the plain manifests on a real API server, and the components under the roles that they grant."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import structlog
import yaml

from closeknit.admission.instance import Admission, Settings
from closeknit.admission.keeping import InSecret
from closeknit.admission.registration import MUTATING, VALIDATING
from closeknit.controllers.instance import Controllers
from closeknit.controllers.operators import managed
from closeknit.kube.clock import SYSTEM_CLOCK
from closeknit.kube.errors import ApiError, ForbiddenError
from closeknit.kube.port import KubernetesApi, MergePatch
from closeknit.kube.resources import NODES, PODS, SECRETS
from closeknit.kube.rest import connect, load_access
from closeknit.live.leadership import LeaseName
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings as SchedulerSettings
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.control_plane.credentials import User
from closeknit.testing.control_plane.programs import helm
from closeknit.testing.rendered import MANIFESTS, NAMESPACE, ChartError, manifests, rendered
from tests.planes import skipped_without_go
from tests.scenario import bound
from tests.scenario.admitted import free_port, resource_of
from tests.scenario.reviewed_manifests import clique_set, kai_topology, named, pod_group
from tests.unit.scheduler.objects import node, pod

pytestmark = pytest.mark.e2e
DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "chart"
Json = dict[str, Any]
TOPOLOGY: Json = {
    "apiVersion": "kai.scheduler/v1alpha1",
    "kind": "Topology",
    "metadata": {"name": "r"},
    "spec": {"levels": [{"nodeLabel": "rack"}]},
}


@pytest.fixture(scope="module", autouse=True)
@skipped_without_go()
def program() -> Path:
    return helm()


@pytest.fixture(scope="module")
def installed(plane: ControlPlane) -> Iterator[ControlPlane]:
    """A cluster in which the plain manifests were applied."""
    _kubectl(plane, "apply", "--server-side", "-k", str(DEPLOY))
    yield plane
    _kubectl(plane, "delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "closeknit")


def _kubectl(plane: ControlPlane, *arguments: str, sent: str = "") -> str:
    done = subprocess.run(
        [plane.programs.kubectl, "--kubeconfig", plane.kubeconfig, *arguments],
        capture_output=True,
        text=True,
        check=False,
        input=sent,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _objects(text: str) -> dict[tuple[str, str], Json]:
    found = [each for each in yaml.safe_load_all(text) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def test_helm_finds_nothing_wrong(program: Path) -> None:
    done = subprocess.run([program, "lint", "--strict", CHART], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "values",
    [
        pytest.param((), id="as it comes"),
        pytest.param(("families.grove=external", "families.kueue=external"), id="with others' operators"),
        pytest.param(
            ("admission.certificateSecret=mine", "definitions.jobset=true"), id="with a certificate"
        ),
        pytest.param(("controllers.enabled=false", "admission.enabled=false"), id="the scheduler alone"),
        pytest.param(
            ("networkPolicy.apiServer.cidrs={10.0.0.1/32}", "scheduler.schedulerNames={a,b}"), id="narrower"
        ),
        pytest.param(
            ("map.enabled=true", "map.certificateSecret=c", "map.tokenSecret=t"), id="with the live map"
        ),
    ],
)
def test_an_api_server_takes_what_the_chart_renders(plane: ControlPlane, values: tuple[str, ...]) -> None:
    _kubectl(plane, "apply", "--server-side", "-f", str(DEPLOY / "namespace.yaml"))

    said = _kubectl(plane, "apply", "--dry-run=server", "-f", "-", sent=rendered(CHART, *values))

    assert "deployment.apps/closeknit-scheduler created (server dry run)" in said


def test_a_family_is_managed_or_external() -> None:
    with pytest.raises(ChartError, match=r'families\.kai is "other"\. Allowed: managed, external\.'):
        rendered(CHART, "families.kai=other")


@pytest.mark.parametrize("name", ["certificateSecret", "tokenSecret"])
def test_the_map_is_not_installed_without_tls_and_a_token(name: str) -> None:
    secrets = {"certificateSecret": "c", "tokenSecret": "t"} | {name: ""}

    with pytest.raises(ChartError, match=rf"map\.{name} is missing\."):
        rendered(CHART, "map.enabled=true", *(f"map.{key}={value}" for key, value in secrets.items()))


def test_the_map_reads_with_an_account_of_its_own_and_is_reached_by_its_name() -> None:
    values = ("map.enabled=true", "map.certificateSecret=c", "map.tokenSecret=t", "map.serverNames={racks}")
    found = _objects(rendered(CHART, *values))

    assert {verb for rule in found["ClusterRole", "closeknit-map"]["rules"] for verb in rule["verbs"]} == {
        "get", "list", "watch",
    }  # fmt: skip
    assert ("Role", "closeknit-map") not in found
    pod = found["Deployment", "closeknit-map"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "closeknit-map"
    (container,) = pod["containers"]
    assert container["args"][0] == "web"
    assert "--token-file=/token/token" in container["args"]
    names = [each.partition("=")[2] for each in container["args"] if each.startswith("--server-name=")]
    assert {f"closeknit-map.{NAMESPACE}.svc", "racks"} <= set(names)
    secrets = {each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each}
    assert secrets == {"c", "t"}
    assert ("Deployment", "closeknit-map") not in _objects(rendered(CHART))


@pytest.mark.requirement("G20")
def test_what_operators_are_told_is_immutable_and_another_content_restarts_them() -> None:
    names = set()
    for content in ("a: 1", "a: 2"):
        found = _objects(rendered(CHART, f"operatorConfigurations.grove\\.yaml={content}"))
        (made,) = [each for (kind, _), each in found.items() if kind == "ConfigMap"]
        assert made["immutable"] is True
        assert made["data"] == {"grove.yaml": content}
        for component in ("controllers", "admission"):
            pod = found["Deployment", f"closeknit-{component}"]["spec"]["template"]["spec"]
            assert "--operator-config=/operators/grove.yaml" in pod["containers"][0]["args"]
            assert {"name": "operators", "configMap": {"name": made["metadata"]["name"]}} in pod["volumes"]
        names.add(made["metadata"]["name"])

    assert len(names) == 2


def test_an_external_family_has_no_definitions_no_webhooks_and_no_grants() -> None:
    found = _objects(rendered(CHART, "families.grove=external"))

    assert not [name for kind, name in found if kind == "CustomResourceDefinition" and "grove" in name]
    entries = found["ValidatingWebhookConfiguration", "closeknit"]["webhooks"]
    assert not [each["name"] for each in entries if "grove" in each["name"]]
    rules = found["ClusterRole", "closeknit-controllers"]["rules"]
    written = [each for each in rules if "podcliques" in each["resources"] and "create" in each["verbs"]]
    assert not written
    arguments = found["Deployment", "closeknit-controllers"]["spec"]["template"]["spec"]["containers"][0][
        "args"
    ]
    assert "--external=grove" in arguments


def test_the_plain_manifests_are_those_of_the_chart(plane: ControlPlane) -> None:
    """``make deploy`` writes them."""
    assert (DEPLOY / MANIFESTS).read_text(encoding="utf-8") == manifests(CHART)

    plain = _objects(_kubectl(plane, "kustomize", str(DEPLOY)))

    assert plain.keys() - {("Namespace", NAMESPACE)} == _objects(rendered(CHART)).keys()


def test_pods_are_as_restricted_as_their_namespace_asks(installed: ControlPlane) -> None:
    """The API server checks each template against the strictest of its standards, and would warn."""
    done = subprocess.run(
        [
            installed.programs.kubectl,
            "--kubeconfig",
            installed.kubeconfig,
            *("apply", "--server-side", "--force-conflicts", "-f", DEPLOY / MANIFESTS),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0
    assert "Warning" not in done.stderr


async def test_admission_needs_nothing_but_its_role(installed: ControlPlane) -> None:
    """It keeps its certificate in the Secret, has the API server trust it, and reads what it reviews by."""
    account = load_access(kubeconfig=str(installed.kubeconfig_of(installed.accounts["admission"])))
    admin = load_access(kubeconfig=str(installed.kubeconfig))
    port = free_port()
    async with connect(account, component="admission") as api, connect(admin, component="e2e") as own:
        await _call_here(own, port)
        keeper = InSecret(api, NAMESPACE, "closeknit-admission-certificates", ("127.0.0.1",), SYSTEM_CLOCK)
        log = structlog.wrap_logger(structlog.ReturnLogger())
        admission = Admission(api, Settings(port=port), keeper, log=log, random=Random(1))
        await admission.start()
        running = asyncio.create_task(admission.run())
        try:
            async with asyncio.timeout(60):
                while admission.not_ready() is not None:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
                while True:
                    said = await _said(own)
                    if "denied the request" in said:
                        break
                    await asyncio.sleep(0.1)
            for each in (kai_topology("x"), pod_group("{minMember: 1}")):
                right = named(each)
                await own.create(resource_of(right), right)
            with pytest.raises(ForbiddenError):
                await api.get(SECRETS, "another", namespace=NAMESPACE)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def _call_here(api: KubernetesApi, port: int) -> None:
    """Have the entries of the manifests call this process instead of a Service, which nobody routes here."""
    for resource in (MUTATING, VALIDATING):
        found = await api.get(resource, "closeknit")
        entries = [
            {
                **each,
                "clientConfig": {"url": f"https://127.0.0.1:{port}{each['clientConfig']['service']['path']}"},
            }
            for each in found["webhooks"]
        ]
        await api.patch(resource, "closeknit", MergePatch({"webhooks": entries}))


async def _said(api: KubernetesApi) -> str:
    wrong = named(pod_group("{minMember: 1, topologyConstraint: {topology: none, requiredTopologyLevel: x}}"))
    try:
        await api.create(resource_of(wrong), wrong, dry_run=True)
    except ApiError as error:
        return str(error)
    return ""


async def test_the_scheduler_needs_nothing_but_its_role(installed: ControlPlane) -> None:
    """It holds its lease, binds a gang, and tells why another one waits."""
    async with _as(installed, installed.accounts["scheduler"]) as api, _as(installed) as own:
        await _stand_aside(own)
        await own.create(resource_of(TOPOLOGY), TOPOLOGY)
        for name in ("n0", "n1"):
            await own.create(NODES, node(name, 4, rack="r"))
        for group, pods in (("fits", 2), ("waits", 9)):
            wanted = named(
                pod_group(
                    f"{{minMember: {pods}, topologyConstraint: {{topology: r, requiredTopologyLevel: rack}}}}"
                )
            )
            wanted["metadata"]["name"] = group
            await own.create(resource_of(wanted), wanted)
            for i in range(pods):
                await own.create(PODS, pod(f"{group}-{i}", group, gpus=1))
        scheduler = Instance(
            api,
            SchedulerSettings(),
            identity="e2e",
            log=structlog.wrap_logger(structlog.ReturnLogger()),
            random=Random(1),
            lease=LeaseName(namespace=NAMESPACE, name="closeknit-scheduler"),
        )
        running = asyncio.create_task(scheduler.run())
        try:
            waiting = await bound.told(own, "waits", "Unschedulable", seconds=60)
            assert waiting["status"] == "False"
            nodes = await bound.nodes_of(own)
            assert all(nodes[f"fits-{i}"] for i in range(2))
        finally:
            scheduler.stop()
            await running


async def test_the_controllers_need_nothing_but_their_role(installed: ControlPlane) -> None:
    """They hold their lease, and make the gang and the pods of a PodCliqueSet."""
    async with _as(installed, installed.accounts["controllers"]) as api, _as(installed) as own:
        await _stand_aside(own)
        warnings: list[str] = []

        def note(_: Any, method: str, facts: MutableMapping[str, Any]) -> str:
            if method == "warning":
                warnings.append(str(facts))
            return ""

        controllers = Controllers(
            api,
            managed(),
            identity="e2e",
            log=structlog.wrap_logger(structlog.ReturnLogger(), processors=[note]),
            random=Random(1),
            lease=LeaseName(namespace=NAMESPACE, name="closeknit-controllers"),
        )
        running = asyncio.create_task(controllers.run())
        try:
            wanted = named(clique_set())
            await own.create(resource_of(wanted), wanted)
            async with asyncio.timeout(60):
                while True:
                    pods = (await own.list(PODS)).items
                    made = [
                        each
                        for each in pods
                        if each["metadata"]["name"].startswith(wanted["metadata"]["name"])
                    ]
                    if len(made) == 2:
                        break
                    await asyncio.sleep(0.2)
        finally:
            controllers.stop()
            await running
    assert not [each for each in warnings if "forbidden" in each.lower()]


@pytest.mark.requirement("D32")
@pytest.mark.parametrize("kind", ["ClusterTopology", "ClusterTopologyBinding"])
async def test_beside_groves_own_operator_the_controllers_only_read_its_topologies(
    installed: ControlPlane, kind: str
) -> None:
    role = _objects(rendered(CHART, "families.grove=external"))["ClusterRole", "closeknit-controllers"]
    role["metadata"] = {"name": "beside-grove"}
    bound_to = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": installed.guest.name}
    binding = {
        "apiVersion": role["apiVersion"],
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "beside-grove"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "beside-grove"},
        "subjects": [bound_to],
    }
    _kubectl(installed, "apply", "-f", "-", sent=yaml.safe_dump_all([role, binding]))
    topology = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": "theirs"},
        "spec": {"levels": [{"domain": "rack", "key": "example.com/rack"}]},
    }
    resource = resource_of(topology)
    async with _as(installed) as own, _as(installed, installed.guest) as api:
        await _stand_aside(own)
        await own.create(resource, topology)
        async with asyncio.timeout(30):
            # The API server hears of the role a moment later.
            while True:
                with suppress(ForbiddenError):
                    found = await api.get(resource, "theirs")
                    break
                await asyncio.sleep(0.1)
        assert found["spec"] == topology["spec"]
        assert [each["metadata"]["name"] for each in (await api.list(resource)).items] == ["theirs"]
        marked = MergePatch({"metadata": {"labels": {"a": "b"}}})
        for write in (
            api.create(resource, {**topology, "metadata": {"name": "ours"}}),
            api.patch(resource, "theirs", marked),
            api.patch(resource, "theirs", marked, subresource="status"),
            api.delete(resource, "theirs"),
        ):
            with pytest.raises(ForbiddenError):
                await write
        await own.delete(resource, "theirs")


@asynccontextmanager
async def _as(plane: ControlPlane, user: User | None = None) -> AsyncIterator[KubernetesApi]:
    """The API as a user sees it, or as an administrator."""
    access = load_access(kubeconfig=str(plane.kubeconfig_of(user or plane.admin)))
    async with connect(access, component="e2e") as api:
        yield api


async def _stand_aside(api: KubernetesApi) -> None:
    """Ask no webhook any more, since none listens."""
    for resource in (MUTATING, VALIDATING):
        await api.patch(resource, "closeknit", MergePatch({"webhooks": []}))
    async with asyncio.timeout(60):
        # The API server hears of it a moment later.
        while "webhook" in await _said(api):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
