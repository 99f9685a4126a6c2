"""Nodes as the hub knows them, and which nodes a pod accepts: its selector, node affinity and tolerations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import TypeVar

from closeknit.apis import core_v1
from closeknit.dialects.core.resources import resources
from closeknit.hub.copying import replace
from closeknit.hub.nodes import (
    NAME_FIELD,
    Effect,
    Node,
    NodeFilter,
    Operator,
    Preference,
    Requirement,
    Taint,
    Term,
    Toleration,
)
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem, Range
from closeknit.hub.quantities import Rounding
from closeknit.hub.sentences import core as sentences

_E = TypeVar("_E", bound=Enum)

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MOST_TERMS = 256


def node_filter(spec: core_v1.PodSpec, found: list[Problem]) -> NodeFilter:
    """The nodes that a pod accepts; what cannot be read is added to ``found``."""
    path: Path = ("spec", "affinity", "nodeAffinity")
    affinity = spec.affinity.node_affinity
    required = affinity.required_during_scheduling_ignored_during_execution
    return NodeFilter(
        selector=tuple(sorted(spec.node_selector.items())),
        affinity=None if required is None else selector_terms(required, (*path, _REQUIRED), found),
        preferences=tuple(
            preference
            for i, term in enumerate(affinity.preferred_during_scheduling_ignored_during_execution)
            if (preference := _preference(term, (*path, _PREFERRED, i), found)) is not None
        ),
        tolerations=tuple(
            toleration(given, ("spec", "tolerations", i), found) for i, given in enumerate(spec.tolerations)
        ),
    )


def taint(given: core_v1.Taint, path: Path, found: list[Problem]) -> Taint:
    """A node's taint; what cannot be read is added to ``found``."""
    if not given.key:
        found.append(sentences.TAINT_WITHOUT_KEY.at((*path, "key")))
    effect = _choice(Effect, given.effect, (*path, "effect"), found)
    return Taint(key=given.key, effect=effect or Effect.NO_SCHEDULE, value=given.value)


def toleration(given: core_v1.Toleration, path: Path, found: list[Problem]) -> Toleration:
    """A pod's toleration; what cannot be read is added to ``found``."""
    effect = _choice(Effect, given.effect, (*path, "effect"), found) if given.effect else None
    match given.operator or "Equal":
        case "Exists":
            if given.value:
                found.append(sentences.EXISTS_WITH_VALUE.at((*path, "value")))
            return Toleration(given.key, None, effect)
        case "Equal":
            if not given.key:
                found.append(sentences.EQUAL_WITHOUT_KEY.at((*path, "operator")))
            return Toleration(given.key, given.value, effect)
        case _:
            remedy = OneOf(given.operator, ("Equal", "Exists"))
            operator = (*path, "operator")
            found.append(sentences.UNKNOWN_CHOICE.at(operator, value=given.operator, remedy=remedy))
            return Toleration(given.key, given.value, effect)


def selector_terms(selector: core_v1.NodeSelector, path: Path, found: list[Problem]) -> tuple[Term, ...]:
    """Terms of which one must match; what cannot be read is added to ``found``."""
    path = (*path, "nodeSelectorTerms")
    if not selector.node_selector_terms:
        found.append(sentences.NO_TERMS.at(path))
    return tuple(_term(term, (*path, i), found) for i, term in enumerate(selector.node_selector_terms))


def narrowed(accepts: NodeFilter, terms: Iterable[tuple[Term, ...]]) -> NodeFilter:
    """The filter with more lists of terms, of each of which one must hold."""
    affinity = accepts.affinity
    for more in terms:
        before = (Term(()),) if affinity is None else affinity
        both = (
            Term(tuple(dict.fromkeys((*one.requirements, *other.requirements))))
            for one in before
            for other in more
            # A term without requirements matches no node; the first list stands for all nodes.
            if other.requirements and (affinity is None or one.requirements)
        )
        affinity = tuple(dict.fromkeys(both))[:_MOST_TERMS]
    return replace(accepts, affinity=affinity)


def _preference(
    given: core_v1.PreferredSchedulingTerm, path: Path, found: list[Problem]
) -> Preference | None:
    """A preference, or None for a term without requirements, which Kubernetes passes over."""
    if not 1 <= given.weight <= 100:
        allowed = Range(1, 100)
        found.append(sentences.OUT_OF_RANGE.at((*path, "weight"), value=given.weight, allowed=allowed))
    term = _term(given.preference, (*path, "preference"), found)
    return Preference(given.weight, term) if term.requirements else None


def _term(given: core_v1.NodeSelectorTerm, path: Path, found: list[Problem]) -> Term:
    requirements = []
    for i, expression in enumerate(given.match_expressions):
        requirements.append(_requirement(expression, (*path, "matchExpressions", i), found))
    for i, expression in enumerate(given.match_fields):
        where = (*path, "matchFields", i)
        requirements.append(_requirement(expression, where, found))
        if expression.key != NAME_FIELD:
            found.append(
                sentences.UNKNOWN_MATCH_FIELD.at((*where, "key"), key=expression.key, allowed=NAME_FIELD)
            )
        if expression.operator not in ("In", "NotIn"):
            found.append(sentences.MATCH_FIELD_OPERATOR.at((*where, "operator")))
    return Term(tuple(requirements))


def _requirement(given: core_v1.NodeSelectorRequirement, path: Path, found: list[Problem]) -> Requirement:
    if not given.key:
        found.append(sentences.REQUIREMENT_WITHOUT_KEY.at((*path, "key")))
    operator = _choice(Operator, given.operator, (*path, "operator"), found)
    if operator is not None:
        found.extend(_value_problems(operator, given.values, (*path, "values")))
    # A set has no order, so equal sets become equal tuples: pods that mean the same have one shape.
    values = tuple(sorted(set(given.values)))
    return Requirement(given.key, operator or Operator.EXISTS, values)


def _value_problems(operator: Operator, values: Sequence[str], path: Path) -> Iterator[Problem]:
    match operator:
        case Operator.IN | Operator.NOT_IN:
            if not values:
                yield sentences.VALUES_MISSING.at(path, operator=operator.value)
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if values:
                yield sentences.VALUES_GIVEN.at(path, operator=operator.value)
        case Operator.GT | Operator.LT:
            if len(values) != 1 or not values[0].lstrip("+-").isdecimal():
                yield sentences.ONE_NUMBER_NEEDED.at(path, operator=operator.value)


def _choice(choices: type[_E], written: str, path: Path, found: list[Problem]) -> _E | None:
    try:
        return choices(written)
    except ValueError:
        remedy = OneOf.among(written, [choice.value for choice in choices])
        found.append(sentences.UNKNOWN_CHOICE.at(path, value=written, remedy=remedy))
        return None


def hub_node(node: core_v1.Node, found: list[Problem]) -> Node:
    """One node; what cannot be read is added to ``found``.

    Where a node does not list what is allocatable, all of its capacity is, as
    Kubernetes has it. A node without the condition Ready is taken to be ready.
    """
    status = node.status
    listed, where = (
        (status.allocatable, ("status", "allocatable"))
        if status.allocatable is not None
        else (status.capacity, ("status", "capacity"))
    )
    offered = resources(listed, where, Rounding.DOWN, found)
    return Node(
        name=node.metadata.name,
        labels=node.metadata.labels,
        allocatable=offered,
        no_pods="pods" in listed and "pods" not in offered,
        taints=tuple(taint(given, ("spec", "taints", i), found) for i, given in enumerate(node.spec.taints)),
        unschedulable=node.spec.unschedulable,
        ready=all(condition.status == "True" for condition in status.conditions if condition.type == "Ready"),
    )
