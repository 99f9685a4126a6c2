"""Which nodes a pod accepts: its selector, node affinity and tolerations."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TypeVar

from closeknit.apis import core_v1
from closeknit.hub.nodes import (
    NAME_FIELD,
    Effect,
    NodeFilter,
    Operator,
    Preference,
    Requirement,
    Taint,
    Term,
    Toleration,
)
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown, suggestion

_E = TypeVar("_E", bound=Enum)

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node_filter(spec: core_v1.PodSpec, found: list[Problem]) -> NodeFilter:
    """The nodes that a pod accepts; what cannot be read is added to ``found``."""
    path = "spec.affinity.nodeAffinity"
    affinity = spec.affinity.node_affinity
    required = affinity.required_during_scheduling_ignored_during_execution
    return NodeFilter(
        selector=tuple(sorted(spec.node_selector.items())),
        affinity=None if required is None else _alternatives(required, f"{path}.{_REQUIRED}", found),
        preferences=tuple(
            preference
            for i, term in enumerate(affinity.preferred_during_scheduling_ignored_during_execution)
            if (preference := _preference(term, f"{path}.{_PREFERRED}[{i}]", found)) is not None
        ),
        tolerations=tuple(
            _toleration(toleration, f"spec.tolerations[{i}]", found)
            for i, toleration in enumerate(spec.tolerations)
        ),
    )


def taint(given: core_v1.Taint, path: str, found: list[Problem]) -> Taint:
    """A node's taint; what cannot be read is added to ``found``."""
    if not given.key:
        found.append(as_told(f"{path}.key", "A taint needs a key."))
    effect = _choice(Effect, given.effect, f"{path}.effect", found)
    return Taint(key=given.key, effect=effect or Effect.NO_SCHEDULE, value=given.value)


def _alternatives(selector: core_v1.NodeSelector, path: str, found: list[Problem]) -> tuple[Term, ...]:
    path = f"{path}.nodeSelectorTerms"
    if not selector.node_selector_terms:
        found.append(
            as_told(path, "This list is empty. Give at least one term, or leave the requirement out.")
        )
    return tuple(_term(term, within(path, i), found) for i, term in enumerate(selector.node_selector_terms))


def _preference(given: core_v1.PreferredSchedulingTerm, path: str, found: list[Problem]) -> Preference | None:
    """A preference, or None for a term without requirements, which Kubernetes passes over."""
    if not 1 <= given.weight <= 100:
        found.append(as_told(f"{path}.weight", f"{given.weight} is out of range. Allowed are 1 to 100."))
    term = _term(given.preference, f"{path}.preference", found)
    return Preference(given.weight, term) if term.requirements else None


def _term(given: core_v1.NodeSelectorTerm, path: str, found: list[Problem]) -> Term:
    requirements = []
    for i, expression in enumerate(given.match_expressions):
        requirements.append(_requirement(expression, f"{path}.matchExpressions[{i}]", found))
    for i, expression in enumerate(given.match_fields):
        where = f"{path}.matchFields[{i}]"
        requirements.append(_requirement(expression, where, found))
        if expression.key != NAME_FIELD:
            found.append(
                as_told(
                    f"{where}.key", f"{shown(expression.key)} is not a field to match. Allowed: {NAME_FIELD}."
                )
            )
        if expression.operator not in ("In", "NotIn"):
            found.append(as_told(f"{where}.operator", "A field is matched with In or NotIn."))
    return Term(tuple(requirements))


def _requirement(given: core_v1.NodeSelectorRequirement, path: str, found: list[Problem]) -> Requirement:
    if not given.key:
        found.append(as_told(f"{path}.key", "A requirement needs the key of a label."))
    operator = _choice(Operator, given.operator, f"{path}.operator", found)
    if operator is not None:
        found.extend(_value_problems(operator, given.values, f"{path}.values"))
    # A set has no order, so equal sets are written the same: pods that mean the same have one shape.
    values = tuple(sorted(set(given.values)))
    return Requirement(given.key, operator or Operator.EXISTS, values)


def _value_problems(operator: Operator, values: list[str], path: str) -> Iterator[Problem]:
    match operator:
        case Operator.IN | Operator.NOT_IN:
            if not values:
                yield as_told(path, f"{operator.value} needs at least one value.")
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if values:
                yield as_told(path, f"{operator.value} takes no values. Leave them out.")
        case Operator.GT | Operator.LT:
            if len(values) != 1 or not values[0].lstrip("+-").isdecimal():
                yield as_told(path, f"{operator.value} needs exactly one value, a whole number in quotes.")


def _toleration(given: core_v1.Toleration, path: str, found: list[Problem]) -> Toleration:
    effect = _choice(Effect, given.effect, f"{path}.effect", found) if given.effect else None
    match given.operator or "Equal":
        case "Exists":
            if given.value:
                found.append(as_told(f"{path}.value", "Exists takes no value. Leave it out, or use Equal."))
            return Toleration(given.key, None, effect)
        case "Equal":
            if not given.key:
                found.append(as_told(f"{path}.operator", "Without a key, the operator must be Exists."))
            return Toleration(given.key, given.value, effect)
        case _:
            remedy = suggestion(given.operator, ["Equal", "Exists"])
            found.append(as_told(f"{path}.operator", f"{shown(given.operator)} is not known. {remedy}"))
            return Toleration(given.key, given.value, effect)


def _choice(choices: type[_E], written: str, path: str, found: list[Problem]) -> _E | None:
    try:
        return choices(written)
    except ValueError:
        allowed = [choice.value for choice in choices]
        found.append(as_told(path, f"{shown(written)} is not known. {suggestion(written, allowed)}"))
        return None
