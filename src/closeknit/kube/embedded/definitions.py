"""Custom resource definitions: their rules, and the kinds that they bring."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from closeknit.kube.embedded import jsonpath
from closeknit.kube.embedded.checking import bad_value, required
from closeknit.kube.embedded.kinds import Column, Kind, Object, Rules, Scale
from closeknit.kube.embedded.metadata import name_problem
from closeknit.kube.embedded.schema import Schema, parse
from closeknit.kube.embedded.schema_rules import schema_problems
from closeknit.kube.embedded.selectors import field_readers
from closeknit.kube.embedded.shapes import metadata_schema
from closeknit.kube.errors import Cause
from closeknit.kube.resources import Resource

if TYPE_CHECKING:
    from closeknit.kube.embedded.core import Core

TABLE: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"


class DefinitionRules(Rules):
    """CustomResourceDefinitions."""

    def default(self, obj: Object) -> None:
        """Names that follow from the kind."""
        spec = obj.get("spec") or {}
        names = spec.get("names") or {}
        if kind := names.get("kind"):
            names.setdefault("singular", kind.lower())
            names.setdefault("listKind", f"{kind}List")
        if spec:
            spec.setdefault("conversion", {"strategy": "None"})

    def creating(self, obj: Object, core: Core) -> None:
        """A definition is served at once, and holds on until its objects are gone."""
        spec = obj.get("spec") or {}
        storage = next((one["name"] for one in spec.get("versions") or () if one.get("storage")), "")
        obj["metadata"].setdefault("finalizers", [CLEANUP])
        conditions = (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
        obj["status"] = {
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "lastTransitionTime": core.now(),
                    "reason": reason,
                    "message": message,
                }
                for kind, reason, message in conditions
            ],
            "acceptedNames": dict(spec.get("names") or {}),
            "storedVersions": [storage],
        }

    def updating(self, obj: Object, old: Mapping[str, Any], core: Core) -> None:
        """Names and stored versions follow the spec."""
        spec, status = obj.get("spec") or {}, dict(obj.get("status") or {})
        storage = next((one["name"] for one in spec.get("versions") or () if one.get("storage")), "")
        stored = list(status.get("storedVersions") or ())
        if storage and storage not in stored:
            stored.append(storage)
        obj["status"] = {**status, "acceptedNames": dict(spec.get("names") or {}), "storedVersions": stored}

    def problems(self, obj: Mapping[str, Any]) -> Iterator[Cause]:
        """The name says plural and group, one version is stored, and every schema is structural."""
        spec = obj.get("spec") or {}
        names, group = spec.get("names") or {}, spec.get("group", "")
        wanted = f"{names.get('plural', '')}.{group}"
        if obj["metadata"].get("name") != wanted:
            yield bad_value("metadata.name", obj["metadata"].get("name", ""), f'must be "{wanted}"')
        if group and "." not in group:
            yield bad_value("spec.group", group, "should be a domain with at least one dot")
        elif problem := name_problem(group):
            yield bad_value("spec.group", group, problem)
        if (plural := names.get("plural")) and (problem := name_problem(plural, label=True)):
            yield bad_value("spec.names.plural", plural, problem)
        versions = spec.get("versions") or []
        if sum(bool(one.get("storage")) for one in versions) != 1:
            yield bad_value(
                "spec.versions",
                [one.get("name") for one in versions],
                "must have exactly one version marked as storage version",
            )
        for index, version in enumerate(versions):
            yield from _scale_problems(version, f"spec.versions[{index}].subresources.scale")
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            schema = (version.get("schema") or {}).get("openAPIV3Schema")
            if not isinstance(schema, dict):
                yield required(path, "schemas are required")
                continue
            yield from schema_problems(schema, path)

    def change_problems(self, obj: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
        """What objects are stored by does not change."""
        for field in ("group", "scope"):
            if obj["spec"].get(field) != old["spec"].get(field):
                yield bad_value(f"spec.{field}", obj["spec"].get(field), "field is immutable")


def _scale_problems(version: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """Where the scale subresource does not say which fields it is."""
    scale = (version.get("subresources") or {}).get("scale") or {}
    for name, top in (("specReplicasPath", "spec"), ("statusReplicasPath", "status")):
        if name in scale and not re.fullmatch(rf"\.{top}(\.[^.\[\]]+)+", scale[name]):
            yield bad_value(f"{path}.{name}", scale[name], f"should be a json path under .{top}")


def kind_of(definition: Mapping[str, Any]) -> Kind:
    """The kind that a definition brings."""
    spec = definition["spec"]
    names, group = spec["names"], spec["group"]
    # The version that is stored leads, as kubectl prefers what is listed first among equals.
    versions = [one for one in spec["versions"] if one.get("served")]
    storage = next(one["name"] for one in spec["versions"] if one.get("storage"))
    every = {one["name"]: one for one in spec["versions"]}
    resources = {
        one["name"]: Resource(
            group,
            one["name"],
            names["plural"],
            names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            singular=names.get("singular", ""),
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=tuple(sorted(one.get("subresources") or {}, reverse=True)),
        )
        for one in (every.values() if storage not in {one["name"] for one in versions} else versions)
    }
    fields = {
        field["jsonPath"].lstrip(".") for one in every.values() for field in one.get("selectableFields") or ()
    }
    return Kind(
        key=(group, names["plural"]),
        resources=resources,
        storage=storage,
        schemas={name: _schema(every[name]) for name in resources},
        builtin=False,
        unconditional=False,
        has_status=any("status" in (one.get("subresources") or {}) for one in every.values()),
        scales={name: scale for name in resources if (scale := _scale(every[name])) is not None},
        selectable=field_readers(sorted(fields)),
        columns={name: tuple(_columns(every[name])) for name in resources},
    )


def _schema(version: Mapping[str, Any]) -> Schema:
    document = (version.get("schema") or {}).get("openAPIV3Schema") or {
        "x-kubernetes-preserve-unknown-fields": True
    }
    schema = parse(document)
    schema.properties["apiVersion"] = schema.properties["kind"] = parse({"type": "string"})
    schema.properties["metadata"] = metadata_schema()
    return schema


def _scale(version: Mapping[str, Any]) -> Scale | None:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return None
    return Scale(
        _path(scale.get("specReplicasPath", "")),
        _path(scale.get("statusReplicasPath", "")),
        _path(scale.get("labelSelectorPath", "")),
    )


def _path(text: str) -> tuple[str, ...]:
    return tuple(step for step in text.split(".") if step)


def _columns(version: Mapping[str, Any]) -> Iterator[Column]:
    listed = version.get("additionalPrinterColumns")
    if not listed:
        yield Column("Age", "date", jsonpath.reader(".metadata.creationTimestamp"))
        return
    for column in listed:
        yield Column(
            column["name"],
            column["type"],
            jsonpath.reader(column["jsonPath"]),
            column.get("description", ""),
            column.get("priority", 0),
            column.get("format", ""),
        )
