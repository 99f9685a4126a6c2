"""Expressions in CEL that select devices, with the functions that Kubernetes adds to the language.

The library that evaluates them is loaded when the first expression is seen. Without it devices that are
selected by expressions are not counted.

Expressions come from tenants, so whatever the library raises is a ``SelectorError``, and an expression is
evaluated only if its length and its estimated cost are within Kubernetes' limits (``selector_costs``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from closeknit.apis.resource_k8s_io_v1 import BasicDevice
from closeknit.dialects.core.selector_costs import HIGHEST, LONGEST, TooCostlyError, cost_of
from closeknit.hub import quantities
from closeknit.hub.problems import InvalidError

_DOMAINS = re.compile(r"""\.(attributes|capacity)\[(["'])([^"']*)\2\]""")
_SEMVER = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_THOUSANDTHS = 1000


class SelectorError(Exception):
    """An expression has no answer for a device, or for any; the message states why."""


class BudgetError(SelectorError):
    """An evaluation was given up: the library stopped it, or failed."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    """An expression that can be evaluated, or why it can not."""

    program: Any = None
    cost: int = 0
    """The most that one evaluation costs."""
    why_not: str = ""


def check(expression: str) -> str:
    """Why an expression can never be evaluated; empty where it can."""
    return _compiled(expression).why_not


def cost(expression: str) -> int:
    """The most that one evaluation of an expression costs; 0 where it can never be evaluated."""
    return _compiled(expression).cost


def selected(expression: str, driver: str, device: BasicDevice) -> bool:
    """Whether an expression selects a device.

    Raises ``SelectorError`` where it has no answer, and ``BudgetError`` where none was found.
    """
    compiled = _compiled(expression)
    if compiled.why_not:
        raise SelectorError(compiled.why_not)
    try:
        # An error in the expression, such as a missing key, is a value. What is raised is none: the library
        # has its own budget of iterations, and reports it as a RuntimeError, memory as a MemoryError.
        answer = compiled.program.eval(data={"device": _variables(expression, driver, device)}).value()
    except Exception as error:
        raise BudgetError(_first_line(error)) from error
    if not isinstance(answer, bool):
        raise SelectorError(str(answer))
    return answer


@lru_cache(maxsize=1024)
def _compiled(expression: str) -> _Compiled:
    if len(expression) > LONGEST:
        return _Compiled(why_not=f"It has more than {LONGEST} characters.")
    try:
        program = _environment().compile(expression)
        return _Compiled(program, cost_of(program.serialize()))
    except TooCostlyError as error:
        return _Compiled(why_not=f"One evaluation may cost {error.cost} steps, and {HIGHEST} are allowed.")
    except Exception as error:  # noqa: BLE001 (as above: it may hold what is no text, or be nested too deeply)
        return _Compiled(why_not=_first_line(error))


def _first_line(error: Exception) -> str:
    text = next(iter(str(error).splitlines()), "")
    return text if isinstance(error, RuntimeError) else f"{type(error).__name__}: {text}"


@cache
def _environment() -> Any:
    try:
        from cel_expr_python import cel  # noqa: PLC0415 (large, and few need it)
        from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings  # noqa: PLC0415
    except ImportError as error:
        raise SelectorError("The package cel-expr-python is not installed.") from error
    types = cel.Type
    overloads: dict[str, list[Any]] = {}

    def add(name: str, returned: Any, taken: list[Any], made: Callable[..., Any], *, member: bool) -> None:
        own = overloads.setdefault(name, [])
        own.append(cel.Overload(f"{name}_{len(own)}", returned, taken, member, made))

    # Quantities are whole numbers of thousandths, versions are texts.
    for name, kind, parsed in (("quantity", types.INT, _quantity), ("semver", types.STRING, _semver)):
        add(name, kind, [types.STRING], parsed, member=False)
        add(f"is{name.capitalize()}", types.BOOL, [types.STRING], _is(parsed), member=False)
    for kind, key in ((types.INT, _same), (types.STRING, _order)):
        add("compareTo", types.INT, [kind, kind], _compare(key), member=True)
        add("isGreaterThan", types.BOOL, [kind, kind], _greater(key), member=True)
        add("isLessThan", types.BOOL, [kind, kind], _less(key), member=True)
    for place, name in enumerate(("major", "minor", "patch")):
        add(name, types.INT, [types.STRING], lambda text, at=place: _order(text)[at], member=True)
    functions = [cel.FunctionDecl(name, listed) for name, listed in overloads.items()]
    extensions = [ext_optional.ExtOptional(), ext_strings.ExtStrings(), ext_bindings.ExtBindings()]
    return cel.NewEnv(variables={"device": types.DYN}, functions=functions, extensions=extensions)


def _variables(expression: str, driver: str, device: BasicDevice) -> Mapping[str, Any]:
    attributes: dict[str, dict[str, Any]] = {}
    capacity: dict[str, dict[str, Any]] = {}
    # A domain of which a device has nothing is an empty one.
    for field, _, domain in _DOMAINS.findall(expression):
        (attributes if field == "attributes" else capacity).setdefault(domain, {})
    for name, value in device.attributes.items():
        domain, _, own = name.rpartition("/")
        given = (value.whole, value.flag, value.string, value.version)
        attributes.setdefault(domain or driver, {})[own] = next(
            (each for each in given if each is not None), None
        )
    for name, amount in device.capacity.items():
        domain, _, own = name.rpartition("/")
        capacity.setdefault(domain or driver, {})[own] = _quantity(amount.value)
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": device.allow_multiple_allocations,
    }


def _quantity(text: Any) -> int:
    try:
        return int(quantities.parse(text) * _THOUSANDTHS)
    except InvalidError as error:
        raise ValueError(str(error)) from error


def _semver(text: str) -> str:
    _order(text)
    return text


def _order(text: str) -> tuple[Any, ...]:
    """The parts of a version in the order in which they are compared; one that is final is the last."""
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not a semantic version.")
    major, minor, patch, before = match.groups()
    parts = tuple(
        (0, int(each), "") if each.isdigit() else (1, 0, each) for each in (before or "").split(".") if each
    )
    return int(major), int(minor), int(patch), not before, parts


def _same(value: int) -> int:
    return value


def _is(parsed: Callable[[str], Any]) -> Callable[[str], bool]:
    def holds(text: str) -> bool:
        try:
            parsed(text)
        except ValueError:
            return False
        return True

    return holds


def _compare(key: Callable[[Any], Any]) -> Callable[[Any, Any], int]:
    return lambda one, other: (key(one) > key(other)) - (key(one) < key(other))


def _greater(key: Callable[[Any], Any]) -> Callable[[Any, Any], bool]:
    return lambda one, other: key(one) > key(other)


def _less(key: Callable[[Any], Any]) -> Callable[[Any, Any], bool]:
    return lambda one, other: key(one) < key(other)
