"""The Helm chart as plain manifests: ``python -m closeknit.testing.rendered DEPLOY`` writes them there.

Helm is built with Go where that was not done before.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from closeknit.testing.control_plane.programs import KUBERNETES, helm

NAMESPACE: Final = "closeknit-system"
MANIFESTS: Final = "manifests.yaml"
_HELMS_OWN: Final = ("app.kubernetes.io/managed-by: Helm", "helm.sh/chart:", "# Source:")


class ChartError(Exception):
    """Helm did not take the chart. The message is what it said."""


def rendered(chart: Path, *values: str) -> str:
    """What Helm makes of the chart with these values, each as in ``families.kai=external``."""
    command = [str(helm(_tell)), "template", "closeknit", str(chart), "--namespace", NAMESPACE]
    command += ["--kube-version", KUBERNETES.version, *(f"--set={value}" for value in values)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise ChartError(done.stderr)
    return done.stdout


def manifests(chart: Path) -> str:
    """The chart for those who do without Helm; definitions stand in files of their own."""
    made = rendered(chart, "definitions.install=false")
    kept = [line for line in made.splitlines() if not any(word in line for word in _HELMS_OWN)]
    return "# Written by `make deploy`.\n" + "\n".join(kept) + "\n"


def _tell(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


if __name__ == "__main__":
    deploy = Path(sys.argv[1])
    (deploy / MANIFESTS).write_text(manifests(deploy / "chart"), encoding="utf-8")
