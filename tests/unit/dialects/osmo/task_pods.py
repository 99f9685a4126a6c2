"""Workflows of a few words, and pods of their tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from closeknit.apis import osmo_closeknit_dev_v1alpha1 as wire
from closeknit.dialects import DIALECTS, Source
from closeknit.dialects.osmo.progress import TaskPod
from closeknit.dialects.osmo.workflows import ReadWorkflow, pod_name, workflow_of
from closeknit.dialects.reading import load
from tests.unit.dialects.osmo.kit import pool

LEAD: dict[str, Any] = {"lead": True}
PAIR = {"g": {"a": LEAD, "b": {}}}
STRICT = {"g": {"tasks": {"a": LEAD, "b": {}}, "ignoreNonleadStatus": False}}
RETRIED = {"exitActions": {"RESCHEDULE": "3", "COMPLETE": 16}}
CHAIN = {"one": {"a": {}}, "two": {"b": {"inputs": [{"task": "a"}]}}, "three": {"c": {}}}


def read(
    groups: Mapping[str, Any], resources: Mapping[str, Any] | None = None, **of_pool: Any
) -> ReadWorkflow:
    """A workflow of these groups, each with its tasks: a mapping from names to fields, or fields of the group."""
    written = []
    for name, fields in groups.items():
        tasks = fields.get("tasks", fields)
        rest = {key: value for key, value in fields.items() if key != "tasks"} if "tasks" in fields else {}
        written.append(
            {"name": name, "tasks": [{"name": task, **of_task} for task, of_task in tasks.items()], **rest}
        )
    spec = {"name": "w", "groups": written, "resources": dict(resources or {})}
    sources = [Source("f", f"{pool(**of_pool)}\n---\n{json.dumps({'workflow': spec})}".encode())]
    view = load(DIALECTS, sources).view
    (stored,) = view.of(wire.Workflow)
    workflow = view.derive(workflow_of, stored.key)
    assert workflow is not None
    assert [str(problem) for problem in workflow.problems] == []
    return workflow


def pods(workflow: ReadWorkflow, **states: str) -> list[TaskPod]:
    """Pods by task, from words such as ``Running``, ``Succeeded``, ``Failed:3``; ``b1`` is b's first retry."""
    tasks = {task.given.name: task for group in workflow.groups for task in group.tasks}
    task_pods = []
    for key, text in states.items():
        name = key.rstrip("0123456789")
        phase, _, code = text.partition(":")
        pod = TaskPod(
            pod_name(tasks[name], int(key[len(name) :] or 0)),
            phase.removeprefix("leaving "),
            node="" if phase == "Pending" else "n",
            exit_code=int(code) if code else None,
            leaving=phase.startswith("leaving "),
        )
        task_pods.append(pod)
    return task_pods
