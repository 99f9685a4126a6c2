"""Compare the live core with the policy model on many random sequences: ``make policy-model N=10000 SEED=1``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.policy import sequences
from tests.policy.harness import Result, running_bed
from tests.policy.sequences import FLAVOURS, Flavour
from tests.policy.shrinking import drawn, shrunk

_PROGRESS = 500


def main(arguments: list[str] | None = None) -> int:
    """Compare, print every difference made small, and return 1 if there was any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=10_000, help="Number of sequences.")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the first one.")
    parser.add_argument("--flavour", choices=sorted(FLAVOURS), default="all")
    parser.add_argument("--draw", type=int, default=5, help="How many differences to shrink and draw.")
    parser.add_argument("--into", type=Path, help="A folder for the shrunk sequences, as YAML.")
    options = parser.parse_args(arguments)
    seeds = range(options.seed, options.seed + options.n)
    return report(seeds, FLAVOURS[options.flavour], draw=options.draw, into=options.into)


def report(seeds: Iterable[int], flavour: Flavour, *, draw: int, into: Path | None) -> int:
    """Compare on these seeds and print what was found."""
    totals: Counter[str] = Counter()
    began = time.process_time()
    with running_bed() as run:
        for seed in seeds:
            sequence = sequences.draw(seed, flavour)
            result = run(sequence)
            count(totals, result)
            if result.difference is not None and totals["differences"] <= draw:
                small = shrunk(sequence, run)
                difference = run(small).difference
                assert difference is not None
                print(f"---- seed {seed}", drawn(small, difference), sep="\n")  # noqa: T201 (a program that reports)
                if into is not None:
                    (into / f"{seed}.yaml").write_text(sequences.written(small))
            if totals["sequences"] % _PROGRESS == 0:
                _print(totals, began)
    _print(totals, began)
    return 1 if totals["differences"] else 0


def count(totals: Counter[str], result: Result) -> None:
    """Add what became of a sequence."""
    totals["sequences"] += 1
    totals["moments compared"] += result.compared
    totals["evictions"] += result.evictions
    totals["other nodes"] += result.moved
    totals["differences"] += result.difference is not None
    totals["cut short as ambiguous"] += bool(result.ambiguous)
    if result.ambiguous:
        totals[f'("{result.ambiguous}")'] += 1


def _print(totals: Counter[str], began: float) -> None:
    each = (time.process_time() - began) / max(totals["sequences"], 1)
    counted = ", ".join(f"{number} {name}" for name, number in totals.items())
    print(f"{counted}; {each * 1000:.0f} ms each", flush=True)  # noqa: T201 (a program that reports)


if __name__ == "__main__":
    sys.exit(main())
