"""The columns of built-in kinds, as ``kubectl get`` prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from closeknit.kube.embedded.http.spans import since
from closeknit.kube.embedded.kinds import Column
from closeknit.kube.embedded.store import TableKey

_Read: TypeAlias = Callable[[Mapping[str, Any]], Any]


def _at(*path: str, missing: Any = None) -> _Read:
    def read(obj: Mapping[str, Any]) -> Any:
        value: Any = obj
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        return missing if value is None else value

    return read


def _shown(*path: str) -> _Read:
    return _at(*path, missing="<none>")


NAME: Final = Column("Name", "string", _at("metadata", "name"), format="name")
AGE: Final = Column("Age", "date", _at("metadata", "creationTimestamp"))


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


BUILTIN: Final[Mapping[TableKey, tuple[Column, ...]]] = {
    ("", "pods"): (
        NAME,
        Column("Ready", "string", _ready),
        Column("Status", "string", _pod_status),
        Column("Restarts", "string", _restarts),
        AGE,
        Column("IP", "string", _shown("status", "podIP"), priority=1),
        Column("Node", "string", _shown("spec", "nodeName"), priority=1),
        Column("Nominated Node", "string", _shown("status", "nominatedNodeName"), priority=1),
        Column("Readiness Gates", "string", _gates, priority=1),
    ),
    ("", "nodes"): (
        NAME,
        Column("Status", "string", _node_status),
        Column("Roles", "string", _roles),
        AGE,
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
    ("", "namespaces"): (NAME, Column("Status", "string", _at("status", "phase")), AGE),
    ("", "configmaps"): (NAME, Column("Data", "string", _count("data", "binaryData")), AGE),
    ("", "secrets"): (
        NAME,
        Column("Type", "string", _at("type")),
        Column("Data", "string", _count("data")),
        AGE,
    ),
    ("", "serviceaccounts"): (NAME, AGE),
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
        NAME,
        Column("Holder", "string", _at("spec", "holderIdentity")),
        AGE,
    ),
    ("scheduling.k8s.io", "priorityclasses"): (
        NAME,
        Column("Value", "integer", _at("value")),
        Column("Global-Default", "boolean", _at("globalDefault", missing=False)),
        AGE,
        Column("PreemptionPolicy", "string", _at("preemptionPolicy")),
    ),
    ("scheduling.k8s.io", "podgroups"): (
        NAME,
        Column("MinCount", "integer", _at("spec", "schedulingPolicy", "gang", "minCount")),
        AGE,
    ),
    ("batch", "jobs"): (
        NAME,
        Column("Status", "string", _job_status),
        Column("Completions", "string", _completions),
        Column("Duration", "string", _job_duration),
        AGE,
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
        NAME,
        Column("Min Available", "string", _at("spec", "minAvailable", missing="N/A")),
        Column("Max Unavailable", "string", _at("spec", "maxUnavailable", missing="N/A")),
        Column("Allowed Disruptions", "integer", _at("status", "disruptionsAllowed", missing=0)),
        AGE,
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): (
        NAME,
        Column("Created At", "string", _at("metadata", "creationTimestamp")),
    ),
}
