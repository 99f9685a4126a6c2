"""Where every box of the picture lies: domains around domains around nodes around cells.

Pure geometry in pixels; nothing here knows of colors or of SVG.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from closeknit.cli.occupancy import Domain, Host


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes that suit a number of nodes: many nodes get small cells and no names."""

    cell: int
    gap: int
    padding: int
    host_label: int
    """Font size of a node's name; 0 leaves it to the tooltip."""

    @classmethod
    def suiting(cls, nodes: int) -> Scale:
        """Choose by the number of nodes to show."""
        if nodes <= 300:
            return cls(cell=12, gap=2, padding=6, host_label=9)
        if nodes <= 1500:
            return cls(cell=8, gap=1, padding=4, host_label=0)
        return cls(cell=5, gap=1, padding=3, host_label=0)


@dataclass(slots=True)
class Box:
    """A rectangle; its place is relative to the picture once it is laid out."""

    label: str
    depth: int
    width: float = 0
    height: float = 0
    x: float = 0
    y: float = 0
    host: Host | None = None
    domain: Domain | None = None
    header: float = 0
    """Height of the strip above what is inside."""
    columns: int = 1
    """Cells side by side, for a node."""
    inside: list[Box] = field(default_factory=list)

    def walk(self) -> Iterator[Box]:
        """The box and all inside it, outer ones first."""
        yield self
        for inner in self.inside:
            yield from inner.walk()


HEADER = 18
CHARACTER = 0.62
"""The width of a letter as a share of the font size, on the safe side."""


def laid_out(root: Domain, cells: Mapping[str, int], scale: Scale) -> Box:
    """The whole cluster as boxes, its corner at 0, 0. ``cells`` says how many cells each node has."""
    box = _measured(root, cells, scale, 0)
    for here in box.walk():
        for inner in here.inside:
            inner.x += here.x
            inner.y += here.y
    return box


def _measured(domain: Domain, cells: Mapping[str, int], scale: Scale, depth: int) -> Box:
    """A domain's box with its size, and the places inside relative to its own corner."""
    inside: list[Box] = []
    for inner in domain.domains:
        # A domain that is one host by itself needs no box around the host's.
        if not inner.domains and len(inner.hosts) == 1:
            inside.append(_host(inner.hosts[0], cells, scale, depth + 1))
        else:
            inside.append(_measured(inner, cells, scale, depth + 1))
    inside += [_host(host, cells, scale, depth + 1) for host in domain.hosts]
    box = Box(domain.name, depth, domain=domain, header=HEADER if domain.path else 0, inside=inside)
    width, height = _shelves(inside, scale.padding)
    named = len(domain.name) * 11 * CHARACTER if domain.path else 0
    box.width = max(width, min(named, 240)) + 2 * scale.padding
    box.height = height + 2 * scale.padding + box.header
    for inner_box in inside:
        inner_box.x += scale.padding
        inner_box.y += scale.padding + box.header
    return box


def _host(host: Host, cells: Mapping[str, int], scale: Scale, depth: int) -> Box:
    number = cells.get(host.node.name, 0)
    columns = number if number <= 4 else max(4, math.ceil(math.sqrt(number * 2)))
    rows = math.ceil(number / columns) if number else 0
    pitch = scale.cell + scale.gap
    header = scale.host_label + 5 if scale.host_label else 0
    named = min(len(host.node.name), 16) * scale.host_label * CHARACTER
    return Box(
        host.node.name,
        depth,
        width=max(columns * pitch, named, pitch) + 2 * scale.gap + 2,
        height=max(rows * pitch, pitch if not header else 0) + header + 2 * scale.gap + 2,
        host=host,
        header=header,
        columns=max(columns, 1),
    )


def _shelves(boxes: Sequence[Box], gap: int) -> tuple[float, float]:
    """Put boxes in rows, in their order, and return the size they take together."""
    if not boxes:
        return 0, 0
    area = sum((box.width + gap) * (box.height + gap) for box in boxes)
    # Screens are wider than high.
    target = max(math.sqrt(area * 1.6), *(box.width for box in boxes))
    x = y = row = widest = 0.0
    for box in boxes:
        if x and x + box.width > target:
            x, y, row = 0.0, y + row + gap, 0.0
        box.x, box.y = x, y
        x += box.width + gap
        row = max(row, box.height)
        widest = max(widest, x - gap)
    return widest, y + row
