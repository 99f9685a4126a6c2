"""What one domain would take while workloads leave it and come back, by counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from closeknit.engine import eligibility
from closeknit.engine.compiled_request import CompiledRequest, GroupVar
from closeknit.engine.ledger import Ledger
from closeknit.engine.tree import Ints


class Clearing:
    """Some nodes of a domain, and the room that the whole domain has for a group.

    Each shape is counted by itself, so enough room is necessary, not sufficient.
    """

    def __init__(
        self,
        ledger: Ledger,
        compiled: CompiledRequest,
        group: GroupVar,
        *,
        at: tuple[int, int],
        positions: Ints,
    ) -> None:
        self._ledger = ledger
        self._needs = [(shape, need) for shape, need in enumerate(group.need) if need]
        self._demand = [compiled.tables[shape].fits.demand for shape, _ in self._needs]
        self._rooms = [compiled.tables[shape].capacity(*at) for shape, _ in self._needs]
        slots = compiled.tree.slots[positions]
        self.slots: list[int] = slots.tolist()
        rows = sorted({row for demand in self._demand for row, _ in demand})
        amounts = ledger.free[np.ix_(np.array(rows), slots)].T.tolist()
        self._free = {
            slot: dict(zip(rows, free, strict=True)) for slot, free in zip(self.slots, amounts, strict=True)
        }
        admitted = [
            eligibility.admitted(ledger, compiled.tables[shape].fits.shape.filter, slots).tolist()
            for shape, _ in self._needs
        ]
        self._admitted = {slot: [flags[i] for flags in admitted] for i, slot in enumerate(self.slots)}
        self._fits = {slot: self._fit(slot) for slot in self.slots}
        self._before = {slot: sum(fits) for slot, fits in self._fits.items()}

    @property
    def enough(self) -> bool:
        """Whether counts leave room for the whole group."""
        return all(room >= need for room, (_, need) in zip(self._rooms, self._needs, strict=True))

    def leave(self, workload: str) -> None:
        """Give back what a workload holds on the nodes."""
        self._move(workload, 1)

    def needed(self, leaving: Sequence[str]) -> list[str]:
        """Of workloads that have left, those that must; in the order given, whoever can come back does.

        Afterwards all of them are gone again.
        """
        gone: list[str] = []
        back: list[str] = []
        for workload in leaving:
            self._move(workload, -1)
            if self.enough:
                back.append(workload)
            else:
                self._move(workload, 1)
                gone.append(workload)
        for workload in back:
            self._move(workload, 1)
        return gone

    def node_by_node(self, leaving: Iterable[str], pods: Callable[[str], int]) -> list[str]:
        """The workloads that have left, those first whose nodes gain the least for the pods that move."""
        waiting = set(leaving)
        holders = {slot: sorted(waiting.intersection(self._ledger.holdings.on(slot))) for slot in self.slots}

        def price(slot: int) -> float:
            gain = sum(self._fits[slot]) - self._before[slot]
            return sum(map(pods, holders[slot])) / gain if gain > 0 else float("inf")

        order = sorted(self.slots, key=lambda slot: (-price(slot), slot))
        return list(dict.fromkeys(workload for slot in order for workload in holders[slot]))

    def _move(self, workload: str, sign: int) -> None:
        for slot, holdings in self._ledger.holdings.of[workload].items():
            free = self._free.get(slot)
            if free is None:
                continue
            for holding in holdings:
                for row, units in self._ledger.demand(holding.resources, holding.host_ports):
                    if row in free:
                        free[row] += sign * units * holding.pods
            before, now = self._fits[slot], self._fit(slot)
            self._fits[slot] = now
            for i, (was, is_now) in enumerate(zip(before, now, strict=True)):
                self._rooms[i] += is_now - was

    def _fit(self, slot: int) -> list[int]:
        free = self._free[slot]
        return [
            max(min(free[row] // units for row, units in demand), 0) if admits else 0
            for demand, admits in zip(self._demand, self._admitted[slot], strict=True)
        ]
