"""What is written for any workflow asks for the same, and fits what is published."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.dialects import Source, read
from closeknit.hub.request import Request
from closeknit.hub.workload import PlaceableWorkload
from tests.contract.objects import faults
from tests.unit.dialects.kit import request, unseen
from tests.unit.dialects.osmo.kit import KEYS, near, objects, pool, workflow
from tests.unit.dialects.osmo.written import EXAMPLES, example


def read_back(made: list[dict[str, Any]]) -> dict[str, Request | None]:
    found = read([Source("f", "\n".join(json.dumps(one) for one in made).encode())])
    assert [str(problem) for problem in found.problems] == []
    return {
        workload.request.name: unseen(workload.request)
        for workload in found.workloads
        if isinstance(workload, PlaceableWorkload)
    }


@pytest.mark.parametrize(
    "file",
    sorted(path.name for path in EXAMPLES.glob("*.yaml") if path.name not in ("nodes.yaml", "pool.yaml")),
)
def test_an_examples_objects_ask_for_what_the_workflow_asks(file: str) -> None:
    texts = example("pool.yaml", file)
    asked = request(*texts)

    assert read_back(objects(*texts)) == {asked.name: asked}


@st.composite
def any_workflow(draw: st.DrawFn) -> str:
    """Random workflows without contradictions: a group's name tells its parents and its strictness."""
    resources: dict[str, Any] = {}
    for i in range(draw(st.integers(1, 5))):
        entries, above = [], ""
        for key in KEYS:
            number = draw(st.integers(0, 3))
            if number:
                above = f"{above}{key[0]}{number}-"
                entries.append(f"{key}{'~' if number == 3 else '='}{above}")
        shape: dict[str, Any] = draw(
            st.sampled_from([{"gpu": 1}, {"gpu": 8, "memory": "1Gi"}, {"nodesExcluded": ["n1"]}])
        )
        resources[f"r{i}"] = {**near(*entries), **shape}
    names = st.lists(
        st.from_regex(r"[a-zA-Z]([a-zA-Z0-9_-]{0,8}[a-zA-Z0-9])?", fullmatch=True),
        min_size=1,
        max_size=12,
        unique_by=lambda name: name.lower().replace("_", "-").replace("--", "-"),
    )
    tasks = {f"t-{i}-{name}": draw(st.sampled_from(sorted(resources))) for i, name in enumerate(draw(names))}
    return workflow(tasks, resources)


@settings(max_examples=200)
@given(any_workflow())
def test_what_is_written_asks_for_what_the_workflow_asks(text: str) -> None:
    asked = request(pool(), text)

    assert read_back(objects(pool(), text)) == {asked.name: asked}


@settings(max_examples=50)
@given(any_workflow())
def test_what_is_written_fits_the_published_definitions(text: str) -> None:
    for made in objects(pool(), text):
        if made["kind"] != "Pod":
            assert list(faults(made)) == []
