"""A real kubectl says the same of the embedded cluster as of kube-apiserver, line by line."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from closeknit.testing.control_plane import ControlPlane
from tests.e2e.kubectl_script import COMMANDS, NAMESPACE, SETUP, Command

pytestmark = pytest.mark.e2e

_ASIDE = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"https://127\.0\.0\.1:\d+", "SERVER"),
    (r'resourceVersion: "\d+"', "VERSION"),
    (r'"resourceVersion": "\d+"', "VERSION"),
    (r"\b(\d+[dhms])+\b", "AGE"),
    (r"/tmp/(LIVE|MERGED)-\d+", "FILE"),
    (r"TIME\d*\s+", "TIME "),
    # Columns are as wide as their widest cell, which may be an age.
    (r"[ \t]+", " "),
]


def told(output: str) -> list[str]:
    """Lines without what differs from run to run."""
    for pattern, word in _ASIDE:
        output = re.sub(pattern, word, output)
    return [line.rstrip() for line in output.splitlines()]


async def said(kubectl: Path, kubeconfig: Path, command: Command, home: Path) -> list[str]:
    process = await asyncio.create_subprocess_exec(
        kubectl,
        *command.words,
        env={"KUBECONFIG": str(kubeconfig), "HOME": str(home), "PATH": "/usr/bin:/bin"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(command.reads.encode()), 120)
    return [*told(output.decode()), f"exit {process.returncode}"]


async def script(kubectl: Path, kubeconfig: Path, home: Path) -> list[list[str]]:
    for command in SETUP:
        answer = await said(kubectl, kubeconfig, command, home)
        assert answer[-1] == "exit 0", answer
    await said(
        kubectl, kubeconfig, Command(("config", "set-context", "--current", f"--namespace={NAMESPACE}")), home
    )
    return [await said(kubectl, kubeconfig, command, home) for command in COMMANDS]


async def test_a_script_of_commands_has_the_same_output_on_both(plane: ControlPlane, tmp_path: Path) -> None:
    kubectl = plane.programs.kubectl
    real_config = tmp_path / "real"
    real_config.write_text(plane.kubeconfig.read_text(encoding="utf-8"), encoding="utf-8")
    real = await script(kubectl, real_config, tmp_path / "real-home")
    cluster = EmbeddedCluster()
    async with Server(cluster) as server:
        server.write_kubeconfig(tmp_path / "embedded")
        embedded = await script(kubectl, tmp_path / "embedded", tmp_path / "embedded-home")
    await cluster.close()

    assert len(COMMANDS) >= 60
    differing = [
        f"{command}\n  real: {theirs}\n  embedded: {ours}"
        for command, theirs, ours in zip(COMMANDS, real, embedded, strict=True)
        if not same(command, theirs, ours)
    ]
    assert not differing, "\n".join(differing)


def same(command: Command, theirs: list[str], ours: list[str]) -> bool:
    if not command.agreed:
        return theirs == ours
    both = all(any(command.agreed in line for line in answer) for answer in (theirs, ours))
    return both and theirs[-1] == ours[-1]
