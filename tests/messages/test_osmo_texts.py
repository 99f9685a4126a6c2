"""What OSMO's operator writes into the status of a task, and what it advises about misplaced fields."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import TaskGroupSpec, TaskSpec, WorkflowSpec
from closeknit.apis.wire import Wire
from closeknit.dialects.osmo.progress import progress
from tests.unit.dialects.osmo.task_pods import CHAIN, LEAD, PAIR, RETRIED, STRICT, pods, read

LEAD_IS_RETRIED = {"g": {"a": {**LEAD, **RETRIED}, "b": {}}}
SIX_TRIES = {"a": "Failed:3", **{f"a{retry}": "Failed:3" for retry in range(1, 6)}}


@pytest.mark.parametrize(
    ("groups", "states", "task", "text"),
    [
        pytest.param(PAIR, {"a": "Running", "b": "Running"}, "b", "", id="it runs"),
        pytest.param(PAIR, {"a": "Succeeded", "b": "Running"}, "b", "The lead task has ended", id="its lead ended"),
        pytest.param(PAIR, {"a": "Failed:1"}, "a", "Ended with exit code 1", id="it failed"),
        pytest.param(STRICT, {"a": "Running", "b": "Failed:1"}, "a", "Task b failed", id="another task failed"),
        pytest.param({"g": {"a": RETRIED}}, {"a": "Failed:3"}, "a", "Rescheduled after exit code 3", id="it is retried"),
        pytest.param({"g": {"a": RETRIED}}, SIX_TRIES, "a", "Ended with exit code 3 after 5 retries, which is the most", id="it is retried no more"),
        pytest.param(LEAD_IS_RETRIED, {"a": "Failed:3", "b": "Running"}, "b", "Started again with task a", id="its lead is retried"),
        pytest.param(CHAIN, {"a": "Failed:1"}, "b", "Group one failed", id="the group before it failed"),
    ],
)  # fmt: skip
def test_the_message_of_a_task(groups: dict[str, Any], states: dict[str, str], task: str, text: str) -> None:
    assert _message(groups, states, task) == text


def test_the_message_of_a_canceled_task() -> None:
    assert _message(PAIR, {"a": "Running"}, "a", canceled=True) == "The workflow was canceled"


def _message(groups: dict[str, Any], states: dict[str, str], task: str, *, canceled: bool = False) -> str:
    """What the status says of a task whose workflow has these pods."""
    workflow = read(groups)
    state = progress(workflow, {}, pods(workflow, **states), canceled=canceled)
    return next(of.message for group in state.groups for of in group.tasks if of.name == task)


@pytest.mark.parametrize("shape", [WorkflowSpec, TaskGroupSpec, TaskSpec])
def test_the_advice_about_what_a_task_asks_for_in_the_wrong_place(shape: type[Wire]) -> None:
    assert set(shape.elsewhere.values()) == {
        "What a task asks for stands in workflow.resources under a name, and the task names it in its field resource."
    }
