"""The OpenAPI document: it says what is served, and what is served is as it says."""

from __future__ import annotations

from typing import Any

from closeknit.server.openapi import document
from closeknit.server.routes import ROOT, ROUTES


def test_every_route_is_described() -> None:
    described = {(path, method.upper()) for path, each in document()["paths"].items() for method in each}
    assert described == {(f"{ROOT}{route.path}", route.method) for route in ROUTES}


def test_every_type_that_is_named_is_there() -> None:
    written = document()
    known = set(written["components"]["schemas"])
    assert _references(written) <= known


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {value["$ref"].rpartition("/")[2]} if "$ref" in value else set()
        return found.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()
