"""A real API server as an administrator sees it, and as the account of each component does.

What the chart grants is installed, and nothing more; the server itself refuses the rest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from closeknit.installation.privileges import Component
from closeknit.kube.errors import AlreadyExistsError
from closeknit.kube.port import KubernetesApi, Object
from closeknit.kube.rest import Access, connect, load_access
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.rendered import NAMESPACE

_GRANTING = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


class Accounts:
    """Passes everything on as the administrator; ``seen_by`` asks as a component."""

    def __init__(self, admin: KubernetesApi, components: Mapping[Component, KubernetesApi]) -> None:
        self._admin = admin
        self.components = components

    def __getattr__(self, name: str) -> Any:
        return getattr(self._admin, name)


def seen_by(component: Component, api: KubernetesApi | Accounts) -> KubernetesApi:
    """An API as the account of a component sees it, where it tells accounts apart."""
    return api.components[component] if isinstance(api, Accounts) else api


def access_of(component: Component, plane: ControlPlane) -> Access:
    """The way to a control plane of the account of a component."""
    return load_access(kubeconfig=str(plane.kubeconfig_of(plane.accounts[component.value])))


async def grant(admin: KubernetesApi, manifests: Iterable[Object]) -> None:
    """Make the accounts of the manifests and their roles, where they are not there yet."""
    served = {(each.api_version, each.kind): each for each in await admin.resources()}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    for each in (namespace, *(each for each in manifests if each["kind"] in _GRANTING)):
        with suppress(AlreadyExistsError):
            await admin.create(served[each["apiVersion"], each["kind"]], each)


@asynccontextmanager
async def connected(plane: ControlPlane, manifests: Iterable[Object]) -> AsyncIterator[KubernetesApi]:
    """Connections of the administrator and of every component, which has the roles of the manifests."""
    async with AsyncExitStack() as stack:
        admin, *others = [
            await stack.enter_async_context(connect(access, component="scenario"))
            for access in (
                load_access(kubeconfig=str(plane.kubeconfig)),
                *(access_of(component, plane) for component in Component),
            )
        ]
        await grant(admin, manifests)
        accounts: Any = Accounts(admin, dict(zip(Component, others, strict=True)))
        yield accounts
