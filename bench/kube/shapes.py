"""What is put into a cluster, and what is read of it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

NAMESPACE = "bench"


class Meta(Struct, frozen=True, rename="camel"):
    """What a scheduler reads of metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}


class PodSpec(Struct, frozen=True, rename="camel"):
    """What a scheduler reads of a spec."""

    node_name: str = ""
    scheduler_name: str = ""


class PodStatus(Struct, frozen=True, rename="camel"):
    """What a scheduler reads of a status."""

    phase: str = ""


class LightPod(Struct, frozen=True, rename="camel"):
    """A pod, as far as a bench reads it."""

    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class LightNode(Struct, frozen=True, rename="camel"):
    """A node, as far as a bench reads it."""

    metadata: Meta


def pod(number: int) -> dict[str, Any]:
    """A pod of a training job, of a usual size on the wire."""
    environment = [{"name": f"VARIABLE_{each}", "value": f"value-{number}-{each}"} for each in range(8)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{number:05}",
            "namespace": NAMESPACE,
            "labels": {"app": "train", "job-name": f"job-{number // 8}", "index": str(number % 8)},
            "annotations": {"pod-group-name": f"group-{number // 8}"},
        },
        "spec": {
            "schedulerName": "closeknit",
            "containers": [
                {
                    "name": "main",
                    "image": "example.invalid/train:1",
                    "env": environment,
                    "resources": {"limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}},
                }
            ],
        },
    }


def node(number: int) -> dict[str, Any]:
    """A node with its place in the data center."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"node-{number:05}",
            "labels": {
                "topology.kubernetes.io/zone": f"zone-{number // 1024}",
                "example.com/block": f"block-{number // 128}",
                "example.com/rack": f"rack-{number // 16}",
                "kubernetes.io/hostname": f"node-{number:05}",
            },
        },
    }
