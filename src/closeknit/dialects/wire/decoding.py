"""Whether a plain document has the shape of a wire type; everything that differs, at once.

msgspec stops at the first mistake and passes over unknown fields by default. So it is asked
first whether a document fits a closed twin of the shape, which is quick: most of the hundred thousand nodes
of a cluster do. Only where one does not, a checker walks it and tells everything.
Twins and checkers are made per type, when they are first needed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, lru_cache
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from closeknit.apis.wire import Number, Quantity, Wire
from closeknit.hub.many_problems import MOST_OF_A_RULE
from closeknit.hub.nearest import nearest
from closeknit.hub.paths import Path
from closeknit.hub.problems import Category, Code, Meant, Problem, shown
from closeknit.hub.sentences import hub as hub_sentences
from closeknit.hub.sentences import wire as sentences

_W = TypeVar("_W", bound=Wire)

_Steps: TypeAlias = "tuple[_Steps, str | int] | None"
"""A path from the inside out; it is only written down for a problem."""

_Check: TypeAlias = "Callable[[Any, _Steps, _Notes], None]"


class _EnoughError(Exception):
    """So many problems were found that nothing more is told, and the document cannot be read."""


class _Notes:
    """What is wrong with one document, and whether unknown fields count."""

    def __init__(self, *, lenient: bool) -> None:
        self.lenient = lenient
        self.readable = True
        self.problems: list[Problem] = []

    def unknown(self, steps: _Steps, field: str, remedy: str | Meant) -> None:
        if self._room(steps):
            self.problems.append(sentences.UNKNOWN_FIELD.at(_path(steps), field=field, remedy=remedy))

    def mismatch(self, steps: _Steps, value: Any, expected: str, *, text: bool = False) -> None:
        """Report a value of another type than ``expected``; ``text`` says that a string was expected."""
        remedy = ""
        if text and isinstance(value, int | float):
            remedy = " Put it in quotes."
        elif isinstance(value, str) and "{{" in value:
            remedy = " It looks like a template. Fill it in first."
        self.wrong(steps, sentences.WRONG_TYPE, found=found(value), expected=expected, remedy=remedy)

    def wrong(self, steps: _Steps, code: Code, **facts: str) -> None:
        self.readable = False
        if self._room(steps):
            self.problems.append(code.at(_path(steps), **facts))

    def _room(self, steps: _Steps) -> bool:
        """Whether one more problem is told; raises ``_EnoughError`` where nothing is left to find out."""
        told = len(self.problems)
        if told < MOST_OF_A_RULE:
            return True
        if told == MOST_OF_A_RULE:
            self.problems.append(hub_sentences.AND_MORE.at(_path(steps), count=told))
        if not self.readable:
            raise _EnoughError
        return False


def decode(
    shape: type[_W], content: dict[str, Any], *, lenient: bool = False
) -> tuple[_W | None, tuple[Problem, ...]]:
    """The document as a value of this shape, and every way in which it has another.

    Fields that the shape does not know are problems, unless ``lenient``, but do not keep the
    rest from being read. There is no value where anything else is wrong.
    """
    if (lenient or _fits(_closed(shape), content)) and (value := fitting(shape, content)) is not None:
        return value, ()
    notes = _Notes(lenient=lenient)
    with suppress(_EnoughError):
        _checker(shape)(content, None, notes)
    value = msgspec.convert(content, shape) if notes.readable else None
    return value, tuple(notes.problems)


def fitting(shape: type[_W], content: dict[str, Any]) -> _W | None:
    """The document as a value of this shape, unknown fields aside; None where ``decode`` tells why not."""
    try:
        return msgspec.convert(content, shape)
    except msgspec.ValidationError:
        return None


def passed_over(problems: Iterable[Problem], *, lenient: bool) -> tuple[Problem, ...]:
    """What a strict ``decode`` found, with unknown fields as notes where all is ``lenient``."""
    return tuple(
        problem.as_note() if lenient and problem.category is Category.SKIPPABLE else problem
        for problem in problems
    )


def _fits(shape: Any, content: Any) -> bool:
    try:
        msgspec.convert(content, shape)
    except msgspec.ValidationError:
        return False
    return True


@cache
def _closed(shape: type[Wire]) -> type[msgspec.Struct]:
    """A shape that takes the same fields, used and unused, and no other, all the way down."""
    fields: list[Any] = []
    written: dict[str, str] = {}
    for field in msgspec.structs.fields(shape):
        inner = _closed_type(field.type)
        fields.append((field.name, inner) if field.required else (field.name, inner, None))
        written[field.name] = field.encode_name
    for i, name in enumerate(sorted(shape.unused)):
        fields.append((f"unused_{i}", object, None))
        written[f"unused_{i}"] = name
    return msgspec.defstruct(shape.__name__, fields, rename=written, kw_only=True, forbid_unknown_fields=True)


def _closed_type(kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, Wire):
        return _closed(kind)
    match get_origin(kind), get_args(kind):
        case origin, (inner, _) if origin is tuple:
            return tuple[_closed_type(inner), ...]  # type: ignore[misc]
        case origin, (_, inner) if origin is dict:
            return dict[str, _closed_type(inner)]  # type: ignore[misc]
        case _, (inner, none) if none is type(None):
            return _closed_type(inner) | None
        case _:
            return kind


def _path(steps: _Steps) -> Path:
    inside_out: list[str | int] = []
    while steps is not None:
        steps, step = steps
        inside_out.append(step)
    return tuple(reversed(inside_out))


@cache
def _checker(kind: Any) -> _Check:
    """The function that checks a value of this type."""
    if isinstance(kind, type) and issubclass(kind, Wire):
        return _wire_checker(kind)
    if kind in _PLAIN:
        return _simple(*_PLAIN[kind])
    if kind in (object, Any):
        return lambda *_: None
    if type(None) in get_args(kind):
        # Null never reaches us, because documents leave it out.
        (inner,) = (inner for inner in get_args(kind) if inner is not type(None))
        return _checker(inner)
    match get_origin(kind):
        case origin if origin is Annotated:
            return _range_checker(kind)
        case origin if origin is tuple:
            return _parts_checker(list, "a list", get_args(kind)[0])
        case origin if origin is dict:
            return _parts_checker(dict, "a mapping", get_args(kind)[1])
        case _:
            raise TypeError(f"No wire shape holds {kind} yet; teach this module to check it.")


_QUANTITY = ((str, int, float), "a quantity, such as 8, 500m or 1.5Gi,")
_PLAIN: dict[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a string"),
    bool: ((bool,), "true or false"),
    Number: ((int, float), "a number"),
    Quantity: _QUANTITY,
    Quantity | None: _QUANTITY,
}
"""Types without parts: what is allowed, and how it is called."""


def _simple(allowed: tuple[type, ...], expected: str) -> _Check:
    def check(value: Any, steps: _Steps, notes: _Notes) -> None:
        if type(value) not in allowed:
            notes.mismatch(steps, value, expected, text=allowed == (str,))

    return check


def _range_checker(kind: Any) -> _Check:
    _, meta = get_args(kind)

    def check(value: Any, steps: _Steps, notes: _Notes) -> None:
        if type(value) is not int:
            notes.mismatch(steps, value, "a whole number")
        elif not meta.ge <= value <= meta.le:
            # The other end is often narrower by a rule of the field, so it is not for this to tell.
            limit = f"at least {meta.ge}" if value < meta.ge else f"at most {meta.le}"
            notes.wrong(steps, sentences.OUT_OF_RANGE, value=shown(value), limit=limit)

    return check


def _parts_checker(kind: Any, called: str, part: Any) -> _Check:
    """Checks a list or a mapping, and walks those of its parts that do not fit."""
    inner = _checker(part)

    def check(value: Any, steps: _Steps, notes: _Notes) -> None:
        if type(value) is not kind:
            notes.mismatch(steps, value, called)
            return
        asked = part if notes.lenient else _closed_type(part)
        for step, item in value.items() if kind is dict else enumerate(value):
            if not _fits(asked, item):
                inner(item, (steps, step), notes)

    return check


def _wire_checker(shape: type[Wire]) -> _Check:
    fields = {field.encode_name: _checker(field.type) for field in msgspec.structs.fields(shape)}
    required = [field.encode_name for field in msgspec.structs.fields(shape) if field.required]

    def check(value: Any, steps: _Steps, notes: _Notes) -> None:
        if type(value) is not dict:
            notes.mismatch(steps, value, "a mapping")
            return
        for key, item in value.items():
            inner = fields.get(key)
            if inner is not None:
                inner(item, (steps, key), notes)
            elif key not in shape.unused and not notes.lenient and (remedy := _remedy(shape, key)):
                notes.unknown((steps, key), key, remedy)
        for key in required:
            if key not in value:
                notes.wrong((steps, key), sentences.MISSING_FIELD)

    return check


@lru_cache(maxsize=1024)
def _remedy(shape: type[Wire], key: str) -> str | Meant | None:
    """What to do about a field that the shape does not know; None where such fields are allowed.

    Asked for the same field of every object, so it is kept: looking for the nearest word takes long.
    """
    if key in shape.elsewhere:
        return shape.elsewhere[key]
    known = _known(shape)
    if shape.open_ended and ((near := nearest(key, known)) is None or not is_slip(key, near)):
        return None
    return Meant(key, known)


@cache
def _known(shape: type[Wire]) -> tuple[str, ...]:
    fields = {field.encode_name for field in msgspec.structs.fields(shape)}
    return tuple(sorted({*fields, *shape.unused}))


_NAMES = {dict: "a mapping", list: "a list", str: "a string", bool: "a truth value", type(None): "nothing"}


def is_slip(written: str, meant: str) -> bool:
    """Whether one is so near the other that it can hardly be a word of its own."""
    return difflib.SequenceMatcher(None, written.casefold(), meant.casefold()).ratio() > 0.85


def found(value: Any) -> str:
    """Name a value that has the wrong type; only scalars are quoted, a list would drown the sentence."""
    kind = _NAMES.get(type(value), "a number")
    if isinstance(value, bool):
        return f"{str(value).lower()}, {kind},"
    return f"{shown(value)}, {kind}," if isinstance(value, str | int | float) else kind
