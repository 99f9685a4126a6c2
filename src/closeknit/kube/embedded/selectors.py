"""Label and field selectors: read once, asked often."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from closeknit.kube.errors import BadRequestError, Cause
from closeknit.kube.numbers import signed

Test: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""A question to a mapping: an object's labels, or the object."""

_TOKEN: Final = re.compile(r"\s*(,|\(|\)|==|=|!=|!|>|<|[^\s,()=!<>]+)")
_KEY: Final = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_OPERATOR: Final = re.compile(r"!=|==|=")
_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str
    """``in``, ``notin``, ``exists``, ``absent``, ``gt`` or ``lt``."""
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy it. A missing label satisfies ``notin``."""
        found = labels.get(self.key)
        match self.operator:
            case "in":
                return found is not None and found in self.values
            case "notin":
                return found is None or found not in self.values
            case "exists":
                return found is not None
            case "absent":
                return found is None
            case _:
                (bound,) = self.values
                value, limit = signed(found or ""), signed(bound)
                if value is None or limit is None:
                    return False
                return value > limit if self.operator == "gt" else value < limit


@lru_cache(maxsize=1024)
def label_requirements(text: str) -> tuple[Requirement, ...]:
    """Read a label selector, such as ``app=web,tier in (a, b),!canary``."""
    if len(text) > 64 * 1024:
        raise _unreadable(text[:80], "it is longer than 64 KiB")
    tokens = _tokens(text)
    found: list[Requirement] = []
    position = 0
    while position < len(tokens):
        requirement, position = _requirement(tokens, position, text)
        found.append(requirement)
        if position < len(tokens):
            if tokens[position] != "," or position + 1 == len(tokens):
                raise _unreadable(text, f"found '{tokens[position]}', expected: ',' or end of string")
            position += 1
    return tuple(found)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            raise _unreadable(text, f"found '{stripped[position]}'")
        tokens.append(match[1])
        position = match.end()
    return tokens


def _requirement(tokens: list[str], at: int, text: str) -> tuple[Requirement, int]:
    absent = tokens[at] == "!"
    at += absent
    key = tokens[at] if at < len(tokens) else ""
    if not _KEY.fullmatch(key):
        raise _unreadable(text, f"'{key}' is not a label key")
    at += 1
    operator = tokens[at] if at < len(tokens) else ","
    if operator == "," or absent:
        return Requirement(key, "absent" if absent else "exists"), at
    if operator in ("in", "notin"):
        values, at = _values(tokens, at + 1, text)
        return Requirement(key, operator, frozenset(_checked(value, text) for value in values)), at
    if operator not in _OPERATORS:
        raise _unreadable(text, f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
    following = tokens[at + 1] if at + 1 < len(tokens) else ","
    value = "" if following == "," else following
    if _OPERATORS[operator] in ("gt", "lt") and signed(value) is None:
        raise _unreadable(text, f"'{value}' is not an integer")
    return (
        Requirement(key, _OPERATORS[operator], frozenset({_checked(value, text)})),
        at + (1 if following == "," else 2),
    )


_OPERATORS: Final[Mapping[str, str]] = {
    "=": "in",
    "==": "in",
    "!=": "notin",
    ">": "gt",
    "<": "lt",
    "gt": "gt",
    "lt": "lt",
}


def _values(tokens: list[str], at: int, text: str) -> tuple[list[str], int]:
    if at >= len(tokens) or tokens[at] != "(":
        raise _unreadable(text, "expected: '('")
    values: list[str] = []
    before = "("
    for position in range(at + 1, len(tokens)):
        found = tokens[position]
        if found in (",", ")"):
            if before in (",", "("):
                values.append("")
            if found == ")":
                return values, position + 1
        else:
            values.append(found)
        before = found
    raise _unreadable(text, "expected: ')'")


def _checked(value: str, text: str) -> str:
    if len(value) > 63 or not _VALUE.fullmatch(value):
        raise _unreadable(text, f"'{value}' is not a label value")
    return value


def _unreadable(text: str, detail: str) -> BadRequestError:
    return BadRequestError(f'unable to parse requirement of label selector "{text}": {detail}')


def label_test(text: str) -> Test | None:
    """The question a label selector asks of labels; None where it asks nothing."""
    requirements = label_requirements(text)
    if not requirements:
        return None
    if len(requirements) == 1:
        return requirements[0].holds
    return lambda labels: all(requirement.holds(labels) for requirement in requirements)


def label_selector_text(selector: Mapping[str, Any]) -> str:
    """A selector object (``matchLabels``, ``matchExpressions``) as text."""
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or ():
        key, operator = expression.get("key", ""), expression.get("operator", "")
        values = ",".join(sorted(expression.get("values") or ()))
        match operator:
            case "In" | "NotIn":
                parts.append(f"{key} {operator.lower()} ({values})")
            case "Exists":
                parts.append(key)
            case "DoesNotExist":
                parts.append(f"!{key}")
            case _:
                raise BadRequestError(
                    f'"{operator}" is no operator of a label selector. Use In, NotIn, Exists or DoesNotExist.'
                )
    return ",".join(parts)


@lru_cache(maxsize=1024)
def field_requirements(text: str) -> tuple[tuple[str, bool, str], ...]:
    """Read a field selector into field, whether it must be equal, and value."""
    found: list[tuple[str, bool, str]] = []
    for part in re.split(r"(?<!\\),", text):
        if not part.strip():
            continue
        match = _OPERATOR.search(part)
        name = part[: match.start()].strip() if match is not None else ""
        if match is None or not name or "!" in name:
            raise BadRequestError(
                f"invalid selector: '{part}'; can't understand '{part}'. Write field=value or field!=value."
            )
        value = re.sub(r"\\(.)", r"\1", part[match.end() :].lstrip())
        found.append((name, match[0] != "!=", value))
    return tuple(found)


def field_test(text: str, readers: Mapping[str, Callable[[Mapping[str, Any]], str]]) -> Test | None:
    """The question a field selector asks of an object; only fields with a reader can be asked for."""
    requirements = field_requirements(text)
    if not requirements:
        return None
    tests: list[tuple[Callable[[Mapping[str, Any]], str], bool, str]] = []
    for name, equal, value in requirements:
        if (reader := readers.get(name)) is None:
            known = f"These can be selected: {', '.join(sorted(readers))}."
            raise BadRequestError(f"field label not supported: {name}", causes=(Cause(name, known),))
        tests.append((reader, equal, value))
    return lambda obj: all((reader(obj) == value) is equal for reader, equal, value in tests)


def field_reader(path: str) -> Callable[[Mapping[str, Any]], str]:
    """A function that reads a field as text; what is missing is empty."""
    steps = path.split(".")

    def read(obj: Mapping[str, Any]) -> str:
        value: Any = obj
        for step in steps:
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is None:
            return ""
        return str(value).lower() if isinstance(value, bool) else str(value)

    return read


def field_readers(paths: Iterable[str]) -> dict[str, Callable[[Mapping[str, Any]], str]]:
    """Readers by path, with those that every kind has."""
    return {path: field_reader(path) for path in ("metadata.name", "metadata.namespace", *paths)}
