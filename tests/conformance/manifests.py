"""The definitions and the objects of the examples, and what a server says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
    ("kubeflow.org/v1", "PyTorchJob"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    ("scheduling.k8s.io/v1alpha2", "PodGroup"),
    ("scheduling.k8s.io/v1alpha2", "Workload"),
}
"""What is read and no definition is printed for: other projects bring theirs, and gates of Kubernetes its own."""


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
