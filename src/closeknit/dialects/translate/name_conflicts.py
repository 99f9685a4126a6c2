"""Two objects of one key cannot be written side by side: find them, and choose other names.

Families have names of their own, so two workloads of one name may meet in one target. Where the name
is ours to choose, the second gets another; where an operator's rule gives it, both are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from closeknit.dialects.family import Object
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.workload import ObjectName, PlaceableWorkload, Workload

TOPOLOGIES = ("ClusterTopologyBinding", "Topology")
"""The kinds by which families describe levels."""
_LONGEST_LABEL, _LONGEST = 63, 253


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


def key_of(made: Object) -> Key:
    """The key of an object that is to be written."""
    metadata = made.get("metadata", {})
    group = made["apiVersion"].rpartition("/")[0]
    return Key(group, made["kind"], metadata.get("namespace", ""), metadata.get("name", ""))


class Written:
    """The objects that are written, each key once, and the object that each was made from."""

    def __init__(self, workloads: Sequence[Workload]) -> None:
        self._taken: dict[Key, tuple[Object, Key | None]] = {}
        self._workloads = {workload.object.key: workload.object for workload in workloads}
        self._by_maker = {workload.key: workload.object for workload in reversed(workloads)}

    def take(self, made: Object, maker: Key | None) -> tuple[Object, Key | None]:
        """Have an object written, unless there is one of its key; returns the one that is written."""
        return self._taken.setdefault(key_of(made), (made, maker))

    def rivals(
        self, objects: Sequence[Object], maker: ObjectName
    ) -> Iterator[tuple[Object, ObjectName | None]]:
        """What is in the way of objects that restate one workload, each with the workload it is of.

        Objects of the whole cluster are shared where they are equal. A workload that is in the files
        keeps its name, whether it is written or not.
        """
        for made in objects:
            own = key_of(made)
            there = self._workloads.get(own)
            if own in self._taken and (own.namespace or not same(made, self._taken[own][0])):
                by = self._taken[own][1]
                yield made, (self._by_maker.get(by) if by is not None else None) or there
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


def other_names(name: str, behind: str) -> Iterator[str]:
    """Names to take instead of one, with a word behind it and then a number; no longer than need be."""
    longest = _LONGEST_LABEL if len(name) <= _LONGEST_LABEL else _LONGEST
    number = 1
    while True:
        end = f"-{behind}" if number == 1 else f"-{behind}-{number}"
        yield f"{name[: longest - len(end)].rstrip('-.')}{end}"
        number += 1


def called(workload: PlaceableWorkload, name: str) -> PlaceableWorkload:
    """The same workload under another name. Its pods get new names too, because theirs may be taken."""
    request = workload.request
    root = request.root.mapped(pods=lambda pods: replace(pods, pods=()))
    return _under(replace(workload, request=replace(request, root=root)), name)


def plainly_named(workload: PlaceableWorkload) -> PlaceableWorkload:
    """The same workload; that of a lone pod, whose request says its kind as well, without the kind."""
    lone = " " in workload.request.name
    return _under(workload, workload.object.name) if lone else workload


def _under(workload: PlaceableWorkload, name: str) -> PlaceableWorkload:
    request = workload.request
    namespace, slash, _ = request.name.rpartition("/")
    own, root = f"{namespace.rpartition(' ')[2]}{slash}{name}", request.root
    root = replace(root, name=own) if root.name == request.name else root
    return replace(
        workload,
        object=replace(workload.object, name=name),
        request=replace(request, name=own, root=root),
    )
