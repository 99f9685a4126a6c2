"""Derived PodGroups as KAI writes them, and the pods that their owners' controllers would make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from closeknit.apis.job_keys import COMPLETION_INDEX
from closeknit.apis.kai_keys import GROUP_ANNOTATION, SCHEDULER, SUBGROUP_LABEL
from closeknit.dialects.kai.derived import Derived, Leaf

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

Object = dict[str, Any]


def to_pod_group(made: Derived) -> Object:
    """The PodGroup, with its owner's labels and annotations and, once it exists, a reference to it."""
    owner = made.manifest.object
    given = made.manifest.content.metadata
    metadata: Object = {"name": made.name, "namespace": owner.namespace}
    if given.labels:
        metadata["labels"] = dict(given.labels)
    if annotations := {key: value for key, value in given.annotations.items() if key != _LAST_APPLIED}:
        metadata["annotations"] = annotations
    if given.uid:
        reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name}
        metadata["ownerReferences"] = [{**reference, "uid": given.uid}]
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {**msgspec.to_builtins(made.spec()), **made.further},
    }


def to_pods(made: Derived) -> Iterator[Object]:
    """Every pod: its template as written, with what its controller and KAI add."""
    for leaf in made.outline.leaves():
        template = _written(made.manifest.written, leaf)
        given = template.get("metadata") or {}
        spec = {**template.get("spec", {}), "schedulerName": SCHEDULER}
        labels = {**given.get("labels", {}), **leaf.labels}
        if leaf.name:
            labels[SUBGROUP_LABEL] = leaf.name
        annotations = {**given.get("annotations", {}), GROUP_ANNOTATION: made.name}
        for number, name in enumerate(leaf.pods, start=leaf.first):
            index = {leaf.index_label: str(number)} if leaf.index_label else {}
            # A Job's pods carry their number as an annotation as well.
            noted = index if leaf.index_label == COMPLETION_INDEX else {}
            metadata = {
                "name": name,
                "namespace": made.manifest.namespace,
                "labels": {**labels, **index},
                "annotations": {**annotations, **noted},
            }
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _written(document: Mapping[str, Any], leaf: Leaf) -> Mapping[str, Any]:
    """The template of a leaf's pods as its author wrote it."""
    inner: Any = document
    for step in leaf.template.path.replace("[", ".").replace("]", "").split("."):
        inner = inner[int(step)] if isinstance(inner, list) else inner[step]
    template: Mapping[str, Any] = inner
    return template
