"""The pods of Jobs: what is read from one, and what a new one is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from closeknit.kube.numbers import digits
from closeknit.kube.port import Object

FINALIZER: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"


def holds(pod: Mapping[str, Any]) -> bool:
    """Whether a pod stays until it is counted."""
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def moment(text: str) -> datetime:
    """A time as the API writes it."""
    return datetime.fromisoformat(text).astimezone(UTC)


def phase_of(pod: Mapping[str, Any]) -> str:
    """A pod's phase; Pending where nothing is said."""
    return str((pod.get("status") or {}).get("phase", "Pending"))


def index_of(pod: Mapping[str, Any]) -> int | None:
    """A pod's completion index."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return digits(text)


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def new_pod(job: Mapping[str, Any], index: int | None) -> Object:
    """A pod of a Job's template, with its completion index where it has one."""
    meta, template = job["metadata"], job["spec"]["template"]
    made = template.get("metadata") or {}
    name = meta["name"] if index is None else f"{meta['name']}-{index}"
    labels, annotations = dict(made.get("labels") or {}), dict(made.get("annotations") or {})
    spec = dict(template["spec"])
    if index is not None:
        labels[INDEX] = annotations[INDEX] = str(index)
        spec.setdefault("hostname", name[:63])
        spec["containers"] = [_with_index(one) for one in spec["containers"]]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{name}-",
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": annotations,
            "finalizers": [FINALIZER],
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": meta["name"],
                    "uid": meta["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": spec,
    }


def _with_index(container: Mapping[str, Any]) -> Object:
    variable = {
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}},
    }
    return {**container, "env": [*(container.get("env") or ()), variable]}
