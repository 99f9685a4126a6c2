"""Moments of the past."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from closeknit.kube.clock import timestamp

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ago(seconds: float) -> str:
    return timestamp(NOW - timedelta(seconds=seconds))
