"""Conditions of a status, which keep the time of their last change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from closeknit.kube.clock import timestamp
from closeknit.kube.port import Object


class Conditions:
    """Conditions by their type, in the order in which they came."""

    def __init__(self, listed: Iterable[Mapping[str, Any]], now: datetime, *, probed: bool = False) -> None:
        self._found: dict[str, Object] = {str(one["type"]): dict(one) for one in listed}
        self._moment = timestamp(now)
        self._probed = probed

    def __contains__(self, kind: str) -> bool:
        return kind in self._found

    def met(self, *kinds: str) -> Object | None:
        """The first of these that is true."""
        for kind in kinds:
            if self._found.get(kind, {}).get("status") == "True":
                return self._found[kind]
        return None

    def set(self, kind: str, status: str, *, reason: str, message: str) -> None:
        """Change a condition, unless it is so already."""
        if self._found.get(kind, {}).get("status") != status:
            self._found[kind] = {
                "type": kind,
                "status": status,
                **({"lastProbeTime": self._moment} if self._probed else {}),
                "lastTransitionTime": self._moment,
                "reason": reason,
                "message": message,
            }

    def written(self) -> list[Object]:
        """As a status holds them."""
        return list(self._found.values())
