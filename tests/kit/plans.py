"""Preemption plans for tests that need one and do not care how it was chosen."""

from __future__ import annotations

from collections.abc import Iterable

from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.deciding import Verdict
from closeknit.scheduler.preempt.eligibility import Kind
from closeknit.scheduler.preempt.preemptions import Plan
from closeknit.scheduler.preempt.running import BoundPod, RunningUnit, Victim


def bound_pod(name: str, node: str = "n", holder: str = "default/victim") -> BoundPod:
    """A pod that runs."""
    return BoundPod(
        Key("", "Pod", "default", name), f"uid-{name}", Holding(holder, node, Resources({"cpu": 1})), 0.0
    )


def victim(name: str, pods: int, holder: str = "", *, running: int | None = None) -> Victim:
    """A unit that loses so many of its pods: all of them, unless more are running."""
    holder = holder or f"default/{name}"
    each = tuple(bound_pod(f"{name}-{number}", holder=holder) for number in range(running or pods))
    request = Request(holder, Group("root", (PodSet("p", len(each), bound=("n",) * len(each)),)))
    workload = PlaceableWorkload(ObjectName("v1", "PodGroup", "default", name), "kai", request)
    return Victim(RunningUnit(workload, holder, each), each[:pods], is_broken=pods == len(each))


def plan(
    workload: PlaceableWorkload,
    placed: Placed,
    victims: Iterable[Victim] = (),
    waits_for: tuple[str, ...] = (),
) -> Plan:
    """A plan for a unit that found no capacity."""
    failed = Verdict(workload, Unplaceable(workload.request.name))
    victims = tuple(victims)
    kind = Kind.PREEMPT if victims else Kind.FREED
    return Plan(failed, Verdict(workload, placed), kind, victims, waits_for=waits_for)
