"""The OpenAPI document, made from the routes and from the types that they send."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any

import msgspec

from closeknit.server.documents import ProblemDocument
from closeknit.server.routes import ROOT, ROUTES, Route

PROBLEM_TYPE = "application/problem+json"
_REFUSALS = {
    "400": "Something about the request makes no sense.",
    "401": "The token is missing or wrong.",
    "404": "There is no such thing.",
    "413": "The body is too large.",
    "421": "The Host header names another server.",
    "429": "Asked too often; Retry-After says when to come back.",
}


def document() -> dict[str, Any]:
    """The whole of it."""
    sent = [*dict.fromkeys(route.sends for route in ROUTES), ProblemDocument]
    _, components = msgspec.json.schema_components(sent, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Closeknit",
            "summary": "Where the workloads of a cluster are, and why others wait. Nothing is changed here.",
            "version": version("closeknit"),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": _paths(),
        "components": {"schemas": dict(components)},
    }


def _paths() -> dict[str, Any]:
    return {f"{ROOT}{route.path}": {route.method.lower(): _operation(route)} for route in ROUTES}


def _operation(route: Route) -> dict[str, Any]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"\{(\w+)\}", route.path)
    ]
    in_query = [
        {"name": each.name, "in": "query", "description": each.says, "schema": each.schema}
        for each in route.parameters
    ]
    refusal = {"schema": {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}}
    operation: dict[str, Any] = {
        "operationId": route.answer.__name__,
        "summary": route.says,
        "responses": {
            "200": {
                "description": route.says,
                "content": {
                    "application/json": {"schema": {"$ref": f"#/components/schemas/{route.sends.__name__}"}}
                },
            },
            **{
                status: {"description": says, "content": {PROBLEM_TYPE: refusal}}
                for status, says in _REFUSALS.items()
            },
        },
    }
    if in_path or in_query:
        operation["parameters"] = [*in_path, *in_query]
    if route.method == "POST":
        operation["requestBody"] = {
            "required": True,
            # What is wrong with a manifest is told in the answer.
            "content": {"application/yaml": {"schema": {}}},
        }
    return operation
