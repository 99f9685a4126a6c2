"""Which pods a pod must have near it, must keep away from, or spreads with.

A *neighbour* is a pod as others see it: its namespace, its labels, and what it asks of pods around it. A
*domain* is here all nodes that have the same value of a node label, which need not be a level of a topology.
What the rules mean for a placement is told in ``docs/reference/semantics.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from closeknit.hub.nodes import Requirement


@dataclass(frozen=True, slots=True)
class NamespaceSelector:
    """Namespaces by name, and by their labels."""

    named: frozenset[str]
    requirements: tuple[Requirement, ...]
    """All must hold for the labels of a namespace that is not named."""

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a namespace of this name and with these labels is meant."""
        return namespace in self.named or all(each.holds(labels.get(each.key)) for each in self.requirements)


@dataclass(frozen=True, slots=True)
class PodSelector:
    """Pods by namespace and labels."""

    namespaces: frozenset[str] | None = None
    """None stands for all; an empty set selects no pod."""
    requirements: tuple[Requirement, ...] = ()
    """All must hold; none of them stands for every pod of the namespaces."""
    within: tuple[NamespaceSelector, ...] = ()
    """Each must mean the pod's namespace. Who knows the labels of namespaces turns them into names before a
    placement is sought, which knows names only."""

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod of this namespace and with these labels is meant."""
        return (self.namespaces is None or namespace in self.namespaces) and all(
            each.holds(labels.get(each.key)) for each in self.requirements
        )


@dataclass(frozen=True, slots=True)
class Near:
    """A pod that is selected in the same domain, of each of these labels."""

    keys: tuple[str, ...]
    selector: PodSelector
    weight: int | None = None
    """How much it is wished for; None where it must be."""


@dataclass(frozen=True, slots=True)
class Apart:
    """No other pod that is selected in the same domain of a label; it binds pods that come later, too."""

    key: str
    selector: PodSelector
    weight: int | None = None
    """How much it is wished for; None where it must be."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Selected pods spread over the domains of a label: none has many more than the one with the fewest."""

    key: str
    selector: PodSelector
    skew: int = 1
    """How many more a domain may have that gets a pod."""
    min_domains: int | None = None
    """Where there are fewer domains, the fewest pods of a domain count as none."""
    heeds_filter: bool = True
    """Whether only nodes count that the pod's selector and node affinity accept."""
    heeds_taints: bool = False
    """Whether only nodes count whose taints the pod tolerates."""
    required: bool = True


PodRule: TypeAlias = Near | Apart | Spread


def binding(rule: PodRule) -> bool:
    """Whether a placement must keep a rule, rather than had better."""
    return rule.required if isinstance(rule, Spread) else rule.weight is None


SPREAD_WEIGHT = 100
"""What a spread that is not required weighs beside preferred affinity, whose weights are 1 to 100."""


def weight_of(rule: PodRule) -> int:
    """How much a preferred rule is wished for."""
    return SPREAD_WEIGHT if isinstance(rule, Spread) else rule.weight or 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A pod as other pods see it."""

    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    """Sorted by key."""
    rules: tuple[PodRule, ...] = ()
    """What it asks of the pods around it."""

    def selected(self, selector: PodSelector) -> bool:
        """Whether a selector means this pod."""
        return selector.selects(self.namespace, dict(self.labels))
