"""Which certificate a webhook shows, and which authorities an API server should trust, now and next.

A certificate is followed by the next one in two steps, so that no call is refused: first the authority of the
next is trusted as well, and only some time later is it shown. Every certificate has an authority of its
own, so no key is kept that could sign another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from closeknit.kube.certificates import SKEW, Certificate, certificate

ISSUER: Final = "closeknit admission"
DAYS: Final = 90
"""For how long a certificate is valid."""
TRUSTED_FIRST: Final = timedelta(minutes=30)
"""For how long an authority is trusted before its certificate is shown: every replica and every API server
has heard of it by then."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What all replicas share."""

    current: Certificate
    next: Certificate | None = None
    previous: bytes = b""
    """The authority of the certificate before, which a replica that looks rarely may still show."""

    @property
    def bundle(self) -> bytes:
        """All authorities to be trusted, as PEM."""
        return self.current.authority + (self.next.authority if self.next else b"") + self.previous

    def wire(self) -> dict[str, bytes]:
        """As the data of a Secret."""
        made = {
            "tls.crt": self.current.chain,
            "tls.key": self.current.key,
            "authority.crt": self.current.authority,
            "ca.crt": self.bundle,
        }
        if self.next is not None:
            made |= {
                "next.crt": self.next.chain,
                "next.key": self.next.key,
                "next-authority.crt": self.next.authority,
            }
        return made | ({"previous-authority.crt": self.previous} if self.previous else {})

    @classmethod
    def read(cls, data: Mapping[str, bytes]) -> Kept | None:
        """The same again; None where a Secret holds something else, or cannot be used any more."""
        try:
            current = Certificate(data["tls.crt"], data["tls.key"], data["authority.crt"])
            following = (
                Certificate(data["next.crt"], data["next.key"], data["next-authority.crt"])
                if "next.crt" in data
                else None
            )
            for each in (current, following):
                if each is not None:
                    each.server_context()
        except (KeyError, ValueError, OSError):
            return None
        return cls(current, following, data.get("previous-authority.crt", b""))


def renewed(kept: Kept | None, hosts: tuple[str, ...], now: datetime) -> Kept:
    """What is to be kept from now on: the same, or the next step of a change."""
    if kept is None:
        return Kept(_new(hosts, now))
    current, following = kept.current, kept.next
    over = now >= current.ends
    if following is not None:
        if over or now >= following.begins + SKEW + TRUSTED_FIRST:
            return Kept(following, previous=current.authority)
        return kept
    if over or set(current.hosts) != set(hosts):
        return Kept(_new(hosts, now), previous=current.authority)
    if now >= current.ends - (current.ends - current.begins) / 3:
        return Kept(current, _new(hosts, now), kept.previous)
    return kept


def _new(hosts: tuple[str, ...], now: datetime) -> Certificate:
    return certificate(*hosts, issuer=ISSUER, days=DAYS, now=now)
