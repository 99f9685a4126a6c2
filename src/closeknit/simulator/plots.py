"""Plots as SVG, in plain text: lines over time, and groups of bars. Every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 760, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 14, 44
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Series:
    """Values under a name; ``number`` chooses the color, and a second look of the same policy is dashed."""

    name: str
    number: int
    dashed: bool
    values: Sequence[tuple[float, float]]
    """Where, and how much."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What is measured, and in which unit."""

    title: str
    percent: bool = False
    most: float | None = None
    """Where the axis ends; None ends it above the largest value."""

    def text(self, value: float) -> str:
        """A value as it stands at the axis."""
        return f"{value * 100:g}%" if self.percent else f"{value:,.4g}"


def lines(about: str, series: Sequence[Series], across: Axis, up: Axis) -> str:
    """Lines over time."""
    width = max((x for each in series for x, _ in each.values), default=0.0) or 1.0
    most = up.most or max((y for each in series for _, y in each.values), default=0.0) or 1.0
    ticks = list(_ticks(most))
    most = max(most, ticks[-1]) if up.most is None else most

    def point(x: float, y: float) -> str:
        return f"{_across(x / width):.1f},{_up(y / most):.1f}"

    drawn = [*_grid(up, ticks, most), *_below(across, width)]
    for each in series:
        path = " ".join(point(x, y) for x, y in each.values)
        drawn.append(f'<polyline class="line c{each.number}"{_dash(each)} points="{path}"/>')
    return _picture(about, drawn)


def bars(about: str, groups: Sequence[str], series: Sequence[Series], up: Axis, across: str = "") -> str:
    """Groups of bars; the values of a series are those of the groups, each with a mark above it."""
    most = up.most or max((y for each in series for pair in each.values for y in pair), default=0.0) or 1.0
    ticks = list(_ticks(most))
    most = max(most, ticks[-1]) if up.most is None else most
    drawn = list(_grid(up, ticks, most))
    place = (_WIDTH - _LEFT - _RIGHT) / max(len(groups), 1)
    bar = place * 0.8 / max(len(series), 1)
    for i, group in enumerate(groups):
        left = _LEFT + i * place + place * 0.1
        middle = left + place * 0.4
        drawn.append(_tick(group, middle))
        for j, each in enumerate(series):
            value, mark = each.values[i]
            x, top = left + j * bar, _up(min(value / most, 1.0))
            height = _up(0.0) - top
            faint = ' opacity="0.55"' if each.dashed else ""
            told = f"<title>{escape(each.name)}, {escape(group)}: {escape(up.text(value))}</title>"
            drawn.append(
                f'<rect class="bar c{each.number}"{faint} x="{x:.1f}" y="{top:.1f}"'
                f' width="{max(bar - 1.5, 1):.1f}" height="{height:.1f}">{told}</rect>'
            )
            if mark > value:
                y, centre = _up(min(mark / most, 1.0)), x + (bar - 1.5) / 2
                drawn.append(
                    f'<path class="mark c{each.number}" d="M{centre:.1f} {top:.1f}V{y:.1f}m-3 0h6"/>'
                )
    if across:
        drawn.append(_text(across, (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8))
    return _picture(about, drawn)


def legend(series: Sequence[Series]) -> str:
    """The names of series beside their colors."""
    items = (
        f'<li><svg width="22" height="10" aria-hidden="true"><path class="line c{each.number}"'
        f'{_dash(each)} d="M0 5h22"/></svg> {escape(each.name)}</li>'
        for each in series
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _picture(about: str, drawn: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(about, quote=True)}">'
        f"{''.join(drawn)}</svg>"
    )


def _grid(up: Axis, ticks: Sequence[float], most: float) -> Iterator[str]:
    for tick in ticks:
        if tick > most * 1.0001:
            continue
        y = _up(tick / most)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield f'<text class="tick" text-anchor="end" x="{_LEFT - 6}" y="{y + 4:.1f}">{up.text(tick)}</text>'
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    yield (
        f'<text class="axis" text-anchor="middle" transform="translate(14 {middle}) rotate(-90)">'
        f"{escape(up.title)}</text>"
    )


def _below(across: Axis, width: float) -> Iterator[str]:
    for tick in _ticks(width):
        if tick <= width * 1.0001:
            x = _across(tick / width)
            yield _tick(across.text(tick), x)
    yield _text(across.title, (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8)


def _dash(series: Series) -> str:
    return ' stroke-dasharray="6 4"' if series.dashed else ""


def _tick(words: str, x: float) -> str:
    return f'<text class="tick" text-anchor="middle" x="{x:.1f}" y="{_HEIGHT - 28}">{escape(words)}</text>'


def _text(words: str, x: float, y: float) -> str:
    return f'<text class="axis" text-anchor="middle" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def _across(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _up(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _ticks(most: float) -> Iterator[float]:
    """Round numbers from 0 to at least the most."""
    raw = most / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each * power for each in _STEPS if each * power >= raw * 0.9999)
    for i in range(math.ceil(most / step * 0.9999) + 1):
        yield i * step
