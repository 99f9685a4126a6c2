"""Our shapes and what we write against the resource definitions that Grove publishes.

The definitions are no part of this repository; where the folder beside it is
missing, these tests are skipped and say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from closeknit.apis import grove_io_v1alpha1 as grove
from closeknit.apis import scheduler_grove_io_v1alpha1 as scheduler
from closeknit.apis.wire import Wire
from closeknit.dialects import Source, translate
from closeknit.dialects.grove.earlier import in_earlier_spelling

ROOT = Path(__file__).resolve().parents[2]
DEFINITIONS = ROOT.parent / "shared" / "crds"
FOLDERS = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
FILES = {
    "ClusterTopology": "grove.io_clustertopologies.yaml",
    "ClusterTopologyBinding": "grove.io_clustertopologybindings.yaml",
    "PodClique": "grove.io_podcliques.yaml",
    "PodCliqueScalingGroup": "grove.io_podcliquescalinggroups.yaml",
    "PodCliqueSet": "grove.io_podcliquesets.yaml",
    "PodGang": "scheduler.grove.io_podgangs.yaml",
    "PodGroup": "scheduling.run.ai_podgroups.yaml",
    "Topology": "kai.scheduler_topologies.yaml",
}


@cache
def schema_of(kind: str, folder: str = "grove") -> dict[str, Any]:
    path = DEFINITIONS / ("kai" if kind in ("PodGroup", "Topology") else folder) / FILES[kind]
    if not path.exists():
        pytest.skip(f"Published definitions are not at hand: there is no {path.relative_to(ROOT.parent)}.")
    (version,) = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


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


@cache
def validator(kind: str, folder: str) -> jsonschema.Draft202012Validator:
    schema = strict(schema_of(kind, folder))
    schema["properties"]["metadata"] = {"type": "object"}
    return jsonschema.Draft202012Validator(schema)


def check(written: dict[str, Any], folder: str = "grove") -> None:
    validator(written["kind"], folder).validate(written)
    assert "null" not in json.dumps(written)


def translated(folder: Path, target: str) -> Iterator[dict[str, Any]]:
    sources = [Source(path.name, path.read_bytes()) for path in sorted(folder.glob("*.yaml"))]
    yield from translate(sources, target).objects


def fields(shape: type[Wire]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(shape)} | shape.unused


TEMPLATE = ("spec", "template")


@pytest.mark.parametrize(
    ("shape", "kind", "path"),
    [
        pytest.param(grove.ClusterTopologyBinding, "ClusterTopologyBinding", (), id="of a binding"),
        pytest.param(
            grove.ClusterTopologyBindingSpec, "ClusterTopologyBinding", ("spec",), id="of a binding's spec"
        ),
        pytest.param(grove.TopologyLevel, "ClusterTopologyBinding", ("spec", "levels"), id="of a level"),
        pytest.param(
            grove.SchedulerTopologyBinding,
            "ClusterTopologyBinding",
            ("spec", "schedulerTopologyBindings"),
            id="of a scheduler's topology",
        ),
        pytest.param(grove.PodCliqueSet, "PodCliqueSet", (), id="of a PodCliqueSet"),
        pytest.param(grove.PodCliqueSetSpec, "PodCliqueSet", ("spec",), id="of a PodCliqueSet's spec"),
        pytest.param(grove.PodCliqueSetTemplate, "PodCliqueSet", TEMPLATE, id="of a template"),
        pytest.param(grove.PodCliqueTemplate, "PodCliqueSet", (*TEMPLATE, "cliques"), id="of a clique"),
        pytest.param(
            grove.PodCliqueSpec, "PodCliqueSet", (*TEMPLATE, "cliques", "spec"), id="of a clique's spec"
        ),
        pytest.param(
            grove.AutoScalingConfig,
            "PodCliqueSet",
            (*TEMPLATE, "cliques", "spec", "autoScalingConfig"),
            id="of an autoscaler",
        ),
        pytest.param(
            grove.PodCliqueScalingGroupConfig,
            "PodCliqueSet",
            (*TEMPLATE, "podCliqueScalingGroups"),
            id="of a scaling group in a template",
        ),
        pytest.param(
            grove.TopologyConstraint, "PodCliqueSet", (*TEMPLATE, "topologyConstraint"), id="of a constraint"
        ),
        pytest.param(
            grove.TopologyPackConstraint,
            "PodCliqueSet",
            (*TEMPLATE, "topologyConstraint", "pack"),
            id="of a pack",
        ),
        pytest.param(grove.PodClique, "PodClique", (), id="of a PodClique"),
        pytest.param(
            grove.PodCliqueScalingGroupSpec, "PodCliqueScalingGroup", ("spec",), id="of a scaling group"
        ),
        pytest.param(scheduler.PodGang, "PodGang", (), id="of a PodGang"),
        pytest.param(scheduler.PodGangSpec, "PodGang", ("spec",), id="of a PodGang's spec"),
        pytest.param(scheduler.PodGroup, "PodGang", ("spec", "podgroups"), id="of a pod group"),
        pytest.param(
            scheduler.TopologyConstraintGroupConfig,
            "PodGang",
            ("spec", "topologyConstraintGroupConfigs"),
            id="of a group configuration",
        ),
        pytest.param(
            scheduler.TopologyPackConstraint,
            "PodGang",
            ("spec", "topologyConstraint", "packConstraint"),
            id="of a gang's pack",
        ),
    ],
)
def test_the_fields_are_those_that_are_published(shape: type[Wire], kind: str, path: tuple[str, ...]) -> None:
    schema = schema_of(kind)
    for step in path:
        schema = schema["properties"][step]
        schema = schema.get("items", schema)

    assert fields(shape) == set(schema["properties"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("target", ["grove", "podgang", "kai"])
def test_what_is_written_from_an_example_is_strictly_valid(folder: Path, target: str) -> None:
    for written in translated(folder, target):
        if written["kind"] in FILES:
            check(written)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_in_the_earlier_spelling_it_is_valid_by_the_earlier_definitions(folder: Path) -> None:
    earlier, _ = in_earlier_spelling(translated(folder, "grove"))
    for written in earlier:
        if written["kind"] in ("ClusterTopology", "PodCliqueSet"):
            check(written, "grove-alpha8")


def test_the_examples_make_objects_of_every_kind() -> None:
    kinds = {
        written["kind"]
        for target in ("grove", "podgang", "kai")
        for written in translated(ROOT / "examples" / "grove", target)
    }

    assert kinds == {
        "ClusterTopologyBinding",
        "PodClique",
        "PodCliqueScalingGroup",
        "PodGang",
        "PodGroup",
        "Topology",
    }
