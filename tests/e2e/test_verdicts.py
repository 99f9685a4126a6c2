"""Both servers accept the same objects and refuse the same ones: definitions, examples, and damaged examples."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from closeknit.kube.errors import ApiError
from closeknit.kube.port import ApplyPatch, KubernetesApi
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from closeknit.kube.rest import connect, load_access
from closeknit.testing.control_plane import ControlPlane

pytestmark = pytest.mark.e2e

EXAMPLES = Path(__file__).parents[2] / "examples"
DEFINITIONS = [one.written() for family in FAMILIES.values() for one in family]
DAMAGED = 600
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**63, 1.5),
    *("", " ", "a", "A_B", "-1", "9" * 65, "500m", "1Ei", "auto", "x" * 300, "r\u00e4ck"),
    *([], {}, [1], {"a": 1}, ["a"]),
)


@dataclass(frozen=True)
class Both:
    """The two servers, and what both serve."""

    real: KubernetesApi
    embedded: KubernetesApi
    resources: dict[tuple[str, str], Resource]

    async def verdicts(self, obj: dict[str, Any], resource: Resource) -> tuple[str, str]:
        """What each says of a new object: accepted, or the reason of its refusal; and why it refused."""
        answers = await asyncio.gather(*(verdict(api, resource, obj) for api in (self.real, self.embedded)))
        return answers[0], answers[1]


async def verdict(api: KubernetesApi, resource: Resource, obj: dict[str, Any]) -> str:
    try:
        await api.create(resource, obj, dry_run=True)
    except ApiError as error:
        return f"{error.status.code}: {error}"
    return "accepted"


@pytest.fixture
async def both(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Both]:
    embedded = tmp_path / "kubeconfig"
    async with Server(EmbeddedCluster(DEFINITIONS)) as server:
        server.write_kubeconfig(embedded)
        async with (
            connect(load_access(kubeconfig=str(plane.kubeconfig))) as real,
            connect(load_access(kubeconfig=str(embedded))) as ours,
        ):
            for definition in DEFINITIONS:
                await define(real, definition)
            served = {(one.api_version, one.kind): one for one in await ours.resources()}
            yield Both(real, ours, served)


async def define(api: KubernetesApi, definition: dict[str, Any]) -> None:
    """Create a definition, and wait until its kind is served."""
    name = definition["metadata"]["name"]
    await api.patch(CUSTOM_RESOURCE_DEFINITIONS, name, ApplyPatch(definition, "test", force=True))
    async with asyncio.timeout(60):
        while True:
            found = await api.get(CUSTOM_RESOURCE_DEFINITIONS, name)
            conditions = found.get("status", {}).get("conditions") or ()
            if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
                return
            await asyncio.sleep(0.05)


def examples() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every object of the examples, without its namespace; of many equal nodes and pods, a few."""
    seen: dict[tuple[Path, str], int] = {}
    for path in sorted(EXAMPLES.rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if not isinstance(document, dict) or "kind" not in document or "metadata" not in document:
                continue
            number = seen[path, document["kind"]] = seen.get((path, document["kind"]), 0) + 1
            if number <= 3 or document["kind"] not in ("Node", "Pod"):
                document["metadata"].pop("namespace", None)
                yield path, document


async def test_every_example_gets_the_same_verdict(both: Both) -> None:
    differences = []
    asked = 0
    for path, obj in examples():
        resource = both.resources.get((obj["apiVersion"], obj["kind"]))
        if resource is None:
            continue
        asked += 1
        real, embedded = await both.verdicts(obj, resource)
        if real.split(":")[0] != embedded.split(":")[0]:
            differences.append(f"{path.relative_to(EXAMPLES)}: {real} / {embedded}")

    assert asked > 50
    assert not differences, "\n".join(differences)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in items:
        yield (*path, step)
        yield from places(inner, (*path, step))


def damaged(obj: dict[str, Any], dice: Random) -> dict[str, Any]:
    """The object with a field or two deleted, renamed, doubled, or of another kind."""
    made = copy.deepcopy(obj)
    for _ in range(dice.choice((1, 1, 1, 2))):
        *before, last = dice.choice(
            [
                path
                for path in places(made)
                if path[0] not in ("apiVersion", "kind", "status") and path != ("metadata",)
            ]
        )
        holder: Any = made
        for step in before:
            holder = holder[step]
        match dice.randrange(10):
            case 0 | 1 | 2:
                del holder[last]
            case 3 if isinstance(holder, dict):
                holder[f"{last}x"] = holder.pop(last)
            case 4 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
            case _:
                holder[last] = copy.deepcopy(dice.choice(ODD))
    return made


async def test_damaged_objects_get_the_same_verdict(both: Both) -> None:
    dice = Random(2026)
    sound = [
        (obj, both.resources[obj["apiVersion"], obj["kind"]])
        for _, obj in examples()
        if (obj["apiVersion"], obj["kind"]) in both.resources
    ]
    differences: list[str] = []
    refused = 0
    for _ in range(DAMAGED):
        obj, resource = dice.choice(sound)
        broken = damaged(obj, dice)
        metadata = broken.get("metadata")
        if isinstance(metadata, dict):
            metadata.pop("namespace", None)
        real, embedded = await both.verdicts(broken, resource)
        refused += real != "accepted"
        if real.split(":")[0] != embedded.split(":")[0]:
            differences.append(f"{resource.kind}: {real[:300]} / {embedded[:300]}\n  {broken}")

    assert refused > DAMAGED / 4
    assert not differences, "\n".join(differences)
