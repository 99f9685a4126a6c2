"""How a workflow comes along, by what was recorded and by its pods."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.apis import osmo_closeknit_dev_v1alpha1 as wire
from closeknit.dialects.osmo.exit_actions import EVICTED, PREEMPTED, Action, action_for, exit_actions
from closeknit.dialects.osmo.progress import (
    MOST_RETRIES,
    GroupState,
    WorkflowState,
    progress,
    recorded,
)
from closeknit.dialects.osmo.render import to_pod_group, to_pods
from tests.unit.dialects.osmo.kit import near, rows
from tests.unit.dialects.osmo.task_pods import CHAIN, LEAD, PAIR, RETRIED, STRICT, pods, read


def told(state: WorkflowState) -> str:
    """A state in a line: ``RUNNING g[RUNNING a=RUNNING b=SCHEDULING+1]``."""
    groups = (
        f"{group.name}[{group.phase} "
        + " ".join(
            f"{task.name}={task.phase}" + (f"+{task.retries}" if task.retries else "") for task in group.tasks
        )
        + "]"
        for group in state.groups
    )
    return f"{state.phase} {' '.join(groups)}"


@pytest.mark.parametrize(
    ("groups", "states", "expected"),
    [
        pytest.param(PAIR, {}, "PENDING g[SCHEDULING a=SCHEDULING b=SCHEDULING]", id="nothing is there yet"),
        pytest.param(
            PAIR,
            {"a": "Running", "b": "Pending"},
            "RUNNING g[RUNNING a=RUNNING b=SCHEDULING]",
            id="one task runs",
        ),
        pytest.param(
            PAIR,
            {"a": "Succeeded", "b": "Running"},
            "COMPLETED g[COMPLETED a=COMPLETED b=COMPLETED]",
            id="the lead ends the group",
        ),
        pytest.param(
            PAIR,
            {"a": "Failed:1", "b": "Running"},
            "FAILED g[FAILED a=FAILED b=FAILED]",
            id="the lead fails the group",
        ),
        pytest.param(
            PAIR,
            {"a": "Running", "b": "Failed:1"},
            "RUNNING g[RUNNING a=RUNNING b=FAILED]",
            id="another task's failure is ignored",
        ),
        pytest.param(
            PAIR,
            {"a": "Succeeded", "b": "Failed:1"},
            "COMPLETED g[COMPLETED a=COMPLETED b=FAILED]",
            id="and does not fail the group in the end",
        ),
        pytest.param(
            STRICT,
            {"a": "Running", "b": "Failed:1"},
            "FAILED g[FAILED a=FAILED b=FAILED]",
            id="unless the group does not ignore it",
        ),
        pytest.param(
            {"g": {"a": LEAD, "b": RETRIED}},
            {"a": "Running", "b": "Failed:3"},
            "RUNNING g[RUNNING a=RUNNING b=SCHEDULING+1]",
            id="a task is retried and the others go on",
        ),
        pytest.param(
            {"g": {"a": {**LEAD, **RETRIED}, "b": {}}},
            {"a": "Failed:3", "b": "Running"},
            "PENDING g[SCHEDULING a=SCHEDULING+1 b=SCHEDULING+1]",
            id="a lead that is retried takes the others with it",
        ),
        pytest.param(
            {"g": {"tasks": {"a": LEAD, "b": RETRIED}, "ignoreNonleadStatus": False}},
            {"a": "Running", "b": "Failed:3"},
            "PENDING g[SCHEDULING a=SCHEDULING+1 b=SCHEDULING+1]",
            id="so does any task of a group that ignores none",
        ),
        pytest.param(
            {"g": {"a": RETRIED}},
            {"a": "Failed:16"},
            "COMPLETED g[COMPLETED a=COMPLETED]",
            id="a code that counts as success",
        ),
        pytest.param(
            {"g": {"a": RETRIED}},
            {"a": "Failed:3", "a1": "Failed:3", "a2": "Running"},
            "RUNNING g[RUNNING a=RUNNING+2]",
            id="a later pod tells of the tries before it, although nothing was recorded",
        ),
        pytest.param(
            {"g": {"a": {}}},
            {"a": f"Failed:{PREEMPTED}"},
            "PENDING g[SCHEDULING a=SCHEDULING+1]",
            id="who was preempted runs again",
        ),
        pytest.param(
            {"g": {"a": {}}},
            {"a": f"Failed:{EVICTED}"},
            "FAILED g[FAILED_EVICTED a=FAILED_EVICTED]",
            id="who was evicted does not, without an exit action",
        ),
        pytest.param(
            {"g": {"a": {}}},
            {"a": "Failed"},
            "FAILED g[FAILED_BACKEND_ERROR a=FAILED_BACKEND_ERROR]",
            id="a pod without an exit code failed with its node",
        ),
        pytest.param(
            {"g": {"a": {}}},
            {"a": "leaving Failed:137"},
            "PENDING g[SCHEDULING a=SCHEDULING]",
            id="a pod that was deleted is made again, and that is no retry",
        ),
        pytest.param(
            CHAIN,
            {"a": "Running", "c": "Running"},
            "RUNNING one[RUNNING a=RUNNING] two[WAITING b=WAITING] three[RUNNING c=RUNNING]",
            id="a group waits for the one before it, and others do not",
        ),
        pytest.param(
            CHAIN,
            {"a": "Succeeded"},
            "WAITING one[COMPLETED a=COMPLETED] two[SCHEDULING b=SCHEDULING] three[SCHEDULING c=SCHEDULING]",
            id="and starts when that is complete",
        ),
        pytest.param(
            CHAIN,
            {"a": "Failed:1", "c": "Succeeded"},
            "FAILED one[FAILED a=FAILED] two[FAILED_UPSTREAM b=FAILED_UPSTREAM] three[COMPLETED c=COMPLETED]",
            id="and fails with it",
        ),
    ],
)
def test_progress_by_pods(groups: dict[str, Any], states: dict[str, str], expected: str) -> None:
    workflow = read(groups)

    assert told(progress(workflow, {}, pods(workflow, **states))) == expected


def test_what_was_recorded_stays_when_pods_are_gone() -> None:
    workflow = read(CHAIN)
    first = progress(workflow, {}, pods(workflow, a="Succeeded", c="Failed:2"))

    again = progress(workflow, {group.name: group for group in first.groups}, [])

    assert told(again) == (
        "WAITING one[COMPLETED a=COMPLETED] two[SCHEDULING b=SCHEDULING] three[FAILED c=FAILED]"
    )
    assert again.groups[2] == first.groups[2]


def test_a_canceled_workflow_ends_where_it_stands() -> None:
    workflow = read(CHAIN)

    state = progress(workflow, {}, pods(workflow, a="Running", c="Succeeded"), canceled=True)

    assert told(state) == (
        "FAILED_CANCELED one[FAILED_CANCELED a=FAILED_CANCELED] two[FAILED_UPSTREAM b=FAILED_UPSTREAM]"
        " three[COMPLETED c=COMPLETED]"
    )


def test_retries_come_to_an_end() -> None:
    workflow = read({"g": {"a": RETRIED}})
    before: dict[str, GroupState] = {}
    states: list[WorkflowState] = []
    for retry in range(MOST_RETRIES + 1):
        states.append(progress(workflow, before, pods(workflow, **{f"a{retry or ''}": "Failed:3"})))
        before = {group.name: group for group in states[-1].groups}

    assert list(map(told, states)) == [
        *(f"PENDING g[SCHEDULING a=SCHEDULING+{i + 1}]" for i in range(MOST_RETRIES)),
        f"FAILED g[FAILED a=FAILED+{MOST_RETRIES}]",
    ]
    (task,) = before["g"].tasks
    assert (task.exit_code, task.retries) == (3, MOST_RETRIES)


def test_the_pools_exit_actions_count_for_tasks_that_say_nothing() -> None:
    workflow = read({"g": {"a": {}, "b": {}}}, default_exit_actions={"COMPLETE": "0,7"})

    assert told(progress(workflow, {}, pods(workflow, a="Failed:7"))).startswith("COMPLETED")


def test_a_retried_pod_keeps_its_place_in_the_tree() -> None:
    workflow = read(
        {"g": {"a": {"resource": "x"}, "b": {"resource": "y"}}},
        {"x": near("rack=one"), "y": near("rack=two")},
    )
    (group,) = workflow.groups
    first, later = (to_pods(group, workflow, {"b": retries})[1]["metadata"] for retries in (0, 2))

    assert later["name"] == f"{first['name']}-2"
    assert later["labels"] == {**first["labels"], "osmo.retry_id": "2"}
    assert later["labels"]["kai.scheduler/subgroup-name"] == "two"
    assert later["annotations"] == first["annotations"]


ABOVE = ["- =t/zone", "s1 groups=2 =t/spine", "s2 groups=1 =t/spine"]


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        pytest.param(
            (),
            [
                *ABOVE,
                "s1-r1 pods=2 =t/rack in s1",
                "s1-r2 pods=1 =t/rack in s1",
                "s2-r1 pods=1 =t/rack in s2",
            ],
            id="all tasks count",
        ),
        pytest.param(
            ("a",),
            [
                *ABOVE,
                "s1-r1 pods=1 =t/rack in s1",
                "s1-r2 pods=1 =t/rack in s1",
                "s2-r1 pods=1 =t/rack in s2",
            ],
            id="one of a leaf is gone",
        ),
        pytest.param(
            ("c", "d"),
            ["- =t/zone", "s1 groups=1 =t/spine", "s1-r1 pods=2 =t/rack in s1"],
            id="leaves without tasks go, and so do their parents",
        ),
    ],
)
def test_a_pod_group_counts_only_tasks_that_can_have_a_pod(
    without: tuple[str, ...], expected: list[str]
) -> None:
    wishes = {"a": ("s1", "r1"), "b": ("s1", "r1"), "c": ("s1", "r2"), "d": ("s2", "r1")}
    workflow = read(
        {"g": {task: {"resource": task} for task in wishes}},
        {task: near("zone=z", f"spine={spine}", f"rack={rack}") for task, (spine, rack) in wishes.items()},
    )
    (group,) = workflow.groups

    assert sorted(rows(to_pod_group(group, workflow, without))) == sorted(expected)


def test_own_exit_actions_go_before_the_pools_and_those_before_osmos() -> None:
    own, pools = (exit_actions(given, (), []) for given in ({"FAIL": "0"}, {"complete": "0-10"}))

    assert action_for(0, own, pools) is Action.FAIL
    assert action_for(0, (), pools) is Action.COMPLETE
    assert action_for(1, own, pools) is Action.COMPLETE
    assert action_for(11, own, pools) is Action.FAIL
    assert action_for(PREEMPTED) is Action.RESCHEDULE


def test_recorded_states_are_read_back() -> None:
    workflow = read(PAIR)
    state = progress(workflow, {}, pods(workflow, a="Failed:1", b="Running"))
    groups = [
        wire.TaskGroupStatus(
            name=group.name,
            phase=group.phase,
            tasks=tuple(
                wire.TaskStatus(
                    name=task.name,
                    phase=task.phase,
                    retries=task.retries,
                    node=task.node,
                    exit_code=task.exit_code,
                    message=task.message,
                )
                for task in group.tasks
            ),
        )
        for group in state.groups
    ]

    assert recorded(wire.WorkflowStatus(groups=tuple(groups))) == {
        group.name: group for group in state.groups
    }
