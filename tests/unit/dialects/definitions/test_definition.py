"""The custom resource definitions are structural, and cover what is read."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest
import yaml
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Int32, Quantity, Wire
from closeknit.cli.app import app
from closeknit.dialects import DIALECTS
from closeknit.dialects.definitions import FAMILIES, Column, Definition
from closeknit.dialects.definitions.definition import OPEN, laid_over
from tests.contract.schemas import at, nodes

DEFINITIONS = [definition for family in FAMILIES.values() for definition in family]
VERSIONS = [
    pytest.param(definition, version, id=f"{definition.group} {definition.kind} {version}")
    for definition in DEFINITIONS
    for version in definition.versions
]


@pytest.mark.parametrize(("definition", "version"), VERSIONS)
def test_the_schema_is_structural(definition: Definition, version: str) -> None:
    """What a server demands of any definition."""
    for path, schema in nodes(definition.schema(version)):
        assert "type" in schema or schema.get(OPEN) or schema.get("x-kubernetes-int-or-string"), path
        assert not ("properties" in schema and "additionalProperties" in schema), path
        if schema.get("type") == "array":
            assert "items" in schema, path
        assert set(schema.get("required", [])) <= set(schema.get("properties", {})), path
        if "default" in schema:
            bare = {key: value for key, value in schema.items() if key != "default"}
            assert Draft202012Validator(bare).is_valid(schema["default"]), path
        for key in schema.get("x-kubernetes-list-map-keys", []):
            item = schema["items"]
            assert item["properties"][key]["type"] in ("string", "integer", "boolean"), path
            assert key in item.get("required", []) or "default" in item["properties"][key], path


@pytest.mark.parametrize(("definition", "version"), VERSIONS)
def test_the_schema_is_a_valid_schema(definition: Definition, version: str) -> None:
    Draft202012Validator.check_schema(definition.schema(version))


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda one: f"{one.group} {one.kind}")
def test_columns_show_what_the_schema_has(definition: Definition) -> None:
    assert definition.columns
    for column in definition.columns:
        if column.path.startswith((".status", ".metadata")):
            continue
        path = column.path.lstrip(".").replace("[*]", "[]")
        assert at(definition.schema(definition.versions[0]), path) is not None, column


def test_every_kind_that_a_dialect_reads_is_defined() -> None:
    defined = {(definition.group, definition.kind) for definition in DEFINITIONS}
    elsewhere = {
        # Comes with every cluster.
        ("batch", "Job"),
        # Come with operators whose work Closeknit does not do.
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
        ("kubeflow.org", "PyTorchJob"),
        # Files that no server keeps.
        ("config.kueue.x-k8s.io", "Configuration"),
        ("operator.config.grove.io", "OperatorConfiguration"),
        ("operator.config.dynamo.nvidia.com", "OperatorConfiguration"),
        ("config.kueue.x-k8s.io", "Configuration"),
    }
    families = [dialect for dialect in DIALECTS if dialect.name in FAMILIES]
    read = {(kind.group, kind.kind) for dialect in families for kind in dialect.kinds if kind.served}

    assert read - elsewhere <= defined


def test_scope_and_versions_agree_with_what_is_read() -> None:
    for definition in DEFINITIONS:
        kinds = [
            kind
            for dialect in DIALECTS
            for kind in dialect.kinds
            if (kind.group, kind.kind) == (definition.group, definition.kind)
        ]
        if kinds:
            versions = [version for kind in kinds for version in kind.versions]
            assert {kind.namespaced for kind in kinds} == {definition.namespaced}, definition.kind
            assert set(definition.versions) <= set(versions), definition.kind
            assert definition.versions[0] == versions[0], definition.kind


class Part(Wire, frozen=True, kw_only=True):
    """A part."""

    unused: ClassVar = frozenset({"left"})

    name: str
    amount: Quantity | None = None
    counts: tuple[Int32, ...] | None = None
    words: dict[str, str] | None = None
    kept: dict[str, object] | None = None


class Whole(KubernetesObject, frozen=True, kw_only=True):
    """A whole."""

    unused: ClassVar = frozenset({"status"})

    spec: Part


WHOLE = Definition(
    "example.dev",
    Whole,
    ("v2", "v1"),
    short_names=("wh",),
    columns=(Column("Name", ".spec.name"), Column("More", ".spec.amount", priority=1)),
    selector=".status.selector",
    limits={Part: {"name": {"minLength": 1}, "": {"required": ["name", "left"]}}},
    limits_of_version={"v1": {Part: {"name": {"minLength": None, "maxLength": 9}}}},
)


def test_a_shape_becomes_a_schema() -> None:
    spec = WHOLE.schema("v2")["properties"]["spec"]

    assert spec["description"] == "A part."
    assert spec["required"] == ["name", "left"]
    assert spec["properties"]["name"] == {"type": "string", "minLength": 1}
    assert spec["properties"]["amount"]["x-kubernetes-int-or-string"] is True
    assert spec["properties"]["counts"] == {"type": "array", "items": {"type": "integer", "format": "int32"}}
    assert spec["properties"]["words"] == {"type": "object", "additionalProperties": {"type": "string"}}
    assert spec["properties"]["kept"] == {"type": "object", OPEN: True}
    assert spec["properties"]["left"] == {OPEN: True}
    assert WHOLE.schema("v2")["properties"]["status"] == {"type": "object", OPEN: True}


def test_limits_of_a_version_are_laid_over_the_others() -> None:
    assert WHOLE.schema("v1")["properties"]["spec"]["properties"]["name"] == {
        "type": "string",
        "maxLength": 9,
    }


def test_the_first_version_is_stored_and_all_are_served() -> None:
    written = WHOLE.written()
    first, second = written["spec"]["versions"]

    assert written["metadata"]["name"] == "wholes.example.dev"
    assert written["spec"]["scope"] == "Namespaced"
    assert written["spec"]["names"]["shortNames"] == ["wh"]
    assert (first["name"], first["storage"], first["served"]) == ("v2", True, True)
    assert (second["name"], second["storage"], second["served"]) == ("v1", False, True)
    assert first["subresources"]["status"] == {}
    assert first["subresources"]["scale"]["labelSelectorPath"] == ".status.selector"
    assert first["additionalPrinterColumns"][1]["priority"] == 1


def test_laying_over_reaches_any_depth_and_takes_away() -> None:
    schema = {"items": {"minLength": 1, "type": "string"}}

    assert laid_over(schema, {"items": {"minLength": None, "maxLength": 2}}) == {
        "items": {"type": "string", "maxLength": 2}
    }
    assert schema == {"items": {"minLength": 1, "type": "string"}}


@pytest.mark.parametrize(
    ("arguments", "families"),
    [
        pytest.param([], list(FAMILIES), id="all families without an option"),
        pytest.param(["--family", "kai"], ["kai"], id="one family where one is named"),
        pytest.param(
            ["--family", "osmo", "--family", "kai"], ["osmo", "kai"], id="several as they are named"
        ),
        pytest.param(["--family", "kai", "--family", "kai"], ["kai"], id="each once"),
    ],
)
@pytest.mark.parametrize("output", ["yaml", "json"])
def test_the_command_prints(arguments: list[str], families: list[str], output: str) -> None:
    result = CliRunner().invoke(app, ["crds", *arguments, "-o", output])
    printed = (
        list(yaml.load_all(result.stdout, Loader=yaml.CSafeLoader))
        if output == "yaml"
        else json.loads(result.stdout)["items"]
    )

    assert result.exit_code == 0
    assert printed == [definition.written() for family in families for definition in FAMILIES[family]]


def test_an_unknown_family_is_wrong_usage() -> None:
    result = CliRunner().invoke(app, ["crds", "--family", "slurm"])

    assert result.exit_code == 2
    assert "slurm" in result.stderr
