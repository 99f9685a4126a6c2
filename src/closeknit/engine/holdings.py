"""Who holds what on which node, kept by workload and slot, so that a change costs the slot it names."""

from __future__ import annotations

from closeknit.engine.running_neighbours import RunningNeighbours
from closeknit.hub.cluster import Holding, holding_problems
from closeknit.hub.copying import replace
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import hub as sentences


class Holdings:
    """What workloads hold. Amounts are the ledger's business."""

    def __init__(self) -> None:
        self.of: dict[str, dict[int, tuple[Holding, ...]]] = {}
        """By workload and slot; a workload that holds nothing is not there."""
        self._workloads: dict[int, list[str]] = {}
        self.neighbours = RunningNeighbours()

    def on(self, slot: int) -> list[str]:
        """The workloads that hold something on a slot."""
        return self._workloads.get(slot, [])

    def there(self, workload: str, slot: int) -> tuple[Holding, ...]:
        """What a workload holds on a slot."""
        return self.of.get(workload, {}).get(slot, ())

    def put(self, workload: str, slot: int, now: tuple[Holding, ...]) -> tuple[Holding, ...]:
        """Let a workload hold this on a slot and nothing else; returns what it held there before."""
        mine = self.of.setdefault(workload, {})
        before = mine.get(slot, ())
        if now:
            mine[slot] = now
            if not before:
                self._workloads.setdefault(slot, []).append(workload)
        elif before:
            del mine[slot]
            others = self._workloads[slot]
            others.remove(workload)
            if not others:
                del self._workloads[slot]
        if not mine:
            del self.of[workload]
        self.neighbours.move(slot, before, now)
        return before

    def without(self, gone: Holding, slot: int) -> tuple[Holding, ...]:
        """What a workload holds on a slot after some of its pods there have gone.

        Raises ``InvalidError`` where it holds fewer such pods.
        """
        kept: list[Holding] = []
        left, held = gone.pods, 0
        for holding in self.there(gone.workload, slot):
            if replace(holding, pods=gone.pods) == gone:
                held += holding.pods
                leaving = min(left, holding.pods)
                left -= leaving
                if leaving < holding.pods:
                    kept.append(replace(holding, pods=holding.pods - leaving))
            else:
                kept.append(holding)
        found = list(holding_problems(("holding",), gone))
        if left > 0:
            few = sentences.TOO_FEW_HELD.at(
                ("holding", "pods"), workload=gone.workload, held=held, node=gone.node, pods=gone.pods
            )
            found.append(few)
        if found:
            raise InvalidError(found)
        return tuple(kept)
