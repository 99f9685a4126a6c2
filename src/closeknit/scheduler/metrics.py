"""What the scheduler counts, for Prometheus.

The loop calls what happened; what can be read off at any time (queue depth, free capacity) is read when
somebody asks, so that it costs nothing in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from closeknit.hub.capacity import LevelCapacity
from closeknit.scheduler.planning import Verdict

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Of what ``Metrics.written`` gives."""

_FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_CALL = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_WAIT = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What is read when somebody asks for the metrics."""

    waiting: Callable[[], Mapping[str, int]] = dict
    """How many units wait, by reason."""
    in_flight: Callable[[], int] = lambda: 0
    """How many bindings are under way."""
    capacity: Callable[[], Iterable[LevelCapacity]] = tuple
    behind: Callable[[], float] = lambda: 0.0
    """For how many seconds changes in the cluster may have been missed."""
    overcommitted: Callable[[], int] = lambda: 0
    """How many nodes hold more than they offer."""
    reports: Callable[[], Mapping[str, int]] = dict
    """How many reports were written, wait or were refused, and how many events were dropped."""


class Metrics:
    """Counters of one scheduler, in a registry of its own."""

    def __init__(self, readings: Readings | None = None) -> None:
        self.registry = CollectorRegistry()
        self._decisions = Histogram(
            "closeknit_decision_seconds",
            "How long the decision about one unit took.",
            ("status",),
            buckets=_FAST,
            registry=self.registry,
        )
        self._binding = Histogram(
            "closeknit_binding_seconds",
            "How long the API server took to bind one pod.",
            buckets=_CALL,
            registry=self.registry,
        )
        self._scheduling = Histogram(
            "closeknit_scheduling_seconds",
            "From when all pods of a unit's minimum existed to when they were bound.",
            buckets=_WAIT,
            registry=self.registry,
        )
        self._bindings = Counter(
            "closeknit_bindings",
            "Bindings that were asked for, by what became of them: bound, conflict, refused or lost.",
            ("result",),
            registry=self.registry,
        )
        self._let_go = Counter(
            "closeknit_units_let_go",
            "Units whose pods were told to go, by reason: released, stale or displaced.",
            ("reason",),
            registry=self.registry,
        )
        self._overcommitted = Counter(
            "closeknit_overcommitted_pods_evicted",
            "Pods that were evicted because they were bound last to a node without room for them.",
            registry=self.registry,
        )
        self.registry.register(_Read(readings or Readings()))

    def decided(self, verdict: Verdict, seconds: float) -> None:
        """A unit was decided."""
        self._decisions.labels(verdict.status.value).observe(seconds)

    def bound(self, seconds: float) -> None:
        """A pod was bound."""
        self._bindings.labels("bound").inc()
        self._binding.observe(seconds)

    def not_bound(self, result: str) -> None:
        """A binding was answered with a ``conflict``, was ``refused``, or its answer was ``lost``."""
        self._bindings.labels(result).inc()

    def scheduled(self, seconds: float) -> None:
        """All pods of a unit's minimum are bound, so long after they were all there."""
        self._scheduling.observe(seconds)

    def let_go(self, reason: str) -> None:
        """A unit was ``released``, ``stale`` or ``displaced``."""
        self._let_go.labels(reason).inc()

    def overcommitted(self) -> None:
        """A pod was evicted for which its node has no room."""
        self._overcommitted.inc()

    def written(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self.registry)


class _Read(Collector):
    """Asks for what can be read off."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Metric]:
        yield _gauge(
            "closeknit_waiting_units", "Units that wait, by reason.", "reason", self._readings.waiting()
        )
        flight = GaugeMetricFamily("closeknit_bindings_in_flight", "Bindings that are under way.")
        flight.add_metric((), self._readings.in_flight())
        yield flight
        overcommitted = GaugeMetricFamily(
            "closeknit_overcommitted_nodes", "Nodes whose pods hold more than the node offers."
        )
        overcommitted.add_metric((), self._readings.overcommitted())
        yield overcommitted
        behind = GaugeMetricFamily(
            "closeknit_behind_seconds", "For how long changes in the cluster may have been missed."
        )
        behind.add_metric((), self._readings.behind())
        yield behind
        told = CounterMetricFamily(
            "closeknit_reports", "Reports, by what became of them.", labels=("result",)
        )
        for result, number in sorted(self._readings.reports().items()):
            told.add_metric((result,), number)
        yield told
        yield from _capacity(self._readings.capacity())


def _gauge(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    gauge = GaugeMetricFamily(name, text, labels=(label,))
    for value, number in sorted(values.items()):
        gauge.add_metric((value,), number)
    return gauge


_LEVEL_GAUGES: tuple[tuple[str, str, Callable[[LevelCapacity], float]], ...] = (
    ("free", "Units of a resource that are free in the domains of a level.", lambda each: each.free),
    (
        "largest_free",
        "Units that are free in the domain of a level that has most: the largest gang of one-unit pods.",
        lambda each: each.largest_free,
    ),
    (
        "largest_whole_nodes",
        "Nodes none of whose resource is in use, in the domain of a level that has most of them.",
        lambda each: each.whole_nodes,
    ),
    (
        "fragmentation",
        "0 where what is free lies together as far as domains allow, towards 1 the more it is scattered.",
        lambda each: each.fragmentation,
    ),
)


def _capacity(levels: Iterable[LevelCapacity]) -> Iterator[Metric]:
    found = list(levels)
    for name, text, value in _LEVEL_GAUGES:
        gauge = GaugeMetricFamily(f"closeknit_{name}", text, labels=("topology", "level", "resource"))
        for each in found:
            gauge.add_metric((each.topology, each.level, each.resource), value(each))
        yield gauge
