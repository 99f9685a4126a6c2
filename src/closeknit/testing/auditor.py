"""Whether a cluster is as it must be, from nothing but what its API shows.

Shares no code with the scheduler, the dialects or the engine, which is the point. It knows
Nodes, Pods, PodGroups and Topologies of KAI, as plain data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

Object: TypeAlias = Mapping[str, Any]

_SUFFIXES = {"m": Fraction(1, 1000), "k": Fraction(1000), "M": Fraction(1000**2), "G": Fraction(1000**3)}
_SUFFIXES |= {"Ki": Fraction(1024), "Mi": Fraction(1024**2), "Gi": Fraction(1024**3), "Ti": Fraction(1024**4)}


@dataclass(slots=True)
class Cluster:
    """What an API shows at one moment."""

    nodes: Sequence[Object]
    pods: Sequence[Object]
    pod_groups: Sequence[Object] = ()
    topologies: Sequence[Object] = ()
    _by_name: dict[str, Object] = field(init=False)

    def __post_init__(self) -> None:
        self._by_name = {_name(node): node for node in self.nodes}

    def node_of(self, pod: Object) -> Object | None:
        """The node of a pod that runs."""
        if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return None
        return self._by_name.get(pod["spec"].get("nodeName", ""))


def audit(cluster: Cluster) -> list[str]:
    """Everything that is wrong, in sentences; empty where nothing is."""
    return [
        *_overcommitted(cluster),
        *(wrong for group in cluster.pod_groups for wrong in _broken(cluster, group)),
    ]


def _overcommitted(cluster: Cluster) -> Iterator[str]:
    used: dict[str, dict[str, Fraction]] = {}
    for pod in cluster.pods:
        if (node := cluster.node_of(pod)) is None:
            continue
        amounts = used.setdefault(_name(node), {})
        amounts["pods"] = amounts.get("pods", Fraction(0)) + 1
        for container in pod["spec"]["containers"]:
            resources = container.get("resources", {})
            asked = {**resources.get("limits", {}), **resources.get("requests", {})}
            for name, text in asked.items():
                amounts[name] = amounts.get(name, Fraction(0)) + _amount(text)
    for node in cluster.nodes:
        offered = node.get("status", {}).get("allocatable", {})
        for name, amount in used.get(_name(node), {}).items():
            if amount > _amount(offered.get(name, 0)):
                yield f"Node {_name(node)} has {amount} of {name} in use and {offered.get(name, 0)} to offer."


def _broken(cluster: Cluster, group: Object) -> Iterator[str]:
    spec, name = group.get("spec", {}), _name(group)
    mine = [
        pod
        for pod in cluster.pods
        if pod["metadata"].get("annotations", {}).get("pod-group-name") == name
        and pod["metadata"].get("namespace") == group["metadata"].get("namespace")
    ]
    subgroups = {each["name"]: each for each in spec.get("subGroups", ())}
    children: dict[str, list[str]] = {}
    for each in subgroups.values():
        children.setdefault(each.get("parent", ""), []).append(each["name"])

    def pods_of(part: str) -> list[Object]:
        if not subgroups:
            return mine
        if part in children or not part:
            return [pod for child in children.get(part, ()) for pod in pods_of(child)]
        label = "kai.scheduler/subgroup-name"
        return [pod for pod in mine if pod["metadata"].get("labels", {}).get(label) == part]

    def whole(part: str) -> bool:
        fields = subgroups[part] if part else spec
        if part in children:
            least: int = fields.get("minSubGroup", len(children[part]))
            return sum(whole(child) for child in children[part]) >= least
        done: int = sum(pod.get("status", {}).get("phase") == "Succeeded" for pod in pods_of(part))
        wanted: int = fields.get("minMember", 0 if part else 1)
        return len(_running(cluster, pods_of(part))) + done >= wanted

    for part in ("", *subgroups):
        fields, running = (subgroups[part] if part else spec), _running(cluster, pods_of(part))
        called = f"PodGroup {name}" + (f", subgroup {part}" if part else "")
        if running and not whole(part):
            yield f"{called} is partial: {len(running)} of its pods have nodes."
        constraint = fields.get("topologyConstraint", {})
        if level := constraint.get("requiredTopologyLevel"):
            topology = constraint.get("topology") or spec.get("topologyConstraint", {}).get("topology", "")
            domains = set(_domains(cluster, running, topology, level))
            if len(domains) > 1 or () in domains:
                yield f"{called} requires one {level} and lies in {sorted(domains)}."


def _running(cluster: Cluster, pods: Iterable[Object]) -> list[Object]:
    return [
        pod for pod in pods if cluster.node_of(pod) is not None and "deletionTimestamp" not in pod["metadata"]
    ]


def _domains(
    cluster: Cluster, pods: Iterable[Object], topology: str, level: str
) -> Iterator[tuple[str, ...]]:
    """The path of each pod's domain; empty for a node outside."""
    (found,) = (each for each in cluster.topologies if _name(each) == topology)
    labels: list[str] = []
    for each in found["spec"]["levels"]:
        labels.append(each["nodeLabel"])
        if level in (each["nodeLabel"], each.get("alias")):
            break
    for pod in pods:
        node = cluster.node_of(pod)
        assert node is not None
        values = node["metadata"].get("labels", {})
        path = tuple(values[label] for label in labels if label in values)
        yield path if len(path) == len(labels) else ()


def _amount(written: str | int | float) -> Fraction:
    text = str(written)
    for suffix, factor in sorted(_SUFFIXES.items(), key=lambda each: -len(each[0])):
        if text.endswith(suffix):
            return Fraction(text.removesuffix(suffix)) * factor
    return Fraction(text)


def _name(obj: Object) -> str:
    name: str = obj["metadata"]["name"]
    return name
