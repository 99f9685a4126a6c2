"""Laying out pods of several shapes on nodes that they nearly fill.

Nodes and domains are not spared here: this is for requests that leave none to spare. Pods are placed by two
simple rules in turn. Where some find no room, they displace others that take less, which then look for room
elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from closeknit.engine.budget import Steps
from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.component import Component
from closeknit.engine.exact_layout import LOOKS_A_STEP
from closeknit.engine.tree import Flags, Ints

Floats: TypeAlias = NDArray[np.float64]

_MOST_LOOKS = 1 << 27
"""Pods times nodes up to which pods are packed; beyond that it takes too long."""
_DISPLACED = 300
"""How often pods may be displaced."""
_SPARED = 10
"""For so many rounds a pod does not go back to where it was displaced."""


@dataclass(slots=True)
class _State:
    left: Ints
    """By node and resource, what is left."""
    counts: Ints
    """By item and node, the pods placed."""
    missing: Ints
    """By item, the pods that found no room."""


class Packing:
    """Items to be packed: what each takes, where it may go, and how many there are."""

    def __init__(self, left: Ints, demand: Ints, allowed: Flags) -> None:
        self._left = left
        """By node and resource."""
        self._demand = demand
        """By item and resource."""
        self._allowed = allowed
        """By item and node."""
        self.looks = 0
        """What it took so far: pods put on nodes, and items looked at on all nodes."""

    def placed(self, wanted: Ints) -> Ints | None:
        """By item and node, so many pods of each item; None where that was not found."""
        total = np.maximum(self._left.sum(axis=0, dtype=np.float64), 1)
        asked = (wanted[:, None] * self._demand.astype(np.float64)).sum(axis=0)
        self._weight = asked / total / np.maximum(self._left.max(axis=0, initial=1), 1)
        """By resource, what a unit counts: the more of it is asked for, the more."""
        self._bulk = self._demand @ self._weight
        widths = self._allowed.sum(axis=1)
        # The most confined and the bulkiest items go first.
        self._order = sorted(range(len(wanted)), key=lambda item: (widths[item], -self._bulk[item], item))
        states = []
        for balanced in (True, False):
            state = _State(self._left.copy(), np.zeros_like(self._allowed, dtype=np.int64), wanted.copy())
            self._fill(state, balanced=balanced)
            if not state.missing.any():
                return state.counts
            states.append(state)
        best = min(states, key=lambda state: float(state.missing @ self._bulk))
        return best.counts if self._displace(best) else None

    def extended(self, counts: Ints, wanted: Ints) -> Ints:
        """The same pods and as many more as find room."""
        state = _State(self._left - counts.T @ self._demand, counts, wanted.copy())
        self._fill(state, balanced=True)
        return state.counts

    def _fill(self, state: _State, *, balanced: bool) -> None:
        """Place what is missing, pod by pod, on the node that suits it best.

        That is the one whose resources are left most nearly in the proportions in which the pod takes them,
        so that none of them is used up while much of another is left; or else the one with the least left.
        """
        for item in self._order:
            demand = self._demand[item]
            if not state.missing[item]:
                continue
            fits = self._allowed[item] & (state.left >= demand).all(axis=1)
            suits = np.where(fits, self._suits(state.left, demand, balanced=balanced), -np.inf)
            while state.missing[item]:
                node = int(np.argmax(suits))
                if suits[node] == -np.inf:
                    break
                self._put(state, item, node, 1)
                here = state.left[node]
                suits[node] = (
                    self._suits(here[None], demand, balanced=balanced)[0]
                    if (here >= demand).all()
                    else -np.inf
                )

    def _suits(self, left: Ints, demand: Ints, *, balanced: bool) -> Floats:
        weighed = left * self._weight
        if not balanced:
            return np.asarray(-weighed.sum(axis=1))
        length = np.sqrt(np.square(weighed).sum(axis=1))
        return np.asarray((weighed @ (demand * self._weight)) / np.maximum(length, 1e-300))

    def _put(self, state: _State, item: int, node: int, pods: int) -> None:
        state.left[node] -= pods * self._demand[item]
        state.counts[item, node] += pods
        state.missing[item] -= pods
        self.looks += 1

    def _displace(self, state: _State) -> bool:
        """Let missing pods displace others, those that take the least; returns whether all found room."""
        barred = np.zeros_like(state.counts)
        """By item and node, the round from which such a pod may go back there."""
        for number in range(_DISPLACED):
            missing = [item for item in self._order if state.missing[item]]
            if not missing:
                return True
            # The bulkiest is the hardest, but all get their turn.
            item = missing[number % len(missing)] if number % 3 else max(missing, key=lambda i: self._bulk[i])
            self.looks += len(self._order)
            lack = np.maximum(self._demand[item] - state.left, 0)
            open_nodes = self._allowed[item] & (barred[item] <= number)
            least, choice = np.inf, None
            for other, demand in enumerate(self._demand):
                needed = _covering(lack, demand)
                possible = open_nodes & (needed <= state.counts[other]) & (other != item)
                if possible.any():
                    node = int(np.argmin(np.where(possible, needed, needed.max() + 1)))
                    cost = float(needed[node] * self._bulk[other])
                    if cost < least:
                        least, choice = cost, (other, node, int(needed[node]))
            if choice is None:
                return False
            other, node, pods_out = choice
            self._put(state, other, node, -pods_out)
            barred[other, node] = number + _SPARED
            self._put(state, item, node, 1)
            self._fill(state, balanced=False)
        return not state.missing.any()


def _covering(lack: Ints, demand: Ints) -> Ints:
    """By node, how many pods make up for what it lacks; very many where they take none of that."""
    pods = np.where(demand > 0, -(-lack // np.maximum(demand, 1)), np.where(lack > 0, 1 << 40, 0))
    covering: Ints = pods.max(axis=1)
    return covering


def packed(
    compiled: CompiledRequest, free: Ints, component: Component, steps: Steps
) -> list[tuple[Ints, Ints]] | None:
    """Positions and counts of each item of a component; None where what is needed was not placed."""
    tree, items = compiled.tree, component.items
    start, end = tree.bounds(component.level, component.domain)
    needs, asked = np.array([(item.need, item.open) for item in items], dtype=np.int64).T
    if int(asked.sum()) * (end - start) > _MOST_LOOKS:
        return None
    allowed = np.zeros((len(items), end - start), dtype=np.bool_)
    for item, row in zip(items, allowed, strict=True):
        inside = slice(item.first - start, item.last - start)
        row[inside] = compiled.tables[item.shape].fit[item.first : item.last] > 0
    left = free[compiled.rows][:, tree.slots[start:end]].clip(0).T
    demand = np.array([compiled.demand[item.shape] for item in items], dtype=np.int64)
    packing = Packing(left, demand, allowed)
    counts = packing.placed(asked)
    if counts is None and (needed := packing.placed(needs)) is not None:
        counts = packing.extended(needed, asked - needs)
    steps.taken += packing.looks // LOOKS_A_STEP
    steps.work += packing.looks // LOOKS_A_STEP
    return None if counts is None else [(np.flatnonzero(row) + start, row[row > 0]) for row in counts]
