"""Which nodes each waiting pod may have, as our reader and engine say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from closeknit.dialects import Reading, Source, read
from closeknit.engine import Engine
from closeknit.hub.workload import PlaceableWorkload
from tests.filters.cases import CASE, Case, Object, pod
from tests.kit.workloads import problems_of


def waiting(objects: Iterable[Object]) -> Reading:
    """What is read of the objects; raises where something is wrong with them."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    reading = read([Source("objects.json", text.encode())], lenient=True)
    wrong = [
        *map(str, reading.problems),
        *(str(problem) for workload in reading.workloads for problem in problems_of(workload)),
    ]
    assert not wrong, wrong
    return reading


def feasible(objects: Iterable[Object]) -> Mapping[str, frozenset[str]]:
    """By pod that waits, the nodes that it may have."""
    reading = waiting(objects)
    engine = Engine(reading.cluster)
    found: dict[str, frozenset[str]] = {}
    for workload in reading.workloads:
        assert isinstance(workload, PlaceableWorkload)
        (pods,) = workload.request.root.pod_sets()
        names = (node.name for node in reading.cluster.nodes)
        found[workload.object.name] = frozenset(name for name in names if engine.fits(pods, name))
    return found


def objects_of(number: int, each: Case) -> list[Object]:
    """All objects of a case, with the label that keeps it to itself; its pod is called by its number."""
    name = f"case-{number}"
    nodes = [_labelled(node, name) for node in each.nodes]
    waits = pod(name, {**each.pod, "nodeSelector": {**each.pod.get("nodeSelector", {}), CASE: name}})
    return [*each.others, *nodes, waits]


def _labelled(node: Object, name: str) -> dict[str, Any]:
    metadata = node["metadata"]
    return {**node, "metadata": {**metadata, "labels": {**metadata["labels"], CASE: name}}}
