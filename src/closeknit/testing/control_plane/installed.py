"""A controller of another project on a control plane: its definitions, its webhooks and its process.

It is built from the module proxy like the rest, runs as ``admin``, and listens on loopback alone.
"""

from __future__ import annotations

import base64
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from closeknit.testing.control_plane.plane import ControlPlane
from closeknit.testing.control_plane.programs import JOB_SET, KUEUE, Release, built, kept_folder
from closeknit.testing.control_plane.runs import Process, free_ports

_READY_SECONDS = 120.0


def published_definitions(release: Release) -> list[dict[str, Any]]:
    """The definitions that a release is installed with."""
    files = sorted(kept_folder(release, "config/components/crd/bases").glob("*.yaml"))
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


class RealController:
    """One that runs, or is about to."""

    def __init__(
        self,
        plane: ControlPlane,
        release: Release,
        configuration: Mapping[str, Any],
        *,
        certificates: str,
        flags: tuple[str, ...] = (),
    ) -> None:
        """``certificates`` names the folder of the control plane from which it reads its certificate."""
        self._plane, self._release, self._flags = plane, release, flags
        self._health, self._webhook = free_ports(2)
        folder = plane.folder / certificates
        folder.mkdir(exist_ok=True)
        shutil.copy(plane.server_pair.certificate, folder / "tls.crt")
        shutil.copy(plane.server_pair.key, folder / "tls.key")
        self._configuration = plane.folder / f"{release.name}.yaml"
        written = {
            "kind": "Configuration",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._health}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"host": "127.0.0.1", "port": self._webhook, "certDir": str(folder)},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            # No limit of requests that counts.
            "clientConnection": {"qps": 10_000, "burst": 10_000},
            **configuration,
        }
        self._configuration.write_text(yaml.safe_dump(written), encoding="utf-8")

    @property
    def command(self) -> tuple[str, ...]:
        """How it is started, in the folder of its control plane."""
        ((program, _),) = self._release.programs
        return (
            str(built(self._release, lambda _: None) / program),
            f"--config={self._configuration}",
            f"--kubeconfig={self._plane.kubeconfig}",
            *self._flags,
        )

    def webhooks(self) -> list[dict[str, Any]]:
        """Its webhook configurations, as it is installed with them, but at its address here."""
        file = kept_folder(self._release, "config/components/webhook") / "manifests.yaml"
        authority = base64.b64encode(self._plane.authority.read_bytes()).decode()
        made = []
        for configuration in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            configuration["metadata"]["name"] = f"{self._release.name}-{configuration['metadata']['name']}"
            for each in configuration["webhooks"]:
                path = each["clientConfig"]["service"]["path"]
                url = f"https://127.0.0.1:{self._webhook}{path}"
                each["clientConfig"] = {"url": url, "caBundle": authority}
            made.append(configuration)
        return made

    def is_ready(self) -> bool:
        """Whether it says that it works."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self._health}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    @contextmanager
    def running(self) -> Iterator[Path]:
        """Start it, and end it at the end; its log."""
        process = Process(self._plane.folder, self._release.name, self.command)
        try:
            process.wait_until(self.is_ready, _READY_SECONDS)
            yield process.log
        finally:
            process.end()


def real_kueue(plane: ControlPlane, *frameworks: str, gates: tuple[str, ...] = ()) -> RealController:
    """Kueue, for the kinds of these integrations."""
    configuration = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "integrations": {"frameworks": list(frameworks)},
    }
    flag = f"--feature-gates={','.join(('VisibilityOnDemand=false', *gates))}"
    # There it looks for the certificate of its metrics.
    return RealController(plane, KUEUE, configuration, certificates="kueue-metrics-certs", flags=(flag,))


def real_job_set(plane: ControlPlane) -> RealController:
    """The JobSet controller."""
    configuration = {"apiVersion": "config.jobset.x-k8s.io/v1alpha1"}
    return RealController(plane, JOB_SET, configuration, certificates="jobset-certs")
