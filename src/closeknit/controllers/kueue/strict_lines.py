"""ClusterQueues in which nobody is passed (``StrictFIFO``)."""

from __future__ import annotations

from closeknit.hub.keys import Key
from closeknit.hub.workload import Workload
from closeknit.scheduler.waiting import WaitingQueue, order


class StrictLines:
    """Who waits in each of these ClusterQueues: only the first of a line may be tried."""

    def __init__(self, queue: WaitingQueue) -> None:
        self._queue = queue
        self._lines: dict[str, dict[Key, Workload]] = {}
        self._line_of: dict[Key, str] = {}

    def line_up(self, cluster_queue: str, workload: Workload) -> None:
        """Let a Workload wait in the line of a ClusterQueue, and in no other."""
        key = workload.object.key
        if self._line_of.get(key, cluster_queue) != cluster_queue:
            self.leave(key)
        self._line_of[key] = cluster_queue
        self._lines.setdefault(cluster_queue, {})[key] = workload
        self._offer_first(cluster_queue)

    def leave(self, key: Key) -> None:
        """A Workload stands in no line any more; the next in its line may be tried."""
        if (name := self._line_of.pop(key, None)) is not None:
            del self._lines[name][key]
            self._offer_first(name)

    def _offer_first(self, name: str) -> None:
        line = sorted(self._lines[name].items(), key=lambda each: order(each[1]))
        for i, (key, workload) in enumerate(line):
            if i:
                self._queue.remove(key)
            else:
                self._queue.put(workload)
        if not line:
            del self._lines[name]
