"""Values of a trace, checked one by one; every problem is noted, and none stops the others."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from closeknit.hub import quantities
from closeknit.hub.paths import Path
from closeknit.hub.problems import InvalidError, OneOf, Problem
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import simulator as sentences

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<unit>[smhd]?)", re.ASCII)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


class Fields:
    """The fields of one mapping; who reads one that is missing or wrong gets the usual value."""

    def __init__(self, written: Mapping[str, Any], path: Path, problems: list[Problem]) -> None:
        self._written, self.path, self.problems = written, path, problems
        self.before = len(problems)

    def known(self, names: Iterable[str]) -> None:
        """Note fields that nobody reads."""
        allowed = tuple(names)
        for name in self._written:
            if name not in allowed:
                wrong = sentences.UNKNOWN_FIELD.at(
                    (*self.path, str(name)), name=str(name), known=OneOf.among(str(name), allowed)
                )
                self.problems.append(wrong)

    def has(self, name: str) -> bool:
        """Whether a field is written and not empty."""
        return self._written.get(name) not in (None, "")

    def require(self, name: str, example: str) -> None:
        """Note a field that is missing."""
        if not self.has(name):
            self.problems.append(sentences.MISSING_FIELD.at((*self.path, name), example=example))

    def seconds(self, name: str, usual: float = 0.0) -> float:
        """A time or a duration, in seconds."""
        if not self.has(name):
            return usual
        value = self._written[name]
        match = _DURATION.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
        found = float(match["number"]) * _UNITS[match["unit"]] if match is not None else -1.0
        if match is None or not found < 1e10:
            self.problems.append(sentences.NOT_A_DURATION.at((*self.path, name), value=str(value)))
            return usual
        return found

    def whole(self, name: str, usual: int, least: int = 0, most: int = 1_000_000) -> int:
        """A whole number."""
        return int(self.number(name, usual, least, most, whole=True))

    def number(
        self, name: str, usual: float, least: float = 0.0, most: float = 1e12, *, whole: bool = False
    ) -> float:
        """A number within bounds."""
        if not self.has(name):
            return usual
        found = plain_number(self._written[name])
        if found is None or not least <= found <= most or (whole and found != int(found)):
            kind = "a whole number" if whole else "a number"
            wrong = sentences.NOT_A_NUMBER.at(
                (*self.path, name),
                value=str(self._written[name]),
                allowed=f"{kind} from {least:g} to {most:g}",
            )
            self.problems.append(wrong)
            return usual
        return found

    def name(self, name: str) -> str:
        """The name of an object."""
        value = str(self._written.get(name, ""))
        if not _NAME.fullmatch(value):
            self.problems.append(sentences.NO_NAME.at((*self.path, name), value=value))
        return value

    def text(self, name: str) -> str | None:
        """Any text; None where there is none."""
        return str(self._written[name]) if self.has(name) else None

    def mapping(self, name: str, example: str) -> dict[str, Any]:
        """A mapping; empty where it is missing."""
        value = self._written.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            wrong = sentences.NOT_A_MAPPING.at((*self.path, name), found=_kind(value), example=example)
            self.problems.append(wrong)
            return {}
        return {str(key): each for key, each in value.items()}

    def weights(self, name: str, usual: Mapping[int, float], least: int) -> Mapping[int, float]:
        """Whole numbers and how frequent each is."""
        written = self.mapping(name, "{1: 50, 8: 30, 64: 20}")
        found: dict[int, float] = {}
        for key, weight in written.items():
            size, share = plain_number(key), plain_number(weight)
            if size is None or size != int(size) or not least <= size <= 1e6 or share is None or share <= 0:
                allowed = f"whole numbers from {least} on, and how frequent each is"
                wrong = sentences.NOT_A_NUMBER.at(
                    (*self.path, name, key), value=f"{key}: {weight}", allowed=allowed
                )
                self.problems.append(wrong)
            else:
                found[int(size)] = share
        return found or usual

    def amounts(self, name: str) -> Resources:
        """Kubernetes quantities by resource."""
        found: dict[str, int] = {}
        for resource, text in self.mapping(name, '{"nvidia.com/gpu": 8}').items():
            try:
                found[resource] = quantities.amount(resource, text)
            except InvalidError as error:
                self.problems.extend(each.under(*self.path, name, resource) for each in error.problems)
        return Resources(found)


def plain_number(value: object) -> float | None:
    """A finite number, as it is or written out."""
    if isinstance(value, bool):
        return None
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _kind(value: object) -> str:
    return "a list" if isinstance(value, list) else "a single value"
