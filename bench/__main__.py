"""``python -m bench``: measure, print a table, compare with the targets."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path

from bench import memory, report
from bench.bed import Bed
from bench.requests import rack_gang
from bench.samples import CLOCKS, Clock, sample
from bench.targets import Figures, verdicts
from bench.work import MEASURES
from closeknit.engine import Engine


def main(arguments: list[str] | None = None) -> int:
    """Run; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--sizes", type=_sizes, default=[1_000, 10_000, 100_000], metavar="1000,10000")
    parser.add_argument(
        "--only",
        action="append",
        choices=[m.key for m in MEASURES],
        help="take only this measure; may repeat",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the clusters and of what happens on them")
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="processor", help="whose time is counted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")
    options = parser.parse_args(arguments)
    figures = {size: run(size, options.seed, CLOCKS[options.clock], options.only) for size in options.sizes}
    print(_machine(), end="\n\n")
    print("\n".join(report.table(figures)), end="\n\n")
    if found := list(report.remarks(figures)):
        print("\n".join(found), end="\n\n")
    if not options.only:
        print("\n".join(str(verdict) for verdict in verdicts(figures)))
    if options.json is not None:
        document = report.document(figures, options.seed, options.clock)
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def run(size: int, seed: int, clock: Clock, only: list[str] | None) -> Figures:
    """Take every measure on the cluster of one size."""
    _say(f"{size:,} nodes: building")
    bed = Bed(size, seed)
    begun = clock()
    Engine(bed.cluster).decide(rack_gang("first"))
    figures = Figures(size, clock() - begun, {}, memory.measure(bed.cluster))
    for measure in MEASURES:
        if size < measure.least_size or (only and measure.key not in only):
            continue
        _say(f"{size:,} nodes: {measure.title}")
        figures.samples[measure.key] = sample(measure.calls(bed), clock, measure.patience)
    return figures


def _sizes(text: str) -> list[int]:
    sizes = [int(part) for part in text.replace("_", "").split(",")]
    if min(sizes) < 1_000:
        raise argparse.ArgumentTypeError("The requests need at least 1,000 nodes.")
    return sizes


def _machine() -> str:
    """What the figures were taken on: with a load above 1, neighbours made them higher than need be."""
    load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
    return f"Python {platform.python_version()}, {os.cpu_count()} processors, load {load} at the end"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
