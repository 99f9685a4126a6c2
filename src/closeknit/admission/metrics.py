"""What admission counts, for Prometheus."""

from __future__ import annotations

from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """Counters of one webhook, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._answers = Counter(
            "closeknit_admission_answers_total",
            "Answers to API servers, by what was asked of which family and how it ended.",
            ("path", "family", "result"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "closeknit_admission_seconds",
            "How long an answer took.",
            ("path",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._until = Gauge(
            "closeknit_admission_certificate_end_seconds",
            "Until when the certificate that is shown is valid, in seconds since 1970.",
            registry=self.registry,
        )

    def answered(self, path: str, family: str, result: str, seconds: float) -> None:
        """An API server was answered: ``allowed``, ``refused`` or ``failed``."""
        self._answers.labels(path, family, result).inc()
        self._seconds.labels(path).observe(seconds)

    def shown(self, until: datetime) -> None:
        """A certificate is shown from now on."""
        self._until.set(until.timestamp())

    def written(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)
