"""Where those who work on a cluster tell what they do."""

from __future__ import annotations

from typing import Any, Protocol


class Log(Protocol):
    """Takes an event and its facts, as structlog's loggers do."""

    def info(self, event: str, **facts: Any) -> Any:
        """Something happened as it should."""

    def warning(self, event: str, **facts: Any) -> Any:
        """Something happened that somebody may want to know."""


class Unlogged:
    """Logs nothing."""

    def info(self, event: str, **facts: Any) -> None:
        """Ignore it."""

    def warning(self, event: str, **facts: Any) -> None:
        """Ignore it."""


UNLOGGED = Unlogged()
