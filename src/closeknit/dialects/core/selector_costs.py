"""What evaluating an expression in CEL costs at most, before it is evaluated.

The library that evaluates expressions counts iterations alone. A single expression of 7,000 characters can
still take 36 s and 6 GB, because texts that it makes grow with every step. So the cost of an expression is
estimated from its syntax tree, as kube-apiserver does (``CELSelectorExpressionMaxCost``): every step costs
one, and a tenth for each character or element that it reads or makes. What depends on a device is taken to be
as large as Kubernetes lets attributes be.

The tree is read from the library's serialized form, a ``google.protobuf.Any`` of a ``cel.expr.CheckedExpr``;
the numbers below are the field numbers of ``cel/expr/checked.proto`` and ``syntax.proto``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

LONGEST: Final = 10 * 1024
"""The most characters of an expression, as in Kubernetes (``CELSelectorExpressionMaxLength``)."""
HIGHEST: Final = 1_000_000
"""The most that one evaluation may cost, as in Kubernetes. About 0.04 s."""

_ATTRIBUTE = 64
"""The most characters of a value of a device, and more than it has values."""
_CALLBACK = 225
"""What a call of a function that is written in Python costs beside what it reads (9 us, a step 0.04)."""
_UNBOUNDED = 10**12
"""Sizes are not counted beyond this."""

_Message: TypeAlias = Mapping[int, list["bytes | int"]]
"""By field number, the values of a message in the order in which they came."""


class TooCostlyError(Exception):
    """An expression may cost more than is allowed."""

    def __init__(self, cost: int) -> None:
        super().__init__(cost)
        self.cost = cost


class _Size(NamedTuple):
    """How large a value may be."""

    length: int = 1
    """Of a text in characters, of a list or map in elements."""
    inner: _Size | None = None
    """The largest element; None for texts and scalars."""

    @property
    def weight(self) -> int:
        """How much there is to read of it, elements included."""
        inner = self.inner.weight if self.inner is not None else 0
        return min(self.length * (1 + inner), _UNBOUNDED)

    @property
    def element(self) -> _Size:
        return self.inner if self.inner is not None else _OF_A_DEVICE


_OF_A_DEVICE = _Size(_ATTRIBUTE)
_SCALAR = _Size()
_LOGICAL = frozenset({"_&&_", "_||_", "!_", "@not_strictly_false", "__not_strictly_false__"})
_ARITHMETIC = frozenset({"_-_", "_*_", "_/_", "_%_", "-_", "size", "int", "uint", "double", "bool", "type"})
_COMPARING = frozenset({"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"})
_CALLBACKS = frozenset({"quantity", "semver", "isQuantity", "isSemver", "major", "minor", "patch"})
_CALLBACKS_COMPARING = frozenset({"compareTo", "isGreaterThan", "isLessThan"})
_SEARCHING = frozenset({"contains", "startsWith", "endsWith", "indexOf", "lastIndexOf"})
_SELECTING = frozenset(
    {"_[_]", "_?._", "_[?_]", "value", "orValue", "or", "optional.of", "optional.ofNonZeroValue"}
)


def cost_of(serialized: bytes) -> int:
    """The most that one evaluation costs; raises ``TooCostlyError`` beyond ``HIGHEST``."""
    (checked,) = _message(serialized)[2]
    (expression,) = _inner(checked)[4]
    total, _ = _estimate(_inner(expression), {"device": _OF_A_DEVICE})
    if total > HIGHEST:
        raise TooCostlyError(total)
    return total


def _estimate(node: _Message, names: Mapping[str, _Size]) -> tuple[int, _Size]:
    """The cost of an expression and the size of its value.

    The library parses no deeper than 32 levels, so it may call it
    """
    ((kind, (value, *_)),) = [(number, values) for number, values in node.items() if number != 2]
    match kind:
        case 3:
            return 0, _constant(_inner(value))
        case 4:
            return 1, names.get(_text(_inner(value), 1), _OF_A_DEVICE)
        case 5:
            cost, operand = _estimate(_inner(_inner(value)[1][0]), names)
            return cost + 1, operand.element
        case 6:
            return _call(_inner(value), names)
        case 7:
            return _several(_inner(value).get(1, ()), names)
        case 8:
            return _map(_inner(value), names)
        case _:
            return _comprehension(_inner(value), names)


def _several(nodes: Iterable[bytes | int], names: Mapping[str, _Size]) -> tuple[int, _Size]:
    estimates = [_estimate(_inner(node), names) for node in nodes]
    size = _Size(len(estimates), _largest(size for _, size in estimates))
    return sum(cost for cost, _ in estimates) + 1 + len(estimates) // 10, size


def _map(made: _Message, names: Mapping[str, _Size]) -> tuple[int, _Size]:
    entries = [_inner(entry) for entry in made.get(2, ())]
    cost, size = _several(
        [part for entry in entries for number in (3, 4) for part in entry.get(number, ())], names
    )
    return cost, size


def _call(call: _Message, names: Mapping[str, _Size]) -> tuple[int, _Size]:
    function = _text(call, 2)
    estimates = [_estimate(_inner(node), names) for node in (*call.get(1, ()), *call.get(3, ()))]
    sizes = [size for _, size in estimates]
    before = sum(cost for cost, _ in estimates)
    own, size = _result(function, sizes)
    return min(before + 1 + own, _UNBOUNDED), size


def _comprehension(loop: _Message, names: Mapping[str, _Size]) -> tuple[int, _Size]:
    (cost, over), (started, accumulated) = (_estimate(_inner(loop[number][0]), names) for number in (2, 4))
    times = over.length if over.inner is not None or not over.length else _ATTRIBUTE
    within = {**names, _text(loop, 1): over.element, _text(loop, 8): over.element}
    name = _text(loop, 3)
    _, once = _estimate(_inner(loop[6][0]), {**within, name: accumulated})
    grown = accumulated.length + times * max(once.length - accumulated.length, 0)
    final = _Size(min(grown, _UNBOUNDED), once.inner)
    if accumulated.inner is None and not times:
        final = accumulated
    turn = sum(_estimate(_inner(loop[number][0]), {**within, name: final})[0] for number in (5, 6))
    after, size = _estimate(_inner(loop[7][0]), {**names, name: final})
    return min(cost + started + times * turn + after, _UNBOUNDED), size


def _result(function: str, sizes: list[_Size]) -> tuple[int, _Size]:
    """What a function costs beside its arguments, and how large its value is."""
    lengths = [size.length for size in sizes]
    read = sum(size.weight for size in sizes) // 10
    first = sizes[0] if sizes else _SCALAR
    if function in _LOGICAL or function in _ARITHMETIC:
        return 0, _SCALAR
    if function in _COMPARING or function in _SEARCHING or function == "@in":
        return read, _SCALAR
    if function in _CALLBACKS or function in _CALLBACKS_COMPARING:
        return _CALLBACK + read, first
    if function == "_?_:_":
        return 0, _largest(sizes[1:]) or _SCALAR
    if function == "_+_":
        size = _Size(min(sum(lengths), _UNBOUNDED), _largest(size.inner for size in sizes))
        return size.length // 10, size
    if function == "matches":
        # The pattern is matched in linear time of both.
        return lengths[0] * max(sizes[-1].length, 4) // 40, _SCALAR
    if function in _SELECTING:
        return 0, _largest((first.element, *sizes[1:])) or _SCALAR
    size = _made(function, sizes)
    return read + size.weight // 10, size


def _made(function: str, sizes: list[_Size]) -> _Size:
    """The size of the text or list that a function makes."""
    lengths = [size.length for size in sizes]
    total = sum(size.weight for size in sizes)
    if function == "replace" and len(sizes) > 2:
        length = lengths[0] + (lengths[0] + 1) * lengths[2]
    elif function == "join":
        separator = lengths[1] if len(sizes) > 1 else 0
        length = lengths[0] * (sizes[0].element.length + separator)
    elif function == "split":
        return _Size(lengths[0] + 1, _Size(lengths[0]))
    elif function == "format":
        length = lengths[0] * (1 + total)
    else:
        # What is neither known nor longer than its arguments: trim, substring, lowerAscii, string, ...
        length = max(4 * total, _ATTRIBUTE)
    return _Size(min(length, _UNBOUNDED))


def _largest(sizes: Iterable[_Size | None]) -> _Size | None:
    """A size that none of these exceeds."""
    known = [size for size in sizes if size is not None]
    if not known:
        return None
    return _Size(max(size.length for size in known), _largest(size.inner for size in known))


def _constant(constant: _Message) -> _Size:
    for number in (6, 7):
        for value in constant.get(number, ()):
            return _Size(len(value) if isinstance(value, bytes) else 1)
    return _SCALAR


# --------------------------------------------------------------------------------- protocol buffers


def _text(message: _Message, number: int) -> str:
    for value in message.get(number, ()):
        return value.decode() if isinstance(value, bytes) else ""
    return ""


def _inner(value: bytes | int) -> _Message:
    assert isinstance(value, bytes)
    return _message(value)


def _message(data: bytes) -> _Message:
    fields: dict[int, list[bytes | int]] = {}
    for number, value in _fields(data):
        fields.setdefault(number, []).append(value)
    return fields


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                value, at = _varint(data, at)
                yield tag >> 3, value
            case 1:
                yield tag >> 3, 0
                at += 8
            case 2:
                length, at = _varint(data, at)
                yield tag >> 3, data[at : at + length]
                at += length
            case _:
                yield tag >> 3, 0
                at += 4


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
