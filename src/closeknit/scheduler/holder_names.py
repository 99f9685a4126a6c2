"""Under which name a unit holds what its pods use: one for all of its pods, and another one for every unit.

Pods of a PodGroup name it. Pods of a Job or a JobSet that KAI groups name their controller alone, so that
only the compiled unit says which pods are its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from closeknit.dialects.core.naming import lone_holder, workload_name
from closeknit.dialects.family import Family
from closeknit.dialects.ownership import Claim
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.workload import PlaceableWorkload, Workload


class HolderNames:
    """The names of units, and of pods the unit that they belong to."""

    def __init__(self, families: Sequence[Family]) -> None:
        self.apart: Mapping[str, Family] = {
            each.name: each for each in families[1:] if each.owner_of is not None
        }
        """Families whose names are told apart from those of the first."""
        self._groups = {
            (family.name, kind.group, kind.kind)
            for family in families
            for kind in family.kinds
            if kind.workload
        }
        """Kinds whose objects are named by their pods, without their kind."""
        self._of_pod: dict[Key, str] = {}
        """The names of units that KAI makes of others' objects, by pod."""

    def of_family(self, family: str, name: str) -> str:
        """A name that no other family has; no name of an object holds a space."""
        return f"{family} {name}" if family in self.apart else name

    def of_pod(self, pod: Key, claim: Claim) -> str:
        """Who holds what a pod uses."""
        return self._of_pod.get(pod) or self.of_family(claim.family, claim.holder)

    def has_unit(self, pod: Key) -> bool:
        """Whether a pod belongs to a unit that KAI makes of another object."""
        return pod in self._of_pod

    def of_unit(self, unit: Workload) -> str:
        """Under which name a unit holds something, also where it is invalid and asks for nothing."""
        return unit.request.name if isinstance(unit, PlaceableWorkload) else self._of_object(unit)

    def _of_object(self, unit: Workload) -> str:
        key = unit.object.key
        if unit.dialect in self.apart or (unit.dialect, key.group, key.kind) in self._groups:
            return self.of_family(unit.dialect, workload_name(key.namespace, key.name))
        return lone_holder(key.kind, key.namespace, key.name)

    def told_apart(self, unit: Workload) -> Workload:
        """The unit with a request of the name that it has here."""
        if not isinstance(unit, PlaceableWorkload):
            return unit
        request = unit.request
        if unit.dialect in self.apart:
            topology = request.topology and self.of_family(unit.dialect, request.topology)
            named = replace(request, name=self.of_family(unit.dialect, request.name), topology=topology)
        elif unit.maker is not None:
            # Its users know the Job, and not the PodGroup that KAI would make of it.
            named = replace(request, name=self._of_object(unit))
        else:
            return unit
        return replace(unit, request=named)

    def renew(self, before: Iterable[Workload], made: Iterable[Workload]) -> set[Key]:
        """Learn whose the pods of these units are; the pods whose holder may be another than before."""
        old = {pod for unit in before for pod in _pods(unit)}
        new = {pod: self.of_unit(unit) for unit in made for pod in _pods(unit)}
        changed = {pod for pod, name in new.items() if self._of_pod.get(pod) != name} | (old - new.keys())
        for pod in old:
            self._of_pod.pop(pod, None)
        self._of_pod.update(new)
        return changed


def _pods(unit: Workload) -> Iterator[Key]:
    """The pods of a unit that is made of somebody else's object."""
    if unit.maker is None:
        return
    namespace = unit.object.namespace
    for running in unit.running:
        yield Key("", "Pod", namespace, running.name)
    if isinstance(unit, PlaceableWorkload):
        for pods in unit.request.root.pod_sets():
            for name in pods.pods:
                yield Key("", "Pod", namespace, name)
