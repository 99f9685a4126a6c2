"""The ways in which a batch may run: one for each combination of flavors, in the order of trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product

from closeknit.dialects.kueue.batches import Batch, Batched
from closeknit.dialects.kueue.eligibility import Refusal, eligible, narrowed, worded
from closeknit.dialects.kueue.flavors import Flavor
from closeknit.dialects.kueue.queues import BROKEN, Queue, Queues
from closeknit.dialects.kueue.quotas import Covered, Quota
from closeknit.dialects.kueue.trees import tree
from closeknit.dialects.kueue.wishes import level_problems
from closeknit.hub.paths import join
from closeknit.hub.problems import Problem, as_told, shown
from closeknit.hub.quota import Charge, Option
from closeknit.hub.request import PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology

MOST_OPTIONS = 64
"""Combinations of flavors that are tried for one workload; a queue with more is very rare."""

_PODS = "pods"


@dataclass(frozen=True, slots=True)
class Admission:
    """A way to run, and the flavors that it uses for each pod set."""

    option: Option
    flavors: Mapping[str, Mapping[str, str]]
    """By pod set, the flavor of each resource."""
    used: Mapping[str, tuple[Flavor, ...]]
    """By pod set."""
    topology: Topology | None


@dataclass(frozen=True, slots=True)
class _Slot:
    """A choice to make: pod sets that share a flavor, and the flavors that all of them may use."""

    pod_sets: tuple[Batched, ...]
    covered: Covered
    quotas: tuple[Quota, ...]


def admissions(
    name: str, batch: Batch, queue: Queue, queues: Queues, found: list[Problem]
) -> list[Admission]:
    """All ways to run in a queue, the most welcome first; where there is none, ``found`` says why."""
    slots = list(_slots(batch, queue, found))
    if found:
        return []
    made: list[Admission] = []
    refused = ""
    for chosen in islice(product(*(slot.quotas for slot in slots)), MOST_OPTIONS):
        used: dict[str, tuple[Flavor, ...]] = {pod_set.name: () for pod_set in batch.pod_sets}
        flavors: dict[str, dict[str, str]] = {pod_set.name: {} for pod_set in batch.pod_sets}
        for slot, quota in zip(slots, chosen, strict=True):
            for pod_set in slot.pod_sets:
                used[pod_set.name] = (*used[pod_set.name], quota.flavor)
                for resource in _asked(pod_set, slot.covered):
                    flavors[pod_set.name][resource] = quota.flavor.name
        topology, refused = _one_topology(batch, used)
        if refused:
            continue
        filters = {each.name: narrowed(each.shape.filter, used[each.name]) for each in batch.pod_sets}
        root = tree(name, batch, topology, filters)
        request = Request(name, root, topology.name if topology is not None else None)
        charges = tuple(_charges(slots, chosen, queue, queues))
        made.append(Admission(_option(request, batch, charges, queue), flavors, used, topology))
    if not made and refused:
        found.append(as_told(batch.queue_path, refused))
    return made


def apart_problems(batch: Batch, queue: Queue) -> Iterator[Problem]:
    """What is wrong with a batch in a queue, whatever else is: no quota for a resource, or no such level."""
    if queue.inactive == BROKEN:
        # Flavors may be missing that have what is asked for.
        return
    topologies = {
        each.flavor.topology.name: each.flavor.topology for each in queue.quotas() if each.flavor.topology
    }
    for pod_set in batch.pod_sets:
        yield from _uncovered(pod_set, queue)
        told = [list(level_problems(pod_set.wish, topology)) for topology in topologies.values()]
        if all(told):
            yield from (problem for each in told for problem in each)


def _slots(batch: Batch, queue: Queue, found: list[Problem]) -> Iterator[_Slot]:
    units: dict[str, list[Batched]] = {}
    for pod_set in batch.pod_sets:
        units.setdefault(pod_set.wish.group or f"\n{pod_set.name}", []).append(pod_set)
        found.extend(_uncovered(pod_set, queue))
    if found:
        return
    for sets in units.values():
        needed = [covered for covered in queue.covered if any(_asked(each, covered) for each in sets)]
        # Pods that ask for nothing still need nodes, so they go where the first flavors are.
        for covered in needed or queue.covered[:1]:
            refusals: list[Refusal] = []
            fitting = list(covered.quotas)
            for pod_set in sets:
                mine, against = eligible(pod_set, covered, queue)
                refusals.extend(against)
                fitting = [quota for quota in fitting if quota in mine]
            if fitting:
                yield _Slot(tuple(sets), covered, tuple(fitting))
                continue
            told = dict.fromkeys(problem for refusal in refusals for problem in refusal.problems)
            # A level that no flavor knows is best told where it is written.
            if told and all(refusal.problems for refusal in refusals):
                found.extend(told)
                continue
            who = " and ".join(shown(each.name) for each in sets)
            message = f"No flavor of ClusterQueue {shown(queue.name)} can take the pods of {who}"
            found.append(as_told(batch.queue_path, f"{message}: {worded(refusals)}."))


def _uncovered(pod_set: Batched, queue: Queue) -> Iterator[Problem]:
    covered = [name for group in queue.covered for name in group.resources]
    for name in pod_set.shape.resources:
        if name not in covered:
            # A queue may cover a thousand resources; a sentence names the first few.
            few = ", ".join(shown(each) for each in covered[:10]) + (" and more" if len(covered) > 10 else "")
            has = f"It covers {few}." if covered else "It covers none."
            message = f"ClusterQueue {shown(queue.name)} has no quota. {has}"
            message = f"The pods ask for {shown(name)}, for which {message}"
            yield as_told(join(pod_set.path, "spec.containers"), message)


def _asked(pod_set: Batched, covered: Covered) -> Resources:
    """What all pods of a pod set ask for of these resources, as quota counts it."""
    asked = {name: pod_set.shape.resources.get(name, 0) * pod_set.count for name in covered.resources}
    if _PODS in asked:
        asked[_PODS] = pod_set.count
    return Resources(asked)


def _one_topology(batch: Batch, used: Mapping[str, tuple[Flavor, ...]]) -> tuple[Topology | None, str]:
    """The topology that the levels of all pod sets belong to, or why there is no such one."""
    first: Topology | None = None
    fallback: Topology | None = None
    for pod_set in batch.pod_sets:
        over = {flavor.topology.name: flavor.topology for flavor in used[pod_set.name] if flavor.topology}
        if len(over) > 1:
            named = ", ".join(shown(flavor.name) for flavor in used[pod_set.name] if flavor.topology)
            return (
                None,
                f"More than one flavor with a topology is assigned to {shown(pod_set.name)}: {named}.",
            )
        if not over and pod_set.wish.explicit:
            return (
                None,
                f"No flavor with a topology is assigned to {shown(pod_set.name)}. Add one to the queue.",
            )
        for topology in over.values():
            fallback = fallback or topology
            if not (pod_set.wish.required or pod_set.wish.preferred or pod_set.wish.layers):
                continue
            if first is not None and first.name != topology.name:
                said = (
                    f"The pod sets need levels of topologies {shown(first.name)} and {shown(topology.name)}."
                )
                return None, f"{said} One workload can speak of one topology only."
            first = topology
    return first or fallback, ""


def _charges(slots: list[_Slot], chosen: tuple[Quota, ...], queue: Queue, queues: Queues) -> Iterator[Charge]:
    """What the queue is charged for each flavor, and how much less for each pod that may be left out."""
    asked: dict[str, Resources] = {}
    spare: dict[str, Resources] = {}
    quotas: dict[str, Quota] = {}
    for slot, quota in zip(slots, chosen, strict=True):
        flavor = quota.flavor.name
        quotas[flavor] = quota
        for pod_set in slot.pod_sets:
            asked[flavor] = asked.get(flavor, Resources()) + _asked(pod_set, slot.covered)
            if pod_set.minimum is not None:
                each = _asked(replace(pod_set, count=1), slot.covered)
                spare[flavor] = spare.get(flavor, Resources()) + each
    for flavor, needed in asked.items():
        account = queues.cohorts.account(queue.name, queue.cohort, quotas[flavor])
        yield Charge(account, needed, spare.get(flavor, Resources()))


def _option(request: Request, batch: Batch, charges: tuple[Charge, ...], queue: Queue) -> Option:
    """A way to run; where fewer pods will do, with what is left out first."""
    option = Option(request, charges, patient=queue.patient)
    flexible = next((each for each in batch.pod_sets if each.minimum is not None), None)
    if flexible is None or flexible.minimum is None:
        return option
    for member, _ in request.root.walk():
        if member.least < (member.count if isinstance(member, PodSet) else len(member.members)):
            pieces = 1 if isinstance(member, PodSet) else len(member.members)
            step = 1 if isinstance(member, PodSet) else flexible.count // pieces
            least = member.least * step
            return replace(option, spare=flexible.count - least, step=step, shrinking=member.name)
    return option


def without_queue(name: str, batch: Batch, topologies: Mapping[str, Topology]) -> list[Admission]:
    """Ways to run where the queue is not known: any topology that has the levels, at no charge."""
    explicit = any(each.wish.required or each.wish.preferred or each.wish.layers for each in batch.pod_sets)
    candidates: list[Topology | None] = [
        topology
        for topology in topologies.values()
        if not any(problem for each in batch.pod_sets for problem in level_problems(each.wish, topology))
    ]
    filters = {each.name: each.shape.filter for each in batch.pod_sets}
    made: list[Admission] = []
    for topology in candidates[:1] if explicit else [None]:
        root = tree(name, batch, topology, filters)
        request = Request(name, root, topology.name if topology is not None else None)
        nothing: dict[str, tuple[Flavor, ...]] = {each.name: () for each in batch.pod_sets}
        made.append(Admission(Option(request), {each.name: {} for each in batch.pod_sets}, nothing, topology))
    return made
