"""The objects of the examples, and ways to damage them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.errors import ApiError, NotFoundError
from closeknit.kube.port import KubernetesApi, Object
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.conformance.cluster import eventually

EXAMPLES = Path(__file__).parents[2] / "examples"
INVALID = "invalid"
"""The folder of examples that are wrong on purpose."""
NOT_SERVED = {
    ("kai.scheduler/v1", "Topology"),
    ("kubeflow.org/v1", "PyTorchJob"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
}
"""What is read and no definition is printed for: an early spelling that no KAI ever served, and kinds whose own
projects bring their definitions."""


UNFINISHED = {
    "dynamo/deployment-level.yaml#0": "spec.topologyConstraint.topologyProfile",
    "dynamo/mixed.yaml#0": "spec.topologyConstraint.topologyProfile",
    "grove/hierarchical-inference.yaml#0": "spec.template.cliques[0].spec.podSpec",
}
"""Examples that stand as their design document has them, and a field that it leaves out and the definition
requires."""


@dataclass(frozen=True)
class Example:
    """One object, and where it stands."""

    place: str
    obj: Object

    @property
    def kind(self) -> tuple[str, str]:
        return (self.obj["apiVersion"], self.obj["kind"])


def definitions() -> list[Object]:
    """Every definition that ``closeknit crds`` prints."""
    written = [dict(definition.written()) for family in FAMILIES.values() for definition in family]
    return list({each["metadata"]["name"]: each for each in written}.values())


def examples() -> list[Example]:
    """Every Kubernetes object in the examples that is meant to be right."""
    return [
        Example(f"{path.relative_to(EXAMPLES)}#{number}", obj)
        for path in sorted([*EXAMPLES.rglob("*.yaml"), *EXAMPLES.rglob("*.json")])
        if INVALID not in path.parts
        for number, obj in enumerate(_objects(path))
    ]


def _objects(path: Path) -> Iterator[Object]:
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        listed = document.get("items", [document]) if isinstance(document, dict) else []
        for obj in listed:
            if isinstance(obj, dict) and {"apiVersion", "kind", "metadata"} <= set(obj):
                yield obj


def damaged(obj: Object, random: Random) -> tuple[str, Object]:
    """A copy with one thing wrong, or at least different, and what that is."""
    broken = copy.deepcopy(obj)
    # What an object is, and where, decides which server would even be asked.
    places = [
        (parent, key, path)
        for parent, key, path in _places(broken, "")
        if path not in (".apiVersion", ".kind", ".metadata", ".metadata.name", ".metadata.namespace")
        and not path.startswith(".status")
    ]
    parent, key, path = random.choice(places)
    value = parent[key]
    match random.randrange(4):
        case 0:
            del parent[key]
            return f"{path} is missing", broken
        case 1:
            new: Any = random.choice([None, 7, -1, "", "x", "Not A Word!", True, [], {}, 1.5, 2**40])
        case 2 if isinstance(value, dict):
            value["unheardOf"] = 1
            return f"{path}.unheardOf is new", broken
        case 2 if isinstance(value, str):
            new = value * 100
        case 3 if isinstance(value, list) and value:
            new = value + value
        case _:
            new = [value]
    parent[key] = new
    return f"{path} is {str(new)[:60]!r}", broken


def _places(value: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        here = f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]"
        yield value, key, here
        yield from _places(inner, here)


async def define(api: KubernetesApi) -> dict[tuple[str, str], Resource]:
    """Make every definition, and say how each kind is asked for."""
    wanted = set()
    for definition in definitions():
        spec = definition["spec"]
        wanted |= {
            (f"{spec['group']}/{version['name']}", spec["names"]["kind"]) for version in spec["versions"]
        }
        try:
            await api.get(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])
        except NotFoundError:
            await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition)

    async def served() -> bool:
        found = {(each.api_version, each.kind) for each in await api.resources()}
        return wanted <= found

    await eventually(served)
    return {
        (each.api_version, each.kind): each
        for each in await api.resources()
        if "/" not in each.plural and each.plural != "bindings"
    }


async def verdict(api: KubernetesApi, resource: Resource, obj: Object, namespace: str) -> str:
    """What a server says of an object that it is asked to make, without making it."""
    body = dict(obj)
    if resource.namespaced:
        body["metadata"] = {**obj["metadata"], "namespace": namespace}
    try:
        await api.create(resource, body, dry_run=True)
    except ApiError as error:
        return f"{error.status.code} {error.status.reason}"
    return "accepted"
