"""Whose workloads a ClusterQueue takes: those of namespaces that it selects; without a selector, nobody's."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis.core_v1 import LabelSelector
from closeknit.dialects.core.namespaces import NAME, labels_of
from closeknit.dialects.core.neighbours import requirements
from closeknit.dialects.store.view import View
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kueue as sentences


def namespace_problems(
    queue: str, selector: LabelSelector | None, namespace: str, path: Path, view: View
) -> Iterator[Problem]:
    """Why workloads of a namespace are not taken; a note where that depends on labels not in sight."""
    if selector is None:
        reason = "it has no namespaceSelector, so it takes workloads of no namespace; {} stands for all"
        yield sentences.NAMESPACE_NOT_TAKEN.at(path, queue=queue, reason=reason)
        return
    labels = labels_of(view, namespace)
    wanted = requirements(selector, (), [])
    known = [each for each in wanted if labels is not None or each.key == NAME]
    if not all(each.holds((labels or {NAME: namespace}).get(each.key)) for each in known):
        reason = f"its namespaceSelector does not match namespace {namespace}"
        yield sentences.NAMESPACE_NOT_TAKEN.at(path, queue=queue, reason=reason)
    elif known != wanted:
        yield sentences.NAMESPACE_NOT_IN_SIGHT.at(path, queue=queue, namespace=namespace)
