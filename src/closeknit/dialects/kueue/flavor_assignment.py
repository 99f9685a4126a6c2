"""The flavors that a workload may be admitted with: one way for each combination, in the order of trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product

from closeknit.dialects.kueue.eligibility import Refusal, WithoutLevel, eligible, narrowed
from closeknit.dialects.kueue.flavor_messages import list_refusals
from closeknit.dialects.kueue.queued_workload import QueuedPodSet, QueuedWorkload
from closeknit.dialects.kueue.queues import Queue
from closeknit.dialects.kueue.quotas import Covered, Flavor, Quota, account
from closeknit.dialects.kueue.to_request import to_request
from closeknit.dialects.kueue.topology_request import level_problems
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.problems import Problem, shown
from closeknit.hub.quota import Charge, Option
from closeknit.hub.request import PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import kueue as sentences
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
class _Choice:
    """A choice to make: pod sets that share a flavor, and the flavors that all of them may use."""

    pod_sets: tuple[QueuedPodSet, ...]
    covered: Covered
    quotas: tuple[Quota, ...]


def admissions(queued: QueuedWorkload, queue: Queue, view: View, found: list[Problem]) -> list[Admission]:
    """All ways to run in a queue, the most welcome first; where there is none, ``found`` says why."""
    choices = list(_choices(queued, queue, found))
    if found:
        return []
    made: list[Admission] = []
    refused: list[Problem] = []
    for chosen in islice(product(*(choice.quotas for choice in choices)), MOST_OPTIONS):
        used: dict[str, tuple[Flavor, ...]] = {pod_set.name: () for pod_set in queued.pod_sets}
        flavors: dict[str, dict[str, str]] = {pod_set.name: {} for pod_set in queued.pod_sets}
        for choice, quota in zip(choices, chosen, strict=True):
            for pod_set in choice.pod_sets:
                used[pod_set.name] = (*used[pod_set.name], quota.flavor)
                for resource in _asked(pod_set, choice.covered):
                    flavors[pod_set.name][resource] = quota.flavor.name
        wrong: list[Problem] = []
        topology = _one_topology(queued, used, wrong)
        if wrong:
            refused = wrong
            continue
        filters = {
            each.name: narrowed(each.shape.filter, used[each.name], queued.avoided)
            for each in queued.pod_sets
        }
        request = to_request(queued, topology, filters)
        charges = tuple(_charges(choices, chosen, queue, view))
        made.append(Admission(_option(request, queued, charges, queue), flavors, used, topology))
    if not made:
        found.extend(refused)
    return made


def apart_problems(queued: QueuedWorkload, queue: Queue) -> Iterator[Problem]:
    """What is wrong with a workload in a queue, whatever else is: no quota for a resource, no such level."""
    if queue.invalid:
        # Flavors may be missing that have what is asked for.
        return
    topologies = {
        each.flavor.topology.name: each.flavor.topology for each in queue.quotas() if each.flavor.topology
    }
    for pod_set in queued.pod_sets:
        yield from _uncovered(pod_set, queue)
        found = [list(level_problems(pod_set.request, topology)) for topology in topologies.values()]
        if all(found):
            yield from (problem for each in found for problem in each)


def _choices(queued: QueuedWorkload, queue: Queue, found: list[Problem]) -> Iterator[_Choice]:
    units: dict[str, list[QueuedPodSet]] = {}
    for pod_set in queued.pod_sets:
        units.setdefault(pod_set.share, []).append(pod_set)
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
                mine = eligible(pod_set, covered, queue, refusals)
                fitting = [quota for quota in fitting if quota in mine]
            if fitting:
                yield _Choice(tuple(sets), covered, tuple(fitting))
                continue
            lacking = [refusal.reason for refusal in refusals if isinstance(refusal.reason, WithoutLevel)]
            if refusals and len(lacking) == len(refusals):
                # A level that no flavor knows is best reported where it is written.
                found.extend(dict.fromkeys(problem for reason in lacking for problem in reason.problems))
                continue
            who = " and ".join(shown(each.name) for each in sets)
            facts = {"queue": queue.name, "who": who, "reasons": list_refusals(refusals)}
            found.append(sentences.NO_FLAVOR_FITS.at(queued.queue_path, **facts))


def _uncovered(pod_set: QueuedPodSet, queue: Queue) -> Iterator[Problem]:
    covered = [name for group in queue.covered for name in group.resources]
    for name in pod_set.shape.resources:
        if name not in covered:
            # A queue may cover a thousand resources; a sentence names the first few.
            few = ", ".join(shown(each) for each in covered[:10]) + (" and more" if len(covered) > 10 else "")
            path = (*pod_set.path, "spec", "containers")
            yield sentences.NO_QUOTA.at(path, resource=name, queue=queue.name, covered=few or "none")


def _asked(pod_set: QueuedPodSet, covered: Covered) -> Resources:
    """What all pods of a pod set ask for of these resources, as quota counts it."""
    asked = {name: pod_set.shape.resources.get(name, 0) * pod_set.count for name in covered.resources}
    if _PODS in asked:
        asked[_PODS] = pod_set.count
    return Resources(asked)


def _one_topology(
    queued: QueuedWorkload, used: Mapping[str, tuple[Flavor, ...]], found: list[Problem]
) -> Topology | None:
    """The topology that the levels of all pod sets belong to; where there is no such one, why not."""
    first: Topology | None = None
    fallback: Topology | None = None
    path = queued.queue_path
    for pod_set in queued.pod_sets:
        over = {flavor.topology.name: flavor.topology for flavor in used[pod_set.name] if flavor.topology}
        if len(over) > 1:
            named = tuple(flavor.name for flavor in used[pod_set.name] if flavor.topology)
            found.append(sentences.TWO_TOPOLOGY_FLAVORS.at(path, pod_set=pod_set.name, flavors=named))
            return None
        if not over and pod_set.request.explicit:
            found.append(sentences.NO_TOPOLOGY_FLAVOR.at(path, pod_set=pod_set.name))
            return None
        for topology in over.values():
            fallback = fallback or topology
            if not pod_set.request.names_levels:
                continue
            if first is not None and first.name != topology.name:
                found.append(sentences.TWO_TOPOLOGIES.at(path, first=first.name, second=topology.name))
                return None
            first = topology
    return first or fallback


def _charges(choices: list[_Choice], chosen: tuple[Quota, ...], queue: Queue, view: View) -> Iterator[Charge]:
    """What the queue is charged for each flavor, and how much less for each pod that may be left out."""
    asked: dict[str, Resources] = {}
    spare: dict[str, Resources] = {}
    quotas: dict[str, Quota] = {}
    for choice, quota in zip(choices, chosen, strict=True):
        flavor = quota.flavor.name
        quotas[flavor] = quota
        for pod_set in choice.pod_sets:
            asked[flavor] = asked.get(flavor, Resources()) + _asked(pod_set, choice.covered)
            if pod_set.minimum is not None:
                each = _asked(replace(pod_set, count=1), choice.covered)
                spare[flavor] = spare.get(flavor, Resources()) + each
    for flavor, needed in asked.items():
        charged = account(view, queue.name, queue.cohort, quotas[flavor])
        yield Charge(charged, needed, spare.get(flavor, Resources()))


def _option(request: Request, queued: QueuedWorkload, charges: tuple[Charge, ...], queue: Queue) -> Option:
    """A way to run; where fewer pods will do, with what is left out first."""
    option = Option(request, charges, patient=queue.patient)
    flexible = next((each for each in queued.pod_sets if each.minimum is not None), None)
    if flexible is None or flexible.minimum is None:
        return option
    for member, _ in request.root.walk():
        if member.least < (member.count if isinstance(member, PodSet) else len(member.members)):
            pieces = 1 if isinstance(member, PodSet) else len(member.members)
            step = 1 if isinstance(member, PodSet) else flexible.count // pieces
            least = member.least * step
            return replace(option, spare=flexible.count - least, step=step, shrinking=member.name)
    return option


def without_queue(queued: QueuedWorkload, topologies: Mapping[str, Topology]) -> list[Admission]:
    """Ways to run where the queue is not known: any topology that has the levels, at no charge."""
    named = any(each.request.names_levels for each in queued.pod_sets)
    candidates: list[Topology | None] = [
        topology
        for topology in topologies.values()
        if not any(problem for each in queued.pod_sets for problem in level_problems(each.request, topology))
    ]
    filters = {each.name: narrowed(each.shape.filter, (), queued.avoided) for each in queued.pod_sets}
    made: list[Admission] = []
    for topology in candidates[:1] if named else [None]:
        option = Option(to_request(queued, topology, filters))
        nothing: dict[str, tuple[Flavor, ...]] = {each.name: () for each in queued.pod_sets}
        made.append(Admission(option, {each.name: {} for each in queued.pod_sets}, nothing, topology))
    return made
