"""Amounts of named resources, as exact whole units."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping

from closeknit.hub import quantities
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.quantities import LARGEST, Rounding
from closeknit.hub.sentences import hub as sentences


class Resources(Mapping[str, int]):
    """An immutable, hashable mapping from resource name to units; absent means zero.

    Amounts of zero are not kept, so two values are equal exactly when they mean the same.
    """

    __slots__ = ("_amounts", "_hash")
    _amounts: dict[str, int]
    _hash: int

    def __init__(self, amounts: Mapping[str, int] = {}) -> None:
        kept = {name: amounts[name] for name in sorted(amounts) if amounts[name] != 0}
        object.__setattr__(self, "_amounts", kept)
        object.__setattr__(self, "_hash", hash(tuple(kept.items())))

    @classmethod
    def parse(
        cls, quantities_by_name: Mapping[str, str | int | float], rounding: Rounding = Rounding.UP
    ) -> Resources:
        """Read Kubernetes quantities; raises ``ValueError`` at the first that is not one."""
        return cls(
            {name: quantities.amount(name, text, rounding) for name, text in quantities_by_name.items()}
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Resources cannot be changed; make a new value instead.")

    def __getitem__(self, name: str) -> int:
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def items(self) -> ItemsView[str, int]:
        """Names and units, by name; the dictionary's own view is several times faster than the mixin's."""
        return self._amounts.items()

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Resources):
            return self._amounts == other._amounts
        return NotImplemented

    def __add__(self, other: Resources) -> Resources:
        return Resources({name: self.get(name, 0) + other.get(name, 0) for name in {*self, *other}})

    def __sub__(self, other: Resources) -> Resources:
        return Resources({name: self.get(name, 0) - other.get(name, 0) for name in {*self, *other}})

    def __mul__(self, times: int) -> Resources:
        return Resources({name: units * times for name, units in self.items()})

    def __reduce__(self) -> tuple[type[Resources], tuple[dict[str, int]]]:
        return Resources, (dict(self._amounts),)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={quantities.written(name, units)}" for name, units in self.items())
        return f"Resources({inside})"


def is_extended(name: str) -> bool:
    """Whether a resource is a scarce device, such as a GPU: its name has a domain, as in ``nvidia.com/gpu``.

    Pods that do not request such a resource avoid nodes that have it free, and explanations name it first.
    Kubernetes calls these extended resources, and does not count those of its own domain, ``kubernetes.io``,
    among them; here, they count.
    """
    return "/" in name


def amount_problems(path: Path, amounts: Resources) -> Iterator[Problem]:
    """Amounts that cannot be counted: negative ones, and those that no 64-bit integer holds."""
    for name, units in amounts.items():
        if units < 0:
            yield sentences.NEGATIVE.at((*path, name), value=units)
        elif units > LARGEST:
            yield sentences.TOO_LARGE.at((*path, name), value=units, most=LARGEST)
