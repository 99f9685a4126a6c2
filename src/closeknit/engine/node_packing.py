"""Filling nodes with patterns of pods of several shapes.

Nodes and domains are not spared here: this is for requests that leave none to spare. Every node gets a
*pattern*, a number of pods of each shape to which nothing can be added. What pods lack in the domains that
they are confined to is weighed; a node changes its pattern where that lessens the lack, and where no change
does, two nodes change theirs at once, or what is lacking weighs more from then on. So pods that are hard to
place get their way in the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from closeknit.engine.exact_layout import LOOKS_A_STEP
from closeknit.engine.tree import Flags, Ints

_MOST_PATTERNS = 4096
"""Patterns looked at for a node; where there are more, numbers of small pods go by larger steps."""
_PATIENCE = 80
"""Changes of patterns without fewer pods lacking until it is given up."""
_NEARLY = 8
"""So few pods lacking are worth more patience, the fewer the more; where many lack, domains do not suit."""
_MOST_CHANGES = 48
"""Changes of one node's pattern of which every two are looked at together."""
_MOST_PAIRS = 32
"""How often they are: what needs more is not worth the time, as other domains may do."""
_UNIT = 64
"""What the bulkiest pod weighs at first."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Pods that must find room between two nodes, by shape, those confined to a part of it included."""

    first: int
    last: int
    pods: Ints


def patterns(free: Ints, demand: Ints, most: Ints) -> Ints:
    """Numbers of pods by shape that a node takes together and to which nothing can be added, a row each.

    ``demand`` is by shape and resource, ``most`` the pods of each shape that are asked for.
    """
    shapes = len(demand)
    alone = np.minimum([_room(free[None], each)[0] for each in demand], most)
    steps = np.ones(shapes, dtype=np.int64)
    while np.prod(-(-(alone[:-1] + 1) // steps[:-1]).astype(np.float64)) > _MOST_PATTERNS:
        steps[int(np.argmax(-(-(alone[:-1] + 1) // steps[:-1])))] *= 2
    rows = np.zeros((1, shapes), dtype=np.int64)
    for shape in range(shapes - 1):
        room = np.minimum(_room(free - rows @ demand, demand[shape]), alone[shape])
        counts = np.arange(0, alone[shape] + steps[shape], steps[shape])
        grown = np.repeat(rows, len(counts), axis=0)
        grown[:, shape] = np.minimum(np.tile(counts, len(rows)), np.repeat(room, len(counts)))
        rows = np.unique(grown, axis=0)
    for shape in range(shapes - 1, -1, -1):
        more = np.minimum(_room(free - rows @ demand, demand[shape]), alone[shape] - rows[:, shape])
        rows[:, shape] += more
    return np.unique(rows, axis=0)


def _room(left: Ints, demand: Ints) -> Ints:
    """By row, how many pods go into what is left."""
    asked = np.flatnonzero(demand)
    room: Ints = (left[:, asked] // demand[asked]).min(axis=1)
    return room


class Packing:
    """Nodes to be filled with pods of several shapes."""

    def __init__(
        self,
        left: Ints,
        demand: Ints,
        usable: Ints,
        demands: Sequence[Demand],
        *,
        most_looks: int = 1 << 60,
    ) -> None:
        """What is left, by node and resource, and what a pod takes, by shape and resource.

        ``usable``, by node and shape, is how many pods a node takes of those that may go there.
        After ``most_looks``, patterns stay as they are.
        """
        self._most_looks = most_looks
        self._demand = demand
        self._demands = demands
        self.looks = 0
        """What it took so far: patterns looked at on a node."""
        asked = np.max([each.pods for each in demands], axis=0)
        total = np.maximum(left.sum(axis=0, dtype=np.float64), 1)
        share = (asked[:, None] * demand / total).sum(axis=0)
        bulk = (demand * (share / np.maximum(left.max(axis=0, initial=1), 1))).sum(axis=1)
        weight = np.maximum(np.rint(_UNIT * bulk / max(bulk.max(), 1e-300)), 1).astype(np.int64)
        self._weights = np.array([weight] * len(demands))
        """By demand and shape, what a pod counts that it lacks."""
        self._lack = np.array([each.pods for each in demands], dtype=np.int64)
        """By demand and shape, the pods that have no room; negative where there is more room."""
        self.counts = np.zeros((len(left), len(demand)), dtype=np.int64)
        around: dict[int, list[int]] = {node: [] for node in range(len(left))}
        for number, each in enumerate(demands):
            for node in range(each.first, each.last):
                around[node].append(number)
        self._around = [np.array(numbers, dtype=np.int64) for numbers in around.values()]
        """By node, the demands that its pods count for."""
        self._patterns: list[Ints] = []
        self._alike: list[tuple[int, bytes]] = []
        """By node: equal for nodes that are alike in all but their patterns, and the pattern in force."""
        known: dict[object, Ints] = {}
        numbers: dict[object, int] = {}
        for node, nothing in enumerate(self.counts):
            kind = (left[node].tobytes(), (usable[node] > 0).tobytes())
            if kind not in known:
                known[kind] = patterns(left[node], demand, np.minimum(usable[node], asked))
            self._patterns.append(known[kind])
            number = numbers.setdefault((kind, self._around[node].tobytes()), len(numbers))
            self._alike.append((number, nothing.tobytes()))

    def fill(self) -> bool:
        """Give every node a pattern, and change patterns until all pods have room, if they ever have."""
        if not self.counts.any():
            for node in sorted(range(len(self.counts)), key=lambda node: (-len(self._around[node]), node)):
                if self.looks <= self._most_looks:
                    self._change(node, self._best(node)[1])
        barred = np.zeros(len(self.counts), dtype=np.int64)
        number, fewest, last, pairs = 0, -1, _PATIENCE, 0
        while number < last and self.looks <= self._most_looks:
            number += 1
            lacking = np.argwhere(self._lack > 0)
            if not len(lacking):
                return True
            lack = int(self._lack.clip(0).sum())
            if fewest < 0 or lack < fewest:
                fewest, last = lack, number + _PATIENCE * max(_NEARLY // lack, 1)
            each = self._demands[lacking[number % len(lacking)].tolist()[0]]
            best, choice = 0, None
            seen = set()
            for node in range(each.first, each.last):
                if barred[node] > number or self._alike[node] in seen or self.looks > self._most_looks:
                    continue
                seen.add(self._alike[node])
                gain, pattern = self._best(node)
                if choice is None or gain > best:
                    best, choice = gain, (node, pattern)
            if lack <= _NEARLY and (choice is None or best <= 0) and pairs < _MOST_PAIRS:
                pairs += 1
                if self._change_two(barred <= number):
                    continue
            if choice is None or best <= 0:
                self._weights += np.where(self._lack > 0, self._weights.min(axis=0), 0)
            if choice is not None and best >= 0:
                self._change(*choice)
                barred[choice[0]] = number + 3
        return not (self._lack > 0).any()

    def ask(self, demands: Sequence[Demand]) -> None:
        """Ask for other numbers of pods in the same places; patterns stay until they have to change."""
        self._lack = np.array(
            [each.pods - self.counts[each.first : each.last].sum(axis=0) for each in demands], dtype=np.int64
        )

    def _best(self, node: int) -> tuple[int, Ints]:
        """The pattern that lessens what is lacking the most, and by how much."""
        around, now = self._around[node], self.counts[node]
        rows = self._patterns[node]
        self.looks += LOOKS_A_STEP + len(rows) // 8
        lack, weights = self._lack[around] + now, self._weights[around]
        before = int((np.maximum(lack - now, 0) * weights).sum())
        after = (np.maximum(lack[None] - rows[:, None, :], 0) * weights).sum(axis=(1, 2))
        same = (rows == now).all(axis=1)
        at = int(np.argmin(after + same))
        return before - int(after[at]), rows[at]

    def _change_two(self, allowed: Flags) -> bool:
        """Change the patterns of two nodes where only both together lessen what is lacking."""
        tried = Counter[tuple[int, bytes]]()
        nodes, rows, changes = [], [], []
        for node in np.flatnonzero(allowed).tolist():
            alike = self._alike[node]
            tried[alike] += 1
            if tried[alike] > 2:
                continue
            patterns = self._patterns[node]
            change = np.zeros((len(patterns), *self._lack.shape), dtype=np.int64)
            change[:, self._around[node]] = (patterns - self.counts[node])[:, None, :]
            nodes += [node] * len(patterns)
            rows += list(patterns)
            changes.append(change)
        if not changes:
            return False
        change = np.concatenate(changes)
        after = (np.maximum(self._lack - change, 0) * self._weights).sum(axis=(1, 2))
        chosen = np.argsort(after, kind="stable")[:_MOST_CHANGES]
        self.looks += len(change) // 8 + len(chosen) ** 2 // 8
        change, at = change[chosen], np.array(nodes)[chosen]
        together = self._lack - change[:, None] - change[None]
        costs = (np.maximum(together, 0) * self._weights).sum(axis=(2, 3))
        costs[at[:, None] == at] = np.iinfo(np.int64).max
        first, second = divmod(int(np.argmin(costs)), len(chosen))
        if costs[first, second] >= (np.maximum(self._lack, 0) * self._weights).sum():
            return False
        for each in (chosen[first], chosen[second]):
            self._change(nodes[each], rows[each])
        return True

    def _change(self, node: int, pattern: Ints) -> None:
        self._lack[self._around[node]] += self.counts[node] - pattern
        self.counts[node] = pattern
        self._alike[node] = self._alike[node][0], pattern.tobytes()
