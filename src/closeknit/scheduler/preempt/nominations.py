"""Nominated capacity: what a plan keeps on each node for the pods of its unit that are not bound yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Assignment
from closeknit.hub.request import Request
from closeknit.hub.resources import Resources
from closeknit.scheduler.reservation import PODS, needed_by_node

if TYPE_CHECKING:
    from closeknit.engine import Engine

_ONE_POD = Resources({PODS: 1})


def left_to_bind(
    assignments: Sequence[Assignment], node_of: Callable[[str], str | None]
) -> tuple[Assignment, ...]:
    """The part of a placement that is still nominated, given the nodes that its pods have by now.

    ``node_of`` returns the node of a pod, empty while it waits, None if there is no such pod. A pod that does
    not exist keeps its nomination, because another may take its place. If a pod was bound to the node that
    was nominated for another one of its set, that one gets the node that the bound pod left over.
    """
    left: list[Assignment] = []
    spare: list[tuple[str, str]] = []
    taken: list[tuple[str, str]] = []
    for assignment in assignments:
        node = node_of(assignment.pod)
        if not node:
            left.append(assignment)
        elif node != assignment.node:
            spare.append((assignment.pod_set, assignment.node))
            taken.append((assignment.pod_set, node))
    for (pod_set, node), (_, unused) in zip(taken, spare, strict=True):
        for number, assignment in enumerate(left):
            if (assignment.pod_set, assignment.node) == (pod_set, node):
                left[number] = replace(assignment, node=unused)
                break
    return tuple(left)


def with_replacements(
    assignments: Sequence[Assignment], request: Request, exists: Callable[[str], bool]
) -> tuple[Assignment, ...]:
    """The placement with pods that wait now in the place of pods that are gone, set by set."""
    planned = {assignment.pod for assignment in assignments}
    new = {pods.name: [name for name in pods.pods if name not in planned] for pods in request.root.pod_sets()}
    return tuple(
        replace(assignment, pod=new[assignment.pod_set].pop(0))
        if not exists(assignment.pod) and new.get(assignment.pod_set)
        else assignment
        for assignment in assignments
    )


def kept_on_nodes(
    request: Request, assignments: Sequence[Assignment], leaving: Iterable[Holding]
) -> list[Holding]:
    """What other units must leave free: what the placement needs and victims that leave do not still hold."""
    needed = needed_by_node(request, assignments)
    for holding in leaving:
        if holding.node in needed:
            needed[holding.node] -= (holding.resources + _ONE_POD) * holding.pods
    kept: list[Holding] = []
    asked = {name for pods in request.root.pod_sets() for name in pods.resources}
    for node, short in sorted(needed.items()):
        amounts = {name: units for name, units in short.items() if units > 0 and name in asked}
        pods = short.get(PODS, 0)
        if amounts or pods > 0:
            # A holding takes one of the node's pods by itself.
            kept.append(Holding(request.name, node, Resources(amounts)))
        if pods > 1:
            kept.append(Holding(request.name, node, Resources(), pods - 1))
    return kept


@contextmanager
def held(engine: Engine, holdings: Iterable[Holding]) -> Iterator[None]:
    """Let the engine decide as if these were held."""
    taken = list(holdings)
    for holding in taken:
        engine.hold(holding)
    try:
        yield
    finally:
        for holding in taken:
            engine.release_pods(holding)
