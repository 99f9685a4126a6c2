"""What is written in KAI's words against the definitions that KAI publishes, strictly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

from closeknit.apis.scheduling_run_ai_v2 import Queue, QueueResource, QueueResources, QueueSpec
from closeknit.apis.wire import Wire
from closeknit.dialects import Source, translate
from closeknit.dialects.kai import KAI
from closeknit.hub.workload import ObjectName, Workload
from closeknit.testing.strategies import random_instance
from tests.contract.test_kai_definitions import (
    ROOT,
    _definition,
    fields,
    pod_group_schema,
    strict_object,
    topology_schema,
)

FOLDERS = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name != "invalid")


def validators() -> dict[str, jsonschema.Draft202012Validator]:
    return {
        "PodGroup": jsonschema.Draft202012Validator(strict_object(pod_group_schema())),
        "Topology": jsonschema.Draft202012Validator(strict_object(topology_schema())),
    }


def check(objects: Iterator[dict[str, Any]]) -> set[str]:
    """The kinds that were checked."""
    schemas, seen = validators(), set()
    for made in objects:
        seen.add(made["kind"])
        if made["kind"] in schemas:
            schemas[made["kind"]].validate(made)
    return seen


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_examples_in_kais_words_are_strictly_valid(folder: Path) -> None:
    sources = [Source(path.name, path.read_bytes()) for path in sorted(folder.glob("*.yaml"))]

    assert "PodGroup" in check(iter(translate(sources, "kai").objects))


def test_random_requests_in_kais_words_are_strictly_valid() -> None:
    def objects() -> Iterator[dict[str, Any]]:
        assert KAI.express is not None
        for seed in range(300):
            cluster, request = random_instance(Random(seed))
            workload = Workload(ObjectName("v1", "Any", "", "x"), "any", request)
            yield from KAI.express(workload, {one.name: one for one in cluster.topologies})

    assert check(objects()) == {"PodGroup", "Topology", "Pod"}


@pytest.mark.parametrize(
    ("shape", "path"),
    [
        pytest.param(Queue, (), id="of a Queue"),
        pytest.param(QueueSpec, ("spec",), id="of a Queue's spec"),
        pytest.param(QueueResources, ("spec", "resources"), id="of a Queue's resources"),
        pytest.param(QueueResource, ("spec", "resources", "gpu"), id="of one resource"),
    ],
)
def test_the_fields_are_those_that_are_published(shape: type[Wire], path: tuple[str, ...]) -> None:
    schema = _definition("scheduling.run.ai_queues.yaml")
    for step in path:
        schema = schema["properties"][step]

    assert fields(shape) == set(schema["properties"])
