"""Kueue itself on a control plane: its definitions, its webhooks and its process.

It is built from the module proxy like the rest, runs as ``admin``, and listens on loopback alone.
"""

from __future__ import annotations

import base64
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from closeknit.testing.control_plane.plane import ControlPlane
from closeknit.testing.control_plane.programs import KUEUE, built, module_folder
from closeknit.testing.control_plane.runs import Process, free_ports

_READY_SECONDS = 120.0
_CERTIFICATES = "kueue-metrics-certs"
"""Where the program looks for the certificate of its metrics, and here of its webhooks too."""


def kueue_definitions() -> list[dict[str, Any]]:
    """Kueue's own definitions, from the module that it is built from."""
    built(KUEUE, lambda _: None)
    files = sorted((module_folder(KUEUE) / "config/components/crd/bases").glob("*.yaml"))
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


class RealKueue:
    """A Kueue that runs, or is about to."""

    def __init__(
        self,
        plane: ControlPlane,
        frameworks: Sequence[str],
        settings: Mapping[str, Any] | None = None,
        gates: Sequence[str] = (),
    ) -> None:
        self._plane = plane
        self._gates = tuple(gates)
        self._health, self._webhook = free_ports(2)
        folder = plane.folder / _CERTIFICATES
        folder.mkdir(exist_ok=True)
        pair = plane.server_pair
        shutil.copy(pair.certificate, folder / "tls.crt")
        shutil.copy(pair.key, folder / "tls.key")
        self._configuration = plane.folder / "kueue.yaml"
        written = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._health}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"host": "127.0.0.1", "port": self._webhook, "certDir": str(folder)},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            # No limit of requests that counts.
            "clientConnection": {"qps": 10_000, "burst": 10_000},
            "integrations": {"frameworks": list(frameworks)},
            **(settings or {}),
        }
        self._configuration.write_text(yaml.safe_dump(written), encoding="utf-8")

    @property
    def command(self) -> tuple[str, ...]:
        """How it is started, in the folder of its control plane."""
        program = built(KUEUE, lambda _: None) / "kueue"
        return (
            str(program),
            f"--config={self._configuration}",
            f"--kubeconfig={self._plane.kubeconfig}",
            f"--feature-gates={','.join(('VisibilityOnDemand=false', *self._gates))}",
        )

    def webhooks(self) -> list[dict[str, Any]]:
        """Its webhook configurations, as it is installed with them, but at its address here."""
        text = (module_folder(KUEUE) / "config/components/webhook/manifests.yaml").read_text(encoding="utf-8")
        authority = base64.b64encode(self._plane.authority.read_bytes()).decode()
        made = []
        for configuration in yaml.safe_load_all(text):
            configuration["metadata"]["name"] = f"kueue-{configuration['metadata']['name']}"
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
        process = Process(self._plane.folder, "kueue", self.command)
        try:
            process.wait_until(self.is_ready, _READY_SECONDS)
            yield process.log
        finally:
            process.end()
