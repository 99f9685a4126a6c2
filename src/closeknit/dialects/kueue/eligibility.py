"""Which flavors the pods of a pod set may use: topology, labels and taints, as Kueue compares them."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from closeknit.dialects.kueue.batches import Batched
from closeknit.dialects.kueue.flavors import Flavor
from closeknit.dialects.kueue.queues import Queue
from closeknit.dialects.kueue.quotas import Covered, Quota
from closeknit.dialects.kueue.wishes import level_problems
from closeknit.hub.nodes import Effect, NodeFilter, Operator, Requirement, Term
from closeknit.hub.problems import Problem, shown


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod set cannot use a flavor."""

    flavor: str
    reason: str
    problems: tuple[Problem, ...] = ()
    """Where the reason lies in the workload's own fields."""


def eligible(pod_set: Batched, covered: Covered, queue: Queue) -> tuple[list[Quota], list[Refusal]]:
    """The flavors of a group of resources that a pod set may use, in order, and why not the others.

    As in Kueue, only labels that some flavor of the group has are compared: all
    others are the nodes' own business.
    """
    keys = {key for quota in covered.quotas for key in quota.flavor.labels}
    implied = not pod_set.wish.explicit and all(quota.flavor.topology for quota in queue.quotas())
    fitting: list[Quota] = []
    refusals: list[Refusal] = []
    for quota in covered.quotas:
        refusal = _refusal(pod_set, quota.flavor, keys, implied=implied)
        if refusal is None:
            fitting.append(quota)
        else:
            refusals.append(refusal)
    return fitting, refusals


def narrowed(accepted: NodeFilter, flavors: tuple[Flavor, ...]) -> NodeFilter:
    """The filter of a pod that runs on nodes of these flavors.

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
    present = tuple(Requirement(label, Operator.EXISTS) for label in levels if label not in selector)
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


def _refusal(pod_set: Batched, flavor: Flavor, keys: AbstractSet[str], *, implied: bool) -> Refusal | None:
    if pod_set.wish.explicit and flavor.topology is None:
        return Refusal(flavor.name, "it has no topology")
    if flavor.topology is not None and not pod_set.wish.explicit and not implied:
        return Refusal(flavor.name, "it is only for pods that ask for a topology")
    if flavor.topology is not None:
        problems = tuple(level_problems(pod_set.wish, flavor.topology))
        if problems:
            return Refusal(flavor.name, "its topology lacks what is asked for", problems)
    reason = next(_reasons(pod_set.shape.filter, flavor, keys), None)
    return Refusal(flavor.name, reason) if reason is not None else None


def _reasons(accepted: NodeFilter, flavor: Flavor, keys: AbstractSet[str]) -> Iterator[str]:
    for taint in flavor.taints:
        tolerated = any(each.tolerates(taint) for each in (*accepted.tolerations, *flavor.tolerations))
        if taint.effect is not Effect.PREFER_NO_SCHEDULE and not tolerated:
            yield f"its taint {taint} is not tolerated"
    for key, value in accepted.selector:
        if key in keys and flavor.labels.get(key) != value:
            yield f"the node selector asks for {key}={value}"
    if accepted.affinity is not None and not any(
        all(
            requirement.holds(flavor.labels.get(requirement.key))
            for requirement in term.requirements
            if requirement.key in keys
        )
        for term in accepted.affinity
    ):
        yield "the node affinity rules it out"


def worded(refusals: list[Refusal]) -> str:
    """All reasons in one sentence."""
    return "; ".join(f"flavor {shown(each.flavor)}: {each.reason}" for each in refusals[:8])
