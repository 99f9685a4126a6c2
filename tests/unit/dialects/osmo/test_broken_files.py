"""Whatever is done to valid files, reading them ends in problems, and what is still valid says the same in KAI's words."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.dialects import Source, read, translate
from closeknit.hub.request import Request
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kit import unseen

FOLDER = Path(__file__).resolve().parents[4] / "examples" / "osmo"
CARRIED = {
    "apiVersion": "osmo.closeknit.dev/v1alpha1",
    "kind": "Workflow",
    "metadata": {"name": "x", "namespace": "team", "creationTimestamp": "2025-01-31T12:00:00Z"},
    "spec": {
        "workflow": {
            "name": "q",
            "pool": "my-pool",
            "tasks": [{"name": "a", "resource": "r", "environment": {"a": "b"}}],
            "resources": {
                "r": {
                    "platform": "a",
                    "nodesExcluded": ["n"],
                    "cpu": 1,
                    "memory": "1Gi",
                    "topology": [{"key": "rack"}],
                }
            },
        }
    },
}
JUNK: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**40,
    1.5,
    "",
    "x" * 300,
    "ü☃",
    "\u202e",
    "a/b/c",
    [],
    {},
    [[]],
    {"a": {}},
    "default",
    "rack",
    "1e400",
    10**30,
    "-" * 70,
    "A_b",
)


def valid() -> list[dict[str, Any]]:
    files = ("pool", "multiple-nvl72-same-zone", "best-effort-topology")
    documents = [yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")) for name in files]
    tolerations = [{"key": "a", "operator": "Exists"}]
    documents[0] |= {
        "backend": "b",
        "platforms": {"a": {"labels": {"x": "y"}, "tolerations": tolerations}},
        "common_default_variables": {"USER_CPU": 1},
    }
    backend = {"name": "b", "k8s_namespace": "ns", "scheduler_settings": {"scheduler_type": "kai"}}
    return [*documents, backend, copy.deepcopy(CARRIED)]


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def broken(document: Any, chance: random.Random) -> Any:
    document = copy.deepcopy(document)
    for _ in range(chance.randint(1, 4)):
        if not (found := list(places(document))):
            break
        path = chance.choice(found)
        outer = document
        for step in path[:-1]:
            outer = outer[step]
        match chance.randrange(4):
            case 0:
                del outer[path[-1]]
            case 1 if isinstance(outer, list):
                outer.append(copy.deepcopy(chance.choice(outer)))
            case 2 if isinstance(outer, dict):
                outer[chance.choice(["x", "group", "kind", "workflow", "resources"])] = outer.pop(path[-1])
            case _:
                outer[path[-1]] = copy.deepcopy(chance.choice(JUNK))
    return document


def requests(sources: list[Source]) -> list[Request | None]:
    workloads = read(sources).workloads
    found = [unseen(each.request) if isinstance(each, PlaceableWorkload) else None for each in workloads]
    return sorted(found, key=lambda request: request.name if request else "")


def source(documents: list[Any]) -> list[Source]:
    return [Source("f", "\n---\n".join(json.dumps(document) for document in documents).encode())]


@pytest.mark.parametrize("seed", range(4))
def test_broken_files_are_problems_and_never_exceptions(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(40):
        given = source([broken(one, chance) if chance.random() < 0.5 else one for one in valid()])
        found, made = read(given), translate(given, "kai", lenient=chance.random() < 0.3)

        for workload in found.workloads:
            assert isinstance(workload, PlaceableWorkload) or workload.problems
        for problem in found.problems:
            assert problem.problem.message.endswith((".", "?"))
        if not found.problems:
            assert requests(source(list(made.objects))) == requests(given)


def test_the_files_that_are_broken_here_are_valid() -> None:
    assert [str(problem) for problem in read(source(valid())).problems] == []
