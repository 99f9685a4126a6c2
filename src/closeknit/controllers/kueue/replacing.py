"""Places of Workloads that have quota: lost ones, taken ones, and ones still to be chosen."""

from __future__ import annotations

from closeknit.controllers.kueue.admission_plan import AdmissionPlan
from closeknit.controllers.kueue.reservations import BY_WORKLOAD, Reservation, continued
from closeknit.controllers.kueue.workload_status import Admit, Evict
from closeknit.dialects.kueue.to_workload import admission_object
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.workload import PlaceableWorkload


def replace(plan: AdmissionPlan, view: View, lost: Reservation) -> None:
    """Give pods whose node is lost another place near the others, or evict the Workload."""
    names = ", ".join(lost.lost)
    evict = Evict(
        "NodeFailures", f"Workload was evicted as there was no replacement for unhealthy node(s): {names}"
    )
    found = view.derive(continued, lost.key)
    if (
        lost.fixed
        or found is None
        or not isinstance(found.workload, PlaceableWorkload)
        or found.queue is None
    ):
        plan.want(lost.key, evict)
        return
    verdict = plan.decide(found.workload)
    way = next((each for each in found.admissions if each.option is verdict.option), None)
    if not isinstance(verdict.outcome, Placed) or way is None:
        plan.want(lost.key, evict)
        return
    places = {slot.node for pods in found.queued.pod_sets for slot in pods.slots}
    kept = {name: held for name, held in plan.books.held(lost.key).items() if held.node in places}
    plan.books.hold_placed(lost.key, verdict, kept)
    admission = admission_object(found, way, verdict.outcome, view)
    plan.want(lost.key, Admit(found.queue.name, admission))


def make_way(plan: AdmissionPlan, view: View, node: str) -> None:
    """Evict those, the last first, who were given a place that others have taken before their pods came.

    Who binds pods decides by itself, and two may give away the same place before each sees the other's.
    """
    mine = [
        each
        for _, each in plan.reservations()
        if not each.evicted and each.whole
        if sum(held.pods for held in each.holdings if held.node == node) > _bound(view, each.key, node)
    ]
    for last in sorted(mine, key=lambda each: (each.since, each.created, each.name), reverse=True):
        if not plan.books.tracked.is_overfull(node):
            return
        message = f"Workload was evicted as other pods have taken its place on node {node}"
        plan.want(last.key, Evict("NodeFailures", message))
        plan.books.hold(last.key, {})


def settle(plan: AdmissionPlan, view: View, reservation: Reservation) -> bool:
    """Hold a place for every pod of an assignment that leaves a choice of nodes; whether this one does."""
    found = view.derive(continued, reservation.key)
    if found is None or not isinstance(found.workload, PlaceableWorkload):
        return False
    if not any(each.topology for each in found.admissions):
        return False
    plan.books.hold(reservation.key, {})
    verdict = plan.decide(found.workload)
    if isinstance(verdict.outcome, Placed):
        plan.books.hold_placed(reservation.key, verdict)
    return True


def _bound(view: View, workload: Key, node: str) -> int:
    """How many pods of a Workload are on a node, or have been."""
    return sum(pod.content.spec.node_name == node for pod in view.found(BY_WORKLOAD, workload))
