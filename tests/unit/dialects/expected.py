"""Findings that tests of several dialects expect, and what they have in common."""

from __future__ import annotations

from collections.abc import Iterable

from closeknit.hub.copying import replace
from closeknit.hub.nearest import nearest
from closeknit.hub.problems import Fact, Meant, OneOf
from closeknit.hub.sentences import core, hub, wire
from tests.kit.problems import Finding, finding

LEVELS = ("block", "topology/block", "topology/rack", "topology/zone")
"""Labels and aliases of the topology ``tree`` in ``tests.unit.dialects.kit``."""
PRIORITY_CLASSES = (
    "build",
    "build-preemptible",
    "inference",
    "system-cluster-critical",
    "system-node-critical",
    "train",
)
"""The priority classes that exist without an object: those of KAI and of Kubernetes."""
IN_QUOTES = " Put it in quotes."
"""The remedy for a number or a truth value in place of a string."""
MOST = 2**63 - 1
"""The largest amount that can be counted, in units of a resource."""


def not_found(where: str, kind: str, name: str, allowed: tuple[str, ...]) -> Finding:
    """A reference to an object or a part that does not exist, with the names that do."""
    return finding(core.NOT_FOUND, where, kind=kind, name=name, remedy=OneOf(name, allowed))


def unknown_choice(where: str, value: str, allowed: tuple[str, ...]) -> Finding:
    """A value outside an enumeration."""
    return finding(core.UNKNOWN_CHOICE, where, value=value, remedy=OneOf(value, allowed))


def unknown_level(where: str, level: str) -> Finding:
    """A level that the topology ``tree`` does not have."""
    return finding(hub.UNKNOWN_LEVEL, where, topology="tree", level=level, remedy=OneOf(level, LEVELS))


def wrong_type(where: str, value: str, expected: str, remedy: str = "") -> Finding:
    """A value of a type that its field does not have."""
    return finding(wire.WRONG_TYPE, where, found=value, expected=expected, remedy=remedy)


def misspelt(where: str, field: str, suggested: str) -> Finding:
    """A field that does not exist, with the one that was likely meant."""
    return finding(wire.UNKNOWN_FIELD, where, field=field, remedy=Meant(field, (suggested,)))


def with_suggestions(reported: Iterable[Finding]) -> list[Finding]:
    """The findings, with the suggested field in place of all fields that the object may have.

    The message names only the suggestion. The lists of fields are as long as Kubernetes' API is wide.
    """
    return [
        replace(of, facts=frozenset((name, _suggestion(fact)) for name, fact in of.facts)) for of in reported
    ]


def _suggestion(fact: Fact) -> Fact:
    if not isinstance(fact, Meant) or (suggested := nearest(fact.found, fact.known)) is None:
        return fact
    return Meant(fact.found, (suggested,))
