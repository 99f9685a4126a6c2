"""Pod templates of kinds that have none: written from the fields that their controllers make pods of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_JVM = re.compile(r"([0-9]+)([kmgtp]?)b?", re.ASCII | re.IGNORECASE)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_LEAST_OVERHEAD = 384 * 2**20
_PLACED_BY = ("nodeSelector", "tolerations", "affinity", "schedulerName", "priorityClassName", "volumes")
"""Fields of a pod's spec that others write beside their own."""

SUBMITTER: Mapping[str, Any] = {
    "spec": {
        "containers": [
            {"name": "ray-job-submitter", "resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}
        ]
    }
}
"""The pod that submits a RayJob where none is described."""


def with_autoscaler(template: Mapping[str, Any]) -> dict[str, Any]:
    """The head of a Ray cluster with the container that its operator adds for scaling."""
    spec = template.get("spec")
    spec = dict(spec) if isinstance(spec, dict) else {}
    containers = spec.get("containers")
    autoscaler = {"name": "autoscaler", "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}}}
    spec["containers"] = [*(containers if isinstance(containers, list) else []), autoscaler]
    return {**template, "spec": spec}


def of_spark(whole: Mapping[str, Any], given: Mapping[str, Any], role: str) -> dict[str, Any]:
    """A driver or executor: its cores, its memory with the overhead that Spark adds, and its GPUs."""
    base = given.get("template") if isinstance(given.get("template"), dict) else {}
    spec = dict(base.get("spec") or {}) if isinstance(base, dict) else {}
    requests: dict[str, Any] = {"cpu": str(given.get("coreRequest") or given.get("cores") or 1)}
    memory = _bytes(given.get("memory")) or 2**30
    overhead = _bytes(given.get("memoryOverhead"))
    if overhead is None:
        written = str(whole.get("memoryOverheadFactor") or "")
        plain = re.fullmatch(r"[0-9]*\.?[0-9]+", written)
        usual = 0.1 if whole.get("type") in (None, "Java", "Scala") else 0.4
        factor = float(written) if plain else usual
        overhead = max(int(memory * factor), _LEAST_OVERHEAD)
    requests["memory"] = str(memory + overhead)
    gpu = given.get("gpu")
    if isinstance(gpu, dict) and gpu.get("name"):
        requests[str(gpu["name"])] = gpu.get("quantity", 1)
    main = {"name": f"spark-kubernetes-{role}", "resources": {"requests": requests}}
    own = {key: given[key] for key in _PLACED_BY if key in given and key != "volumes"}
    scheduler = whole.get("batchScheduler")
    if scheduler and "schedulerName" not in own:
        own["schedulerName"] = scheduler
    marks = {key: given[key] for key in ("labels", "annotations") if isinstance(given.get(key), dict)}
    return {"metadata": marks, "spec": {**spec, **own, "containers": [main]}}


def of_trainer(given: Mapping[str, Any]) -> dict[str, Any]:
    """A node of a TrainJob: what it asks for."""
    return {"spec": {"containers": [_container("node", given.get("resourcesPerNode"))]}}


def of_step(whole: Mapping[str, Any], template: Mapping[str, Any]) -> dict[str, Any] | None:
    """The pod of a template of a Workflow; None where it has none of its own."""
    main = template.get("container") or template.get("script")
    if not isinstance(main, dict):
        return None
    given = {key: each[key] for key in _PLACED_BY for each in (whole, template) if key in each}
    shared, own = whole.get("podMetadata"), template.get("metadata")
    marks = {
        key: {**_mapping(shared, key), **_mapping(own, key)}
        for key in ("labels", "annotations")
        if _mapping(shared, key) or _mapping(own, key)
    }
    spec = {**given, "containers": [_container("main", main.get("resources"))]}
    return {"metadata": marks, "spec": spec}


def of_task(run: Mapping[str, Any], task: Mapping[str, Any]) -> dict[str, Any]:
    """The pod of a task: its steps, and how the run wants it placed."""
    given = run.get("podTemplate") or _mapping(run.get("taskRunTemplate"), "podTemplate")
    placed = {key: given[key] for key in _PLACED_BY if key in given} if isinstance(given, dict) else {}
    steps = task.get("steps")
    containers = [
        _container(f"step-{i}", step.get("computeResources") or step.get("resources"))
        for i, step in enumerate(steps if isinstance(steps, list) else ())
        if isinstance(step, dict)
    ]
    return {"spec": {**placed, "containers": containers}}


def _container(name: str, resources: Any) -> dict[str, Any]:
    return {"name": name, **({"resources": resources} if isinstance(resources, dict) else {})}


def _mapping(given: Any, key: str) -> dict[str, Any]:
    value = given.get(key) if isinstance(given, dict) else None
    return value if isinstance(value, dict) else {}


def _bytes(written: Any) -> int | None:
    """An amount of memory as Java writes it, such as ``512m``."""
    found = _JVM.fullmatch(str(written).strip()) if written is not None else None
    return int(found[1]) * _UNITS[found[2].lower()] if found else None
