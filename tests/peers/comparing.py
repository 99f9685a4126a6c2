"""Whether two outcomes of a case are the same: who runs, who was evicted, and where, but for names of equal nodes."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

from tests.peers.records import Case, Outcome, Result

_Signature: TypeAlias = tuple[tuple[object, ...], ...]


def same(case: Case, one: Outcome, other: Outcome) -> bool:
    """Whether outcomes agree on all that both say."""
    return all(_agree(case, one[name], other[name]) for name in one.keys() & other.keys())


def _agree(case: Case, one: Result, other: Result) -> bool:
    if _counts(one) != _counts(other):
        return False
    if one.nodes is None or other.nodes is None:
        return True
    return _places(case, one) == _places(case, other)


def keeps(case: Case, outcome: Outcome) -> bool:
    """Whether an outcome is on the nodes, or in the one domain, that a table asks for."""
    labels = {node.name: node.labels for node in case.nodes}
    for name, expected in case.expected.items():
        nodes = outcome[name].nodes or {}
        if expected.within and not nodes.keys() <= set(expected.within):
            return False
        if expected.together and len({labels[node].get(expected.together) for node in nodes}) > 1:
            return False
    return True


def as_expected(case: Case, outcome: Outcome) -> bool:
    """Whether an outcome is what the peer's table expects."""
    return same(case, case.expected, outcome) and keeps(case, outcome)


def _counts(result: Result) -> tuple[int, int, int]:
    return result.bound, result.waiting, result.evicted


def _places(case: Case, result: Result) -> _Signature:
    """How many pods are on nodes of each kind, and in how many domains of each level."""
    kinds = _kinds(case)
    on = result.nodes or {}
    by_kind = Counter((kinds[node], number) for node, number in on.items())
    labels = {node.name: node.labels for node in case.nodes}
    levels = {level for found in case.topologies.values() for level in found}
    spread = tuple(
        (level, tuple(sorted(Counter(_sum(on, labels, level)).values()))) for level in sorted(levels)
    )
    return (tuple(sorted(by_kind.items(), key=repr)), *spread)


def _sum(on: dict[str, int], labels: dict[str, dict[str, str]], level: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for node, number in on.items():
        found[labels[node].get(level, "")] += number
    return found


def _kinds(case: Case) -> dict[str, object]:
    """By node, what tells it from others: what it offers, and who runs there at the start."""
    running: dict[str, list[object]] = {node.name: [] for node in case.nodes}
    wanted = {name for unit in case.units for pods in unit.pods for name in pods.nodes}
    for unit in case.units:
        for pods in unit.pods:
            if pods.node:
                running[pods.node].append((pods.count, sorted(pods.needs.items()), unit.priority, unit.queue))
    levels = {level for found in case.topologies.values() for level in found}
    return {
        node.name: repr(
            (
                sorted(node.offers.items()),
                sorted((key, value) for key, value in node.labels.items() if key not in levels),
                sorted(running[node.name], key=repr),
                node.name if node.name in wanted else "",
            )
        )
        for node in case.nodes
    }
