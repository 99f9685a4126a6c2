"""Short ways to ask what is wrong."""

from __future__ import annotations

from tests.unit.dialects.kit import problems
from tests.unit.dialects.kueue.kit import K

OWN = "metadata.annotations"
TEMPLATE = "spec.template.metadata.annotations"


def at(path: str, key: str, message: str) -> str:
    return f'{path}["{K}{key}"]: {message}'


def found(*texts: str, lenient: bool = False) -> list[str]:
    """The problems without the number of their document, each once."""
    return [line.partition(":")[2] for line in problems(*texts, lenient=lenient)]
