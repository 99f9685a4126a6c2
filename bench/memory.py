"""What an engine keeps in memory, beside the nodes and holdings that it was given."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import dataclass

from bench.requests import rack_gang
from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster

_SHAPES = 8


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes for each node of the cluster."""

    engine: float
    """Ledger, tree and the counts of one shape."""
    shape: float
    """Each further shape that is remembered."""


def measure(cluster: Cluster) -> Memory:
    """Count what stays allocated after an engine was made and asked once, and then for more shapes."""
    gc.collect()
    tracemalloc.start()
    try:
        engine = Engine(cluster)
        engine.decide(rack_gang("first"))
        gc.collect()
        one = tracemalloc.get_traced_memory()[0]
        for i in range(_SHAPES):
            engine.decide(rack_gang(f"more-{i}", cpu=f"{2001 + i}m"))
        gc.collect()
        more = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return Memory(one / len(cluster.nodes), (more - one) / _SHAPES / len(cluster.nodes))
