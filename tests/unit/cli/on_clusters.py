"""A cluster with drawn nodes, and the groups and pods that tests put on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from closeknit.cli import live
from closeknit.cli.clusters import AskedCluster
from closeknit.cli.loading import working
from closeknit.dialects import KINDS
from closeknit.kube.port import Page
from closeknit.kube.resources import NODES, PODS, Resource
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


NODES_AND_PODS = [kind for kind in KINDS if kind.kind in ("Node", "Pod")]
"""The kinds that a cluster that refuses serves."""


class Refusing:
    """A cluster that serves nodes and pods, and does with each list what it is told."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, int]] = []

    async def resources(self) -> tuple[Resource, ...]:
        return (PODS, NODES, Resource("kai.scheduler", "v9", "topologies", "Topology", namespaced=False))

    async def list(self, resource: Resource, selection: Any, *, limit: int = 0, token: str = "") -> Page[Any]:
        self.asked.append((resource.plural, selection.namespace, limit))
        answer = self.answers.get(resource.plural, [])
        if callable(answer):
            answer = answer(selection.namespace, limit, token)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Page) else Page(answer, "1")


def snapshot(api: Refusing, kinds: Any = KINDS) -> live.Snapshot:
    cluster = AskedCluster(api, "the cluster (context c)", "team")  # type: ignore[arg-type]
    with working("", big=False) as progress:
        return asyncio.run(live.read_cluster(cluster, progress, kinds))
