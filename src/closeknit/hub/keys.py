"""The identity of an object: what an API server tells objects apart by."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """Group, kind, namespace and name. The version is left out: it is one object in all of them."""

    group: str
    """Empty for the core group."""
    kind: str
    namespace: str
    """Empty for a cluster-wide kind."""
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"
