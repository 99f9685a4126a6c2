"""What Workloads hold that have their quota: places on nodes, and amounts of their queue's flavors.

An assignment that names hosts holds them as a whole, from the moment of admission until the end, whatever has
become of each pod; so its pods count for nothing themselves. Where an assignment leaves a choice of nodes,
and where there is none, pods count as they run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from closeknit.apis import core_v1
from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.controllers.kueue.conditions import EVICTED, REQUEUED, condition, holds, reserves
from closeknit.dialects.core.namespaces import by_name
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import Shape, Stage, read_pod, read_template
from closeknit.dialects.kueue import owners
from closeknit.dialects.kueue.admitted import is_ready, nodes_named, with_admission
from closeknit.dialects.kueue.assignments import from_written
from closeknit.dialects.kueue.compile import Nominated, nominated
from closeknit.dialects.kueue.queues import Queue, cluster_queue
from closeknit.dialects.kueue.quotas import account
from closeknit.dialects.kueue.topologies import kueue_key
from closeknit.dialects.kueue.workload_objects import is_over, read_workload
from closeknit.dialects.ownership import CLAIM, pod_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.problems import InvalidError
from closeknit.hub.quota import Charge, Option
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import HOSTNAME

BY_WORKLOAD = "kueue pods by workload"


def _workload_named(pod: Stored[core_v1.Pod]) -> Iterator[Key]:
    if name := pod.content.metadata.annotations.get(keys.WORKLOAD):
        yield kueue_key("Workload", name, pod.namespace)


INDEXES = (Index(BY_WORKLOAD, core_v1.Pod, _workload_named, of_metadata=True),)
"""Pods by the Workload that they are marked as part of."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A Workload that has quota."""

    key: Key
    name: str
    """Under which it is booked."""
    queue: str
    priority: int
    created: str
    since: float
    """When it was admitted."""
    option: Option
    """What it costs."""
    holdings: tuple[Holding, ...] = ()
    whole: bool = False
    """Whether its holdings stand for all its pods."""
    lost: tuple[str, ...] = ()
    """Hosts of the assignment on which pods cannot run any more."""
    fixed: bool = False
    """Whether its pods can go nowhere else, because they select the only domain of their pod set."""
    evicted: bool = False


class Asked(NamedTuple):
    """One pod set and what it was admitted to."""

    given: wire.PodSetAssignment
    shape: Shape
    pods: int
    """Without pods that are not needed any more."""


def name_of(workload: Stored[wire.Workload]) -> str:
    """The name under which a Workload is booked."""
    return workload_name(workload.namespace, workload.name)


def unit(view: View, key: Key) -> Reservation | Nominated | None:
    """What a Workload asks of its queue: nothing, to be admitted, or to keep what it has."""
    stored = view.get(key)
    if stored is None or (owners.is_spare(view, stored) and not owners.is_replaced(view, key)):
        return None
    if reserves(stored):
        return view.derive(reservation, key)
    requeued = condition(stored, REQUEUED)
    if is_over(stored.content) or (requeued is not None and requeued.status == "False"):
        return None
    queued = replace(read_workload(stored, ()), holder="")
    return nominated(queued, view, list(queued.problems))


def continued(view: View, key: Key) -> Nominated | None:
    """A Workload that has quota, with the pods that have their place and those that need another one."""
    stored = view.get(key)
    if stored is None:
        return None
    pods = owners.pods_of_owner(view, owners.workload_owner(stored), key)
    queued = replace(read_workload(stored, pods), holder="")
    found = list(queued.problems)
    return nominated(with_admission(queued, stored, view, found), view, found)


def reservation(view: View, key: Key) -> Reservation | None:
    """What a Workload holds."""
    stored = view.get(key)
    if stored is None or not reserves(stored):
        return None
    admission = stored.content.status.admission
    assert admission is not None
    name, evicted = name_of(stored), holds(stored, EVICTED)
    asked = list(_asked(stored.content))
    pods = sum(each.pods for each in asked)
    request = Request(name, Group(name, (PodSet(f"{name}/1", pods),)), None)
    queue = view.derive(cluster_queue, admission.cluster_queue)
    charges = tuple(_charges(asked, queue, view)) if queue is not None else ()
    admitted = condition(stored, "Admitted") or condition(stored, "QuotaReserved")
    made = Reservation(
        key,
        name,
        admission.cluster_queue,
        stored.content.spec.priority or 0,
        stored.content.metadata.creation_timestamp,
        admitted.since.timestamp() if admitted is not None and admitted.since is not None else 0.0,
        Option(request, charges),
        evicted=evicted,
    )
    return made if evicted else _with_places(made, stored, asked, view)


def is_held_whole(view: View, workload: Key) -> bool:
    """Whether a Workload holds all that its pods use."""
    found = view.derive(reservation, workload)
    return found is not None and found.whole


def pod_holding(view: View, key: Key) -> Holding | None:
    """What a pod uses of its node by itself."""
    stored = view.get(key)
    if stored is None or not stored.content.spec.node_name:
        return None
    for workload in _workload_named(stored):
        if view.derive(is_held_whole, workload):
            return None
    pod = read_pod(stored)
    if pod.problems or pod.stage not in (Stage.RUNNING, Stage.LEAVING):
        return None
    (claim, *_) = view.values(CLAIM, key)
    held = pod.holding(claim.holder)
    return replace(held, neighbour=by_name(view, held.neighbour)[0])


def _asked(workload: wire.Workload) -> Iterator[Asked]:
    assert workload.status.admission is not None
    specs = {each.name: each for each in workload.spec.pod_sets}
    spare = {each.name: each.count for each in workload.status.reclaimable_pods}
    for given in workload.status.admission.pod_set_assignments:
        if (spec := specs.get(given.name)) is not None:
            count = spec.count if given.count is None else given.count
            left = max(count - spare.get(given.name, 0), 0)
            meta = spec.template.metadata
            read = read_template(
                spec.template.spec, namespace=workload.metadata.namespace, labels=meta.labels
            )
            yield Asked(given, read.shape, left)


def _charges(asked: list[Asked], queue: Queue, view: View) -> Iterator[Charge]:
    quotas = {each.flavor.name: each for each in queue.quotas()}
    used: dict[str, Resources] = {}
    for each in asked:
        for resource, flavor in each.given.flavors.items():
            amount = each.shape.resources.get(resource, 0) * each.pods
            if resource == "pods":
                amount = each.pods
            used[flavor] = used.get(flavor, Resources()) + Resources({resource: amount})
    for flavor, resources in used.items():
        if flavor in quotas:
            yield Charge(account(view, queue.name, queue.cohort, quotas[flavor]), resources)


def _with_places(
    made: Reservation, stored: Stored[wire.Workload], asked: list[Asked], view: View
) -> Reservation:
    """The same with its places, where every pod set has an assignment to hosts."""
    placed = [each.given.topology_assignment for each in asked if each.pods]
    if not placed or any(each is None or tuple(each.levels) != (HOSTNAME,) for each in placed):
        return made
    unhealthy = {each.name for each in stored.content.status.unhealthy_nodes}
    ended = _ended(view, stored) if stored.content.status.reclaimable_pods else Counter[str]()
    holdings: list[Holding] = []
    lost: dict[str, None] = {}
    fixed = False
    for each in asked:
        assert each.given.topology_assignment is not None
        try:
            domains = from_written(each.given.topology_assignment).domains
        except InvalidError:
            return made
        gone = 0
        for (host,), pods in domains:
            nodes = nodes_named(view, host)
            node = nodes[0] if nodes else ""
            if not node or node in unhealthy or _is_out(view, stored.key, node):
                lost[host] = None
                gone += 1
            left = pods - min(ended[node], pods)
            ended[node] -= pods - left
            if node and left:
                shape, (seen, _) = each.shape, by_name(view, each.shape.neighbour)
                holdings.append(Holding(made.name, node, shape.resources, left, shape.host_ports, seen))
        fixed = fixed or (bool(gone) and len(domains) == 1)
    return replace(made, holdings=tuple(holdings), whole=True, lost=tuple(lost), fixed=fixed)


def _is_out(view: View, workload: Key, node: str) -> bool:
    """Whether a node is not ready, and no pod of a Workload waits there for its return."""
    if view.derive(is_ready, node):
        return False
    pods = (view.derive(pod_of, each.key) for each in view.found(BY_WORKLOAD, workload))
    return not any(pod is not None and pod.node == node and pod.stage is Stage.RUNNING for pod in pods)


def _ended(view: View, workload: Stored[wire.Workload]) -> Counter[str]:
    """By node, how many pods of a Workload have done their work."""
    pods = (view.derive(pod_of, each.key) for each in view.found(BY_WORKLOAD, workload.key))
    return Counter(pod.node for pod in pods if pod is not None and pod.stage is Stage.SUCCEEDED)


def used_by_flavor(view: View, key: Key) -> Mapping[str, Mapping[str, int]]:
    """By flavor and resource, what a Workload that has quota is charged."""
    found = view.derive(reservation, key)
    charges = found.option.charges if found is not None else ()
    return {each.account.name[-1].removeprefix("flavor "): dict(each.resources) for each in charges}
