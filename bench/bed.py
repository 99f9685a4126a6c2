"""A half full cluster in an engine, on which one measure after the other is taken."""

from __future__ import annotations

from collections import deque
from random import Random

from bench.clusters import half_full_cluster
from bench.requests import rack_gang
from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Request

_GUESTS = 8
"""Gangs that churn keeps on the cluster."""


class Bed:
    """Every measure finds the cluster half full and leaves it so."""

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.random = Random(seed)
        self.cluster: Cluster = half_full_cluster(size, seed)
        self.engine = Engine(self.cluster)
        self._serial = 0
        self._guests: deque[str] = deque()

    def name(self) -> str:
        """A name that no workload had before."""
        self._serial += 1
        return f"workload-{self._serial}"

    def churn(self) -> None:
        """Let one gang come and another go, so that whatever is asked next finds a changed cluster."""
        guest = rack_gang(self.name(), gpus=self.random.choice((1, 2)))
        self.place(guest)
        self._guests.append(guest.name)
        if len(self._guests) > _GUESTS:
            self.engine.release(self._guests.popleft())

    def place(self, request: Request) -> Placed:
        """Decide and apply a request that is known to fit."""
        outcome = self.engine.decide(request)
        if not isinstance(outcome, Placed):
            raise RuntimeError(f"{request.name} was expected to fit on {self.size} nodes, but: {outcome}")
        self.engine.apply(request, outcome)
        return outcome

    def tenant(self) -> str:
        """The name of a workload that has been on the cluster from the start."""
        return self.random.choice(self.cluster.holdings).workload
