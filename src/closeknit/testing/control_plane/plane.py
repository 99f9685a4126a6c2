"""One control plane: what is started, with which flags, and when it is ready."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from closeknit.installation.privileges import Component
from closeknit.testing.control_plane.credentials import Credentials, Pair, User, kubeconfig
from closeknit.testing.control_plane.programs import Programs, cache, programs
from closeknit.testing.control_plane.runs import PortTakenError, Process, free_ports, run_folder

_READY_SECONDS = 120.0
_ATTEMPTS = 3
_ACCOUNTS = "system:serviceaccount:closeknit-system"

CONTROLLERS = (
    "deployment-controller",
    "disruption-controller",
    "ephemeral-volume-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "replicaset-controller",
    "resourceclaim-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
)
"""Those that work without kubelets. The node lifecycle controller is not among them: it would evict
from nodes that keep no lease."""


class ControlPlane:
    """A running API server with its etcd and controllers, and who may use it."""

    def __init__(
        self,
        folder: Path,
        built: Programs,
        api_server_flags: Sequence[str] = (),
        controllers: Sequence[str] = CONTROLLERS,
    ) -> None:
        self.folder = folder
        self.programs = built
        self._credentials = Credentials(folder / "credentials")
        self.authority = self._credentials.authority
        self.admin = self._credentials.user("admin", "system:masters")
        self.guest = self._credentials.user("guest")
        """A user whom RBAC allows nothing but what a test grants."""
        self.accounts = {
            component.value: self._credentials.user(
                f"{_ACCOUNTS}:closeknit-{component.value}", "system:serviceaccounts", "system:authenticated"
            )
            for component in Component
        }
        """Whom the chart grants something, where it is installed in closeknit-system."""
        self.admin_pair = self._credentials.pair(
            "admin", common_name="admin-by-certificate", organizations=("system:masters",)
        )
        self.server_pair = self._credentials.pair("kube-apiserver", common_name="kube-apiserver")
        self._etcd_pair = self._credentials.pair("etcd", common_name="etcd")
        self._more_flags = tuple(api_server_flags)
        self._controllers = tuple(controllers)
        etcd, peers, api, healthy = free_ports(4)
        self._etcd_address = f"https://127.0.0.1:{etcd}"
        self._peer_address = f"https://127.0.0.1:{peers}"
        self._api_port, self._controllers_port = api, healthy
        self.address = f"https://127.0.0.1:{api}"
        self.kubeconfig = self.kubeconfig_of(self.admin)
        self._api_server: Process | None = None

    def kubeconfig_of(self, user: User) -> Path:
        """The kubeconfig file of a user, written on demand."""
        # A colon would part two files.
        path = self.folder / f"{user.name.replace(':', '-')}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(kubeconfig(self.address, self.authority, user), encoding="utf-8")
        return path

    @contextmanager
    def running(self) -> Iterator[ControlPlane]:
        """Start everything, each part when what it needs is ready, and end it in reverse order."""
        with ExitStack() as ending:
            etcd = Process(self.folder, "etcd", self._etcd_command())
            ending.callback(etcd.end)
            etcd.wait_until(self._etcd_is_ready, _READY_SECONDS)
            ending.callback(self.stop_api_server)
            self.start_api_server()
            controllers = Process(self.folder, "kube-controller-manager", self._controllers_command())
            ending.callback(controllers.end)
            controllers.wait_until(self._controllers_are_ready, _READY_SECONDS)
            yield self

    def start_api_server(self) -> None:
        """Start the API server, at the start and after it was stopped; its port stays the same."""
        self._api_server = Process(self.folder, "kube-apiserver", self._api_server_command())
        self._api_server.wait_until(self._api_server_is_ready, _READY_SECONDS)

    def stop_api_server(self) -> None:
        """Let the API server end by itself. Etcd keeps what was written."""
        if self._api_server:
            self._api_server.end()

    def kill_api_server(self) -> None:
        """Make the API server crash."""
        if self._api_server:
            self._api_server.kill()

    def _etcd_command(self) -> list[str]:
        pair, authority = self._etcd_pair, self.authority
        return [
            str(self.programs.etcd),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={self._etcd_address}",
            f"--advertise-client-urls={self._etcd_address}",
            f"--listen-peer-urls={self._peer_address}",
            f"--initial-advertise-peer-urls={self._peer_address}",
            f"--initial-cluster=default={self._peer_address}",
            *(f"--{use}cert-file={pair.certificate}" for use in ("", "peer-")),
            *(f"--{use}key-file={pair.key}" for use in ("", "peer-")),
            *(f"--{use}trusted-ca-file={authority}" for use in ("", "peer-")),
            *(f"--{use}client-cert-auth" for use in ("", "peer-")),
            # The data is gone when this ends, so nothing is lost by not waiting for the disk.
            "--unsafe-no-fsync",
        ]

    def _api_server_command(self) -> list[str]:
        key = self._credentials.service_account_key
        return [
            str(self.programs.kube_apiserver),
            f"--etcd-servers={self._etcd_address}",
            f"--etcd-cafile={self.authority}",
            f"--etcd-certfile={self._etcd_pair.certificate}",
            f"--etcd-keyfile={self._etcd_pair.key}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._api_port}",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={self.server_pair.certificate}",
            f"--tls-private-key-file={self.server_pair.key}",
            f"--client-ca-file={self.authority}",
            f"--token-auth-file={self._credentials.tokens}",
            "--authorization-mode=RBAC",
            "--anonymous-auth=false",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            # Nobody makes the service accounts that pods get, and no kubelet clears a new node's taint.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            *self._more_flags,
        ]

    def _controllers_command(self) -> list[str]:
        return [
            str(self.programs.kube_controller_manager),
            f"--kubeconfig={self.kubeconfig}",
            f"--authentication-kubeconfig={self.kubeconfig}",
            f"--authorization-kubeconfig={self.kubeconfig}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._controllers_port}",
            f"--tls-cert-file={self.server_pair.certificate}",
            f"--tls-private-key-file={self.server_pair.key}",
            f"--controllers={','.join(self._controllers)}",
            # Tests wait for controllers, which would otherwise ask the server at a modest rate.
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ]

    def _etcd_is_ready(self) -> bool:
        return self._answers(f"{self._etcd_address}/health", self._etcd_pair)

    def _api_server_is_ready(self) -> bool:
        # The namespace is made a moment after the server calls itself ready.
        return all(
            self._answers(f"{self.address}{path}") for path in ("/readyz", "/api/v1/namespaces/default")
        )

    def _controllers_are_ready(self) -> bool:
        return self._answers(f"https://127.0.0.1:{self._controllers_port}/healthz")

    def _answers(self, address: str, pair: Pair | None = None) -> bool:
        context = ssl.create_default_context(cafile=str(self.authority))
        chosen = pair or self.admin_pair
        context.load_cert_chain(chosen.certificate, chosen.key)
        # Proxies of the environment are for the world outside.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        try:
            with opener.open(address, timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False


@contextmanager
def control_plane(
    *,
    api_server_flags: Sequence[str] = (),
    controllers: Sequence[str] = CONTROLLERS,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[ControlPlane]:
    """A control plane of its own, built where needed, ready, and gone without a trace at the end.

    Raises ``GoMissingError`` where it would have to be built and cannot be.
    """
    built = programs(tell)
    for attempt in range(_ATTEMPTS):
        with ExitStack() as stack:
            folder = stack.enter_context(run_folder(cache() / "runs"))
            plane = ControlPlane(folder, built, api_server_flags, controllers)
            try:
                stack.enter_context(plane.running())
            except PortTakenError:
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            yield plane
            return
