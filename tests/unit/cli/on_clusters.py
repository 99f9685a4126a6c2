"""A cluster with drawn nodes, and the groups and pods that tests put on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.serving import Serving, serving
from tests.unit.cli.running import DRAWING, TOPOLOGY, Run, pod_group


@contextmanager
def serving_drawn(directory: Path) -> Iterator[Serving]:
    """A cluster with all definitions and the drawn nodes; its kubeconfig is in the directory."""
    with serving(directory / "kubeconfig") as running:
        (directory / "cluster.txt").write_text(DRAWING)
        nodes = Run("nodes", "--drawing", str(directory / "cluster.txt"), "--prefix", "")
        objects = list(yaml.safe_load_all(TOPOLOGY + nodes.out))
        for each in objects:
            each["metadata"].pop("ownerReferences", None)
        running.load(objects)
        yield running


def pods_of(group: str, number: int, *, gpus: int = 8) -> list[dict[str, Any]]:
    amounts = {"nvidia.com/gpu": str(gpus)}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{group}-{i}", "annotations": {"pod-group-name": group}},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "busybox",
                        "resources": {"limits": amounts, "requests": amounts},
                    }
                ]
            },
        }
        for i in range(number)
    ]


def group(name: str, members: int, required: str | None = None, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load(pod_group(name, members, required, **more).removeprefix("---\n"))
    return made
