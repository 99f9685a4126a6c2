"""Nodes in racks, and gangs that require one."""

from __future__ import annotations

from typing import Any

from tests.unit.scheduler.objects import node, pod, pod_group, together, topology

NODES = [topology("zone", "rack"), *(node(f"n{i}", zone="z", rack=f"r{i // 4}") for i in range(12))]


def gang(name: str, pods: int = 4, gpus: int = 2, **spec: Any) -> list[dict[str, Any]]:
    """A PodGroup that requires a rack, and its pods."""
    group = pod_group(name, minMember=pods, topologyConstraint=together("rack"), **spec)
    return [group, *(pod(f"{name}-{i}", name, gpus=gpus) for i in range(pods))]
