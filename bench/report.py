"""The figures as a plain table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bench.samples import Samples
from bench.targets import Figures, verdicts
from bench.work import MEASURES


def table(figures: Mapping[int, Figures]) -> Iterator[str]:
    """One row a measure, one column a size: the median and, behind the slash, the 99th percentile."""
    sizes = sorted(figures)
    rows = [("milliseconds, median / p99", *(f"{size:,} nodes" for size in sizes), "ratio")]
    for measure in MEASURES:
        samples = [figures[size].samples.get(measure.key) for size in sizes]
        if any(samples):
            rows.append((measure.title, *(_times(found) for found in samples), _ratio(samples)))
    rows.append(("make an engine, decide once", *(_milliseconds(figures[size].build) for size in sizes), ""))
    rows.append(
        ("bytes a node, one shape known", *(f"{figures[size].memory.engine:.0f}" for size in sizes), "")
    )
    rows.append(
        ("bytes a node for each further shape", *(f"{figures[size].memory.shape:.0f}" for size in sizes), "")
    )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        yield "  ".join(cells).rstrip()


def remarks(figures: Mapping[int, Figures]) -> Iterator[str]:
    """Outcomes other than expected, with how often they came back."""
    for measure in MEASURES:
        for size in sorted(figures):
            found = figures[size].samples.get(measure.key)
            if measure.verdict is None or found is None:
                continue
            for verdict, times in sorted(found.verdicts.items()):
                if verdict != measure.verdict:
                    yield f"{measure.title}, {size:,} nodes: {verdict}, {times} of {len(found.seconds)} times"


def document(figures: Mapping[int, Figures], seed: int, clock: str) -> dict[str, object]:
    """All figures for a machine to read; times are in seconds."""
    return {
        "seed": seed,
        "clock": clock,
        "sizes": {
            str(size): {
                "build": found.build,
                "memory": {"engine": found.memory.engine, "shape": found.memory.shape},
                "measures": {
                    key: {
                        "median": samples.median,
                        "p99": samples.p99,
                        "calls": len(samples.seconds),
                        "outcomes": dict(sorted(samples.verdicts.items())),
                    }
                    for key, samples in found.samples.items()
                },
            }
            for size, found in sorted(figures.items())
        },
        "targets": [
            {"title": v.title, "limit": v.limit, "found": v.found, "unit": v.unit, "met": v.met}
            for v in verdicts(figures)
        ],
    }


def _times(samples: Samples | None) -> str:
    if samples is None:
        return "does not fit"
    return f"{_milliseconds(samples.median)} / {_milliseconds(samples.p99)}"


def _milliseconds(seconds: float) -> str:
    figure = seconds * 1000
    return f"{figure:.3f}" if figure < 10 else f"{figure:.1f}" if figure < 1000 else f"{figure:,.0f}"


def _ratio(samples: list[Samples | None]) -> str:
    """The largest size to the smallest."""
    first, last = samples[0], samples[-1]
    return f"{last.median / first.median:.1f}" if first is not None and last is not None else ""
