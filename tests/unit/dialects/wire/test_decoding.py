"""Documents against wire shapes: the quick answer and the thorough one never differ."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from closeknit.apis.core_v1 import Node
from closeknit.apis.scheduling_k8s_io_v1 import PriorityClass
from closeknit.dialects import DIALECTS, Source
from closeknit.dialects.core import kinds as core_kinds
from closeknit.dialects.wire import decoding as shapes
from closeknit.dialects.wire.decoding import decode
from closeknit.dialects.wire.registry import Found, Registry
from closeknit.hub.nearest import nearest
from closeknit.hub.sentences import wire
from closeknit.text.documents import Document, parse
from tests.kit.problems import finding, findings

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
JUNK: tuple[Any, ...] = (
    True,
    0,
    -1,
    2**40,
    2**70,
    1.5,
    1.0,
    "",
    "x",
    "5",
    [],
    {},
    [[]],
    [None],
    {"a": {}},
    "ü",
)
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "managedFields": [{"manager": "kubelet"}]},
    "status": {
        "allocatable": {"cpu": 1, "memory": "1Gi", "pods": 1.5},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    },
}

CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "c"}}


def documents() -> Iterator[tuple[type, dict[str, Any]]]:
    """The objects of the examples as plain data, each with its shape."""
    kinds = [*core_kinds.KINDS, *(kind for dialect in DIALECTS for kind in dialect.kinds)]
    registry = Registry(kinds, [])
    for path in sorted(EXAMPLES.rglob("*.yaml")):
        for found in parse(Source(path.name, path.read_bytes())):
            assert isinstance(found, Document)
            for one in registry.objects([found], lenient=False):
                if isinstance(one, Found) and one.content is not None and isinstance(found.content, dict):
                    whole = found.content
                    if one.origin.own_file is not None:
                        name = one.object
                        whole = one.origin.own_file.whole(whole, name.api_version, name.kind)
                    yield type(one.content), whole


def changed(document: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    document = copy.deepcopy(document)
    for _ in range(chance.randrange(3)):
        outer, key = chance.choice(list(places(document)))
        match chance.randrange(4):
            case 0 if isinstance(outer, dict):
                outer.pop(key, None)
            case 1 if isinstance(outer, dict):
                outer[f"{key}x"] = copy.deepcopy(chance.choice(JUNK))
            case 2 if isinstance(outer, dict):
                outer[chance.choice(["status", "spec", "unheardOf"])] = copy.deepcopy(chance.choice(JUNK))
            case _:
                outer[key] = copy.deepcopy(chance.choice(JUNK))
    return document


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


@pytest.mark.parametrize("lenient", [False, True])
def test_the_quick_answer_is_the_thorough_one(lenient: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    every = list(documents())
    given = [(shape, changed(one, chance)) for shape, one in [*chance.choices(every, k=1500), (Node, NODE)]]
    quick = [decode(shape, one, lenient=lenient) for shape, one in given]
    monkeypatch.setattr(shapes, "_fits", lambda *_: False)

    for (shape, one), found in zip(given, quick, strict=True):
        assert found == decode(shape, one, lenient=lenient)
    assert len(given) / 4 < sum(not wrong for _, wrong in quick) < len(given)


def test_a_node_as_a_cluster_lists_it_needs_no_thorough_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "_checker", None)

    node, wrong = decode(Node, NODE)

    assert node is not None
    assert wrong == ()


def test_what_an_unknown_field_is_near_to_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(key: str, known: Iterable[str]) -> str | None:
        asked.append(key)
        return nearest(key, known)

    monkeypatch.setattr(shapes, "nearest", counted)
    shapes._remedy.cache_clear()

    for _ in range(5):
        condition = {"type": "Ready", "heardOfNowhere": 1}
        assert decode(Node, {**NODE, "status": {"conditions": [condition]}})[1] == ()

    assert len(asked) == 1


@pytest.mark.parametrize(
    ("units", "limit"),
    [
        pytest.param(10**30, "at most 2147483647", id="too many"),
        pytest.param(-(10**30), "at least -2147483648", id="too few"),
    ],
)
def test_a_number_out_of_range_is_told_the_end_it_passed(units: int, limit: str) -> None:
    _, problems = decode(PriorityClass, {**CLASS, "value": units})

    assert findings(problems) == [finding(wire.OUT_OF_RANGE, "value", value=str(units), limit=limit)]
