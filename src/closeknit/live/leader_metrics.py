"""Leadership as metrics: whether this instance leads, how often that changed, and fenced writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from closeknit.live.leadership import Leadership, Role


def leadership_metrics(leaderships: Iterable[Leadership]) -> bytes:
    """Those of all leases of a process, in Prometheus' text format; one family must not be written twice."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Read(tuple(leaderships)))
    return generate_latest(registry)


class _Read(Collector):
    def __init__(self, leaderships: tuple[Leadership, ...]) -> None:
        self._leaderships = leaderships

    def collect(self) -> Iterator[Metric]:
        leader = GaugeMetricFamily(
            "closeknit_leader", "1 while this instance works under the lease, else 0.", labels=("lease",)
        )
        terms = CounterMetricFamily(
            "closeknit_lease_transitions",
            "How often this instance has begun or ended a term of leadership.",
            labels=("lease",),
        )
        fenced = CounterMetricFamily(
            "closeknit_fenced_writes",
            "Writes that were not sent, because another instance might have held the lease.",
            labels=("lease",),
        )
        for leadership in self._leaderships:
            leader.add_metric((leadership.name,), leadership.role is Role.LEADING)
            terms.add_metric((leadership.name,), leadership.transitions)
            fenced.add_metric((leadership.name,), leadership.fenced_writes)
        yield from (leader, terms, fenced)
