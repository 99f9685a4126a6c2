"""Our shapes and examples against the resource definition that Dynamo publishes.

The definition is no part of this repository; where the folder beside it is
missing, these tests are skipped and say so.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.apis.wire import Wire
from closeknit.dialects import Source, translate

ROOT = Path(__file__).resolve().parents[2]
DEFINITION = ROOT.parent / "shared" / "crds" / "dynamo" / "nvidia.com_dynamographdeployments.yaml"


@cache
def schemas() -> dict[str, Any]:
    if not DEFINITION.exists():
        pytest.skip(
            f"Dynamo's published definition is not at hand: there is no {DEFINITION.relative_to(ROOT.parent)}."
        )
    definition = yaml.load(DEFINITION.read_bytes(), Loader=yaml.CSafeLoader)
    return {
        version["name"]: version["schema"]["openAPIV3Schema"] for version in definition["spec"]["versions"]
    }


def fields(shape: type[Wire]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(shape)} | shape.unused


SERVICES = ("spec", "services")
COMPONENTS = ("spec", "components")


@pytest.mark.parametrize(
    ("shape", "version", "path"),
    [
        pytest.param(alpha.DynamoGraphDeployment, "v1alpha1", (), id="of a v1alpha1 deployment"),
        pytest.param(alpha.DynamoGraphDeploymentSpec, "v1alpha1", ("spec",), id="of its spec"),
        pytest.param(
            alpha.DeploymentTopologyConstraint,
            "v1alpha1",
            ("spec", "topologyConstraint"),
            id="of its constraint",
        ),
        pytest.param(alpha.Service, "v1alpha1", SERVICES, id="of a service"),
        pytest.param(alpha.Multinode, "v1alpha1", (*SERVICES, "multinode"), id="of several nodes"),
        pytest.param(alpha.Resources, "v1alpha1", (*SERVICES, "resources"), id="of a service's resources"),
        pytest.param(
            alpha.ResourceItem, "v1alpha1", (*SERVICES, "resources", "requests"), id="of a service's requests"
        ),
        pytest.param(
            alpha.ServiceTopologyConstraint,
            "v1alpha1",
            (*SERVICES, "topologyConstraint"),
            id="of a service's constraint",
        ),
        pytest.param(alpha.PodMetadata, "v1alpha1", (*SERVICES, "extraPodMetadata"), id="of pods' metadata"),
        pytest.param(alpha.ProviderOverride, "v1alpha1", ("spec", "providerOverride"), id="of an override"),
        pytest.param(beta.DynamoGraphDeployment, "v1beta1", (), id="of a v1beta1 deployment"),
        pytest.param(beta.DynamoGraphDeploymentSpec, "v1beta1", ("spec",), id="of its newer spec"),
        pytest.param(
            beta.DeploymentTopologyConstraint,
            "v1beta1",
            ("spec", "topologyConstraint"),
            id="of its newer constraint",
        ),
        pytest.param(beta.Component, "v1beta1", COMPONENTS, id="of a component"),
        pytest.param(beta.PodTemplate, "v1beta1", (*COMPONENTS, "podTemplate"), id="of a pod template"),
    ],
)
def test_the_fields_are_those_that_are_published(
    shape: type[Wire], version: str, path: tuple[str, ...]
) -> None:
    schema = schemas()[version]
    for step in path:
        schema = schema["properties"][step]
        schema = schema.get("items") or schema.get("additionalProperties") or schema

    # A service's name stands inside it only in the list of the first proposal.
    assert fields(shape) - ({"name"} if shape is alpha.Service else set()) == set(schema["properties"])


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


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples" / "dynamo").glob("*.yaml")), ids=lambda path: path.stem
)
def test_what_is_written_for_kueue_from_an_example_is_strictly_valid(path: Path) -> None:
    definition = DEFINITION.parent.parent / "jobset" / "jobset.x-k8s.io_jobsets.yaml"
    if not definition.exists():
        pytest.skip(f"JobSet's published definition is not at hand: there is no {definition.name}.")
    (version,) = yaml.load(definition.read_bytes(), Loader=yaml.CSafeLoader)["spec"]["versions"]
    schema = strict(version["schema"]["openAPIV3Schema"])
    # Job templates hold metadata whose fields the definition leaves open.
    text = json.dumps(schema).replace('"metadata": {"type": "object"}', '"metadata": {}')
    validator = jsonschema.Draft202012Validator(json.loads(text))
    sources = [Source(one.name, one.read_bytes()) for one in (path.with_name("topology.yaml"), path)]
    for written in translate(list(dict.fromkeys(sources)), "kueue").objects:
        if written["kind"] == "JobSet":
            validator.validate(written)
