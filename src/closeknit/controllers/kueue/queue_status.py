"""What ClusterQueues and LocalQueues say of themselves: whether they admit, who waits, and what is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.controllers.kueue.conditions import ADMITTED, holds, reserves
from closeknit.controllers.kueue.reservations import used_by_flavor
from closeknit.controllers.runtime.objects import conditions
from closeknit.controllers.runtime.writes import NOTHING, Decision, SetStatus
from closeknit.dialects.family import Condition
from closeknit.dialects.kueue.queues import cluster_queue
from closeknit.dialects.kueue.status import cluster_queue_status, local_queue_status
from closeknit.dialects.kueue.workload_objects import is_over
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.quantities import written
from closeknit.hub.resources import Resources

_BY_QUEUE = "kueue workloads by local queue"
_BEHIND = "kueue local queues by cluster queue"


def _local_queue(workload: Stored[wire.Workload]) -> Iterator[tuple[str, str]]:
    yield workload.namespace, workload.content.spec.queue_name


def _cluster_queue(local: Stored[wire.LocalQueue]) -> Iterator[str]:
    yield local.content.spec.cluster_queue


INDEXES = (
    Index(_BY_QUEUE, wire.Workload, _local_queue),
    Index(_BEHIND, wire.LocalQueue, _cluster_queue),
)
"""Workloads by LocalQueue, and LocalQueues by ClusterQueue."""


class Share(NamedTuple):
    """What one Workload is in its queue."""

    queue: str
    """The ClusterQueue that it has quota of; empty where it waits."""
    admitted: bool
    used: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]


class Observed(NamedTuple):
    """A queue, and what is written of it."""

    queue: Stored[Any] | None
    active: Condition | None = None
    counts: tuple[int, int, int] = (0, 0, 0)
    """Workloads that wait, that have quota, and that are admitted."""
    reserved: tuple[Mapping[str, Any], ...] = ()
    used: tuple[Mapping[str, Any], ...] = ()


def share_of(view: View, key: Key) -> Share | None:
    """What a Workload is in its queue; None where it has ended, or is set not to run."""
    stored = view.get(key)
    if stored is None:
        return None
    if reserves(stored):
        admission = stored.content.status.admission
        assert admission is not None
        used = used_by_flavor(view, key)
        amounts = tuple((flavor, tuple(each.items())) for flavor, each in used.items())
        return Share(admission.cluster_queue, holds(stored, ADMITTED), amounts)
    return None if is_over(stored.content) else Share("", admitted=False, used=())


def observe_cluster_queue(view: View, key: Key) -> Observed:
    """A ClusterQueue with the Workloads of all LocalQueues that lead to it."""
    stored = view.get(key)
    if stored is None:
        return Observed(None)
    locals_behind = view.found(_BEHIND, stored.name)
    shares = list(_shares(view, locals_behind))
    mine = [each for each in shares if each.queue in ("", stored.name)]
    (active,) = cluster_queue_status(stored, view).conditions
    return _observed(stored, active, mine, _nominal(view, stored.name), borrowing=True)


def observe_local_queue(view: View, key: Key) -> Observed:
    """A LocalQueue with its Workloads."""
    stored = view.get(key)
    if stored is None:
        return Observed(None)
    (active,) = local_queue_status(stored, view).conditions
    nominal = _nominal(view, stored.content.spec.cluster_queue)
    return _observed(stored, active, list(_shares(view, [stored])), nominal, borrowing=False)


def _shares(view: View, queues: Iterable[Stored[wire.LocalQueue]]) -> Iterator[Share]:
    for queue in queues:
        for workload in view.found(_BY_QUEUE, (queue.namespace, queue.name)):
            if (share := view.derive(share_of, workload.key)) is not None:
                yield share


def _nominal(view: View, queue: str) -> dict[str, dict[str, int]]:
    """By flavor and resource, the quota of a ClusterQueue."""
    found = view.derive(cluster_queue, queue)
    if found is None:
        return {}
    return {
        quota.flavor.name: {name: quota.nominal.get(name, 0) for name in group.resources}
        for group in found.covered
        for quota in group.quotas
    }


def _observed(
    stored: Stored[Any],
    active: Condition,
    shares: Sequence[Share],
    nominal: Mapping[str, Mapping[str, int]],
    *,
    borrowing: bool,
) -> Observed:
    holding = [each for each in shares if each.queue]
    counts = (len(shares) - len(holding), len(holding), sum(each.admitted for each in shares))
    admitted = [each for each in holding if each.admitted]
    reserved, used = (tuple(_flavors(some, nominal, borrowing=borrowing)) for some in (holding, admitted))
    return Observed(stored, active, counts, reserved, used)


def _flavors(
    shares: Iterable[Share], nominal: Mapping[str, Mapping[str, int]], *, borrowing: bool
) -> Iterator[Mapping[str, Any]]:
    totals: dict[str, Resources] = {}
    for each in shares:
        for flavor, amounts in each.used:
            totals[flavor] = totals.get(flavor, Resources()) + Resources(dict(amounts))
    for flavor, resources in nominal.items():
        listed = []
        for name, quota in resources.items():
            total = totals.get(flavor, Resources()).get(name, 0)
            made = {"name": name, "total": written(name, total)}
            if borrowing:
                made["borrowed"] = written(name, max(total - quota, 0))
            listed.append(made)
        yield {"name": flavor, "resources": listed}


def decide(observed: Observed, now: datetime) -> Decision:
    """The status of a queue."""
    queue = observed.queue
    if queue is None or observed.active is None or queue.content.metadata.deletion_timestamp:
        return NOTHING
    status = queue.written.get("status") or {}
    generation = int(queue.written["metadata"].get("generation", 0)) or None
    waiting, reserving, admitted = observed.counts
    fields = {
        "conditions": conditions(
            status.get("conditions") or (), [observed.active], now, generation=generation
        ),
        "pendingWorkloads": waiting,
        "reservingWorkloads": reserving,
        "admittedWorkloads": admitted,
        "flavorsReservation": list(observed.reserved),
        "flavorsUsage": list(observed.used),
    }
    return Decision((SetStatus(queue.key, fields),))
