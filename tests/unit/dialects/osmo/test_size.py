"""What a large workflow costs: counted in lines of code that run, because time depends on the machine."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from closeknit.dialects import Source, translate
from closeknit.dialects.osmo.tree import tree
from closeknit.hub.sentences import core, osmo
from tests.kit.problems import finding, findings
from tests.unit.dialects.kit import reading
from tests.unit.dialects.osmo.kit import each, near, objects, pool, workflow


def one_resource(size: int) -> str:
    return workflow([f"t{i}" for i in range(size)], {"default": near("zone=z", "rack=r")})


def a_rack_for_each(size: int) -> str:
    return each({f"t{i}": [f"zone=z{i % 7}", f"spine=s{i % 7}", f"rack=r{i}"] for i in range(size)})


def one_name_in_many_zones(size: int) -> str:
    return each({f"t{i}": [f"zone=z{i}", "rack=r"] for i in range(size)})


def names_that_clash(size: int) -> str:
    return each({f"t{i}": [f"zone={'a-' * (i % 5)}b", f"rack={'a-' * (i // 5)}b"] for i in range(size)})


def tasks_on_their_own(size: int) -> str:
    return json.dumps({"workflow": {"name": "w", "tasks": [{"name": f"t{i}"} for i in range(size)]}})


def a_group_and_a_resource_for_each(size: int) -> str:
    groups = [{"name": f"g{i}", "tasks": [{"name": f"t{i}", "resource": f"r{i}"}]} for i in range(size)]
    resources = {f"r{i}": near(f"rack=r{i}") for i in range(size)}
    return json.dumps({"workflow": {"name": "w", "groups": groups, "resources": resources}})


def contradictions(size: int) -> str:
    return each({f"t{i}": ["zone=z", "rack=r"] if i % 2 else ["zone~z", f"rakc=r{i}"] for i in range(size)})


def resources_that_are_missing(size: int) -> str:
    return workflow({f"t{i}": f"q{i}" for i in range(size)}, {f"r{i}": {} for i in range(size)})


def lines_run(text: str) -> int:
    """How many lines of ours run to translate a workflow."""
    count = 0

    def local(_: FrameType, event: str, __: Any) -> Callable[..., Any]:
        nonlocal count
        count += event == "line"
        return local

    def entered(frame: FrameType, *_: Any) -> Callable[..., Any] | None:
        return local if "closeknit" in frame.f_code.co_filename else None

    source = Source("f", f"{pool()}\n{text}".encode())
    before = sys.gettrace()
    sys.settrace(entered)
    try:
        translate([source], "kai")
    finally:
        sys.settrace(before)
    return count


@pytest.mark.requirement("O42")
@pytest.mark.parametrize(
    "made",
    [
        one_resource,
        a_rack_for_each,
        one_name_in_many_zones,
        names_that_clash,
        tasks_on_their_own,
        a_group_and_a_resource_for_each,
        contradictions,
        resources_that_are_missing,
    ],
)
@pytest.mark.requirement("O42")
def test_the_cost_grows_with_the_workflow_and_no_faster(made: Callable[[int], str]) -> None:
    lines_run(made(5))
    small, large = lines_run(made(50)), lines_run(made(200))

    assert large <= 4.4 * small


@pytest.mark.parametrize("to", ["kai", "pods"])
def test_a_workflow_is_worked_out_once_however_often_it_is_asked_for(
    to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = []

    def counted(*given: Any) -> Any:
        trees.append(given)
        return tree(*given)

    monkeypatch.setattr("closeknit.dialects.osmo.workflows.tree", counted)

    objects(pool(), one_resource(3), to=to)

    assert len(trees) == 1


def test_what_was_meant_is_looked_up_for_a_few_missing_resources_only() -> None:
    missing = reading(resources_that_are_missing(30)).problems

    assert Counter(located.problem.code for located in missing) == {
        core.NOT_FOUND: 20,
        osmo.UNDEFINED_RESOURCE: 10,
    }
    assert findings(missing)[-1] == finding(
        osmo.UNDEFINED_RESOURCE, "1:workflow.groups[0].tasks[29].resource", resource="q29"
    )


def test_ten_thousand_tasks_become_as_many_pods() -> None:
    resources = {f"model-{i}": near("zone=all", f"rack=model-{i}") for i in range(100)}
    tasks = {f"task-{i}": f"model-{i % 100}" for i in range(10_000)}

    made = objects(pool(), workflow(tasks, resources))

    assert sum(one["kind"] == "Pod" for one in made) == 10_000
    (group,) = (one for one in made if one["kind"] == "PodGroup")
    assert [part["minMember"] for part in group["spec"]["subGroups"]] == [100] * 100
