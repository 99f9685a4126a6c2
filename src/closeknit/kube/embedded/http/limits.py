"""How much the server does for one client, and for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from closeknit.kube.listening import Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one server."""

    bounds: Bounds = field(default_factory=Bounds)
    body_seconds: float = 60.0
    """How long the body of a request may take to arrive; kube-apiserver ends a request then, too."""
    unread_seconds: float = 30.0
    """How long a client may leave what it watches unread."""
    watches: int = 1_000
    watches_of_one_client: int = 250
