"""Who may ask the server, how often, and what a browser may do with its pages.

On loopback anybody on the machine may ask. Elsewhere a token is needed, and the server speaks TLS. A Host
header with a name that is not ours is refused: a page from elsewhere could make a browser ask any address.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Sent with every answer: nothing comes from elsewhere, and nobody frames it."""

HEADERS_OF_TLS = {**HEADERS, "Strict-Transport-Security": "max-age=31536000"}
"""The same over TLS: a browser that has come so once never sends the token in the clear."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who is let in."""

    host: str
    token: str = ""
    """Empty where none is needed, which is on loopback alone."""
    names: frozenset[str] = frozenset()
    """Further names of this server."""

    def may_ask(self, authorization: str, cookie: str) -> bool:
        """Whether the token is the right one."""
        if not self.token:
            return True
        scheme, _, given = authorization.partition(" ")
        given = given if scheme.lower() == "bearer" else cookie
        # A header may hold any bytes, which aiohttp hands out as surrogates where they are no UTF-8.
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self.token.encode())

    def is_ours(self, host: str) -> bool:
        """Whether a Host header names this server."""
        name = _without_port(host)
        if name in ("localhost", self.host, *self.names):
            return True
        try:
            # A page from elsewhere cannot have a bare address as its name.
            ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (
        name
        if colon and port.isascii() and port.isdigit() and (":" not in name or name.endswith("]"))
        else host
    )


@dataclass(slots=True)
class Rate:
    """Lets each client do so much work in so much time; a burst is allowed after a rest."""

    per_second: float
    burst: float
    time: Callable[[], float]
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By client, how much it may do, and when that was worked out."""
    _MOST = 10_000

    def wait(self, client: str) -> float:
        """Count one piece of work; 0 where it may be done now, else the seconds until it may."""
        now = self.time()
        left, since = self._left.pop(client, (self.burst, now))
        left = min(self.burst, left + (now - since) * self.per_second)
        allowed = left >= 1
        self._left[client] = (left - 1 if allowed else left, now)
        if len(self._left) > self._MOST:
            del self._left[next(iter(self._left))]
        return 0.0 if allowed else (1 - left) / self.per_second
