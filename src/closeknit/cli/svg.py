"""A picture of the cluster: domains as nested boxes, nodes in them, one cell for each GPU.

All text from users is escaped, and what XML cannot hold is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from closeknit.cli.layout import CHARACTER, HEADER, Box, Scale, laid_out
from closeknit.cli.occupancy import Domain, Host
from closeknit.hub import quantities
from closeknit.scheduler.wording import counted, quantity

_PALETTE = (
    "#3b7dd8",
    "#e07b39",
    "#3a9d5d",
    "#b8457e",
    "#8a63d2",
    "#c9a227",
    "#2aa5a0",
    "#d1495b",
    "#6b8e23",
    "#7f5539",
    "#4f5d9e",
    "#ef8fb0",
)
_GREY = "#b4b9c0"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_CELLS = 64
_MOST_ENTRIES = 40


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the legend; ``workload`` None is for what gets no color."""

    workload: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """What to draw, and how to say it to those who cannot see it."""

    title: str
    description: str
    root: Domain
    resources: Sequence[str]
    """A node's cells are its units of the first of these that it has."""
    legend: Sequence[Entry]
    """Workloads listed here are drawn in their own color; others are grey."""
    levels: Sequence[str] = ()


def drawn(picture: Picture) -> Iterator[str]:
    """The SVG document, piece by piece."""
    canvas = _Canvas(picture)
    box = laid_out(picture.root, canvas.cells, canvas.scale)
    legend = list(canvas.legend())
    margin, top = 16, 48
    width = max(box.width + 2 * margin, 560)
    height = top + box.height + 20 + len(legend) * 20 + margin
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-labelledby="title desc" '
        'font-family="system-ui, sans-serif">\n'
    )
    yield f'<title id="title">{_text(picture.title)}</title>\n'
    yield f'<desc id="desc">{_text(picture.description)}</desc>\n'
    yield f"<style>{_style(canvas.colors)}</style>\n"
    yield f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>\n'
    yield f"{_label(margin, 30, 16, picture.title)}\n"
    yield f'<g transform="translate({margin} {top})">\n'
    for each in box.walk():
        yield from canvas.box(each)
    yield "</g>\n"
    for i, (swatch, words) in enumerate(legend):
        y = top + box.height + 24 + i * 20
        yield f'<rect class="{swatch}" x="{margin}" y="{y:.0f}" width="12" height="12" rx="2"/>'
        yield f"{_label(margin + 20, y + 10, 12, words)}\n"
    yield "</svg>\n"


class _Canvas:
    """Draws the boxes of one picture, all by the same scale and colors."""

    def __init__(self, picture: Picture) -> None:
        workloads = dict.fromkeys(entry.workload for entry in picture.legend if entry.workload is not None)
        self.colors = {workload: f"w{i}" for i, workload in enumerate(workloads)}
        self.scale = Scale.suiting(picture.root.nodes)
        self.cells, self._unit = _cells(picture.root, picture.resources)
        self._picture = picture

    def box(self, box: Box) -> Iterator[str]:
        """A domain's frame with its name, or a node with its cells."""
        if box.host is not None:
            yield f"<g><title>{_text(_tooltip(box.host, self._resource(box.host)))}</title>"
            yield from self._host(box, box.host)
            yield "</g>\n"
        elif box.domain is not None and box.domain.path:
            yield f"<g><title>{_text(self._called(box.domain))}</title>"
            yield f'<rect class="domain" {_frame(box)} rx="4"/>'
            label = _cut(box.label, box.width - 2 * self.scale.padding, 11)
            yield f"{_label(box.x + self.scale.padding, box.y + HEADER - 5, 11, label)}</g>\n"

    def legend(self) -> Iterator[tuple[str, str]]:
        """The style and the words of each line."""
        entries = self._picture.legend
        for entry in entries[:_MOST_ENTRIES]:
            yield ("absent" if entry.workload is None else self.colors[entry.workload]), entry.text
        if len(entries) > _MOST_ENTRIES:
            yield "host", f"and {len(entries) - _MOST_ENTRIES} more workloads"
        hosts = list(self._picture.root.all_hosts())
        if any(use.workload not in self.colors for host in hosts for use in host.uses):
            yield "held", "in use already"
        if any(_away(host) for host in hosts):
            yield "away", "cordoned or not ready"
        what = " or ".join(self._picture.resources[:2]) or "unit"
        dots = any(self._without_cells(host) for host in hosts)
        yield "free", f"free; a cell is {self._unit} {what}{', a dot is pods that use none' if dots else ''}"

    def _called(self, domain: Domain) -> str:
        levels = self._picture.levels
        level = f"{levels[len(domain.path) - 1]} " if len(domain.path) <= len(levels) else ""
        return f"{level}{'/'.join(domain.path)}: {counted(domain.nodes, 'node')}"

    def _host(self, box: Box, host: Host) -> Iterator[str]:
        scale, resource = self.scale, self._resource(host)
        yield f'<rect class="{"away" if _away(host) else "host"}" {_frame(box)} rx="2"/>'
        left, top = box.x + scale.gap + 1, box.y + scale.gap + 1 + box.header
        if scale.host_label:
            label = _cut(box.label, box.width - 2, scale.host_label)
            yield _label(left, box.y + scale.host_label + 2, scale.host_label, label)
        if resource is not None:
            pitch = scale.cell + scale.gap
            size = f'width="{scale.cell}" height="{scale.cell}"'
            for i, owner in enumerate(self._cell_owners(host, resource)):
                look = "free" if owner is None else self.colors.get(owner, "held")
                x, y = left + i % box.columns * pitch, top + i // box.columns * pitch
                yield f'<rect class="{look}" x="{x:.1f}" y="{y:.1f}" {size}/>'
        for i, workload in enumerate(self._without_cells(host)[:8]):
            x, radius = box.x + box.width - 4 - i * 7, min(3, scale.cell // 2)
            look = self.colors.get(workload, "held")
            yield f'<circle class="{look}" cx="{x:.1f}" cy="{box.y + 4:.1f}" r="{radius}"/>'

    def _without_cells(self, host: Host) -> list[str]:
        """Workloads with pods that use none of what the node's cells count; they are dots on its edge."""
        resource = self._resource(host)
        return sorted(
            {use.workload for use in host.uses if resource is None or not use.resources.get(resource)}
        )

    def _resource(self, host: Host) -> str | None:
        return _counted_resource(host, self._picture.resources)

    def _cell_owners(self, host: Host, resource: str) -> Iterator[str | None]:
        """Who has each cell of a node: whoever uses its middle."""
        step = self._unit * quantities.units(resource)
        ends = _ends(host, resource)
        for i in range(self.cells[host.node.name]):
            yield next((workload for end, workload in ends if end > i * step + step // 2), None)


def _style(colors: Mapping[str, str]) -> str:
    rules = [
        ".paper{fill:#fff}",
        ".domain{fill:#000;fill-opacity:.03;stroke:#8a929c;stroke-width:1}",
        ".host{fill:#fff;stroke:#8a929c;stroke-width:.7}",
        ".away{fill:#f3f3f3;stroke:#b23b3b;stroke-width:1;stroke-dasharray:3 2}",
        ".absent{fill:#fff;stroke:#b23b3b;stroke-width:2}",
        ".free{fill:#fff;stroke:#c6cbd1;stroke-width:.7}",
        f".held{{fill:{_GREY}}}",
        "text{fill:#22262b}",
    ]
    for i, name in enumerate(colors.values()):
        color = _PALETTE[i] if i < len(_PALETTE) else f"hsl({(i * 137) % 360},55%,{45 + i % 3 * 12}%)"
        rules.append(f".{name}{{fill:{color}}}")
    return "".join(rules)


def _cells(root: Domain, resources: Sequence[str]) -> tuple[dict[str, int], int]:
    """How many cells each node has, and how many of its resource one cell stands for."""
    offered = {
        host.node.name: host.node.allocatable[resource] // quantities.units(resource)
        for host in root.all_hosts()
        if (resource := _counted_resource(host, resources)) is not None
    }
    # Memory comes in bytes; a cell then stands for as much as keeps the largest node drawable.
    each = -(-max(offered.values(), default=1) // _MOST_CELLS) or 1
    return {name: max(-(-total // each), 1) for name, total in offered.items()}, each


def _counted_resource(host: Host, resources: Sequence[str]) -> str | None:
    return next((resource for resource in resources if host.node.allocatable.get(resource)), None)


def _away(host: Host) -> bool:
    return host.node.unschedulable or not host.node.ready


def _ends(host: Host, resource: str) -> list[tuple[int, str]]:
    """Up to which unit each use of the resource reaches, one after the other."""
    reached, ends = 0, []
    for use in host.uses:
        if units := use.pods * use.resources.get(resource, 0):
            reached += units
            ends.append((reached, use.workload))
    return ends


def _tooltip(host: Host, resource: str | None) -> str:
    words = [host.node.name]
    if resource is not None:
        used, total = host.used(resource), host.node.allocatable[resource]
        words.append(f"{quantity(resource, used)} of {quantity(resource, total)} {resource} used")
    words += ["cordoned"] * host.node.unschedulable + ["not ready"] * (not host.node.ready)
    words += [f"{use.workload} {counted(use.pods, 'pod')}" for use in host.uses]
    return ", ".join(words)


def _frame(box: Box) -> str:
    return f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'


def _label(x: float, y: float, font: int, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{font}">{_text(words)}</text>'


def _cut(label: str, width: float, font: int) -> str:
    room = max(int(width / (font * CHARACTER)), 1)
    return label if len(label) <= room else f"{label[: room - 1]}…"


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))
