"""Which gangs wait although there is room for them, from nothing but what an API shows.

Shares no code with the scheduler, the dialects or the engine. It knows gangs of KAI whose pods all ask for
the same amount of one resource, so that counting places is exact; a level is that of
the gang or of its subgroups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from closeknit.testing.auditor import Cluster, Object

Path: TypeAlias = tuple[str, ...]
_DONE = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Priorities:
    """What priority classes say."""

    values: Mapping[str, int]
    usual: int

    def of(self, group: Object) -> int:
        """The priority of a gang."""
        return self.values.get(group["spec"].get("priorityClassName", ""), self.usual)


@dataclass(frozen=True, slots=True)
class _Part:
    """A gang without subgroups, or a subgroup."""

    least: int
    depth: int
    """Of the level that it requires; 0 for none."""
    pods: Sequence[Object]

    def bound(self) -> list[Object]:
        return [each for each in self.pods if each["spec"].get("nodeName") and not _ended(each)]

    def lacking(self) -> int:
        """How many pods it lacks to its minimum."""
        return self.least - len(self.bound()) - sum(map(_succeeded, self.pods))

    def waiting(self) -> int:
        return sum(not each["spec"].get("nodeName") and not _ended(each) for each in self.pods)


class Waiting:
    """The gangs that wait, in the order of a queue."""

    def __init__(
        self, cluster: Cluster, resource: str, levels: Sequence[str], priorities: Priorities
    ) -> None:
        self._cluster, self._resource, self._levels = cluster, resource, levels
        self._priorities = priorities
        self._labels = {
            each["metadata"]["name"]: tuple(each["metadata"]["labels"][level] for level in levels)
            for each in cluster.nodes
        }

    def overlooked(self, *, reserving: bool = False) -> Iterator[str]:
        """Gangs of which pods wait that could be placed with what is free and not kept for others.

        A place may be kept for a gang that lacks its minimum, has no room now and could have it on an empty
        cluster: for the first of those in the queue (``reserving``), and for each that may displace others,
        which are those above the lowest priority. An API does not show which nodes are kept, but there are no
        more of them than pods that the gang lacks. So a gang behind it is overlooked if it fits whichever
        nodes are kept. A gang that fits on no empty cluster keeps nothing, and excuses nobody.
        """
        free = self.free()
        for group, kept in self._in_turn(reserving=reserving):
            if self._fits(group, free, kept):
                yield _name(group)

    def could_displace(self, *, reserving: bool = False) -> Iterator[str]:
        """Gangs that lack their minimum and find no room, and would if all gangs of lower priority had gone.

        What is kept for others is not for them, whoever leaves it. Free room alone is no reason to be named
        here: where nobody of lower priority runs, a gang may have to wait beside room that is kept for one
        before it (see ``overlooked``).
        """
        free = self.free()
        for group, kept in self._in_turn(reserving=reserving):
            if self._lacks_minimum(group) and not self._fits(group, free, kept):
                mine = self._priorities.of(group)
                lower = [each for each in self._cluster.pod_groups if self._priorities.of(each) < mine]
                if self._fits(group, self.free(without=map(_name, lower)), kept):
                    yield _name(group)

    def _in_turn(self, *, reserving: bool) -> Iterator[tuple[Object, int]]:
        """Who waits, in order, and how many nodes may be kept for those before it."""
        free, kept = self.free(), 0
        lowest = min(map(self._priorities.of, self._cluster.pod_groups), default=0)
        for group in sorted(filter(self._waits, self._cluster.pod_groups), key=self._order):
            yield group, kept
            displacing = self._priorities.of(group) > lowest
            if not (reserving or displacing) or not self._lacks_minimum(group):
                continue
            others = {_group(each) for each in self._cluster.pods} - {_name(group)}
            if not self._fits(group, free, kept) and self._fits(group, self.free(without=others)):
                reserving = reserving and displacing
                kept += sum(max(part.lacking(), 0) for part in self._parts(group))

    def free(self, without: Iterable[str] = ()) -> dict[str, int]:
        """What no pod holds, on each node that takes pods; pods of some gangs hold nothing."""
        gone = frozenset(without)
        free = {
            each["metadata"]["name"]: int(each["status"]["allocatable"][self._resource])
            for each in self._cluster.nodes
            if not each.get("spec", {}).get("unschedulable")
        }
        for each in self._cluster.pods:
            name = each["spec"].get("nodeName", "")
            if name in free and not _ended(each) and _group(each) not in gone:
                free[name] -= self._asks(each)
        return free

    def _order(self, group: Object) -> tuple[bool, int, str, str]:
        """Who lacks its minimum goes before who wants more, whatever their priorities."""
        meta = group["metadata"]
        lacks = self._lacks_minimum(group)
        return not lacks, -self._priorities.of(group), meta["creationTimestamp"], meta["name"]

    def _parts(self, group: Object) -> list[_Part]:
        spec, name = group["spec"], group["metadata"]["name"]
        mine = [
            each
            for each in self._cluster.pods
            if _group(each) == name and "deletionTimestamp" not in each["metadata"]
        ]
        if "subGroups" not in spec:
            return [_Part(spec["minMember"], self._depth(spec), mine)]
        label = "kai.scheduler/subgroup-name"
        return [
            _Part(
                each["minMember"],
                self._depth(each),
                [pod for pod in mine if pod["metadata"].get("labels", {}).get(label) == each["name"]],
            )
            for each in spec["subGroups"]
        ]

    def _depth(self, spec: Object) -> int:
        level = spec.get("topologyConstraint", {}).get("requiredTopologyLevel")
        return 0 if level is None else self._levels.index(level) + 1

    def _waits(self, group: Object) -> bool:
        """Whether pods wait, and enough of them exist."""
        parts = self._parts(group)
        return any(part.waiting() for part in parts) and all(
            part.lacking() <= part.waiting() for part in parts
        )

    def _lacks_minimum(self, group: Object) -> bool:
        return any(part.lacking() > 0 for part in self._parts(group))

    def _fits(self, group: Object, free: Mapping[str, int], kept: int = 0) -> bool:
        """Whether all that is missing can be placed; where nothing is, whether another pod can.

        So many nodes are kept for others, whichever they are.
        """
        parts = self._parts(group)
        if self._lacks_minimum(group):
            return self._together([(part, max(part.lacking(), 0)) for part in parts], free, kept)
        return any(self._together([(part, 1)], free, kept) for part in parts if part.waiting())

    def _together(self, parts: Sequence[tuple[_Part, int]], free: Mapping[str, int], kept: int) -> bool:
        units = self._asks(parts[0][0].pods[0])
        places = {host: room // units for host, room in free.items() if room >= units}
        for domains in product(*(self._domains(part, free) for part, _ in parts)):
            if _room_for(
                [(number, domain) for (_, number), domain in zip(parts, domains, strict=True)],
                [(self._labels[host], some) for host, some in places.items()],
                kept,
            ):
                return True
        return False

    def _domains(self, part: _Part, free: Mapping[str, int]) -> set[Path]:
        """Where a part may be: where it is, or anywhere."""
        hosts = {each["spec"]["nodeName"] for each in part.bound()} & self._labels.keys() or set(free)
        return {self._labels[host][: part.depth] for host in hosts}

    def _asks(self, pod: Object) -> int:
        resources = pod["spec"]["containers"][0].get("resources", {})
        return int(resources.get("limits", {}).get(self._resource, 0))


def _room_for(wanted: Sequence[tuple[int, Path]], places: Sequence[tuple[Path, int]], kept: int) -> bool:
    """Whether domains have the places that are wanted of them; two of them are equal or apart.

    So many nodes are left out of each domain, those with most places.
    """
    asked: Counter[Path] = Counter()
    for number, domain in wanted:
        asked[domain] += number
    return all(
        sum(sorted((some for path, some in places if path[: len(domain)] == domain), reverse=True)[kept:])
        >= number
        for domain, number in asked.items()
    )


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _group(pod: Object) -> str:
    return str(pod["metadata"].get("annotations", {}).get("pod-group-name", ""))


def _ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in _DONE


def _succeeded(pod: Object) -> bool:
    return bool(pod.get("status", {}).get("phase") == "Succeeded")
