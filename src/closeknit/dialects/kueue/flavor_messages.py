"""Messages about flavors that a pod set cannot use: in our own terms, and as Kueue words them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from closeknit.dialects.kueue.eligibility import (
    AffinityMismatch,
    OnlyForTopology,
    Reason,
    Refusal,
    SelectorMismatch,
    UntoleratedTaint,
    WithoutLevel,
    WithoutTopology,
)
from closeknit.hub.problems import Problem, shown
from closeknit.hub.sentences import kueue as sentences

_MOST_LISTED: Final = 8


def list_refusals(refusals: Sequence[Refusal]) -> str:
    """The first refusals in one line, in our own terms."""
    return "; ".join(
        f"flavor {shown(refusal.flavor)}: {_problem(refusal.reason).message}"
        for refusal in refusals[:_MOST_LISTED]
    )


def _problem(reason: Reason) -> Problem:
    match reason:
        case WithoutTopology():
            return sentences.FLAVOR_NO_TOPOLOGY.at()
        case OnlyForTopology():
            return sentences.FLAVOR_ONLY_TOPOLOGY.at()
        case WithoutLevel():
            return sentences.FLAVOR_NO_LEVEL.at()
        case UntoleratedTaint(taint):
            return sentences.FLAVOR_TAINT.at(taint=str(taint))
        case SelectorMismatch(key, value):
            return sentences.FLAVOR_SELECTOR.at(key=key, value=value)
        case AffinityMismatch():
            return sentences.FLAVOR_AFFINITY.at()


def kueue_message(refusal: Refusal) -> str:
    """A refusal as Kueue words it in the condition of a Workload."""
    flavor = refusal.flavor
    match refusal.reason:
        case WithoutTopology():
            return f'Flavor "{flavor}" does not support TopologyAwareScheduling'
        case OnlyForTopology():
            return f'Flavor "{flavor}" supports only TopologyAwareScheduling'
        case WithoutLevel():
            return f'Flavor "{flavor}" does not contain the requested level'
        case UntoleratedTaint(taint):
            return f"untolerated taint {taint} in flavor {flavor}"
        case SelectorMismatch() | AffinityMismatch():
            return f"flavor {flavor} doesn't match node affinity"
