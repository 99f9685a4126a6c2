"""What one row of the ledger counts on every node: a resource, a host port, or pods that never share a node.

A row is identified by a value of one of three types, so a resource of any name stays apart from the rows
that the engine adds for host ports and anti-affinity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from closeknit.hub.request import HostPort

WHOLE = 1 << 24
"""The supply of an exclusive row; pods that may share a node with one another take a fraction of it."""
ADDRESSES = 1 << 20
"""The supply of a port that is counted over all addresses of a node: more than any node has addresses."""


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """A resource that nodes offer and pods request, ``pods`` included."""

    name: str

    @property
    def label(self) -> str:
        """The name of the row in explanations."""
        return self.name


@dataclass(frozen=True, slots=True)
class PortRow:
    """A host port, over all addresses of a node or at one of them."""

    port: int
    protocol: str
    address: str | None = None
    """None for the row that counts the addresses at which the port is taken."""

    @property
    def label(self) -> str:
        """The name of the row in explanations."""
        at = f" at {self.address}" if self.address is not None else ""
        return f"host port {self.port} {self.protocol}{at}"

    @property
    def supply(self) -> int:
        """How many units every node has."""
        return ADDRESSES if self.address is None else 1


@dataclass(frozen=True, slots=True)
class ExclusiveRow:
    """Keeps pods from sharing a node: a pod that takes ``WHOLE`` leaves nothing for others of the row.

    Requests reuse these rows, because nothing is ever held of them.
    """

    index: int

    @property
    def label(self) -> str:
        """Orders the row among others; explanations never show it."""
        return f"one on a node {self.index}"

    @property
    def supply(self) -> int:
        """How many units every node has."""
        return WHOLE


Row: TypeAlias = ResourceRow | PortRow | ExclusiveRow


def port_rows(ports: frozenset[HostPort]) -> dict[PortRow, int]:
    """The rows by which host ports are counted, with the units that one pod takes of each.

    A port at all addresses takes the whole supply. A port at a single address takes one unit, and the only
    one of that address's own row.
    """
    units: dict[PortRow, int] = {}
    for port in sorted(ports):
        everywhere = PortRow(port.port, port.protocol)
        if port.address:
            units[PortRow(port.port, port.protocol, port.address)] = 1
            # A pod that asks for one address beside all of them asks for no more than all of them.
            units[everywhere] = min(units.get(everywhere, 0) + 1, ADDRESSES)
        else:
            units[everywhere] = ADDRESSES
    return units
