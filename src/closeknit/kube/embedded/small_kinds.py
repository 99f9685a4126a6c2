"""The rules of the smaller built-in kinds."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from closeknit.kube.embedded.checking import bad_value, forbidden, required
from closeknit.kube.embedded.core import Core
from closeknit.kube.embedded.kinds import Object, Rules
from closeknit.kube.embedded.metadata import key_problem, label_value_problem
from closeknit.kube.embedded.pods import default_spec, spec_problems
from closeknit.kube.errors import Cause


class NamespaceRules(Rules):
    """Namespaces, which carry their name as a label and a finalizer of their own."""

    def default(self, obj: Object) -> None:
        """The label by which selectors find a namespace."""
        meta = obj["metadata"]
        meta["labels"] = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": meta["name"]}

    def creating(self, obj: Object, core: Core) -> None:
        """A new namespace is active."""
        obj["spec"] = {"finalizers": ["kubernetes"]}
        obj["status"] = {"phase": "Active"}

    def updating(self, obj: Object, old: Mapping[str, Any], core: Core) -> None:
        """Finalizers change by a subresource only."""
        obj["spec"] = old.get("spec", {})


class NodeRules(Rules):
    """Nodes."""

    def creating(self, obj: Object, core: Core) -> None:
        """What can be given to pods is the capacity, unless something else is said."""
        status = obj.get("status")
        if status and "capacity" in status and "allocatable" not in status:
            status["allocatable"] = dict(status["capacity"])
        obj.setdefault("spec", {})

    def problems(self, obj: Mapping[str, Any]) -> Iterator[Cause]:
        """Taints are named as labels are, and each is there once for its effect."""
        seen: set[tuple[str, str]] = set()
        for index, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
            path = f"spec.taints[{index}]"
            if problem := key_problem(taint.get("key", "")):
                yield bad_value(f"{path}.key", taint.get("key", ""), problem)
            if problem := label_value_problem(taint.get("value", "")):
                yield bad_value(f"{path}.value", taint["value"], problem)
            identity = (taint.get("key", ""), taint.get("effect", ""))
            if identity in seen:
                yield Cause(
                    path,
                    "Duplicate value: taints must be unique by key and effect pair",
                    "FieldValueDuplicate",
                )
            seen.add(identity)


class ConfigMapRules(Rules):
    """ConfigMaps and Secrets, which can be frozen."""

    def default(self, obj: Object) -> None:
        """A Secret's plain strings become data."""
        plain = obj.pop("stringData", None)
        if plain:
            encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
            obj["data"] = {**(obj.get("data") or {}), **encoded}

    def problems(self, obj: Mapping[str, Any]) -> Iterator[Cause]:
        """Keys are file names."""
        for field in ("data", "binaryData"):
            for key in obj.get(field) or {}:
                if (
                    not key
                    or len(key) > 253
                    or not key.replace("-", "").replace("_", "").replace(".", "").isalnum()
                ):
                    detail = "a key has letters, digits, '-', '_' and '.', and at most 253 of them"
                    yield bad_value(f"{field}[{key}]", key, detail)

    def change_problems(self, obj: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
        """What is immutable stays so."""
        if old.get("type") != obj.get("type"):
            yield bad_value("type", obj.get("type", ""), "field is immutable")
        if not old.get("immutable"):
            return
        if not obj.get("immutable"):
            yield forbidden("immutable", "field is immutable when `immutable` is set")
        for field in ("data", "binaryData"):
            if old.get(field) != obj.get(field):
                yield forbidden(field, "field is immutable when `immutable` is set")


class PriorityClassRules(Rules):
    """PriorityClasses."""

    def problems(self, obj: Mapping[str, Any]) -> Iterator[Cause]:
        """Numbers above a billion are the system's."""
        name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
        if name.startswith("system-"):
            yield forbidden("metadata.name", "priority class names with 'system-' prefix are reserved")
        if value > 1_000_000_000:
            yield forbidden("value", "maximum allowed value of a user defined priority is 1000000000")

    def change_problems(self, obj: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
        """The value of pods that exist was taken from here."""
        for field in ("value", "preemptionPolicy"):
            if obj.get(field) != old.get(field):
                yield forbidden(field, "may not be changed in an update.")


class FixedRules(Rules):
    """Kinds whose objects ask for the same as long as they are there, such as PodGroups and claims."""

    def change_problems(self, obj: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
        """Pods may be scheduled by it already."""
        if obj.get("spec") != old.get("spec"):
            yield forbidden("spec", "field is immutable")


class ClaimRules(FixedRules):
    """ResourceClaims."""

    judges_status = True

    def default(self, obj: Object) -> None:
        """A request asks for one device, unless it says something else."""
        for request in (obj.get("spec") or {}).get("devices", {}).get("requests") or ():
            for each in (request.get("exactly"), *(request.get("firstAvailable") or ())):
                if each and each.get("allocationMode", "ExactCount") == "ExactCount":
                    each.setdefault("count", 1)

    def problems(self, obj: Mapping[str, Any]) -> Iterator[Cause]:
        """Who uses a claim that has devices, and which request each device is for."""
        status, spec = obj.get("status") or {}, obj.get("spec") or {}
        if status.get("reservedFor") and not status.get("allocation"):
            yield forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
        if len(status.get("reservedFor") or ()) > 256:
            yield Cause("status.reservedFor", "Too many: must have at most 256 items", "FieldValueTooMany")
        requests = spec.get("devices", {}).get("requests") or ()
        known = {each["name"] for each in requests} | {
            f"{each['name']}/{sub['name']}" for each in requests for sub in each.get("firstAvailable") or ()
        }
        results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
        for i, result in enumerate(results):
            if result["request"] not in known:
                path = f"status.allocation.devices.results[{i}].request"
                yield bad_value(path, result["request"], "must be the name of a request in the claim")

    def change_problems(self, obj: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
        """What a claim has got is given back before it gets something else."""
        yield from super().change_problems(obj, old)
        now, before = ((each.get("status") or {}).get("allocation") for each in (obj, old))
        if now and before and now != before:
            yield bad_value("status.allocation", now, "field is immutable")


class VolumeRules(Rules):
    """PersistentVolumes and claims to them."""

    def creating(self, obj: Object, core: Core) -> None:
        """What nobody has looked at yet is pending."""
        obj["status"] = {"phase": "Pending"}


class LeaseRules(Rules):
    """Leases."""

    def default(self, obj: Object) -> None:
        """A lease always has a spec."""
        obj.setdefault("spec", {})


class EventRules(Rules):
    """Events, in their older spelling, in which they are kept."""

    def problems(self, obj: Mapping[str, Any]) -> Iterator[Cause]:
        """An event stands in the namespace of what it is about."""
        about = (obj.get("involvedObject") or {}).get("namespace", "")
        where = obj["metadata"].get("namespace", "")
        if about != where and not (about == "" and where == "default"):
            yield bad_value("involvedObject.namespace", about, "does not match event.namespace")


class JobRules(Rules):
    """Jobs."""

    def default(self, obj: Object) -> None:
        """One pod that succeeds once, tried seven times, unless something else is said."""
        spec = obj.setdefault("spec", {})
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("manualSelector", False)
        spec.setdefault("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
        spec.setdefault(
            "podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
        )
        if pod := (spec.get("template") or {}).get("spec"):
            default_spec(pod)

    def creating(self, obj: Object, core: Core) -> None:
        """The selector and the labels that tell a Job's pods from all others."""
        spec, meta = obj["spec"], obj["metadata"]
        template = spec.get("template")
        if template is not None and not spec.get("manualSelector"):
            labels = template.setdefault("metadata", {}).setdefault("labels", {})
            for key, value in (("controller-uid", meta["uid"]), ("job-name", meta["name"])):
                labels[key] = labels[f"batch.kubernetes.io/{key}"] = value
            spec.setdefault("selector", _job_selector(obj))
            if not meta.get("labels"):
                meta["labels"] = dict(labels)
        obj["status"] = {}

    def problems(self, obj: Mapping[str, Any]) -> Iterator[Cause]:
        """The pods of a Job end, and an Indexed one says how many there are."""
        spec = obj.get("spec") or {}
        if (
            not spec.get("manualSelector")
            and "template" in spec
            and spec.get("selector") != _job_selector(obj)
        ):
            yield bad_value("spec.selector", spec.get("selector"), "`selector` not auto-generated")
        yield from job_problems(spec, "spec")

    def change_problems(self, obj: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
        """The template of a Job is fixed, but for where its pods may go while it waits to run first."""
        new, was = obj["spec"], old["spec"]
        for field in (
            "selector",
            "completionMode",
            "podFailurePolicy",
            "backoffLimitPerIndex",
            "managedBy",
            "successPolicy",
        ):
            if new.get(field) != was.get(field):
                yield bad_value(f"spec.{field}", new.get(field), "field is immutable")
        elastic = was.get("completionMode") == "Indexed" and new.get("completions") == new.get("parallelism")
        if new.get("completions") != was.get("completions") and not elastic:
            yield bad_value("spec.completions", new.get("completions"), "field is immutable")
        waiting = was.get("suspend") and not (old.get("status") or {}).get("startTime")
        if _fixed(new, free=bool(waiting)) != _fixed(was, free=bool(waiting)):
            yield bad_value("spec.template", new.get("template"), "field is immutable")


def _job_selector(job: Mapping[str, Any]) -> dict[str, Any]:
    return {"matchLabels": {"batch.kubernetes.io/controller-uid": job["metadata"]["uid"]}}


_SCHEDULING = ("nodeSelector", "affinity", "tolerations", "schedulingGates")


def _fixed(spec: Mapping[str, Any], *, free: bool) -> Any:
    template = spec.get("template") or {}
    if not free:
        return template
    meta = {k: v for k, v in (template.get("metadata") or {}).items() if k not in ("labels", "annotations")}
    pod = {k: v for k, v in (template.get("spec") or {}).items() if k not in _SCHEDULING}
    for field in ("containers", "initContainers"):
        if field in pod:
            pod[field] = [{k: v for k, v in one.items() if k != "resources"} for one in pod[field]]
    return {"metadata": meta, "spec": pod}


def job_problems(spec: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """What is wrong with a Job's spec."""
    if spec.get("completionMode") == "Indexed" and "completions" not in spec:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    pod = (spec.get("template") or {}).get("spec") or {}
    yield from spec_problems(pod, f"{path}.template.spec")
    if pod.get("restartPolicy") not in ("OnFailure", "Never"):
        yield Cause(
            f"{path}.template.spec.restartPolicy",
            'Required value: valid values: "OnFailure", "Never"',
            "FieldValueRequired",
        )


class BudgetRules(Rules):
    """PodDisruptionBudgets."""

    def problems(self, obj: Mapping[str, Any]) -> Iterator[Cause]:
        """One of two ways to say how many must stay."""
        spec = obj.get("spec") or {}
        if "minAvailable" in spec and "maxUnavailable" in spec:
            yield bad_value("spec", spec, "minAvailable and maxUnavailable cannot be both set")
