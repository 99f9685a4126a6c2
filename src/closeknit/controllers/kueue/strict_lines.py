"""ClusterQueues in which nobody is passed (``StrictFIFO``)."""

from __future__ import annotations

from bisect import insort
from typing import NamedTuple

from closeknit.hub.keys import Key
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.waiting import Order, WaitingQueue, order


class _Place(NamedTuple):
    """A Workload in its line; by the order of the queue, and no two are equal."""

    order: Order
    key: Key


class StrictLines:
    """Who waits in each of these ClusterQueues: only the first of a line may be tried."""

    def __init__(self, queue: WaitingQueue) -> None:
        self._queue = queue
        self._lines: dict[str, list[_Place]] = {}
        self._standing: dict[Key, tuple[str, _Place, PlaceableWorkload]] = {}
        """By Workload, its ClusterQueue, its place there, and what it asks for."""

    def line_up(self, cluster_queue: str, workload: PlaceableWorkload) -> None:
        """Let a Workload wait in the line of a ClusterQueue, and in no other."""
        place = _Place(order(workload), workload.object.key)
        first = self._lines[cluster_queue][0] if cluster_queue in self._lines else place
        if place.key in self._standing and (before := self._take_out(place.key)) != cluster_queue:
            self._offer_first(before)
        insort(self._lines.setdefault(cluster_queue, []), place)
        self._standing[place.key] = (cluster_queue, place, workload)
        self._offer_first(cluster_queue)
        for each in (first.key, place.key):
            if each != self._lines[cluster_queue][0].key:
                self._queue.remove(each)

    def leave(self, key: Key) -> None:
        """A Workload stands in no line any more; the next in its line may be tried."""
        if key in self._standing:
            self._offer_first(self._take_out(key))

    def _take_out(self, key: Key) -> str:
        """The ClusterQueue in whose line it stood."""
        name, place, _ = self._standing.pop(key)
        line = self._lines[name]
        line.remove(place)
        if not line:
            del self._lines[name]
        return name

    def _offer_first(self, name: str) -> None:
        if name in self._lines:
            _, _, workload = self._standing[self._lines[name][0].key]
            self._queue.put(workload)
