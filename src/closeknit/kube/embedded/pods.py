"""Pods, and the pod templates of Jobs: defaults, checks, and what may change once a pod is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from closeknit.kube.embedded.amounts import value_of
from closeknit.kube.embedded.checking import bad_value, duplicate, forbidden, required
from closeknit.kube.embedded.core import Core
from closeknit.kube.embedded.kinds import Object, Rules
from closeknit.kube.embedded.metadata import key_problem, label_problems, name_problem
from closeknit.kube.embedded.schema import canonical_json
from closeknit.kube.errors import Cause, ForbiddenError

_TOLERATED: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SYSTEM_PRIORITIES: Final[Mapping[str, int]] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


def default_spec(spec: Object) -> None:
    """Fill in what depends on other fields: pull policies, and requests where only limits are given."""
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        if "imagePullPolicy" not in container:
            container["imagePullPolicy"] = _pull_policy(container.get("image", ""))
        resources = container["resources"]
        limits, requests = resources.get("limits"), resources.get("requests") or {}
        if limits and not limits.keys() <= requests.keys():
            resources["requests"] = {**limits, **requests}
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    if name := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def spec_problems(spec: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """What is wrong with a pod's spec beyond its shape."""
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    seen: set[str] = set()
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            where = f"{path}.{field}[{index}]"
            yield from _container_problems(container, where)
            if (name := container.get("name")) and name in seen:
                yield duplicate(f"{where}.name", name)
            seen.add(container.get("name", ""))
    yield from _mount_problems(spec, path)
    yield from label_problems(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from _toleration_problems(spec, path)
    gates: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if gate.get("name") in gates:
            yield duplicate(f"{path}.schedulingGates[{index}]", gate)
        gates.add(gate.get("name", ""))
        if problem := key_problem(gate.get("name", "")):
            yield bad_value(f"{path}.schedulingGates[{index}].name", gate.get("name", ""), problem)
    if spec.get("schedulingGates") and spec.get("nodeName"):
        yield forbidden(f"{path}.nodeName", "cannot be set until all schedulingGates have been cleared")
    if (deadline := spec.get("activeDeadlineSeconds")) is not None and not 1 <= deadline < 2**31:
        yield bad_value(
            f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive"
        )
    for field in ("nodeName", "serviceAccountName", "hostname", "subdomain"):
        if (name := spec.get(field)) and (
            problem := name_problem(name, label=field in ("hostname", "subdomain"))
        ):
            yield bad_value(f"{path}.{field}", name, problem)


def _mount_problems(spec: Mapping[str, Any], path: str) -> Iterator[Cause]:
    volumes: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        if (name := volume.get("name", "")) in volumes:
            yield duplicate(f"{path}.volumes[{index}].name", name)
        volumes.add(name)
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            for at, mount in enumerate(container.get("volumeMounts") or ()):
                if mount.get("name") not in volumes:
                    where = f"{path}.{field}[{index}].volumeMounts[{at}].name"
                    yield Cause(where, f'Not found: "{mount.get("name")}"', "FieldValueNotFound")


def _container_problems(container: Mapping[str, Any], path: str) -> Iterator[Cause]:
    name = container.get("name")
    if name == "":
        yield required(f"{path}.name")
    elif name is not None and (problem := name_problem(name, label=True)):
        yield bad_value(f"{path}.name", name, problem)
    image = container.get("image")
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        yield bad_value(f"{path}.image", image, "must not have leading or trailing whitespace")
    yield from _amount_problems(container.get("resources") or {}, path)


def _amount_problems(resources: Mapping[str, Any], path: str) -> Iterator[Cause]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    wrong = list(_each_amount(limits, f"{path}.resources.limits"))
    yield from wrong
    if requests == limits and not wrong:
        return
    yield from _each_amount(requests, f"{path}.resources.requests")
    for resource, amount in requests.items():
        limit = limits.get(resource)
        if limit is None:
            if "/" in resource and "kubernetes.io/" not in resource:
                yield required(
                    f"{path}.resources.limits", "Limit must be set for non overcommitable resources"
                )
            continue
        if amount == limit:
            continue
        if value_of(amount) > value_of(limit):
            detail = f"must be less than or equal to {resource} limit of {limit}"
            yield bad_value(f"{path}.resources.requests", str(amount), detail)
        elif "/" in resource and value_of(amount) != value_of(limit):
            detail = f"must be equal to {resource} limit of {limit}"
            yield bad_value(f"{path}.resources.requests", str(amount), detail)


def _each_amount(amounts: Mapping[str, Any], path: str) -> Iterator[Cause]:
    for resource, amount in amounts.items():
        if problem := key_problem(resource):
            yield bad_value(path, resource, problem)
        elif "/" not in resource and resource not in _STANDARD and not resource.startswith("hugepages-"):
            yield bad_value(path, resource, "must be a standard resource for containers, or fully qualified")
        if str(amount).startswith("-") and value_of(amount) < 0:
            yield bad_value(f"{path}[{resource}]", str(amount), "must be greater than or equal to 0")
        elif "/" in resource and value_of(amount).denominator != 1:
            yield bad_value(f"{path}[{resource}]", str(amount), "must be an integer")


_STANDARD: Final = frozenset({"cpu", "memory", "ephemeral-storage"})


def _toleration_problems(spec: Mapping[str, Any], path: str) -> Iterator[Cause]:
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        where = f"{path}.tolerations[{index}]"
        operator = toleration.get("operator", "")
        if not toleration.get("key") and operator != "Exists":
            yield bad_value(f"{where}.operator", operator, "operator must be Exists when `key` is empty")
        if operator == "Exists" and toleration.get("value"):
            yield bad_value(
                f"{where}.operator", toleration["value"], "value must be empty when `operator` is 'Exists'"
            )
        if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
            yield bad_value(
                f"{where}.effect",
                toleration.get("effect", ""),
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )


class PodRules(Rules):
    """Pods."""

    def default(self, obj: Object) -> None:
        """As for any pod's spec."""
        spec = obj.setdefault("spec", {})
        default_spec(spec)
        spec.setdefault("enableServiceLinks", True)

    def creating(self, obj: Object, core: Core) -> None:
        """A new pod waits; its priority and standard tolerations are written into it."""
        spec = obj["spec"]
        _tolerate(spec)
        _prioritize(obj, core)
        obj["status"] = {"phase": "Pending", "qosClass": quality(spec)}
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "lastTransitionTime": core.now(),
                    "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                }
            ]

    def updating(self, obj: Object, old: Mapping[str, Any], core: Core) -> None:
        """What was written into the pod when it was made stays, also where a writer leaves it out."""
        # A write of the status shares its spec with the old version.
        spec = obj["spec"] = dict(obj["spec"])
        _tolerate(spec)
        for field in ("priority", "preemptionPolicy"):
            if field in old["spec"]:
                spec.setdefault(field, old["spec"][field])

    def problems(self, obj: Mapping[str, Any]) -> Iterator[Cause]:
        """As for any pod's spec."""
        return spec_problems(obj.get("spec") or {}, "spec")

    def change_problems(self, obj: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
        """Of a pod that is there, little of the spec may change."""
        new, was = obj["spec"], old["spec"]
        if new == was:
            return
        gated = bool(was.get("schedulingGates"))
        gates = {gate["name"] for gate in was.get("schedulingGates") or ()}
        for index, gate in enumerate(new.get("schedulingGates") or ()):
            if gate["name"] not in gates:
                yield forbidden(
                    f"spec.schedulingGates[{index}].name",
                    f"only deletion is allowed, but found new scheduling gate '{gate['name']}'",
                )
        if new.get("tolerations") != was.get("tolerations"):
            present = {canonical_json(one) for one in new.get("tolerations") or ()}
            if not all(canonical_json(one) in present for one in was.get("tolerations") or ()):
                yield forbidden(
                    "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
                )
        if gated:  # A gated pod may only be narrowed down.
            selector = new.get("nodeSelector") or {}
            lost = [
                key for key, value in (was.get("nodeSelector") or {}).items() if selector.get(key) != value
            ]
            if lost:
                yield bad_value(
                    "spec.nodeSelector", selector, "only additions are allowed (no mutations or deletions)"
                )
        yield from _deadline_problems(new.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds"))
        if _frozen(new, gated=gated) != _frozen(was, gated=gated):
            yield forbidden(
                "spec",
                "of a pod that exists, only `spec.containers[*].image`, `spec.initContainers[*].image`, "
                "`spec.activeDeadlineSeconds`, further `spec.tolerations` and fewer `spec.schedulingGates` "
                "may change",
            )


def _deadline_problems(new: int | None, was: int | None) -> Iterator[Cause]:
    """The deadline of a pod that exists can be set and lowered."""
    path = "spec.activeDeadlineSeconds"
    if was is not None and new is None:
        yield bad_value(path, new, "must not update from a positive integer to nil value")
    elif was is not None and new is not None and new > was:
        yield bad_value(path, new, "must be less than or equal to previous value")


def _frozen(spec: Mapping[str, Any], *, gated: bool) -> dict[str, Any]:
    """What of a spec may not change."""
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    if gated:
        free |= {"nodeSelector", "affinity"}
    kept = {name: value for name, value in spec.items() if name not in free}
    for field in ("containers", "initContainers"):
        if field in kept:
            kept[field] = [{k: v for k, v in one.items() if k != "image"} for one in kept[field]]
    return kept


def _tolerate(spec: Object) -> None:
    """Let a pod stay for five minutes on a node that is in trouble, unless it says something else."""
    tolerations = spec.get("tolerations") or []
    for key in _TOLERATED:
        if not any(
            one.get("key", key) == key and one.get("effect", "NoExecute") == "NoExecute"
            for one in tolerations
        ):
            tolerations = [
                *tolerations,
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ]
    spec["tolerations"] = tolerations


def _prioritize(obj: Object, core: Core) -> None:
    spec = obj["spec"]
    name = spec.get("priorityClassName")
    table = core.store.table(("scheduling.k8s.io", "priorityclasses"))
    value, policy = 0, "PreemptLowerPriority"
    if name in _SYSTEM_PRIORITIES and table.get(("", name)) is None:
        value = _SYSTEM_PRIORITIES[name]
    elif name:
        record = table.get(("", name))
        if record is None:
            raise ForbiddenError(
                f'pods "{obj["metadata"]["name"]}" is forbidden: no PriorityClass with name {name} was found',
                kind="pods",
                name=obj["metadata"]["name"],
            )
        value, policy = record.obj["value"], record.obj.get("preemptionPolicy", policy)
    elif table.count:
        for record in table.records():
            if record.obj.get("globalDefault"):
                spec["priorityClassName"] = record.key[1]
                value, policy = record.obj["value"], record.obj.get("preemptionPolicy", policy)
    if spec.get("priority", value) != value:
        raise ForbiddenError(
            f'pods "{obj["metadata"]["name"]}" is forbidden: spec.priority is {spec["priority"]}, and its '
            f"PriorityClass says {value}. Leave spec.priority out.",
            kind="pods",
            name=obj["metadata"]["name"],
        )
    spec["priority"] = value
    spec.setdefault("preemptionPolicy", policy)


def quality(spec: Mapping[str, Any]) -> str:
    """The quality of service class: whether requests and limits are given, and equal, for all containers."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    any_given, guaranteed = False, True
    for container in containers:
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            wanted, most = requests.get(name), limits.get(name)
            any_given = any_given or wanted is not None or most is not None
            if wanted is None or most is None or (wanted != most and value_of(wanted) != value_of(most)):
                guaranteed = False
    if not any_given:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"
