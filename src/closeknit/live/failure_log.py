"""Counts failures of objects for Prometheus, and logs them."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Final

from prometheus_client import CollectorRegistry, Counter, generate_latest

from closeknit.hub.failures import ObjectFailure
from closeknit.live.log import Log

_traceback = logging.getLogger(__name__)
_REMEMBERED: Final = 10_000
"""How many failures are remembered that were logged, so that each is logged once."""


class FailureLog:
    """The failures of all components of a process, in a registry of its own."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._logged: OrderedDict[tuple[str, ObjectFailure], None] = OrderedDict()
        self.registry = CollectorRegistry()
        self._failures = Counter(
            "closeknit_object_failures",
            "Steps that failed with one object because of an error that nothing expected.",
            ("component", "step"),
            registry=self.registry,
        )

    def failed(self, component: str, failure: ObjectFailure, error: BaseException, *, known: bool) -> None:
        """A step failed: it is counted, and logged once for each object and error."""
        self._failures.labels(component, failure.step.value).inc()
        if known or (component, failure) in self._logged:
            return
        self._logged[component, failure] = None
        if len(self._logged) > _REMEMBERED:
            self._logged.popitem(last=False)
        self._log.warning(
            "object failed",
            component=component,
            object=str(failure.key),
            step=failure.step.value,
            why=failure.error,
        )
        _traceback.debug("%s %s", failure.key, failure.step.value, exc_info=error)

    def written(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)
