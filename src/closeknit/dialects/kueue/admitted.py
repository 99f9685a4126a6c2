"""Where the pods of an admitted workload are to run: what its Workload says of domains, pod by pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from closeknit.apis import core_v1
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.core.node_filters import hub_node
from closeknit.dialects.kueue import owners
from closeknit.dialects.kueue.assignments import Assigned, from_written
from closeknit.dialects.kueue.queued_workload import PodSlot, QueuedPodSet, QueuedWorkload
from closeknit.dialects.kueue.workload_objects import is_over
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path
from closeknit.hub.problems import InvalidError, OneOf, Problem
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.topology import HOSTNAME, DomainPath

_PATH = ("status", "admission", "podSetAssignments")
_BY_HOSTNAME = "kueue nodes by hostname"


def _hostname(node: Stored[core_v1.Node]) -> tuple[str, ...]:
    name = node.content.metadata.labels.get(HOSTNAME)
    return (name,) if name is not None else ()


INDEXES = (Index(_BY_HOSTNAME, core_v1.Node, _hostname),)
"""Nodes by hostname, which is what most assignments name."""


def has_quota(workload: wire.Workload) -> bool:
    """Whether it has its quota: an admission that no condition takes back."""
    if workload.status.admission is None:
        return False
    conditions = {each.type: each.status for each in workload.status.conditions}
    return conditions.get("QuotaReserved", "True") == "True" and conditions.get("Evicted") != "True"


def with_admission(
    queued: QueuedWorkload, stored: Stored[wire.Workload], view: View, found: list[Problem]
) -> QueuedWorkload:
    """A workload with what its Workload object knows of it; what is wrong with the status is added."""
    workload = stored.content
    named = replace(queued, workload=stored.name)
    admission = workload.status.admission
    if admission is None or not has_quota(workload):
        return _grown(named, owners.slice_before(view, stored), view)
    wrong: list[Problem] = []
    given = {each.name: (i, each) for i, each in enumerate(admission.pod_set_assignments)}
    known = tuple(pod_set.name for pod_set in queued.pod_sets)
    for name, (i, _) in given.items():
        if name not in known:
            path, remedy = (*_PATH, i, "name"), OneOf(name, known)
            wrong.append(core.NOT_FOUND.at(path, kind="pod set", name=name, remedy=remedy))
    if missing := tuple(name for name in known if name not in given):
        wrong.append(sentences.NOT_ASSIGNED.at(_PATH, names=missing))
    nodes = _Nodes(view, frozenset(each.name for each in workload.status.unhealthy_nodes))
    pod_sets = tuple(
        _assigned_pod_set(pod_set, *given[pod_set.name], nodes, wrong) if pod_set.name in given else pod_set
        for pod_set in queued.pod_sets
    )
    found.extend(wrong)
    if wrong:
        return named
    flavors = {name: dict(each.flavors) for name, (_, each) in given.items()}
    return replace(named, pod_sets=pod_sets, flavors=flavors, avoided=nodes.unhealthy)


def _grown(queued: QueuedWorkload, before: Stored[wire.Workload] | None, view: View) -> QueuedWorkload:
    """A workload of which a smaller slice is admitted: the pods of that keep their places and flavors."""
    if before is None or not has_quota(before.content) or is_over(before.content):
        return queued
    admission = before.content.status.admission
    assert admission is not None
    given = {each.name: (i, each) for i, each in enumerate(admission.pod_set_assignments)}
    nodes = _Nodes(view, frozenset(each.name for each in before.content.status.unhealthy_nodes))
    wrong: list[Problem] = []
    pod_sets: list[QueuedPodSet] = []
    for pod_set in queued.pod_sets:
        i, assignment = given.get(pod_set.name, (0, wire.PodSetAssignment(name=pod_set.name, count=0)))
        held = min(pod_set.count if assignment.count is None else assignment.count, pod_set.count)
        # Those that run come first, since they are of the earlier slice.
        first = sorted(pod_set.slots, key=lambda slot: not slot.node)[:held]
        placed = _assigned_pod_set(
            replace(pod_set, count=held, slots=tuple(first)), i, assignment, nodes, wrong
        )
        places = dict(zip((slot.name for slot in first), placed.slots, strict=True)) if not wrong else {}
        slots = tuple(places.get(slot.name, slot) for slot in pod_set.slots)
        pod_sets.append(replace(pod_set, slots=slots))
    if wrong:
        # What is wrong with its status is told of the slice itself by who admitted it.
        return queued
    # Of pod sets that this workload has no more, nothing is kept.
    flavors = {each.name: dict(given[each.name][1].flavors) for each in pod_sets if each.name in given}
    return replace(queued, pod_sets=tuple(pod_sets), grown_from=flavors, avoided=nodes.unhealthy)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Which nodes lie in a domain; those on which the workload cannot go on lie in none."""

    view: View
    unhealthy: frozenset[str]

    def inside(self, levels: tuple[str, ...], domain: DomainPath) -> list[str]:
        if levels == (HOSTNAME,):
            names: Sequence[str] = nodes_named(self.view, domain[0])
        else:
            names = self.view.derive(_nodes_by_domain, levels).get(domain, ())
        return [name for name in names if name not in self.unhealthy and self.view.derive(is_ready, name)]

    def domain(self, levels: tuple[str, ...], node: str) -> DomainPath:
        stored = self.view.get(Key("", "Node", "", node))
        if stored is None or node in self.unhealthy:
            return ()
        return domain_of(stored, levels)

    def slot(self, name: str, levels: tuple[str, ...], domain: DomainPath) -> PodSlot:
        """A pod's place in a domain.

        The node, where there is only one; else the domain alone. A pod whose node has gone, or is not
        ready, needs another place.
        """
        inside = self.inside(levels, domain)
        if len(inside) > 1:
            return PodSlot(name, pin=tuple(zip(levels, domain, strict=True)))
        return PodSlot(name, inside[0], held=True) if inside else PodSlot(name)


def nodes_named(view: View, hostname: str) -> list[str]:
    """The nodes with this hostname; there should be one."""
    return [node.name for node in view.found(_BY_HOSTNAME, hostname)]


def _nodes_by_domain(view: View, levels: tuple[str, ...]) -> dict[DomainPath, tuple[str, ...]]:
    domains: dict[DomainPath, list[str]] = {}
    for node in view.of(core_v1.Node):
        domains.setdefault(domain_of(node, levels), []).append(node.name)
    return {domain: tuple(names) for domain, names in domains.items()}


def is_ready(view: View, node: str) -> bool:
    """Whether a node is there and ready."""
    stored = view.get(Key("", "Node", "", node))
    return stored is not None and hub_node(stored.content, []).ready


def domain_of(node: Stored[core_v1.Node], levels: tuple[str, ...]) -> DomainPath:
    """The values that a node has for these levels; empty texts for those that it has no label for."""
    labels = node.content.metadata.labels
    return tuple(labels.get(level, "") for level in levels)


def _assigned_pod_set(
    pod_set: QueuedPodSet, i: int, given: wire.PodSetAssignment, nodes: _Nodes, found: list[Problem]
) -> QueuedPodSet:
    path: Path = (*_PATH, i)
    count = pod_set.count if given.count is None else given.count
    possible = 0 <= count <= pod_set.count
    if not possible:
        problem = sentences.ADMITTED_TOO_MANY.at((*path, "count"), count=count, pods=pod_set.count)
        found.append(problem)
    assigned = None
    if given.topology_assignment is not None:
        path = (*path, "topologyAssignment")
        assigned = _read(given.topology_assignment, path, found)
    if not possible or (assigned is None and given.topology_assignment is not None):
        return pod_set
    # A pod that runs where it cannot go on needs another place.
    slots = [PodSlot(slot.name) if slot.node in nodes.unhealthy else slot for slot in pod_set.slots]
    unfilled = count - sum(bool(slot.node) for slot in slots)
    kept: list[PodSlot] = []
    for slot in slots:
        unfilled -= not slot.node
        if slot.node or unfilled >= 0:
            kept.append(slot)
    if assigned is not None:
        if (total := sum(pods for _, pods in assigned.domains)) != count:
            found.append(sentences.ASSIGNED_OTHERWISE.at(path, assigned=total, admitted=count))
            return pod_set
        kept = list(_placed(kept, assigned, nodes))
    return replace(
        pod_set,
        count=len(kept),
        minimum=None,
        slots=tuple(kept),
        replicas=pod_set.replicas if len(kept) == pod_set.count else 1,
    )


def _read(given: wire.TopologyAssignment, path: Path, found: list[Problem]) -> Assigned | None:
    try:
        return from_written(given)
    except InvalidError as error:
        found.extend(problem.under(*path) for problem in error.problems)
        return None


def _placed(slots: list[PodSlot], assigned: Assigned, nodes: _Nodes) -> Iterator[PodSlot]:
    """Pods that run, or that select a domain, have their place; the others take what is left, in the order
    of ranks and domains.
    """
    left: Counter[DomainPath] = Counter()
    # Two slices may speak of one domain.
    for domain, pods in assigned.domains:
        left[domain] += pods
    selected = [_selected(slot, assigned.levels) for slot in slots]
    for slot, domain in zip(slots, selected, strict=True):
        taken = nodes.domain(assigned.levels, slot.node) if slot.node else domain
        if left[taken] > 0:
            left[taken] -= 1
    free = (domain for domain, pods in left.items() for _ in range(pods))
    for slot, domain in zip(slots, selected, strict=True):
        values = () if slot.node else domain or next(free, ())
        place = nodes.slot(slot.name, assigned.levels, values) if values else slot
        # What a pod selects cannot be changed once its gate has opened, whatever became of the node.
        yield slot if domain and not place.node else place


def _selected(slot: PodSlot, levels: tuple[str, ...]) -> DomainPath:
    """The domain that a pod selects, which it was let go to; empty where it names none."""
    selector = dict(slot.pin)
    return tuple(selector[level] for level in levels) if all(level in selector for level in levels) else ()
