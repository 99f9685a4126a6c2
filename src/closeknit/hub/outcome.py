"""What became of a request: placed, unplaceable, or not decided within the budget.

Outcomes are data and never sentences: each reader does its own wording.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import msgspec

from closeknit.hub.neighbours import PodRule
from closeknit.hub.shortfall import ShortfallReason
from closeknit.hub.topology import DomainPath


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """One pod and the node it gets."""

    pod: str
    pod_set: str
    node: str
    domain: DomainPath


class GroupReach(msgspec.Struct, frozen=True, gc=False):
    """How close a group came, running pods included."""

    name: str
    parent: str | None
    required: str | None
    preferred: str | None
    level: str | None
    """The finest level at which all its pods share a domain; for a broken preference the
    preferred level; None where nothing is shared and nothing was preferred, or nothing placed."""
    domains: tuple[DomainPath, ...]
    """The domain shared; for a broken preference, all domains of the preferred level in use."""
    satisfied: bool
    """Whether both the requirement and the preference hold."""
    pods: int = 0
    """How many it has, running ones included."""
    violated: bool = False
    """Whether its pods share no domain of the level that it requires.

    Never so in a decision. Pods that run already break a requirement that was added or changed later, or
    the topology or the labels of their nodes have changed.
    """


@dataclass(frozen=True, slots=True)
class RuleReach:
    """For how many pods of a set a preferred rule is kept that other pods of the request have to do with."""

    pod_set: str
    rule: PodRule
    pods: int
    """New pods of the set that were placed."""
    kept: int
    """Those of them that see the rule kept."""


class Wishes(msgspec.Struct, frozen=True, gc=False):
    """How a placement does by criteria 1 to 6, compared one after the other; less is better."""

    left_out: int
    """Criterion 1: pods above the minimum that were not placed."""
    preferences: tuple[int, ...]
    """Criterion 2, per level, coarsest first: the summed distance of the groups that prefer that level."""
    domains: tuple[int, ...]
    """Criterion 4, per level from the coarsest to the named one: how many domains the whole request uses."""
    rules: int = 0
    """Criterion 3, compared before the domains: how far pods are from their preferred rules, by weight."""
    room: int | None = 0
    """Criterion 5: pods of the request's main shape for which its domains of the named level had room.

    None if it is not known what was free before the placement.
    """
    inside: tuple[int, ...] = ()
    """Criterion 6, per level below the named one, then nodes; empty if ``domains`` counts those."""

    @property
    def used(self) -> tuple[int, ...]:
        """Per level, coarsest first: how many domains the whole request uses; last, how many nodes."""
        return (*self.domains, *self.inside)


class Statistics(msgspec.Struct, frozen=True, gc=False):
    """What a decision cost, in counted work; never in seconds."""

    nodes_touched: int = 0
    """Nodes whose fit was computed or looked at one by one."""
    candidates: int = 0
    """Domains that were examined one by one."""
    steps: int = 0
    """Steps of the search, charged against the budget."""


class Placed(msgspec.Struct, frozen=True, gc=False):
    """Every pod that must run has a node, and no constraint is broken."""

    request: str
    assignments: tuple[Assignment, ...]
    """By pod set in tree order, then by rank."""
    groups: tuple[GroupReach, ...]
    """Parents first, then by name."""
    wishes: Wishes
    proven: bool
    """Whether no placement does better by criteria 1 to 4; False if the budget ended before the proof."""
    statistics: Statistics = Statistics()
    rules: tuple[RuleReach, ...] = ()
    """By pod set in tree order, then in the order in which its pods list their rules."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A workload that holds something in a domain."""

    workload: str
    pods: int
    amount: int
    """Units of the limiting resource."""


@dataclass(frozen=True, slots=True)
class DomainFit:
    """How much of a group one domain could take."""

    domain: DomainPath
    """Empty for the cluster as a whole."""
    fits: int
    """Pods."""
    limiting: str | None
    """The resource whose lack stops the next pod, or None where no resource does."""
    holders: tuple[Holder, ...] = ()
    """Which other workloads hold the limiting resource there, largest first.

    Only the largest are listed, and none for a domain of many thousand nodes.
    """
    at_least: bool = False
    """Whether more may fit: rules about other pods bind them, and a search for more was not finished."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which domains a placed group had to choose from, before anything was placed."""

    group: str
    level: str
    """The preferred level where it was reached, else the required one, else the finest that is shared."""
    inside: DomainPath
    """The domain settled on for the groups around it; empty for the whole cluster."""
    domain: DomainPath
    """The one chosen."""
    room: int
    """Pods of the group's most frequent shape that the chosen domain has room for."""
    fitting: int
    """Domains of the level that have room for the group, the chosen one included.

    Each shape is counted by itself: exact for a group of equal pods, else at most so many.
    """
    of: int
    """Domains of the level in all."""
    runners_up: tuple[DomainFit, ...]
    """The next best ones, best first; ``fits`` is counted like ``room``."""


class ExclusionReason(Enum):
    """Why a node cannot take a single pod. The values are part of the JSON output.

    Members are in the order in which nodes are checked; only the first that applies to a node is reported.
    """

    UNLABELLED = "unlabelled"
    """The node lacks the label of a level on the way to the required one."""
    NOT_READY = "not ready"
    UNSCHEDULABLE = "unschedulable"
    """The node is cordoned."""
    TAINT = "taint"
    NODE_SELECTOR = "selector"
    NODE_AFFINITY = "affinity"
    RESOURCE = "resource"
    """Too little of a resource is free."""
    PORT = "port"
    """A host port is in use."""
    TOPOLOGY_KEY = "no label"
    """The node lacks the topology key of a pod affinity or of a spread constraint."""
    ANTI_AFFINITY = "apart"
    """The pods' own anti-affinity selects pods that run in the node's domain."""
    EXISTING_ANTI_AFFINITY = "kept away"
    """The anti-affinity of pods that run in the node's domain selects the pods."""
    POD_AFFINITY = "company"
    """No pod that the pods' affinity selects runs in the node's domain."""
    SPREAD = "spread"
    """One more pod in the node's domain would exceed the skew of a spread constraint."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Nodes that cannot take a pod of the group at all, by reason."""

    reason: ExclusionReason
    detail: str
    """What exactly: the label, the taint, the resource."""
    nodes: int


@dataclass(frozen=True, slots=True)
class LevelChange:
    """Require a coarser level of a group; ``to`` None drops the requirement."""

    group: str
    to: str | None


@dataclass(frozen=True, slots=True)
class CountChange:
    """Ask for fewer pods: count and minimum of a pod set come down to ``to``."""

    pod_set: str
    to: int


@dataclass(frozen=True, slots=True)
class Departure:
    """These workloads leave the cluster."""

    workloads: tuple[str, ...]


Change: TypeAlias = LevelChange | CountChange | Departure


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Changes that together are enough: with all of them, the whole request can be placed."""

    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why one group cannot be placed although its members could be, each by itself."""

    group: str
    reason: ShortfallReason
    wanted: int
    """Pods it needs at once in one domain of that level, running ones not counted."""
    fits: int
    """Pods that the best domain takes."""
    best: tuple[DomainFit, ...]
    excluded: tuple[Exclusion, ...]
    relaxations: tuple[Relaxation, ...]


@dataclass(frozen=True, slots=True)
class Unplaceable:
    """No placement exists."""

    request: str
    shortfalls: tuple[Shortfall, ...] = ()
    statistics: Statistics = Statistics()


@dataclass(frozen=True, slots=True)
class Undecided:
    """The search budget ran out before a placement was found or ruled out."""

    request: str
    shortfalls: tuple[Shortfall, ...] = ()
    statistics: Statistics = Statistics()


Outcome: TypeAlias = Placed | Unplaceable | Undecided
