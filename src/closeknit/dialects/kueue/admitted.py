"""Where the pods of an admitted workload are to run: what its Workload says of domains, pod by pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from closeknit.apis import kueue_x_k8s_io_v1beta1 as v1beta1
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.kueue.assignments import Assigned, from_domains, from_slices
from closeknit.dialects.kueue.batches import Admitted, Batch, Batched
from closeknit.dialects.kueue.seats import Seat
from closeknit.dialects.store.objects import Stored
from closeknit.hub.problems import InvalidError, Problem, as_told, shown, suggestion
from closeknit.hub.topology import DomainPath

_PATH = "status.admission.podSetAssignments"


def is_admitted(workload: wire.Workload) -> bool:
    """Whether it has its quota: an admission that no condition takes back."""
    if workload.status.admission is None:
        return False
    said = {each.type: each.status for each in workload.status.conditions}
    return said.get("QuotaReserved", "True") == "True" and said.get("Evicted") != "True"


@dataclass(frozen=True, slots=True)
class Places:
    """Which nodes lie in a domain."""

    levels: tuple[str, ...]
    domains: Mapping[DomainPath, list[str]]
    of: Mapping[str, DomainPath]
    """The domain of each node."""

    @classmethod
    def at(cls, levels: tuple[str, ...], nodes: Mapping[str, Mapping[str, str]]) -> Places:
        """Sort nodes into domains by their labels."""
        of = {name: tuple(marks.get(level, "") for level in levels) for name, marks in nodes.items()}
        domains: dict[DomainPath, list[str]] = {}
        for name, values in of.items():
            domains.setdefault(values, []).append(name)
        return cls(levels, domains, of)

    def seat(self, name: str, values: DomainPath) -> Seat:
        """A pod's place in a domain.

        The node, where there is only one; else the domain alone. A pod whose node has gone needs
        another place.
        """
        inside = self.domains.get(values, [])
        if len(inside) > 1:
            return Seat(name, pin=tuple(zip(self.levels, values, strict=True)))
        return Seat(name, inside[0], held=True) if inside else Seat(name)


def with_admission(
    batch: Batch, manifest: Stored[wire.Workload], nodes: Mapping[str, Mapping[str, str]]
) -> tuple[Batch, list[Problem]]:
    """A batch with what its Workload knows of it, and what is wrong with the Workload's status."""
    workload = manifest.content
    named = replace(batch, called=manifest.name)
    admission = workload.status.admission
    if admission is None or not is_admitted(workload):
        return named, []
    problems: list[Problem] = []
    given = {each.name: (i, each) for i, each in enumerate(admission.pod_set_assignments)}
    known = [pod_set.name for pod_set in batch.pod_sets]
    for name, (i, _) in given.items():
        if name not in known:
            message = f"There is no pod set {shown(name)}. {suggestion(name, known)}"
            problems.append(as_told(f"{_PATH}[{i}].name", message))
    missing = [shown(name) for name in known if name not in given]
    if missing:
        problems.append(as_told(_PATH, f"There is none for {', '.join(missing)}. Give one for each pod set."))
    sick = {each.name for each in workload.status.unhealthy_nodes}
    healthy = {name: {} if name in sick else marks for name, marks in nodes.items()}
    sets = [
        _seated(pod_set, *given[pod_set.name], healthy, problems) if pod_set.name in given else pod_set
        for pod_set in batch.pod_sets
    ]
    if problems:
        return named, problems
    flavors = {name: dict(each.flavors) for name, (_, each) in given.items()}
    return replace(named, pod_sets=tuple(sets), admitted=Admitted(flavors)), []


def _seated(
    pod_set: Batched,
    i: int,
    given: wire.PodSetAssignment,
    nodes: Mapping[str, Mapping[str, str]],
    problems: list[Problem],
) -> Batched:
    path = f"{_PATH}[{i}]"
    count = pod_set.count if given.count is None else given.count
    if not 0 <= count <= pod_set.count:
        message = f"{count} pods are admitted, but there are {pod_set.count}. Write 0 to {pod_set.count}."
        problems.append(as_told(f"{path}.count", message))
        if given.topology_assignment is not None:
            _places_given(given.topology_assignment, path, problems)
        return pod_set
    waiting = count - sum(bool(seat.node) for seat in pod_set.seats)
    kept: list[Seat] = []
    for seat in pod_set.seats:
        waiting -= not seat.node
        if seat.node or waiting >= 0:
            kept.append(seat)
    smaller = replace(
        pod_set,
        count=len(kept),
        minimum=None,
        seats=tuple(kept),
        replicas=pod_set.replicas if len(kept) == pod_set.count else 1,
    )
    if given.topology_assignment is None:
        return smaller
    assigned = _places_given(given.topology_assignment, path, problems)
    if assigned is None:
        return pod_set
    total = sum(pods for _, pods in assigned.domains)
    if total != count:
        message = f"{total} pods have a place, but {count} are admitted. Both must agree."
        problems.append(as_told(f"{path}.topologyAssignment", message))
        return pod_set
    places = Places.at(assigned.levels, nodes)
    return replace(smaller, seats=tuple(_filled(kept, assigned, places)))


def _places_given(given: wire.TopologyAssignment, path: str, problems: list[Problem]) -> Assigned | None:
    try:
        return _read(given)
    except InvalidError as error:
        problems.extend(
            as_told(f"{path}.topologyAssignment.{each.where}", each.message) for each in error.problems
        )
        return None


def _read(given: wire.TopologyAssignment) -> Assigned:
    if given.domains and given.slices:
        raise InvalidError([as_told("domains", "slices stand here as well. Leave out one of the two.")])
    if given.domains:
        return from_domains(v1beta1.TopologyAssignment(levels=given.levels, domains=given.domains))
    return from_slices(given)


def _filled(seats: list[Seat], assigned: Assigned, places: Places) -> Iterator[Seat]:
    """Pods that run have their place; the others take what is left, in the order of ranks and domains."""
    left: Counter[DomainPath] = Counter()
    # Two slices may speak of one domain.
    for domain, pods in assigned.domains:
        left[domain] += pods
    for seat in seats:
        taken = places.of.get(seat.node, ())
        if left[taken] > 0:
            left[taken] -= 1
    free = (domain for domain, pods in left.items() for _ in range(pods))
    for seat in seats:
        values = None if seat.node else next(free, None)
        yield seat if values is None else places.seat(seat.name, values)
