"""Short ways to ask which problems are reported, and to write the paths of Kueue's labels and annotations."""

from __future__ import annotations

from closeknit.hub.copying import replace
from tests.kit.problems import Finding
from tests.unit.dialects.kit import reported
from tests.unit.dialects.kueue.kit import K

OWN = "metadata.annotations"
TEMPLATE = "spec.template.metadata.annotations"


def annotation(path: str, key: str) -> str:
    """The path of one of Kueue's annotations."""
    return f'{path}["{K}{key}"]'


def label(key: str) -> str:
    """The path of one of Kueue's labels."""
    return annotation("metadata.labels", key)


def reported_anywhere(*texts: str, lenient: bool = False) -> list[Finding]:
    """The problems by path, code and facts, without the number of their document."""
    return [
        replace(problem, where=problem.where.partition(":")[2])
        for problem in reported(*texts, lenient=lenient)
    ]
