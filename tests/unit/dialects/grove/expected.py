"""Problems that many tests of Grove and of Dynamo expect, and short ways to write their facts."""

from __future__ import annotations

import re

import msgspec

from closeknit.apis.wire import Wire
from closeknit.hub.copying import replace
from closeknit.hub.nearest import nearest
from closeknit.hub.problems import Field, Meant, OneOf, Range
from closeknit.hub.sentences import core, grove, wire
from tests.kit.problems import Finding, finding
from tests.unit.dialects.grove.sets import LEVELS

SEVEN = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""The domains of Grove's first proposal, from the coarsest to the finest."""


def field(path: str) -> Field:
    """Another field of the same object, by its path as a user would type it, such as ``spec.cliques[0].name``."""
    steps = re.findall(r"[\w-]+", path)
    return Field(tuple(int(step) if step.isdecimal() else step for step in steps))


def unknown_domain(where: str, domain: str) -> Finding:
    """A domain that is no level of ``sets.topology()``."""
    remedy = OneOf(domain, tuple(LEVELS))
    return finding(grove.UNKNOWN_DOMAIN, where, topology="grove-topology", domain=domain, remedy=remedy)


def not_a_domain(where: str, domain: str) -> Finding:
    """A domain that is none of the seven."""
    return finding(grove.NOT_A_TOPOLOGY_DOMAIN, where, domain=domain, remedy=OneOf(domain, SEVEN))


def coarser(where: str, level: str, bound: str, above: str, called: str = "domain") -> Finding:
    """A level that is coarser than the one that the field ``above`` requires."""
    return finding(core.COARSER_LEVEL, where, level=level, bound=bound, field=field(above), called=called)


def name_taken(where: str, name: str, first: str) -> Finding:
    """A name that the entry at the path ``first`` has already."""
    return finding(core.NAME_TAKEN, where, name=name, field=field(first))


def minimum_out_of_range(where: str, least: int, replicas: int) -> Finding:
    """A minimum that is not between one and the number of replicas."""
    return finding(
        grove.MINIMUM_OUT_OF_RANGE, where, least=least, replicas=replicas, remedy=Range(1, replicas)
    )


def field_changed(where: str, old: str, new: str, kind: str = "PodCliqueSet") -> Finding:
    """An immutable field with another value."""
    return finding(grove.FIELD_CHANGED, where, old=old, new=new, kind=kind)


def constraint_changed(where: str, what: str, old: str, new: str, kind: str = "PodCliqueSet") -> Finding:
    """A field of a topology constraint with another value."""
    return finding(grove.CONSTRAINT_CHANGED, where, what=what, old=old, new=new, kind=kind)


def wrong_type(where: str, value: str, expected: str, remedy: str = "") -> Finding:
    """A value of another type than its field has."""
    return finding(wire.WRONG_TYPE, where, found=value, expected=expected, remedy=remedy)


def unknown_field(where: str, name: str, meant: str, shape: type[Wire]) -> Finding:
    """A misspelt field of an API type; ``meant`` is the field that the message suggests."""
    fields = {declared.encode_name for declared in msgspec.structs.fields(shape)}
    known = tuple(sorted({*fields, *shape.unused}))
    assert nearest(name, known) == meant
    return finding(wire.UNKNOWN_FIELD, where, field=name, remedy=Meant(name, known))


def of_object(expected: list[Finding]) -> list[Finding]:
    """The same problems as reported for the object alone: without the number of its document."""
    return [replace(problem, where=problem.where.partition(":")[2]) for problem in expected]
