"""Commands as tests run them, and what they are run on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from typer.testing import CliRunner

from closeknit.cli.app import app
from tests.serving import Serving

SCHEMA = json.loads((Path(__file__).parent / "outcomes.schema.json").read_text())


TOPOLOGY = """
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: t}
spec:
  levels: [{nodeLabel: block}, {nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]
---
"""


DRAWING = """
b1
  r1
    x1: 8
    x2: 8 used=4:other
  r2
    x3: 8
    x4: 8
b2
  r1
    x5: 8
"""


class Run:
    """One run of the command line."""

    def __init__(self, *arguments: str, stdin: str = "") -> None:
        self._result = CliRunner().invoke(app, list(arguments), input=stdin)
        # A command may end the process, and in no other way.
        assert self._result.exception is None or isinstance(self._result.exception, SystemExit), (
            self._result.exception
        )
        self.status = self._result.exit_code
        self.out = self._result.stdout
        self.err = self._result.stderr

    def json(self) -> Any:
        return json.loads(self.out)


def pod_group(
    name: str, members: int | None, required: str | None = None, *, gpus: int = 8, **more: Any
) -> str:
    """A PodGroup of equal pods, as YAML."""
    constraint = {"topology": "t"} | ({"requiredTopologyLevel": required} if required else {})
    spec = ({} if members is None else {"minMember": members}) | (
        {"topologyConstraint": constraint} if required else {}
    )
    metadata = {
        "name": name,
        "annotations": {"closeknit.dev/pod-resources": json.dumps({"nvidia.com/gpu": str(gpus)})},
    }
    manifest = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": metadata | more.pop("metadata", {}),
        "spec": spec | more,
    }
    return f"---\n{yaml.safe_dump(manifest)}"


def outcomes(run: Run) -> list[dict[str, Any]]:
    output = run.json()
    jsonschema.validate(output, SCHEMA)
    listed = output["outcomes"]
    assert isinstance(listed, list)
    return listed


POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec: {containers: [{name: main, image: busybox}]}
"""
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: fast}
"""


def on(served: Serving, *arguments: str, stdin: str = "") -> Run:
    """A run on the cluster that is served."""
    return Run(*arguments, "--kubeconfig", str(served.kubeconfig), stdin=stdin)


def write_cluster(directory: Path) -> str:
    """Write the drawn cluster as manifests into a directory, and return its name."""
    (directory / "cluster.txt").write_text(DRAWING)
    nodes = Run("nodes", "--drawing", str(directory / "cluster.txt"), "--prefix", "")
    (directory / "nodes.yaml").write_text(TOPOLOGY + nodes.out)
    return str(directory)


def numbers(text: str) -> list[int]:
    """The whole numbers in a text for people, whatever words are around them."""
    return [int(number) for number in re.findall(r"\b\d+\b", text)]


def domains(tree: str) -> list[tuple[int, str, list[int]]]:
    """The lines of a tree of domains below its heading: how far indented, which domains, and the numbers.

    The numbers are how many equal domains share the line, if several do, how many nodes one has, unless it is a node,
    and what of its resources is used and offered.
    """
    lines = [words.partition(": ") for words in tree.splitlines()[1:]]
    return [(len(name) - len(name.lstrip()), name.strip(), numbers(load)) for name, _, load in lines]


def plain(run: Run) -> tuple[int, str, str]:
    return run.status, run.out, run.err
