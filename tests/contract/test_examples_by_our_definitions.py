"""What our examples hold, a server with our custom resource definitions would take, unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from closeknit.dialects.definitions import FAMILIES
from tests.contract.definitions import ROOT, strict

FILES = sorted((ROOT / "examples").rglob("*.yaml"))
OWN_FILES = {"workflow": "Workflow", "topology_keys": "Pool", "scheduler_settings": "Backend"}
"""OSMO's files, by a key at their top, and the kind whose spec they are."""
DEFINED = {
    (f"{definition.group}/{version}", definition.kind): definition.schema(version)
    for family in FAMILIES.values()
    for definition in family
    for version in definition.versions
}


def whole(document: dict[str, Any]) -> dict[str, Any]:
    """A document as an object; a file of OSMO's becomes the spec of one."""
    kind = next((kind for key, kind in OWN_FILES.items() if key in document), None)
    if kind is None or "kind" in document:
        return document
    return {"apiVersion": "osmo.closeknit.dev/v1alpha1", "kind": kind, "spec": document}


def objects() -> Iterator[Any]:
    for path in FILES:
        for number, document in enumerate(yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader), start=1):
            found = whole(document) if isinstance(document, dict) else {}
            if (found.get("apiVersion"), found.get("kind")) in DEFINED:
                name = f"{path.relative_to(ROOT / 'examples')} {number}"
                yield pytest.param(found, id=name)


@pytest.mark.parametrize("document", list(objects()))
def test_an_example_is_accepted(document: dict[str, Any]) -> None:
    schema = strict(DEFINED[document["apiVersion"], document["kind"]])
    errors = [
        f"{error.json_path}: {error.message[:200]}"
        for error in Draft202012Validator(schema).iter_errors(document)
    ]

    assert errors == []
