"""A script of kubectl commands prints the same on kube-apiserver and on the embedded server."""

from __future__ import annotations

import asyncio
import difflib
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from closeknit.testing.control_plane import ControlPlane

pytestmark = pytest.mark.e2e

FOLDER = Path(__file__).parent / "kubectl"
COMMANDS = [
    line
    for line in (FOLDER / "script.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
]
ANY_ORDER = frozenset(
    {"get cm one -n team -o yaml --show-managed-fields", "get pod p1 -n team -o yaml --show-managed-fields"}
)
"""Managers are listed by the second of their last write, and two writes may fall into one second or two."""
NAMES_TEMPORARY_FILES = frozenset({"diff -f configmap.yaml -n team"})
"""Only their exit status is compared."""

_ALIKE = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r'resourceVersion: "\d+"', "resourceVersion: VERSION"),
    (r"Resource Version:\s+\d+", "Resource Version: VERSION"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} [\d:]+ \+0000", "TIME"),
    (r"\b(\d+d)?(\d+h)?(\d+m)?\d+s\b", "AGE"),
    (r" +", " "),
)


def alike(text: str) -> list[str]:
    """The lines of an output without what no two servers have in common: ages, times, uids and versions."""
    for pattern, word in _ALIKE:
        text = re.sub(pattern, word, text)
    lines = [line.rstrip() for line in text.splitlines()]
    # kube-apiserver lists the causes of a refusal in any order.
    causes = iter(sorted(line for line in lines if line.startswith("* ")))
    return [next(causes) if line.startswith("* ") else line for line in lines]


async def run(
    kubectl: Path, kubeconfig: Path, folder: Path, command: str
) -> tuple[int, list[str], list[str]]:
    process = await asyncio.create_subprocess_exec(
        str(kubectl),
        "--kubeconfig",
        str(kubeconfig),
        "--cache-dir",
        str(folder / f"cache-{kubeconfig.name}"),
        *command.split(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
    )
    out, err = await asyncio.wait_for(process.communicate(), 120)
    return process.returncode or 0, alike(out.decode()), alike(err.decode())


async def test_kubectl_says_the_same_of_both_servers(plane: ControlPlane, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    shutil.copytree(FOLDER, folder)
    embedded = tmp_path / "embedded.kubeconfig"
    differences: list[str] = []
    async with Server(EmbeddedCluster()) as server:
        server.write_kubeconfig(embedded)
        for command in COMMANDS:
            real = await run(plane.programs.kubectl, plane.kubeconfig, folder, command)
            ours = await run(plane.programs.kubectl, embedded, folder, command)
            if command in ANY_ORDER:
                real, ours = ((one[0], sorted(one[1]), sorted(one[2])) for one in (real, ours))
            if real[0] != ours[0] or (command not in NAMES_TEMPORARY_FILES and real != ours):
                lines = difflib.unified_diff(
                    [f"exit status {real[0]}", *real[1], *real[2]],
                    [f"exit status {ours[0]}", *ours[1], *ours[2]],
                    "kube-apiserver",
                    "embedded",
                    lineterm="",
                    n=1,
                )
                differences.append("\n".join((f"kubectl {command}", *lines)))

    assert len(COMMANDS) >= 60
    assert not differences, "\n\n".join(differences)


async def test_kubectl_runs_closeknit_as_its_plugin(plane: ControlPlane) -> None:
    process = await asyncio.create_subprocess_exec(
        str(plane.programs.kubectl),
        *("closeknit", "get", "namespaces", "-o", "name", "--kubeconfig", str(plane.kubeconfig)),
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await asyncio.wait_for(process.communicate(), 120)

    assert (process.returncode, "namespace/default" in out.decode().split()) == (0, True), out.decode()


def test_ages_and_the_like_do_not_count() -> None:
    assert alike('a 5m3s  b\nresourceVersion: "7"') == alike('a 12s b\nresourceVersion: "9"')
    assert alike("replicas: 3") != alike("replicas: 4")
