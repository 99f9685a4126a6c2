"""Unique names where all families meet in one cluster.

Inside a family names are its own, so each dialect reads and writes the names that people gave. A topology or
workload whose name means something else in another family gets its family or kind in front of the name.
No Kubernetes name holds a slash or a space, so no such name can be mistaken for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from closeknit.dialects.compiling import describers
from closeknit.dialects.core.naming import lone_holder
from closeknit.dialects.family import Family
from closeknit.dialects.ownership import Claim
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.request import Request
from closeknit.hub.topology import Topology
from closeknit.hub.workload import PlaceableWorkload, Workload


class Topologies:
    """All topologies, by the family that describes them."""

    def __init__(self, view: View) -> None:
        self._found = {family.name: view.derive(family.topologies).topologies for family in view.families}
        self._described_by = {family: describers(view, family) for family in self._found}

    def everything(self) -> tuple[Topology, ...]:
        """Each under a name of its own, sorted."""
        known: dict[str, Topology] = {}
        for family, topologies in self._found.items():
            for topology in topologies.values():
                name = self._unique_name(family, topology)
                known.setdefault(name, replace(topology, name=name))
        return tuple(known[name] for name in sorted(known))

    def name(self, family: str, name: str) -> str:
        """The unique name of the topology that a family knows by this name."""
        describer = self._described_by[family][name]
        return self._unique_name(describer, self._found[describer][name])

    def _unique_name(self, family: str, topology: Topology) -> str:
        alike = (each[topology.name] for each in self._found.values() if topology.name in each)
        # Another family may call the levels otherwise; that they lie the same is what counts.
        plain = all(other.labels == topology.labels for other in alike)
        return topology.name if plain else f"{family}/{topology.name}"


class Workloads:
    """All workloads; those that share a name get their kind in front of it."""

    def __init__(self, families: Sequence[Family], topologies: Topologies, found: Iterable[Workload]) -> None:
        self._claimed_by = {family.name: family.claimed_by or family.name for family in families}
        self._topologies = topologies
        self._found = tuple(found)
        owners: dict[str, list[Workload]] = {}
        for workload in self._found:
            if isinstance(workload, PlaceableWorkload):
                owners.setdefault(workload.request.name, []).append(workload)
        self._shared = {name: alike for name, alike in owners.items() if len(alike) > 1}

    def everything(self) -> Iterator[Workload]:
        """Each with a request of a unique name."""
        for workload in self._found:
            if not isinstance(workload, PlaceableWorkload):
                yield workload
                continue
            options = tuple(
                replace(option, request=self._renamed(workload, option.request))
                for option in workload.options
            )
            request = options[0].request if options else self._renamed(workload, workload.request)
            yield replace(workload, request=request, options=options)

    def holder(self, claim: Claim) -> str:
        """Who holds what a claimed pod uses."""
        return self.named(claim.family, claim.holder)

    def named(self, family: str, holder: str) -> str:
        """The unique name of the workload that a family's pods belong to."""
        for workload in self._shared.get(holder, ()):
            if self._claimed_by[workload.dialect] == family:
                return self._name(workload, holder)
        return holder

    def _renamed(self, workload: Workload, request: Request) -> Request:
        topology = request.topology
        if topology is not None:
            topology = self._topologies.name(workload.dialect, topology)
        name = self._name(workload, request.name)
        if (name, topology) == (request.name, request.topology):
            return request
        return replace(request, name=name, topology=topology)

    def _name(self, workload: Workload, name: str) -> str:
        if name not in self._shared:
            return name
        namespace, _, own = name.rpartition("/")
        kind = workload.object.kind
        # Two families may have kinds of one name.
        if sum(each.object.kind == kind for each in self._shared[name]) > 1:
            kind = f"{workload.dialect} {kind}"
        return lone_holder(kind, namespace, own)
