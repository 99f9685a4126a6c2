"""Which flavors the pods of a pod set may use: topology, labels and taints, as Kueue compares them."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from closeknit.dialects.kueue.queued_workload import QueuedPodSet
from closeknit.dialects.kueue.queues import Queue
from closeknit.dialects.kueue.quotas import Covered, Flavor, Quota
from closeknit.dialects.kueue.topology_request import level_problems
from closeknit.hub.copying import replace
from closeknit.hub.nodes import NAME_FIELD, Effect, NodeFilter, Operator, Requirement, Taint, Term
from closeknit.hub.problems import Problem


@dataclass(frozen=True, slots=True)
class WithoutTopology:
    """The pod set requests a topology, and the flavor has none."""


@dataclass(frozen=True, slots=True)
class OnlyForTopology:
    """The flavor has a topology, and the pod set requests none."""


@dataclass(frozen=True, slots=True)
class WithoutLevel:
    """The topology of the flavor cannot satisfy the levels that the pod set names."""

    problems: tuple[Problem, ...]
    """At the fields of the workload that name the levels."""


@dataclass(frozen=True, slots=True)
class UntoleratedTaint:
    """The pods do not tolerate a taint of the flavor."""

    taint: Taint


@dataclass(frozen=True, slots=True)
class SelectorMismatch:
    """The pods select another value of a label of the flavor."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class AffinityMismatch:
    """The required node affinity of the pods excludes the labels of the flavor."""


Reason: TypeAlias = (
    WithoutTopology | OnlyForTopology | WithoutLevel | UntoleratedTaint | SelectorMismatch | AffinityMismatch
)
"""Why a pod set cannot use a flavor. ``flavor_messages`` words it, in our terms and in Kueue's."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A flavor that a pod set cannot use."""

    flavor: str
    reason: Reason


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
        return Refusal(flavor.name, WithoutTopology())
    if flavor.topology is not None and not explicit and not implied:
        return Refusal(flavor.name, OnlyForTopology())
    if flavor.topology is not None:
        problems = tuple(level_problems(pod_set.request, flavor.topology))
        if problems:
            return Refusal(flavor.name, WithoutLevel(problems))
    reason = next(_reasons(pod_set.shape.filter, flavor, keys), None)
    return Refusal(flavor.name, reason) if reason is not None else None


def _reasons(accepted: NodeFilter, flavor: Flavor, keys: AbstractSet[str]) -> Iterator[Reason]:
    for taint in flavor.taints:
        tolerated = any(each.tolerates(taint) for each in (*accepted.tolerations, *flavor.tolerations))
        if taint.effect is not Effect.PREFER_NO_SCHEDULE and not tolerated:
            yield UntoleratedTaint(taint)
    for key, value in accepted.selector:
        if key in keys and flavor.labels.get(key) != value:
            yield SelectorMismatch(key, value)
    if accepted.affinity is not None and not any(
        all(
            requirement.holds(flavor.labels.get(requirement.key))
            for requirement in term.requirements
            if requirement.key in keys
        )
        for term in accepted.affinity
    ):
        yield AffinityMismatch()
