"""Whether objects show of their units what is true, from nothing but what an API shows.

Shares no code with the scheduler, the dialects or the engine. It knows PodGroups of KAI with or without
subgroups, their pods, nodes and Topologies, as plain data, and checks statuses and reasons, never texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

Object: TypeAlias = Mapping[str, Any]

SUBGROUP = "kai.scheduler/subgroup-name"
LACKS_PODS = frozenset({"NotReady", "Stale", "Released", "StaleGangEvicted", "Displaced"})
WAITS = LACKS_PODS | {"Unschedulable"}


@dataclass(frozen=True, slots=True)
class Seen:
    """What an API shows at one moment."""

    nodes: Sequence[Object]
    pods: Sequence[Object]
    pod_groups: Sequence[Object]
    topologies: Sequence[Object]
    schedulers: frozenset[str] = frozenset({"closeknit", "kai-scheduler"})

    def facts(self) -> object:
        """All that conditions follow from, as a value that tells two moments apart."""
        return (
            sorted((_name(node), sorted(_labels(node).items())) for node in self.nodes),
            sorted(
                (_name(pod), _uid(pod), _node(pod), _phase(pod), _is_leaving(pod), _group(pod))
                for pod in self.pods
            ),
            sorted((_name(group), _uid(group), repr(group["spec"])) for group in self.pod_groups),
            sorted((_name(each), repr(each["spec"])) for each in self.topologies),
        )


def audit_status(seen: Seen) -> list[str]:
    """Everything that objects show and is not true, and what they should show; empty if nothing."""
    return [
        *(wrong for group in seen.pod_groups for wrong in _Audit(seen, group).wrong()),
        *(wrong for pod in seen.pods for wrong in _wrong_of_pod(seen, pod)),
    ]


class _Audit:
    """One PodGroup."""

    def __init__(self, seen: Seen, group: Object) -> None:
        self._seen, self._group, self._spec = seen, group, group["spec"]
        self._nodes = {_name(node): node for node in seen.nodes}
        self._pods = [pod for pod in seen.pods if _belongs(pod, group)]
        self._parts = {part["name"]: part for part in self._spec.get("subGroups") or ()}
        self._children: dict[str, list[str]] = {"": []}
        for name, part in self._parts.items():
            self._children.setdefault(part.get("parent") or "", []).append(name)

    def wrong(self) -> Iterator[str]:
        name = _name(self._group)
        shown = _condition(self._group, "Scheduled")
        if self._complete():
            if not any(map(self._runs, self._pods)) and shown is None:
                # All of it has ended before anything was reported.
                return
            if shown is None or (shown["status"], shown["reason"]) != ("True", "Scheduled"):
                yield f"PodGroup {name} runs, and shows {_text(shown)}."
            yield from self._wrong_constraint()
            return
        # What is wrong with it is reported whether its pods exist or not.
        reasons = WAITS if self._has_pods() or self._constraint() == "Unknown" else LACKS_PODS
        if shown is None or shown["status"] != "False" or shown["reason"] not in reasons:
            yield f"PodGroup {name} does not run ({sorted(reasons)}), and shows {_text(shown)}."
        if _condition(self._group, "TopologyConstraintSatisfied") is not None:
            yield f"PodGroup {name} does not run, and shows whether its constraint is satisfied."

    def _wrong_constraint(self) -> Iterator[str]:
        shown = _condition(self._group, "TopologyConstraintSatisfied")
        status = "True" if shown is None else shown["status"]
        wanted = self._constraint()
        if status != wanted:
            yield f"PodGroup {_name(self._group)} has its constraint {wanted}, and shows {_text(shown)}."

    def _complete(self) -> bool:
        return self._has(lambda pod: self._runs(pod) or _phase(pod) == "Succeeded")

    def _has_pods(self) -> bool:
        return self._has(
            lambda pod: (
                self._runs(pod)
                or _phase(pod) == "Succeeded"
                or (not _node(pod) and _phase(pod) != "Failed" and not _is_leaving(pod) and not _gated(pod))
            )
        )

    def _has(self, counts: Callable[[Object], bool], name: str = "") -> bool:
        """Whether enough pods of a subgroup count, or of the PodGroup."""
        part = self._parts[name] if name else self._spec
        if children := self._children.get(name):
            least = part.get("minSubGroup")
            enough = len(children) if least is None else int(least)
            return sum(map(partial(self._has, counts), children)) >= enough
        return sum(map(counts, self._members(name))) >= int(part.get("minMember", 1))

    def _members(self, name: str) -> list[Object]:
        """The pods of a subgroup and all below it, or of the PodGroup."""
        below, names = [name], {name}
        while below:
            inner = self._children.get(below.pop(), [])
            below += inner
            names |= set(inner)
        if not name:
            return self._pods
        return [pod for pod in self._pods if _labels(pod).get(SUBGROUP, "") in names]

    def _runs(self, pod: Object) -> bool:
        return (
            _node(pod) in self._nodes and _phase(pod) not in ("Succeeded", "Failed") and not _is_leaving(pod)
        )

    def _constraint(self) -> str:
        """Whether the running pods satisfy what is required: True, False, or Unknown."""
        found = "True"
        for name in ("", *self._parts):
            constraint = (self._parts[name] if name else self._spec).get("topologyConstraint") or {}
            if not constraint:
                continue
            levels = self._levels(constraint.get("topology"))
            named = [
                constraint[field]
                for field in ("requiredTopologyLevel", "preferredTopologyLevel")
                if constraint.get(field)
            ]
            if levels is None or any(level not in levels for level in named):
                return "Unknown"
            if (required := constraint.get("requiredTopologyLevel")) is None:
                continue
            above = levels[: levels.index(required) + 1]
            labels = [_labels(self._nodes[_node(pod)]) for pod in self._members(name) if self._runs(pod)]
            domains = {tuple(each.get(level, "") for level in above) for each in labels}
            if len(domains) > 1 or any(required not in each for each in labels):
                found = "False"
        return found

    def _levels(self, topology: str | None) -> list[str] | None:
        for each in self._seen.topologies:
            if _name(each) == topology:
                return [level["nodeLabel"] for level in each["spec"]["levels"]]
        return None


def _wrong_of_pod(seen: Seen, pod: Object) -> Iterator[str]:
    """A pod that waits says so, and one that is bound does not."""
    shown = _condition(pod, "PodScheduled")
    waits = shown is not None and shown["status"] == "False"
    if _node(pod):
        if waits:
            yield f"Pod {_name(pod)} is bound, and shows {_text(shown)}."
    elif (
        pod["spec"].get("schedulerName") in seen.schedulers
        and _phase(pod) in ("", "Pending")
        and not _is_leaving(pod)
        and not _gated(pod)
        and not waits
    ):
        yield f"Pod {_name(pod)} waits, and shows {_text(shown)}."


def _condition(obj: Object, kind: str) -> Object | None:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), None)


def _text(condition: Object | None) -> str:
    if condition is None:
        return "nothing"
    return " ".join(str(condition.get(field)) for field in ("type", "status", "reason", "message"))


def _belongs(pod: Object, group: Object) -> bool:
    return _group(pod) == _name(group) and pod["metadata"].get("namespace") == group["metadata"].get(
        "namespace"
    )


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _uid(obj: Object) -> str:
    return str(obj["metadata"].get("uid", ""))


def _labels(obj: Object) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def _group(pod: Object) -> str:
    return str((pod["metadata"].get("annotations") or {}).get("pod-group-name", ""))


def _node(pod: Object) -> str:
    return str(pod["spec"].get("nodeName") or "")


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _is_leaving(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _gated(pod: Object) -> bool:
    return bool(pod["spec"].get("schedulingGates"))
