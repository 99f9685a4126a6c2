"""What the figures should be, and whether they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.memory import Memory
from bench.samples import Samples

LARGE, SMALL = 100_000, 1_000


@dataclass(slots=True)
class Figures:
    """All that was measured on the cluster of one size."""

    size: int
    build: float
    """Seconds to make an engine and decide once."""
    samples: dict[str, Samples]
    memory: Memory


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target compared with what was measured; ``found`` is None where it was not measured."""

    title: str
    limit: float
    found: float | None
    unit: str

    @property
    def met(self) -> bool:
        """Whether the figure was measured and stays within the limit."""
        return self.found is not None and self.found <= self.limit

    def __str__(self) -> str:
        if self.found is None:
            return f"not measured  {self.title}: at most {self.limit:g} {self.unit}"
        word = "met" if self.met else "missed"
        return f"{word:12}  {self.title}: {self.found:.3g} {self.unit}, at most {self.limit:g}"


_MEDIANS = (
    ("warm-1", "4 pods of 1 GPU in a rack", 0.2),
    ("warm-2", "4 pods of 2 GPUs in a rack", 0.2),
    ("whole", "4 pods of 8 GPUs in a rack", 0.2),
    ("cold", "a new amount", 10.0),
    ("cold-value", "a new selector value", 10.0),
    ("cold-label", "a new selector label", 10.0),
    ("zone-512", "512 pods in a zone", 5.0),
    ("rack-512", "512 pods that prefer a rack", 5.0),
    ("nested", "8 groups of 8 pods", 20.0),
    ("apart-host", "1,000 pods with anti-affinity by host", 50.0),
    ("apart-rack", "300 pods with anti-affinity by host and by rack", 50.0),
    ("infeasible", "too many pods for a rack, explained", 50.0),
    ("infeasible-nested", "too many groups for a block, explained", 50.0),
    ("fill", "a gang while filling", 0.3),
)


def verdicts(figures: Mapping[int, Figures]) -> Iterator[Verdict]:
    """Every target, whether measured or not. Times are medians at 100,000 nodes."""
    large, small = figures.get(LARGE), figures.get(SMALL)
    for key in ("warm-1", "warm-2", "whole", "fill"):
        high, low = _median(large, key), _median(small, key)
        ratio = high / low if high is not None and low is not None else None
        yield Verdict(f"{key}, 100,000 nodes to 1,000", 1.5, ratio, "times")
    for key, title, limit in _MEDIANS:
        yield Verdict(title, limit, _median(large, key), "ms")
    yield Verdict("an engine made and asked once", 3.0, large.build if large else None, "s")
    yield Verdict("memory a node, one shape known", 1024.0, large.memory.engine if large else None, "bytes")


def _median(figures: Figures | None, key: str) -> float | None:
    """In milliseconds; None where it was not measured."""
    samples = figures.samples.get(key) if figures is not None else None
    return samples.median * 1000 if samples is not None else None
