"""Ways through an OpenAPI schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def nodes(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}".lstrip("."))
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from nodes(schema["additionalProperties"], f"{path}{{}}")


def at(schema: dict[str, Any], path: str) -> dict[str, Any] | None:
    for step in path.replace("[]", ".[]").replace("{}", ".{}").split("."):
        if step == "[]":
            schema = schema.get("items", {})
        elif step == "{}":
            schema = schema.get("additionalProperties", {})
        elif step:
            if step not in schema.get("properties", {}):
                return None
            schema = schema["properties"][step]
    return schema
