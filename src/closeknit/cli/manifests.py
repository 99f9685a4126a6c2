"""Nodes, topologies and pods written as Kubernetes manifests, one document at a time."""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import yaml

from closeknit.dialects.core.pod_specs import port_object
from closeknit.hub.cluster import Holding
from closeknit.hub.nodes import Node
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology
from closeknit.scheduler.wording import quantity

Manifest = dict[str, Any]


def node(described: Node) -> Manifest:
    """A Node object that reads back as the same node."""
    amounts = _amounts(described.allocatable)
    manifest: Manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": described.name, "labels": dict(described.labels)},
    }
    spec: Manifest = {}
    if described.unschedulable:
        spec["unschedulable"] = True
    if described.taints:
        spec["taints"] = [
            {
                "key": taint.key,
                **({"value": taint.value} if taint.value else {}),
                "effect": taint.effect.value,
            }
            for taint in described.taints
        ]
    if spec:
        manifest["spec"] = spec
    manifest["status"] = {
        "allocatable": amounts,
        "conditions": [{"type": "Ready", "status": "True" if described.ready else "False"}],
    }
    return manifest


def topology(described: Topology) -> Manifest:
    """A KAI Topology object."""
    return {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": described.name},
        "spec": {"levels": [{"nodeLabel": label} for label in described.labels]},
    }


def pods(holdings: Iterable[Holding]) -> Iterator[Manifest]:
    """One running Pod for each pod that holds something, named after its workload."""
    numbers: dict[str, int] = {}
    for holding in holdings:
        for _ in range(holding.pods):
            number = numbers[holding.workload] = numbers.get(holding.workload, 0) + 1
            yield _pod(holding, number)


def _pod(holding: Holding, number: int) -> Manifest:
    before, _, name = holding.workload.rpartition("/")
    container: Manifest = {"name": "main", "image": "busybox"}
    if holding.resources:
        amounts = _amounts(holding.resources)
        container["resources"] = {"requests": amounts, "limits": dict(amounts)}
    if holding.host_ports:
        container["ports"] = [port_object(port) for port in sorted(holding.host_ports)]
    # The owner is what makes the pods of one workload leave together.
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": name,
        "uid": str(uuid.uuid5(uuid.NAMESPACE_OID, holding.workload)),
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-{number}",
            "namespace": before or "default",
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": holding.node, "containers": [container]},
        "status": {"phase": "Running"},
    }


def _amounts(resources: Resources) -> dict[str, str]:
    return {name: quantity(name, units) for name, units in resources.items()}


def as_yaml(manifests: Iterable[Manifest]) -> Iterator[str]:
    """Each manifest as one YAML document, with no more than one in memory."""
    for i, manifest in enumerate(manifests):
        lines = ["---\n"] if i else []
        _write(manifest, "", "", lines)
        yield "".join(lines)


def as_json(manifests: Iterable[Manifest]) -> Iterator[str]:
    """All manifests as one JSON List object, with no more than one in memory."""
    yield '{"apiVersion": "v1", "kind": "List", "items": ['
    for i, manifest in enumerate(manifests):
        yield (",\n" if i else "\n") + json.dumps(manifest, ensure_ascii=False)
    yield "\n]}\n"


def as_one_json(manifest: Manifest) -> str:
    """One manifest, easy on the eye."""
    return f"{json.dumps(manifest, ensure_ascii=False, indent=2)}\n"


def as_lines(value: Manifest | list[Any]) -> list[str]:
    """Any mapping or list as lines of block YAML."""
    lines: list[str] = []
    if isinstance(value, dict):
        _write(value, "", "", lines)
    else:
        _write_items(value, "", lines)
    return "".join(lines).splitlines()


def _write(value: Mapping[str, Any], first: str, indent: str, lines: list[str]) -> None:
    """Block style, written here because a general YAML writer takes minutes for 100,000 nodes.

    ``first`` stands before the first line in place of the indentation, for a mapping in a list.
    """
    for key, inner in value.items():
        if not inner or not isinstance(inner, dict | list):
            lines.append(f"{first}{_text(key)}: {_scalar(inner)}\n")
        else:
            lines.append(f"{first}{_text(key)}:\n")
            if isinstance(inner, dict):
                _write(inner, f"{indent}  ", f"{indent}  ", lines)
            else:
                _write_items(inner, indent, lines)
        first = indent


def _write_items(items: list[Any], indent: str, lines: list[str]) -> None:
    for item in items:
        if isinstance(item, dict) and item:
            _write(item, f"{indent}- ", f"{indent}  ", lines)
        else:
            lines.append(f"{indent}- {_scalar(item)}\n")


_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*\Z")
_WORDS_WITH_MEANING = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])


def _scalar(value: object) -> str:
    return _text(value) if isinstance(value, str) else json.dumps(value)


@lru_cache(maxsize=4096)
def _text(value: str) -> str:
    """A string, quoted wherever it could mean something else. Most of them stand in every object."""
    if _BARE.match(value) and value.lower() not in _WORDS_WITH_MEANING:
        return value
    # JSON's quoting is YAML's too, but only for characters that YAML takes as they are.
    if value.isascii() and value.isprintable():
        return json.dumps(value)
    quoted: str = yaml.safe_dump(value, default_style='"', width=math.inf)
    return quoted.strip()
