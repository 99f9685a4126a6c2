"""What the mirrors of a process counted, for Prometheus, read when metrics are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from closeknit.kube.mirror import Repairs
from closeknit.live.following import Following

_REPAIRS: tuple[tuple[str, Callable[[Repairs], int]], ...] = (
    ("old-event", lambda repairs: repairs.old_events),
    ("old-list", lambda repairs: repairs.old_lists),
    ("restored", lambda repairs: repairs.restored),
    ("silent-watch", lambda repairs: repairs.silent_watches),
    ("difference", lambda repairs: repairs.differences),
)


class CacheMetrics(Collector):
    """The repairs and comparisons of all mirrors of one ``Following``."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def written(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Read what the mirrors counted."""
        repaired = CounterMetricFamily(
            "closeknit_cache_repairs",
            "What was done so that the cache equals the API server, by resource and reason.",
            labels=("resource", "reason"),
        )
        compared = CounterMetricFamily(
            "closeknit_cache_comparisons",
            "Completed comparisons of the cache with the API server, by resource.",
            labels=("resource",),
        )
        for resource, repairs in self._following.repairs():
            compared.add_metric((resource,), repairs.comparisons)
            for reason, count_of in _REPAIRS:
                repaired.add_metric((resource, reason), count_of(repairs))
        yield repaired
        yield compared
