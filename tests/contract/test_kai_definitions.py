"""Our shapes and examples against the resource definitions that KAI publishes.

The definitions are no part of this repository; where the folder beside it is
missing, these tests are skipped and say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from closeknit.apis import kai_scheduler_v1alpha1, scheduling_run_ai_v2alpha2
from closeknit.apis.wire import Wire
from closeknit.dialects import Source, read
from closeknit.dialects.kai.objects import to_pod_group, to_topology_object

ROOT = Path(__file__).resolve().parents[2]
DEFINITIONS = ROOT.parent / "shared" / "crds" / "kai"
EXAMPLES = sorted((ROOT / "examples").glob("**/*.yaml"))


def _definition(name: str) -> dict[str, Any]:
    path = DEFINITIONS / name
    if not path.exists():
        pytest.skip(
            f"KAI's published definitions are not at hand: there is no {path.relative_to(ROOT.parent)}."
        )
    definition: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    (version,) = definition["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def pod_group_schema() -> dict[str, Any]:
    return _definition("scheduling.run.ai_podgroups.yaml")


def topology_schema() -> dict[str, Any]:
    return _definition("kai.scheduler_topologies.yaml")


def strict(schema: Any) -> Any:
    """The same schema with unknown fields refused, as the API server does when asked to be strict."""
    if isinstance(schema, list):
        return [strict(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        closed["additionalProperties"] = False
    return closed


def strict_object(schema: dict[str, Any]) -> dict[str, Any]:
    closed: dict[str, Any] = strict(schema)
    closed["properties"]["metadata"] = {"type": "object"}
    return closed


def documents(kind: str) -> Iterator[dict[str, Any]]:
    for path in EXAMPLES:
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if isinstance(document, dict) and document.get("kind") == kind:
                yield document


def fields(shape: type[Wire]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(shape)} | shape.unused


@pytest.mark.parametrize(
    ("shape", "path"),
    [
        pytest.param(scheduling_run_ai_v2alpha2.PodGroup, (), id="of a PodGroup"),
        pytest.param(scheduling_run_ai_v2alpha2.PodGroupSpec, ("spec",), id="of a PodGroup's spec"),
        pytest.param(scheduling_run_ai_v2alpha2.SubGroup, ("spec", "subGroups"), id="of a subgroup"),
        pytest.param(
            scheduling_run_ai_v2alpha2.TopologyConstraint,
            ("spec", "topologyConstraint"),
            id="of a constraint",
        ),
        pytest.param(kai_scheduler_v1alpha1.Topology, (), id="of a Topology"),
        pytest.param(kai_scheduler_v1alpha1.TopologyLevel, ("spec", "levels"), id="of a level"),
    ],
)
def test_the_fields_are_those_that_are_published(shape: type[Wire], path: tuple[str, ...]) -> None:
    schema = topology_schema() if shape.__module__.endswith("kai_scheduler_v1alpha1") else pod_group_schema()
    for step in path:
        schema = schema["properties"][step]
        schema = schema.get("items", schema)

    # The older spelling is ours to accept; nobody publishes it any more.
    assert fields(shape) - {"subgroups"} == set(schema["properties"])


def test_examples_that_use_todays_spelling_are_strictly_valid() -> None:
    todays = [group for group in documents("PodGroup") if "subgroups" not in group["spec"]]
    assert todays
    for group in todays:
        jsonschema.validate(group, strict_object(pod_group_schema()))


def test_example_topologies_are_strictly_valid() -> None:
    given = list(documents("Topology"))
    assert given
    for topology in given:
        jsonschema.validate(topology, strict_object(topology_schema()))


def test_what_is_written_from_the_examples_is_strictly_valid() -> None:
    schemas = strict_object(pod_group_schema()), strict_object(topology_schema())
    written = 0
    for folder in {path.parent for path in EXAMPLES}:
        sources = [Source(path.name, path.read_bytes()) for path in EXAMPLES if path.parent == folder]
        found = read(sources)
        for workload in found.workloads:
            if workload.request is not None:
                jsonschema.validate(to_pod_group(workload.request, queue="test"), schemas[0])
                written += 1
        for topology in found.cluster.topologies:
            jsonschema.validate(to_topology_object(topology), schemas[1])
    assert written >= 3


def test_the_strict_schema_refuses_the_older_spelling() -> None:
    old = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "spec": {"subgroups": []}}

    with pytest.raises(jsonschema.ValidationError, match="subgroups"):
        jsonschema.validate(old, strict_object(pod_group_schema()))
