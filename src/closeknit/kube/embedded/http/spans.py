"""Spans of time as kubectl writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def since(text: Any, now: datetime) -> str:
    """How long ago a time was, as kubectl writes it."""
    if not isinstance(text, str) or not text:
        return "<unknown>"
    try:
        seconds = int((now - datetime.fromisoformat(text).astimezone(UTC)).total_seconds())
    except ValueError:
        return "<unknown>"
    return duration(seconds)


def duration(seconds: int) -> str:
    """A span of time in one or two units."""
    if seconds < -1:
        return "<invalid>"
    minutes, hours, days = max(seconds, 0) // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 730:
        return f"{days}d"
    return f"{days // 365}y{days % 365}d" if days < 2920 and days % 365 else f"{days // 365}y"
