"""Pods as text, read."""

from __future__ import annotations

from typing import Any

from closeknit.dialects.core import kinds as core_kinds
from closeknit.dialects.core.pods import ReadPod, read_pod
from closeknit.dialects.reading import stored
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.wire.registry import Found, Registry
from closeknit.text.documents import Document


def read(spec: dict[str, Any], **rest: Any) -> ReadPod:
    """A pod, without the way through a file."""
    content = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{}], **spec},
        **rest,
    }
    results = list(Registry(core_kinds.KINDS, []).objects([Document("f", 1, content)], lenient=False))
    kept = [stored(result) for result in results if isinstance(result, Found)]
    assert len(kept) == len(results), results
    (manifest,) = kept
    assert isinstance(manifest, Stored)
    return read_pod(manifest)


def container(
    requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **rest: Any
) -> dict[str, Any]:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"resources": resources, **rest}


GPU = "nvidia.com/gpu"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(*terms: dict[str, Any], preferred: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    required = {REQUIRED: {"nodeSelectorTerms": list(terms)}} if terms else {}
    return {"affinity": {"nodeAffinity": {**required, PREFERRED: preferred or []}}}
