"""What every queue of KAI uses, counted from nothing but objects of an API, and where a scheduler counts otherwise.

Shares no code with the scheduler, the dialects or the engine. A pod uses quota if it has a node, has not ended and
is not being deleted. Its unit is the PodGroup that it names, or else the Job that controls it; a pod whose unit does
not exist, or names no queue that exists, uses none. A queue's usage includes that of all queues below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from closeknit.hub.accounts import Accounts
from closeknit.hub.quota import Account
from closeknit.hub.resources import Resources

Object: TypeAlias = Mapping[str, Any]
Use: TypeAlias = dict[str, int]

COUNTED = ("nvidia.com/gpu", "cpu", "memory")
_SUFFIXES = {"m": Fraction(1, 1000), "Ki": Fraction(1024), "Mi": Fraction(1024**2), "Gi": Fraction(1024**3)}
_SCALE = {"cpu": 10**9, "memory": 1, "nvidia.com/gpu": 1}
"""How many units of the scheduler one core, one byte and one GPU are."""
_PRIORITIES = {"": 50, "train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
_QUEUE_LABEL = "kai.scheduler/queue"


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a queue, and the part of it that is not preemptible."""

    all: Mapping[str, int]
    not_preemptible: Mapping[str, int]


def recounted(queues: Iterable[Object], units: Iterable[Object], pods: Iterable[Object]) -> dict[str, Usage]:
    """The usage of every queue, by name; ``units`` are PodGroups and Jobs."""
    parents = {each["metadata"]["name"]: each["spec"].get("parentQueue", "") for each in queues}
    by_name = {_identity(each): each for each in units}
    usage: dict[str, tuple[Use, Use]] = {name: ({}, {}) for name in parents}
    for pod in pods:
        unit = by_name.get(_unit_of(pod))
        if unit is None or not _counts(pod):
            continue
        for queue in _upwards(_queue_of(unit), parents):
            for use in usage[queue][: 1 if _preemptible(unit) else 2]:
                for resource, amount in _requests(pod).items():
                    use[resource] = use.get(resource, 0) + amount
    return {name: Usage(*uses) for name, uses in usage.items()}


def differences(accounts: Accounts, recount: Mapping[str, Usage]) -> list[str]:
    """Queues of which a scheduler's accounts hold another usage than was recounted."""
    found: list[str] = []
    for name, usage in recount.items():
        for account, use in (
            ((f"Queue {name}",), usage.all),
            ((f"Queue {name}", "not preemptible"), usage.not_preemptible),
        ):
            for resource in COUNTED:
                booked = accounts.used(Account(account, Resources()), resource)
                if booked != use.get(resource, 0):
                    found.append(f"{account}: {resource} {booked}, recounted {use.get(resource, 0)}")
    return found


def _identity(unit: Object) -> tuple[str, str, str]:
    metadata = unit["metadata"]
    return unit["kind"], metadata.get("namespace", "default"), metadata["name"]


def _unit_of(pod: Object) -> tuple[str, str, str]:
    metadata = pod["metadata"]
    namespace = metadata.get("namespace", "default")
    if group := (metadata.get("annotations") or {}).get("pod-group-name"):
        return "PodGroup", namespace, group
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return owner["kind"], namespace, owner["name"]
    return "Pod", namespace, metadata["name"]


def _counts(pod: Object) -> bool:
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return bool(pod["spec"].get("nodeName")) and not ended and not pod["metadata"].get("deletionTimestamp")


def _queue_of(unit: Object) -> str:
    if unit["kind"] == "PodGroup":
        return str(unit["spec"].get("queue", ""))
    return str((unit["metadata"].get("labels") or {}).get(_QUEUE_LABEL, ""))


def _preemptible(unit: Object) -> bool:
    if unit["kind"] != "PodGroup":
        return True
    if written := unit["spec"].get("preemptibility"):
        return bool(written == "preemptible")
    return _PRIORITIES.get(unit["spec"].get("priorityClassName", ""), 0) < 100


def _upwards(queue: str, parents: Mapping[str, str]) -> Sequence[str]:
    """A queue and those around it; none if it does not exist or is part of a circle."""
    path: list[str] = []
    while queue in parents:
        if queue in path:
            return ()
        path.append(queue)
        queue = parents[queue]
    return path


def _requests(pod: Object) -> dict[str, int]:
    total: dict[str, Fraction] = {}
    for container in pod["spec"]["containers"]:
        resources = container.get("resources", {})
        for name, text in {**resources.get("limits", {}), **resources.get("requests", {})}.items():
            total[name] = total.get(name, Fraction(0)) + _amount(str(text))
    return {name: int(total[name] * _SCALE[name]) for name in COUNTED if name in total}


def _amount(text: str) -> Fraction:
    for suffix, factor in _SUFFIXES.items():
        if text.endswith(suffix):
            return Fraction(text.removesuffix(suffix)) * factor
    return Fraction(text)
