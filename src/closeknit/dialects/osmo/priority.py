"""How urgent a workflow is. Its file does not say; whoever submits it does, and OSMO labels pods with it."""

from __future__ import annotations

from typing import Any

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Workflow
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown, suggestion

LABEL = "osmo.priority"
CLASSES = {"osmo-high": 125, "osmo-normal": 100, "osmo-low": 50}
"""The priority classes that OSMO's installation brings."""
_PREFIX = "osmo-"


def priority_of(manifest: Stored[Workflow], found: list[Problem]) -> str:
    """``high``, ``normal`` or ``low``, by the label of the object; empty where it has none."""
    written = manifest.content.metadata.labels.get(LABEL, "")
    priority = written.lower()
    if priority and class_of(priority) not in CLASSES:
        allowed = [name.removeprefix(_PREFIX) for name in CLASSES]
        message = f"{shown(written)} is not a priority. {suggestion(written, allowed)}"
        found.append(as_told(within("metadata.labels", LABEL), message))
    return priority


def class_of(priority: str) -> str:
    """The name of the class; empty for no priority."""
    return f"{_PREFIX}{priority}" if priority else ""


def to_priority_class(priority: str) -> dict[str, Any]:
    """The class itself, without which nobody knows what its name means."""
    name = class_of(priority)
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": CLASSES[name],
    }
