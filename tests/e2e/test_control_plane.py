"""The control plane itself: who may do what, which credentials serve, and that controllers work."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.kube.errors import ForbiddenError, UnauthorizedError, UnavailableError
from closeknit.kube.port import DeleteOptions, KubernetesApi, Propagation, Selection
from closeknit.kube.resources import JOBS, NAMESPACES, NODES, PODS, Resource
from closeknit.kube.rest import Connection, FixedAccess, connect, load_access
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.control_plane.credentials import Credentials
from tests.conformance.cluster import eventually

pytestmark = pytest.mark.e2e

ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
ROLE_BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)


@pytest.fixture
async def admin(plane: ControlPlane) -> AsyncIterator[KubernetesApi]:
    async with connect(load_access(kubeconfig=str(plane.kubeconfig))) as api:
        yield api


def kubeconfig(folder: Path, plane: ControlPlane, user: dict[str, Any], **cluster: Any) -> str:
    path = folder / "kubeconfig"
    trusted = {"server": plane.address, "certificate-authority": str(plane.authority)}
    path.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": trusted | cluster}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "c",
            }
        ),
        encoding="utf-8",
    )
    return str(path)


async def test_a_user_may_do_what_rbac_grants(plane: ControlPlane, admin: KubernetesApi) -> None:
    access = load_access(kubeconfig=str(plane.kubeconfig_of(plane.guest)))
    async with connect(access) as guest:
        with pytest.raises(ForbiddenError) as raised:
            await guest.list(NODES)
        assert 'User "guest" cannot list resource "nodes"' in str(raised.value)
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": rules}
        await admin.create(ROLES, role | {"metadata": {"name": "guest"}})
        await admin.create(
            ROLE_BINDINGS,
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "guest"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "guest"},
                "subjects": [{"kind": "User", "name": "guest"}],
            },
        )

        async def may_list() -> bool:
            try:
                await guest.list(PODS)
            except ForbiddenError:
                return False
            return True

        await eventually(may_list)
        with pytest.raises(ForbiddenError):
            await guest.create(PODS, {"metadata": {"name": "p", "namespace": "default"}})


async def test_a_token_that_is_unknown_is_refused(plane: ControlPlane, tmp_path: Path) -> None:
    access = load_access(kubeconfig=kubeconfig(tmp_path, plane, {"token": "unknown"}))
    async with connect(access) as api:
        with pytest.raises(UnauthorizedError):
            await api.list(NODES)


async def test_a_certificate_says_who_asks(plane: ControlPlane, tmp_path: Path) -> None:
    pair = plane.admin_pair
    files = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    async with connect(load_access(kubeconfig=kubeconfig(tmp_path, plane, files))) as api:
        assert (await api.list(NODES)).resource_version


async def test_certificates_can_stand_in_the_file(plane: ControlPlane, tmp_path: Path) -> None:
    def inline(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    pair = plane.admin_pair
    user = {"client-certificate-data": inline(pair.certificate), "client-key-data": inline(pair.key)}
    path = kubeconfig(tmp_path, plane, user, **{"certificate-authority-data": inline(plane.authority)})
    async with connect(load_access(kubeconfig=path)) as api:
        assert (await api.list(NODES)).resource_version


async def test_a_server_that_nobody_vouches_for_is_not_trusted(plane: ControlPlane, tmp_path: Path) -> None:
    stranger = Credentials(tmp_path / "stranger")
    others = {"certificate-authority": str(stranger.authority)}
    path = kubeconfig(tmp_path, plane, {"token": plane.admin.token}, **others)
    async with connect(load_access(kubeconfig=path)) as api:
        with pytest.raises(UnavailableError, match="certificate verify failed"):
            await api.list(NODES)


async def test_the_server_may_be_asked_under_another_name(plane: ControlPlane, tmp_path: Path) -> None:
    user = {"token": plane.admin.token}
    good = kubeconfig(tmp_path, plane, user, **{"tls-server-name": "localhost"})
    async with connect(load_access(kubeconfig=good)) as api:
        assert (await api.list(NODES)).resource_version
    bad = kubeconfig(tmp_path, plane, user, **{"tls-server-name": "other.test"})
    async with connect(load_access(kubeconfig=bad)) as api:
        with pytest.raises(UnavailableError, match="certificate"):
            await api.list(NODES)


async def test_nobody_is_anonymous(plane: ControlPlane) -> None:
    real = await load_access(kubeconfig=str(plane.kubeconfig)).connection()
    async with connect(FixedAccess(Connection(plane.address, tls=real.tls))) as api:
        with pytest.raises(UnauthorizedError):
            await api.list(NAMESPACES)


async def test_the_job_controller_makes_pods_and_takes_them_away(admin: KubernetesApi) -> None:
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "example.invalid/m"}]}
    }
    spec = {"parallelism": 3, "completions": 3, "completionMode": "Indexed", "template": template}
    metadata = {"name": "indexed", "namespace": "default"}
    await admin.create(JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    ours = Selection(namespace="default", labels="batch.kubernetes.io/job-name=indexed")

    async def holds(number: int) -> bool:
        return len((await admin.list(PODS, ours)).items) == number

    await eventually(lambda: holds(3))
    background = DeleteOptions(propagation=Propagation.BACKGROUND)
    await admin.delete(JOBS, "indexed", namespace="default", options=background)
    await eventually(lambda: holds(0))


def test_kubectl_of_the_same_version_works(plane: ControlPlane) -> None:
    told = subprocess.run(
        [plane.programs.kubectl, "--kubeconfig", plane.kubeconfig, "get", "namespaces", "-o", "name"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "namespace/default" in told.stdout.splitlines()


def test_nothing_listens_beyond_loopback(plane: ControlPlane) -> None:
    for name in ("etcd", "kube-apiserver", "kube-controller-manager"):
        log = (plane.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        assert "0.0.0.0:" not in log.replace("--", "")
        assert "[::]:" not in log
