"""Injection: one function of the per-object path fails whenever it works on a poisoned object.

A *point* is a function of ``closeknit`` that was called, in a run without errors, while a poisoned object was
worked on: one of its arguments is the object, or something about it, or a function that called it had such an
argument. Objects are recognised by the word ``poison`` in their names. The code of a function is replaced in
place, so everything that refers to it calls what was injected, whatever it was imported as.
"""

from __future__ import annotations

import builtins
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

import closeknit
from closeknit.hub.keys import Key

WORD: Final = "poison"
_ROOT: Final = str(Path(closeknit.__file__).parent) + "/"
_OUTSIDE: Final = tuple(
    _ROOT + each
    for each in (
        # The API server, the kubelets and controllers of others, and the harness itself.
        "kube/embedded/",
        "kube/standins/",
        "testing/",
        "simulator/",
        "apis/",
        "definitions/",
        # What contains failures; it is tested by itself.
        "live/containment.py",
        "live/supervision.py",
        "live/failure_log.py",
        "hub/failures.py",
    )
)
_ATTRIBUTES: Final = (
    "name",
    "key",
    "object",
    "metadata",
    "workload",
    "unit",
    "verdict",
    "commit",
    "plan",
    "request",
)
_DEEP: Final = 3
_HOOK: Final = "__closeknit_injection__"


class InjectedError(RuntimeError):
    """An error that a point raises."""


class HangError(TimeoutError):
    """A point took too long, and was given up."""


class ExhaustedError(RecursionError):
    """A point used up its budget."""


MODES: Final[dict[str, type[Exception]]] = {
    "error": InjectedError,
    "hang": HangError,
    "budget": ExhaustedError,
}


@dataclass(frozen=True, order=True)
class Point:
    """A function of the per-object path."""

    path: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name}"


def point_of(code: CodeType) -> Point:
    """The point of a function by its code."""
    return Point(code.co_filename.removeprefix(_ROOT), code.co_firstlineno, code.co_qualname)


_CONTAINING: Final = frozenset(
    {
        "Core._contained",
        "Core._withdraw",
        "Core._is_half_bound",
        "ClusterState._put_unreadable",
        "ControllerLoop._written",
        "Reporter._contained",
        "LiveMap._contained_row",
        "Mirror._passing_over",
    }
)
"""Functions that contain failures: what fails there is beyond one object."""


def _is_inside(code: CodeType) -> bool:
    file = code.co_filename
    return (
        file.startswith(_ROOT)
        and not file.startswith(_OUTSIDE)
        and not code.co_name.startswith("<")
        and code.co_qualname not in _CONTAINING
    )


def is_poisoned(value: Any, deep: int = _DEEP) -> bool:
    """Whether a value is a poisoned object, or about one."""
    if isinstance(value, str):
        return WORD in value and len(value) < 200
    if isinstance(value, Key):
        return WORD in value.name
    if isinstance(value, dict):
        return is_poisoned(value.get("metadata") or value.get("name"), deep - 1) if deep else False
    if (
        not deep
        or isinstance(value, (type, FunctionType))
        or not type(value).__module__.startswith("closeknit")
    ):
        return False
    if isinstance(value, tuple):
        return any(is_poisoned(each, deep - 1) for each in value)
    slots = getattr(type(value), "__slots__", ())
    for name in _ATTRIBUTES:
        # Properties are code of the path, and are not called from here.
        own = (*slots, *getattr(value, "__struct_fields__", ()), *getattr(value, "__dict__", ()))
        if name in own and is_poisoned(getattr(value, name, None), deep - 1):
            return True
    return False


def _has_poison(frame: FrameType) -> bool:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = frame.f_locals
    return any(is_poisoned(given.get(name)) for name in names)


def _under_poison(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_ROOT) and _has_poison(frame):
            return True
        frame = frame.f_back
    return False


class Tracer:
    """Collects the points of a run."""

    def __init__(self) -> None:
        self.codes: dict[CodeType, None] = {}

    @contextmanager
    def tracing(self) -> Iterator[None]:
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code not in self.codes and _is_inside(code) and _under_poison(frame):
            self.codes[code] = None

    def points(self) -> dict[Point, FunctionType]:
        """The functions that can be replaced, by point; those that only exist within a call can not."""
        functions: dict[CodeType, FunctionType] = {}
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__ in self.codes:
                functions[each.__code__] = each
        return {point_of(code): functions[code] for code in self.codes if code in functions}


def _calls_hook(number: int) -> CodeType:
    scope: dict[str, Any] = {}
    source = f"def f(*given, **named):\n    return {_HOOK}({number}, given, named)\n"
    exec(compile(source, "<injected>", "exec"), scope)
    return scope["f"].__code__  # type: ignore[no-any-return]


class Injector:
    """Makes a point fail while a block lasts."""

    def __init__(self) -> None:
        self.hits = 0
        """How often it failed."""

    @contextmanager
    def failing(
        self, function: FunctionType, error: Callable[[str], Exception], times: int | None
    ) -> Iterator[None]:
        """Let a function fail for poisoned objects; ``times`` at most."""
        original = FunctionType(
            function.__code__,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        original.__kwdefaults__ = function.__kwdefaults__
        before = function.__code__

        def hook(_: int, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
            if times is None or self.hits < times:
                names = original.__code__.co_varnames
                arguments = (*given, *(value for key, value in named.items() if key in names))
                if any(map(is_poisoned, arguments)) or _under_poison(sys._getframe(2)):
                    self.hits += 1
                    raise error(f"injected into {before.co_qualname}")
            return original(*given, **named)

        code = _calls_hook(0).replace(co_freevars=before.co_freevars, co_name=before.co_name)
        setattr(builtins, _HOOK, hook)
        function.__code__ = code
        try:
            yield
        finally:
            function.__code__ = before
            delattr(builtins, _HOOK)
