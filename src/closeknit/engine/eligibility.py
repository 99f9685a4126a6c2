"""Which nodes a pod's filter admits, and how welcome each is, for all nodes at once."""

from __future__ import annotations

import numpy as np

from closeknit.engine.ledger import Ledger, hard
from closeknit.engine.tree import Flags, Ints
from closeknit.hub.nodes import NAME_FIELD, NodeFilter, Operator, Requirement, Term


def admitted(ledger: Ledger, accepts: NodeFilter, slots: Ints) -> Flags:
    """Whether each of the slots admits a pod with this filter, resources aside."""
    return ledger.ready[slots] & tolerated(ledger, accepts, slots) & selected(ledger, accepts, slots)


def selected(ledger: Ledger, accepts: NodeFilter, slots: Ints) -> Flags:
    """Whether the selector and the required node affinity of a filter match."""
    ok = np.ones(len(slots), dtype=np.bool_)
    for key, value in accepts.selector:
        ok &= _holds(ledger, Requirement(key, Operator.IN, (value,)), slots)
    return ok & affine(ledger, accepts, slots)


def tolerated(ledger: Ledger, accepts: NodeFilter, slots: Ints) -> Flags:
    """Whether the filter tolerates every taint that keeps pods out."""
    by_set = np.array(
        [
            all(any(t.tolerates(taint) for t in accepts.tolerations) for taint in taints if hard(taint))
            for taints in ledger.taint_sets
        ],
        dtype=np.bool_,
    )
    return by_set[ledger.taints[slots]]


def affine(ledger: Ledger, accepts: NodeFilter, slots: Ints) -> Flags:
    """Whether at least one required term of node affinity matches."""
    if accepts.affinity is None:
        return np.ones(len(slots), dtype=np.bool_)
    matched = np.zeros(len(slots), dtype=np.bool_)
    for term in accepts.affinity:
        matched |= _matches(ledger, term, slots)
    return matched


def welcome(ledger: Ledger, accepts: NodeFilter, slots: Ints) -> Ints | None:
    """How welcome each slot is: the weights of matching preferences, less for soft taints.

    None where the filter and the taints leave all nodes equal.
    """
    soft = [
        -100
        * sum(
            not hard(taint) and not any(t.tolerates(taint) for t in accepts.tolerations) for taint in taints
        )
        for taints in ledger.taint_sets
    ]
    if not accepts.preferences and not any(soft):
        return None
    score = np.array(soft, dtype=np.int64)[ledger.taints[slots]]
    for preference in accepts.preferences:
        score += np.where(_matches(ledger, preference.term, slots), preference.weight, 0)
    return score


def _matches(ledger: Ledger, term: Term, slots: Ints) -> Flags:
    if not term.requirements:
        return np.zeros(len(slots), dtype=np.bool_)
    ok = np.ones(len(slots), dtype=np.bool_)
    for requirement in term.requirements:
        ok &= _holds(ledger, requirement, slots)
    return ok


def _holds(ledger: Ledger, requirement: Requirement, slots: Ints) -> Flags:
    if requirement.key == NAME_FIELD:
        named = np.array([ledger.slot_of.get(name, -1) for name in requirement.values], dtype=np.int64)
        inside: Flags = np.isin(slots, named)
        return ~inside if requirement.operator is Operator.NOT_IN else inside
    column = ledger.labels.column(requirement.key)
    codes = column.codes[slots]
    match requirement.operator:
        case Operator.IN | Operator.NOT_IN:
            wanted = [column.code_of[value] for value in requirement.values if value in column.code_of]
            among: Flags = (
                np.isin(codes, np.array(wanted, dtype=np.int64)) if wanted else np.zeros(len(slots), np.bool_)
            )
            return among if requirement.operator is Operator.IN else ~among
        case Operator.EXISTS:
            present: Flags = codes >= 0
            return present
        case Operator.DOES_NOT_EXIST:
            absent: Flags = codes < 0
            return absent
        case Operator.GT | Operator.LT:
            # The entry behind the last value is the one that code -1, a missing label, picks.
            table = np.array([requirement.holds(value) for value in (*column.values, None)], dtype=np.bool_)
            return table[codes]
