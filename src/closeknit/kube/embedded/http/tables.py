"""Tables, which ``kubectl get`` prints: columns of each kind, and one row an object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from closeknit.kube.embedded.kinds import Column, Kind
from closeknit.kube.embedded.store import Record, TableKey

_Read: TypeAlias = Callable[[Mapping[str, Any]], Any]


def table(
    kind: Kind,
    version: str,
    records: Iterable[Record],
    *,
    now: datetime,
    include: str = "Metadata",
    headers: bool = True,
    metadata: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Records as a Table."""
    columns = columns_of(kind, version)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": dict(metadata or {}),
        "columnDefinitions": [_definition(column) for column in columns] if headers else [],
        "rows": [
            {
                "cells": [_cell(column, record.obj, now) for column in columns],
                **_included(kind, version, record.obj, include),
            }
            for record in records
        ],
    }


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": "string" if column.type == "date" else column.type,
        "format": "name" if column.name == "Name" else column.format,
        "description": column.description or f"{column.name} of the object.",
        "priority": column.priority,
    }


def _included(kind: Kind, version: str, obj: dict[str, Any], include: str) -> dict[str, Any]:
    if include == "Metadata":
        return {"object": partial(obj)}
    return {"object": kind.read_as(obj, version)} if include == "Object" else {}


def partial(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object's metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def _cell(column: Column, obj: Mapping[str, Any], now: datetime) -> Any:
    value = column.read(obj)
    if column.type == "date":
        return since(value, now)
    if value is None:
        return "" if column.type == "string" else None
    if column.type == "string" and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return value


def columns_of(kind: Kind, version: str) -> tuple[Column, ...]:
    """The columns of a kind, its name first."""
    if kind.key in _BUILTIN:
        return _BUILTIN[kind.key]
    return (_NAME, *(kind.columns.get(version) or (_AGE,)))


def since(text: Any, now: datetime) -> str:
    """How long ago a time was, as kubectl writes it."""
    if not isinstance(text, str) or not text:
        return "<unknown>"
    try:
        seconds = int((now - datetime.fromisoformat(text).astimezone(UTC)).total_seconds())
    except ValueError:
        return "<unknown>"
    return duration(seconds)


def duration(seconds: int) -> str:
    """A span of time in one or two units."""
    if seconds < -1:
        return "<invalid>"
    minutes, hours, days = max(seconds, 0) // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 730:
        return f"{days}d"
    return f"{days // 365}y{days % 365}d" if days < 2920 and days % 365 else f"{days // 365}y"


def _at(*path: str, missing: Any = None) -> _Read:
    def read(obj: Mapping[str, Any]) -> Any:
        value: Any = obj
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        return missing if value is None else value

    return read


def _shown(*path: str) -> _Read:
    return _at(*path, missing="<none>")


_NAME: Final = Column("Name", "string", _at("metadata", "name"), format="name")
_AGE: Final = Column("Age", "date", _at("metadata", "creationTimestamp"))


def _ready(pod: Mapping[str, Any]) -> str:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return f"{sum(bool(one.get('ready')) for one in statuses)}/{len(pod['spec'].get('containers') or ())}"


def _pod_status(pod: Mapping[str, Any]) -> str:
    status = pod.get("status") or {}
    reason = str(status.get("reason") or status.get("phase") or "Unknown")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif ended:
            reason = ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}"
    if "deletionTimestamp" in pod["metadata"]:
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return reason


def _restarts(pod: Mapping[str, Any]) -> str:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return str(sum(one.get("restartCount", 0) for one in statuses))


def _gates(pod: Mapping[str, Any]) -> str:
    gates = [one.get("conditionType") for one in pod["spec"].get("readinessGates") or ()]
    if not gates:
        return "<none>"
    conditions = (pod.get("status") or {}).get("conditions") or ()
    met = {one.get("type") for one in conditions if one.get("status") == "True"}
    return f"{len(met.intersection(gates))}/{len(gates)}"


def _node_status(node: Mapping[str, Any]) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((one.get("status") for one in conditions if one.get("type") == "Ready"), None)
    word = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else word


def _roles(node: Mapping[str, Any]) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    if role := labels.get("kubernetes.io/role"):
        roles.add(role)
    return ",".join(sorted(roles)) or "<none>"


def _address(kind: str) -> _Read:
    def read(node: Mapping[str, Any]) -> str:
        addresses = (node.get("status") or {}).get("addresses") or ()
        return next((str(one["address"]) for one in addresses if one.get("type") == kind), "<none>")

    return read


def _count(*fields: str) -> _Read:
    return lambda obj: str(sum(len(obj.get(field) or ()) for field in fields))


def _job_status(job: Mapping[str, Any]) -> str:
    conditions = (job.get("status") or {}).get("conditions") or ()
    met = {one.get("type") for one in conditions if one.get("status") == "True"}
    for kind, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if kind in met:
            return word
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    for kind, word in (
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ):
        if kind in met:
            return word
    return "Running"


def _completions(job: Mapping[str, Any]) -> str:
    spec, done = job["spec"], (job.get("status") or {}).get("succeeded", 0)
    if "completions" in spec:
        return f"{done}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(job: Mapping[str, Any]) -> str:
    status = job.get("status") or {}
    if not status.get("startTime"):
        return ""
    end = status.get("completionTime")
    moment = datetime.fromisoformat(end) if end else datetime.now(UTC)
    return since(status["startTime"], moment)


def _last_seen(event: Mapping[str, Any]) -> str:
    series = event.get("series") or {}
    seen = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("firstTimestamp")
    return str(seen or event.get("eventTime") or event["metadata"].get("creationTimestamp"))


def _about(event: Mapping[str, Any]) -> str:
    about = event.get("involvedObject") or {}
    kind = str(about.get("kind", "")).lower()
    return f"{kind}/{about.get('name', '')}" if about.get("name") else kind


def _images(*path: str) -> _Read:
    containers = _at(*path)
    return lambda obj: ",".join(str(one.get("image", "")) for one in containers(obj) or ())


_BUILTIN: Final[Mapping[TableKey, tuple[Column, ...]]] = {
    ("", "pods"): (
        _NAME,
        Column("Ready", "string", _ready),
        Column("Status", "string", _pod_status),
        Column("Restarts", "string", _restarts),
        _AGE,
        Column("IP", "string", _shown("status", "podIP"), priority=1),
        Column("Node", "string", _shown("spec", "nodeName"), priority=1),
        Column("Nominated Node", "string", _shown("status", "nominatedNodeName"), priority=1),
        Column("Readiness Gates", "string", _gates, priority=1),
    ),
    ("", "nodes"): (
        _NAME,
        Column("Status", "string", _node_status),
        Column("Roles", "string", _roles),
        _AGE,
        Column("Version", "string", _at("status", "nodeInfo", "kubeletVersion", missing="")),
        Column("Internal-IP", "string", _address("InternalIP"), priority=1),
        Column("External-IP", "string", _address("ExternalIP"), priority=1),
        Column("OS-Image", "string", _at("status", "nodeInfo", "osImage", missing="<unknown>"), priority=1),
        Column(
            "Kernel-Version",
            "string",
            _at("status", "nodeInfo", "kernelVersion", missing="<unknown>"),
            priority=1,
        ),
        Column(
            "Container-Runtime",
            "string",
            _at("status", "nodeInfo", "containerRuntimeVersion", missing="<unknown>"),
            priority=1,
        ),
    ),
    ("", "namespaces"): (_NAME, Column("Status", "string", _at("status", "phase")), _AGE),
    ("", "configmaps"): (_NAME, Column("Data", "string", _count("data", "binaryData")), _AGE),
    ("", "secrets"): (
        _NAME,
        Column("Type", "string", _at("type")),
        Column("Data", "string", _count("data")),
        _AGE,
    ),
    ("", "serviceaccounts"): (_NAME, _AGE),
    ("", "events"): (
        Column("Last Seen", "date", _last_seen),
        Column("Type", "string", _at("type")),
        Column("Reason", "string", _at("reason")),
        Column("Object", "string", _about),
        Column("Subobject", "string", _at("involvedObject", "fieldPath"), priority=1),
        Column("Source", "string", _at("source", "component"), priority=1),
        Column("Message", "string", lambda event: str(event.get("message") or "").strip()),
        Column("First Seen", "date", _at("firstTimestamp"), priority=1),
        Column("Count", "string", lambda event: str(event.get("count") or 1), priority=1),
        Column("Name", "string", _at("metadata", "name"), priority=1, format="name"),
    ),
    ("coordination.k8s.io", "leases"): (
        _NAME,
        Column("Holder", "string", _at("spec", "holderIdentity")),
        _AGE,
    ),
    ("scheduling.k8s.io", "priorityclasses"): (
        _NAME,
        Column("Value", "integer", _at("value")),
        Column("Global-Default", "boolean", _at("globalDefault", missing=False)),
        _AGE,
        Column("PreemptionPolicy", "string", _at("preemptionPolicy")),
    ),
    ("scheduling.k8s.io", "podgroups"): (
        _NAME,
        Column("MinCount", "integer", _at("spec", "schedulingPolicy", "gang", "minCount")),
        _AGE,
    ),
    ("batch", "jobs"): (
        _NAME,
        Column("Status", "string", _job_status),
        Column("Completions", "string", _completions),
        Column("Duration", "string", _job_duration),
        _AGE,
        Column(
            "Containers",
            "string",
            lambda job: ",".join(
                one.get("name", "") for one in _at("spec", "template", "spec", "containers")(job) or ()
            ),
            priority=1,
        ),
        Column("Images", "string", _images("spec", "template", "spec", "containers"), priority=1),
        Column(
            "Selector",
            "string",
            lambda job: ",".join(
                f"{key}={value}"
                for key, value in sorted((_at("spec", "selector", "matchLabels")(job) or {}).items())
            ),
            priority=1,
        ),
    ),
    ("policy", "poddisruptionbudgets"): (
        _NAME,
        Column("Min Available", "string", _at("spec", "minAvailable", missing="N/A")),
        Column("Max Unavailable", "string", _at("spec", "maxUnavailable", missing="N/A")),
        Column("Allowed Disruptions", "integer", _at("status", "disruptionsAllowed", missing=0)),
        _AGE,
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): (
        _NAME,
        Column("Created At", "string", _at("metadata", "creationTimestamp")),
    ),
}
