"""The terms in which Grove's rules report: those of a PodCliqueSet, or of the object that it was made of.

The rules check every PodCliqueSet, also one that another dialect made. Whoever wrote that other object knows
nothing of the set, so its dialect passes the codes of its own messages, with the same facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from closeknit.hub.problems import Code, Problem
from closeknit.hub.sentences import grove as sentences

CONDITION: Final = "TopologyLevelsUnavailable"
"""The condition of a PodCliqueSet that reports whether its topology has all levels."""


class Loss(StrEnum):
    """The reason of that condition while a constraint is not enforced."""

    DOMAIN = "ClusterTopologyLevelsUnavailable"
    TOPOLOGY = "ClusterTopologyNotFound"
    NAME = "TopologyNameMissing"
    SWITCH = "TopologyAwareSchedulingDisabled"


@dataclass(frozen=True, slots=True)
class Terms:
    """The codes of rules whose message names the kind of the object that is checked."""

    too_many_pods: Callable[..., Problem]
    """Takes the path, and the facts ``pods`` and ``most``."""
    spread_constraints: Code
    node_named: Code
    schedulers_differ: Code
    second_topology: Code
    second_topology_meant: Code
    """The second topology is the default one."""
    no_binding: Code
    """The topology is named, and there is none of this name."""
    condition: str
    """The condition that reports lost constraints."""
    reasons: Mapping[Loss, str]
    """The reason of that condition for each loss."""


GROVE: Final = Terms(
    too_many_pods=partial(sentences.TOO_MANY_PODS.at, kind="PodCliqueSet"),
    spread_constraints=sentences.SPREAD_CONSTRAINTS,
    node_named=sentences.NODE_NAMED,
    schedulers_differ=sentences.SCHEDULERS_DIFFER,
    second_topology=sentences.SECOND_TOPOLOGY,
    second_topology_meant=sentences.SECOND_TOPOLOGY_MEANT,
    no_binding=sentences.NO_BINDING,
    condition=CONDITION,
    reasons={loss: loss.value for loss in Loss},
)
"""The terms of a PodCliqueSet that a user wrote."""
