"""What controllers count, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Counters of all controllers of one process, in a registry of their own."""

    def __init__(self, waiting: Callable[[], int] = lambda: 0) -> None:
        """``waiting``: how many objects are looked at now or next, read when somebody asks."""
        self.registry = CollectorRegistry()
        self._reconciles = Counter(
            "closeknit_controller_reconciles_total",
            "Looks at an object, by controller and by how they ended: settled, writing or failed.",
            ("controller", "result"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "closeknit_controller_reconcile_seconds",
            "How long it took to decide about an object, without its writes.",
            ("controller",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._writes = Counter(
            "closeknit_controller_writes_total",
            "Writes to the API server, by controller, kind of write, and result: written or refused.",
            ("controller", "write", "result"),
            registry=self.registry,
        )
        # Finding the counter of some labels takes longer than to count.
        self._reconciles_of = cache(self._reconciles.labels)
        self._seconds_of = cache(self._seconds.labels)
        self._writes_of = cache(self._writes.labels)
        depth = Gauge(
            "closeknit_controller_queue_depth",
            "Objects that are looked at now or wait to be.",
            registry=self.registry,
        )
        depth.set_function(waiting)

    def looked(self, controller: str, result: str, seconds: float) -> None:
        """An object was looked at: ``settled`` where nothing was to be written, ``writing`` or ``failed``."""
        self._reconciles_of(controller, result).inc()
        self._seconds_of(controller).observe(seconds)

    def wrote(self, controller: str, write: str, result: str) -> None:
        """A write was answered: ``written`` or ``refused``."""
        self._writes_of(controller, write, result).inc()

    def written(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)
