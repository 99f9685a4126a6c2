"""Whose workloads a ClusterQueue takes: those of namespaces that it selects; without a selector, nobody's."""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.apis.core_v1 import LabelSelector

NAME = "kubernetes.io/metadata.name"
"""The label that every namespace has; no other is known without the namespace itself."""


def refusal(selector: LabelSelector | None, namespace: str, labels: Mapping[str, str] | None) -> str:
    """Why workloads of a namespace are not taken; empty where they are, or where that cannot be known.

    ``labels`` are those of the namespace, None where it is not at hand.
    """
    if selector is None:
        return "it has no namespaceSelector, so it takes workloads of no namespace; {} stands for all"
    known = {NAME: namespace, **(labels or {})}
    wanted: list[tuple[str, str, list[str]]] = [
        *((key, "In", [value]) for key, value in selector.match_labels.items()),
        *((each.key, each.operator, each.values) for each in selector.match_expressions),
    ]
    for key, operator, values in wanted:
        if labels is None and key != NAME:
            continue
        if not _matches(known.get(key), operator, values):
            return f"its namespaceSelector does not match namespace {namespace}"
    return ""


def _matches(value: str | None, operator: str, values: list[str]) -> bool:
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None
