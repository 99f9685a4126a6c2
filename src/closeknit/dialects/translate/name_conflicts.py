"""Who an object is once it is written. Two of one identity cannot stand side by side.

Families have names of their own, so two workloads of one name may meet in one target. Where the name
is ours to choose, the second gets another; where an operator's rule gives it, both are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from closeknit.dialects.family import Object
from closeknit.dialects.grove.naming import PART_OF
from closeknit.dialects.kai.keys import GROUP_ANNOTATION
from closeknit.hub.request import Group, Member
from closeknit.hub.workload import ObjectName, Workload

TOPOLOGIES = ("ClusterTopologyBinding", "Topology")
"""The kinds by which families describe levels."""
_LONGEST_LABEL, _LONGEST = 63, 253


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server tells objects apart by."""

    group: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Renamed:
    """Something that is written under another name than it was given."""

    object: ObjectName
    """The workload."""
    name: str
    topology: str = ""
    """The name that was given, where not the workload but its topology is renamed."""
    other: ObjectName | None = None
    """The workload of the same name, as far as it is known."""


def identity(made: Object) -> Identity:
    """Who an object that is to be written is."""
    metadata = made.get("metadata", {})
    group = made["apiVersion"].rpartition("/")[0]
    return Identity(group, made["kind"], metadata.get("namespace", ""), metadata.get("name", ""))


class Written:
    """The objects that are written, each identity once, and the workload that each was made for."""

    def __init__(self, workloads: Sequence[Workload]) -> None:
        self._taken: dict[Identity, tuple[Object, ObjectName | None]] = {}
        self._workloads = {
            Identity(each.api_version.rpartition("/")[0], each.kind, each.namespace, each.name): each
            for each in (workload.object for workload in workloads)
        }

    def take(self, made: Object, maker: ObjectName | None = None) -> bool:
        """Have an object written, unless there is one of its identity."""
        return self._taken.setdefault(identity(made), (made, maker))[0] is made

    def taken_by(self, made: Object) -> Object | None:
        """The object of this identity that is written already; where there is none, this one is."""
        return None if self.take(made) else self._taken[identity(made)][0]

    def rivals(self, said: Sequence[Object], maker: ObjectName) -> Iterator[tuple[Object, ObjectName | None]]:
        """What is in the way of objects that say one workload over again, each with the workload it is of.

        Objects of the whole cluster are shared where they are equal. A workload that is in the files
        keeps its name, whether it is written or not.
        """
        for made in said:
            own = identity(made)
            there = self._workloads.get(own)
            if own in self._taken and (own.namespace or not same(made, self._taken[own][0])):
                yield made, self._taken[own][1] or there
            elif there is not None and there != maker:
                yield made, there


def same(one: Object, other: Object) -> bool:
    """Whether two objects of one identity mean the same.

    Topologies do where their levels are equal. Those of KAI and Kueue may have other aliases: what is written
    speaks in labels.
    """
    if one["kind"] in TOPOLOGIES:
        return _levels(one) == _levels(other)
    return one == other


def _levels(topology: Object) -> list[Any]:
    return [level.get("nodeLabel", level) for level in topology["spec"]["levels"]]


def is_of_topology(made: Object, topology: str) -> bool:
    """Whether an object has its name from a topology."""
    return not made["metadata"].get("namespace") and made["metadata"]["name"] == topology


class Makers:
    """Finds the workload that an operator's rule made an object for, as far as labels and names tell."""

    def __init__(self, workloads: Sequence[Workload]) -> None:
        self._named: dict[tuple[str, str], Workload] = {}
        for workload in workloads:
            if workload.request is not None:
                for name in (workload.object.name, workload.request.name.rpartition("/")[2]):
                    self._named.setdefault((workload.object.namespace, name), workload)

    def of(self, made: Object) -> Workload | None:
        """The workload that an object tells, or else the one whose name its name starts with."""
        metadata = made["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        told = metadata.get("labels", {}).get(PART_OF) or metadata.get("annotations", {}).get(
            GROUP_ANNOTATION
        )
        if told:
            return self._named.get((namespace, told))
        while name and (namespace, name) not in self._named:
            name = name.rpartition("-")[0]
        return self._named.get((namespace, name))


def other_names(name: str, behind: str) -> Iterator[str]:
    """Names to take instead of one, with a word behind it and then a number; no longer than need be."""
    longest = _LONGEST_LABEL if len(name) <= _LONGEST_LABEL else _LONGEST
    number = 1
    while True:
        end = f"-{behind}" if number == 1 else f"-{behind}-{number}"
        yield f"{name[: longest - len(end)].rstrip('-.')}{end}"
        number += 1


def called(workload: Workload, name: str) -> Workload:
    """The same workload under another name. Its pods get new names too, because theirs may be taken."""
    request = workload.request
    assert request is not None
    namespace, slash, _ = request.name.rpartition("/")
    root = _unnamed(request.root)
    own = f"{namespace}{slash}{name}"
    root = replace(root, name=own) if root.name == request.name else root
    return replace(
        workload,
        object=replace(workload.object, name=name),
        request=replace(request, name=own, root=root),
    )


def _unnamed(group: Group) -> Group:
    def unnamed(member: Member) -> Member:
        return _unnamed(member) if isinstance(member, Group) else replace(member, pods=())

    return replace(group, members=tuple(unnamed(member) for member in group.members))
