"""Which flavors the pods of a pod set may use: topology, labels and taints, as Kueue compares them."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.dialects.kueue.queued_workload import QueuedPodSet
from closeknit.dialects.kueue.queues import Queue
from closeknit.dialects.kueue.quotas import Covered, Flavor, Quota
from closeknit.dialects.kueue.topology_request import level_problems
from closeknit.hub.copying import replace
from closeknit.hub.nodes import NAME_FIELD, Effect, NodeFilter, Operator, Requirement, Term
from closeknit.hub.problems import Problem, shown
from closeknit.hub.sentences import kueue as sentences


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod set cannot use a flavor."""

    flavor: str
    reason: Problem
    problems: tuple[Problem, ...] = ()
    """Where the reason lies in the workload's own fields."""


def eligible(pod_set: QueuedPodSet, covered: Covered, queue: Queue, refusals: list[Refusal]) -> list[Quota]:
    """The flavors of a group of resources that a pod set may use, in order; ``refusals`` says why not others.

    As in Kueue, only labels that some flavor of the group has are compared: all
    others are the nodes' own business.
    """
    keys = {key for quota in covered.quotas for key in quota.flavor.labels}
    implied = not pod_set.request.explicit and all(quota.flavor.topology for quota in queue.quotas())
    fitting: list[Quota] = []
    for quota in covered.quotas:
        refusal = _refusal(pod_set, quota.flavor, keys, implied=implied)
        if refusal is None:
            fitting.append(quota)
        else:
            refusals.append(refusal)
    return fitting


def narrowed(
    accepted: NodeFilter, flavors: tuple[Flavor, ...], avoided: AbstractSet[str] = frozenset()
) -> NodeFilter:
    """The filter of a pod that runs on nodes of these flavors, and on none of those that are avoided.

    Where there is a topology, nodes that lack the label of a level are in no
    domain, and Kueue never uses them.
    """
    selector = dict(accepted.selector)
    tolerations = list(accepted.tolerations)
    levels: dict[str, None] = {}
    for flavor in flavors:
        selector.update(flavor.labels)
        tolerations.extend(each for each in flavor.tolerations if each not in tolerations)
        levels.update(dict.fromkeys(flavor.topology.labels if flavor.topology else ()))
    present = [Requirement(label, Operator.EXISTS) for label in levels if label not in selector]
    if avoided:
        present.append(Requirement(NAME_FIELD, Operator.NOT_IN, tuple(sorted(avoided))))
    affinity = accepted.affinity
    if present:
        terms = affinity if affinity is not None else (Term(()),)
        # A term that asks for nothing matches no node, and must not begin to match any.
        affinity = tuple(
            Term((*term.requirements, *present)) if term.requirements or accepted.affinity is None else term
            for term in terms
        )
    return replace(
        accepted,
        selector=tuple(sorted(selector.items())),
        affinity=affinity,
        tolerations=tuple(tolerations),
    )


def _refusal(
    pod_set: QueuedPodSet, flavor: Flavor, keys: AbstractSet[str], *, implied: bool
) -> Refusal | None:
    explicit = pod_set.request.explicit
    if explicit and flavor.topology is None:
        return Refusal(flavor.name, sentences.FLAVOR_NO_TOPOLOGY.at())
    if flavor.topology is not None and not explicit and not implied:
        return Refusal(flavor.name, sentences.FLAVOR_ONLY_TOPOLOGY.at())
    if flavor.topology is not None:
        problems = tuple(level_problems(pod_set.request, flavor.topology))
        if problems:
            return Refusal(flavor.name, sentences.FLAVOR_NO_LEVEL.at(), problems)
    reason = next(_reasons(pod_set.shape.filter, flavor, keys), None)
    return Refusal(flavor.name, reason) if reason is not None else None


def _reasons(accepted: NodeFilter, flavor: Flavor, keys: AbstractSet[str]) -> Iterator[Problem]:
    for taint in flavor.taints:
        tolerated = any(each.tolerates(taint) for each in (*accepted.tolerations, *flavor.tolerations))
        if taint.effect is not Effect.PREFER_NO_SCHEDULE and not tolerated:
            yield sentences.FLAVOR_TAINT.at(taint=str(taint))
    for key, value in accepted.selector:
        if key in keys and flavor.labels.get(key) != value:
            yield sentences.FLAVOR_SELECTOR.at(key=key, value=value)
    if accepted.affinity is not None and not any(
        all(
            requirement.holds(flavor.labels.get(requirement.key))
            for requirement in term.requirements
            if requirement.key in keys
        )
        for term in accepted.affinity
    ):
        yield sentences.FLAVOR_AFFINITY.at()


def listed(refusals: list[Refusal]) -> str:
    """All reasons in one sentence."""
    return "; ".join(f"flavor {shown(each.flavor)}: {each.reason.message}" for each in refusals[:8])
