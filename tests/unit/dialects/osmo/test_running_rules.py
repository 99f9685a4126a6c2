"""The rules for what matters only when a workflow runs: inputs, exit actions, and numbers in quotes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.problems import Field, OneOf
from closeknit.hub.sentences import osmo
from tests.kit.common_problems import described, not_found, wrong_type
from tests.kit.problems import Finding, finding
from tests.unit.dialects.kit import reported
from tests.unit.dialects.osmo.kit import objects, pool, workflow

ACTIONS = "1:workflow.groups[0].tasks[0].exitActions"
COMPLETE = ("workflow", "groups", 0, "tasks", 0, "exitActions", "COMPLETE")


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
            [not_found("1:workflow.groups[1].tasks[0].inputs[0].task", "task", "alhpa", "alpha")],
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
                finding(
                    osmo.INPUT_FROM_OWN_GROUP,
                    "1:workflow.groups[0].tasks[1].inputs[0].task",
                    task="a",
                    group="g",
                )
            ],
            id="an input from a task that runs at the same time",
        ),
        pytest.param(
            groups(a=after("c"), b=after("a"), c=after("b")),
            [
                finding(
                    osmo.GROUPS_IN_A_CIRCLE,
                    "1:workflow.groups[0].tasks",
                    groups="ga waits for gc waits for gb waits for ga",
                )
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
                finding(
                    osmo.UNKNOWN_EXIT_ACTION,
                    f"{ACTIONS}.RESTART",
                    action="RESTART",
                    remedy=OneOf.among("RESTART", ["COMPLETE", "FAIL", "RESCHEDULE"]),
                ),
                finding(
                    osmo.NOT_EXIT_CODES,
                    f"{ACTIONS}.FAIL",
                    found=described("9-1"),
                ),
                *(
                    finding(osmo.EXIT_CODE_TWICE, f"{ACTIONS}.RESCHEDULE", code=code, field=Field(COMPLETE))
                    for code in (7, 9)
                ),
            ],
            id="everything that is wrong with exit actions, at once",
        ),
        pytest.param(
            pool(default_exit_actions={"COMPLETE": True}),
            [finding(osmo.NOT_EXIT_CODES, "1:default_exit_actions.COMPLETE", found=described(True))],
            id="exit actions of a pool",
        ),
        pytest.param(
            workflow(["a"], {"default": {"gpu": 1.5}, "other": {"gpu": "8 GPUs"}}),
            [
                wrong_type("1:workflow.resources.default.gpu", 1.5, int),
                wrong_type("1:workflow.resources.other.gpu", "8 GPUs", int),
            ],
            id="GPUs that are not a whole number",
        ),
    ],
)
def test_rules(text: str, want: list[Finding]) -> None:
    assert reported(text) == want


@pytest.mark.requirement("O22")
@pytest.mark.parametrize("gpu", [8, "8", 8.0, " 8 ", "+8"])
@pytest.mark.parametrize("cpu", [4, "4", 4.0])
def test_numbers_are_read_as_osmo_reads_them(gpu: object, cpu: object) -> None:
    (pod,) = (each for each in objects(workflow(["a"], {"default": {"gpu": gpu, "cpu": cpu}}), to="pods"))

    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    assert {name: float(amount) for name, amount in requests.items()} == {"nvidia.com/gpu": 8, "cpu": 4}
