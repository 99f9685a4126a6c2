"""The rules for what matters only when a workflow runs: inputs, exit actions, and numbers in quotes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.dialects.kit import problems
from tests.unit.dialects.osmo.kit import objects, pool, workflow


def groups(**tasks: dict[str, Any]) -> str:
    """A workflow in which each task is a group of its own, called after it."""
    written = [{"name": f"g{name}", "tasks": [{"name": name, **fields}]} for name, fields in tasks.items()]
    return json.dumps({"workflow": {"name": "w", "groups": written}})


def after(*names: str) -> dict[str, Any]:
    return {"inputs": [{"task": name, "regex": ".*"} for name in names]}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(groups(a={}, b=after("a"), c=after("a", "b")), [], id="inputs from earlier groups"),
        pytest.param(
            groups(a={"inputs": [{"url": "s3://x"}, {"task": "wf-1:a"}]}), [], id="inputs from elsewhere"
        ),
        pytest.param(
            groups(alpha={}, b=after("alhpa")),
            [
                'workflow.groups[1].tasks[0].inputs[0].task: There is no task "alhpa".'
                ' Did you mean "alpha"? Allowed: "alpha".'
            ],
            id="an input from a task that does not exist",
        ),
        pytest.param(
            json.dumps(
                {
                    "workflow": {
                        "name": "w",
                        "groups": [{"name": "g", "tasks": [{"name": "a"}, {"name": "b", **after("a")}]}],
                    }
                }
            ),
            [
                'workflow.groups[0].tasks[1].inputs[0].task: Task "a" is in group "g" too, so both run at the same'
                " time. Put them into different groups, or remove the input."
            ],
            id="an input from a task that runs at the same time",
        ),
        pytest.param(
            groups(a=after("c"), b=after("a"), c=after("b")),
            [
                "workflow.groups[0].tasks: Groups wait for each other in a circle, so none of them can start:"
                " ga waits for gc waits for gb waits for ga. Remove one of the inputs."
            ],
            id="inputs in a circle",
        ),
        pytest.param(
            groups(a={"exitActions": {"COMPLETE": "0-10, 16", "reschedule": 20}}), [], id="exit actions"
        ),
        pytest.param(
            groups(
                a={"exitActions": {"RESTART": 1, "FAIL": "9-1", "COMPLETE": "0-10", "RESCHEDULE": "7,9-12"}}
            ),
            [
                'workflow.groups[0].tasks[0].exitActions.RESTART: "RESTART" is not an exit action.'
                ' Allowed: "COMPLETE", "FAIL", "RESCHEDULE".',
                'workflow.groups[0].tasks[0].exitActions.FAIL: Found "9-1", a string, where exit codes are expected.'
                " Write numbers and ranges with commas between, such as 0-10,16.",
                "workflow.groups[0].tasks[0].exitActions.RESCHEDULE: Code 7 stands in"
                " workflow.groups[0].tasks[0].exitActions.COMPLETE as well. A code has one action.",
                "workflow.groups[0].tasks[0].exitActions.RESCHEDULE: Code 9 stands in"
                " workflow.groups[0].tasks[0].exitActions.COMPLETE as well. A code has one action.",
            ],
            id="everything that is wrong with exit actions, at once",
        ),
        pytest.param(
            pool(default_exit_actions={"COMPLETE": True}),
            [
                "default_exit_actions.COMPLETE: Found true, a truth value, where exit codes are expected."
                " Write numbers and ranges with commas between, such as 0-10,16."
            ],
            id="exit actions of a pool",
        ),
        pytest.param(
            workflow(["a"], {"default": {"gpu": 1.5}, "other": {"gpu": "8 GPUs"}}),
            [
                "workflow.resources.default.gpu: Found 1.5, a number, where a whole number is expected.",
                'workflow.resources.other.gpu: Found "8 GPUs", a string, where a whole number is expected.',
            ],
            id="GPUs that are not a whole number",
        ),
    ],
)
def test_rules(text: str, want: list[str]) -> None:
    assert [each.partition(":")[2] for each in problems(text)] == want


@pytest.mark.requirement("O22")
@pytest.mark.parametrize("gpu", [8, "8", 8.0, " 8 ", "+8"])
@pytest.mark.parametrize("cpu", [4, "4", 4.0])
def test_numbers_are_read_as_osmo_reads_them(gpu: object, cpu: object) -> None:
    (pod,) = (each for each in objects(workflow(["a"], {"default": {"gpu": gpu, "cpu": cpu}}), to="pods"))

    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    assert {name: float(amount) for name, amount in requests.items()} == {"nvidia.com/gpu": 8, "cpu": 4}
