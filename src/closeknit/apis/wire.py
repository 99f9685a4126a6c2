"""What all wire shapes have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

from msgspec import Meta, Struct
from msgspec.json import Decoder, Encoder

Quantity: TypeAlias = str | int | float
"""A Kubernetes quantity as written; ``closeknit.hub.quantities`` reads it."""

Number: TypeAlias = int | float
"""A number with or without a fraction."""

Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""A whole number as Kubernetes keeps it; most fields are narrower by rules of their own."""

Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A large whole number, as for seconds."""


class Wire(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """A shape. Null and absent are the same, so a field without a default must be given.

    What has its default is left out when a value is written.
    """

    unused: ClassVar[frozenset[str]] = frozenset()
    """Fields that are valid and not used, under their names on the wire."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Fields that people expect here, each with a sentence that tells where it belongs."""
    open_ended: ClassVar[bool] = False
    """Whether fields may exist that are not listed, as in a status that servers of any version write."""


class OpenWire(Wire, frozen=True, kw_only=True):
    """A shape whose fields are not all listed."""

    open_ended: ClassVar = True


def words(text: str) -> frozenset[str]:
    """The words of a text: names of fields or kinds of which there are many."""
    return frozenset(text.split())


def plain(value: object) -> Any:
    """A value as it is written: mappings, lists and scalars."""
    return _decode(_encode(value))


_encode = Encoder().encode
_decode = Decoder().decode
