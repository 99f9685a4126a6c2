"""Nodes, and which pods may use them: labels, taints, selectors and affinity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from closeknit.hub.resources import Resources


class Effect(Enum):
    """What a taint does to a pod that does not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    NO_EXECUTE = "NoExecute"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark on a node that keeps pods away unless they tolerate it."""

    key: str
    effect: Effect
    value: str = ""

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect.value}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """A pod's leave to ignore taints; an empty key or effect stands for all of them.

    ``value`` is compared unless it is None, which tolerates any value.
    """

    key: str = ""
    value: str | None = None
    effect: Effect | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration covers the taint."""
        return (
            (not self.key or self.key == taint.key)
            and (self.value is None or self.value == taint.value)
            and (self.effect is None or self.effect is taint.effect)
        )


CORDON = Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE)
"""What keeps pods from a node that is unschedulable, whether or not its taints list it."""


class Operator(Enum):
    """How a node's label is compared."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


NAME_FIELD = "metadata.name"
"""The key that stands for a node's name in a requirement, as in ``matchFields``.

Hazard: Kubernetes allows a label with this key, and a requirement on that label is taken for one on the name.
"""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a node's label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def holds(self, value: str | None) -> bool:
        """Whether a node with this label value (None: without the label) satisfies it."""
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GT | Operator.LT:
                if value is None:
                    return False
                try:
                    found, bound = int(value), int(self.values[0])
                except (ValueError, IndexError):
                    return False
                return found > bound if self.operator is Operator.GT else found < bound


@dataclass(frozen=True, slots=True)
class Term:
    """Requirements that must all hold; a term without any matches no node."""

    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Preference:
    """A term that makes a node more welcome, by its weight (1 to 100)."""

    weight: int
    term: Term


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Which nodes a pod accepts, and which it would rather have."""

    selector: tuple[tuple[str, str], ...] = ()
    """Labels a node must have, sorted by key."""
    affinity: tuple[Term, ...] | None = None
    """Terms of which at least one must match; None asks for nothing."""
    preferences: tuple[Preference, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A machine at one moment."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    allocatable: Resources = Resources()
    """What the machine offers in all. Without an entry for ``pods`` their number is not limited."""
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    no_pods: bool = False
    """Whether it offers zero ``pods``: an amount of zero looks the same as none listed."""
