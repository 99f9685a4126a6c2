"""Pages of the reference that are made from code, so that they cannot be wrong about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import typer
from typer.core import TyperGroup

from closeknit.admission.metrics import Metrics as Admitting
from closeknit.cli.app import app
from closeknit.controllers.metrics import Metrics as Controlling
from closeknit.dialects.definitions import FAMILIES
from closeknit.scheduler.metrics import Metrics
from closeknit.server import openapi


def generated() -> dict[str, str]:
    """The text of each page, by its place in the site."""
    return {
        "reference/cli.md": _page(_commands()),
        "reference/rest.md": _page(_rest(openapi.document())),
        "reference/metrics.md": _page(_metrics()),
        **{
            f"reference/definitions/{family}.md": _page(
                _definitions(family, [one.written() for one in kinds])
            )
            for family, kinds in FAMILIES.items()
        },
    }


def _page(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _commands() -> Iterator[str]:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    yield "# The command line"
    yield ""
    yield "What `--help` of each command says. [Commands](commands.md) tells what they have in common."
    for name in sorted(group.commands):
        command = group.commands[name]
        if command.hidden:
            continue
        context = typer.Context(command, info_name=f"closeknit {name}")
        yield f"\n## {name}\n"
        yield "```text"
        yield command.get_help(context).strip()
        yield "```"


def _metrics() -> Iterator[str]:
    yield "# Metrics"
    yield ""
    yield "What `/metrics` of `closeknit run` tells, in Prometheus' format."
    yield ""
    yield "| metric | type | what it tells |"
    yield "|---|---|---|"
    told = [each for made in (Metrics(), Controlling(), Admitting()) for each in made.registry.collect()]
    for each in sorted(told, key=lambda one: one.name):
        name = f"{each.name}_total" if each.type == "counter" else each.name
        yield f"| `{name}` | {each.type} | {_cell(each.documentation)} |"


def _rest(document: Mapping[str, Any]) -> Iterator[str]:
    yield "# REST"
    yield ""
    yield "`closeknit web` and the map of `closeknit up` answer under `/api/v1`."
    yield "`/openapi.json` is the OpenAPI document."
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"\n## {method.upper()} {path}\n"
            yield operation["summary"]
            if parameters := operation.get("parameters"):
                yield "\n| parameter | in | type | meaning |\n|---|---|---|---|"
                for each in parameters:
                    says = _cell(each.get("description", ""))
                    yield f"| `{each['name']}` | {each['in']} | {_type(each['schema'])} | {says} |"
            answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
            yield f"\nAnswers with {_type(answer)}."
    yield "\n## Types"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f"\n### {name}\n"
        yield _cell(schema.get("description", ""))
        yield "\n| field | type |\n|---|---|"
        for field, inner in schema.get("properties", {}).items():
            yield f"| `{field}` | {_type(inner)} |"


def _definitions(family: str, definitions: list[dict[str, Any]]) -> Iterator[str]:
    yield f"# Definitions: {family}"
    yield ""
    yield f"The kinds and their fields, as `closeknit crds --family {family}` writes them."
    yield "Those in bold must be given."
    for definition in definitions:
        spec = definition["spec"]
        for version in spec["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            yield f"\n## {spec['names']['kind']} ({spec['group']}/{version['name']})\n"
            yield _cell(schema.get("description", ""))
            yield "\n| field | type | meaning |\n|---|---|---|"
            for part in ("spec", "status", *sorted(set(schema["properties"]) - _EVERY_KIND)):
                if part in schema["properties"]:
                    required = part in schema.get("required", ())
                    yield from _fields(part, schema["properties"][part], required=required)


_EVERY_KIND = {"apiVersion", "kind", "metadata", "spec", "status"}


def _fields(path: str, schema: Mapping[str, Any], *, required: bool) -> Iterator[str]:
    name = f"**`{path}`**" if required else f"`{path}`"
    inner, within = (schema["items"], f"{path}[]") if "items" in schema else (schema, path)
    says = schema.get("description") or inner.get("description", "")
    yield f"| {name} | {_type(schema)} | {_cell(says)} |"
    for field, value in inner.get("properties", {}).items():
        yield from _fields(f"{within}.{field}", value, required=field in inner.get("required", ()))


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(_type(each) for each in schema['prefixItems'])}]"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    extra = schema.get("additionalProperties")
    if isinstance(extra, Mapping) and extra:
        return f"map to {_type(extra)}"
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    return str(schema.get("type", "anything"))


def _cell(text: str) -> str:
    """Text that may stand in a table, whatever is in it."""
    return escape(" ".join(text.split()), quote=False).replace("``", "`").replace("|", "\\|")
