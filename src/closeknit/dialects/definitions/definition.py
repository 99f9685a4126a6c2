"""Custom resource definitions: a wire shape, and what Kubernetes wants to know beside its schema.

The schema says what the shape says: fields, their types, and which must be given. What the
shape leaves to the rules of its dialect, such as the pattern of a name, is laid over it from
a table of limits. Fields that are known and not used stay open, so that nothing that a
user wrote is lost; everything else that is unknown is refused or pruned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias, get_args, get_origin

import msgspec

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.wire import Int32, Quantity, Wire

Schema: TypeAlias = dict[str, Any]
Limits: TypeAlias = Mapping[type[Wire], Mapping[str, Mapping[str, Any]]]
"""By shape and field (its name on the wire, empty for the whole), what is laid over the schema."""

OPEN = "x-kubernetes-preserve-unknown-fields"
_EITHER = "x-kubernetes-int-or-string"
_DECIMAL = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY = rf"^(\+|-)?{_DECIMAL}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_DECIMAL}))?$"
"""What Kubernetes takes for a quantity where it is written as a string."""


def schema_of(shape: type[Wire], *limits: Limits) -> Schema:
    """The schema of a whole object: ``metadata`` is the server's to check, and its status is open.

    Limits are laid over it one after the other.
    """
    schema = _object(shape, limits)
    schema["properties"]["metadata"] = {"type": "object"}
    if "status" in schema["properties"]:
        schema["properties"]["status"] = {"type": "object", OPEN: True}
    return schema


def laid_over(schema: Mapping[str, Any], limits: Mapping[str, Any]) -> Schema:
    """The schema with limits added at any depth; a limit that is None takes a part away."""
    merged = dict(schema)
    for key, value in limits.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = laid_over(merged[key], value)
        else:
            merged[key] = value
    return merged


def _schema(kind: Any, limits: tuple[Limits, ...]) -> Schema:
    if isinstance(kind, type) and issubclass(kind, Wire):
        return _object(kind, limits)
    if kind in (Quantity, Quantity | None):
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": QUANTITY, _EITHER: True}
    if kind == int | float:
        return {"type": "number"}
    if type(None) in get_args(kind):
        inner = tuple(inner for inner in get_args(kind) if inner is not type(None))
        return _schema(inner[0], limits) if len(inner) == 1 else {OPEN: True}
    match get_origin(kind):
        case origin if origin is Annotated:
            return _whole_number(kind)
        case origin if origin is tuple:
            return {"type": "array", "items": _schema(get_args(kind)[0], limits)}
        case origin if origin is dict:
            return _mapping(get_args(kind)[1], limits)
        case _:
            return {"type": _PLAIN[kind]} if kind in _PLAIN else {OPEN: True}


_PLAIN: Mapping[Any, str] = {str: "string", bool: "boolean"}


def _whole_number(kind: Any) -> Schema:
    _, meta = get_args(kind)
    _, widest = get_args(Int32)
    schema: Schema = {"type": "integer", "format": "int32" if meta.le <= widest.le else "int64"}
    if meta.ge > widest.ge:
        schema["minimum"] = meta.ge
    if meta.le < widest.le:
        schema["maximum"] = meta.le
    return schema


def _mapping(inner: Any, limits: tuple[Limits, ...]) -> Schema:
    if inner is object:
        return {"type": "object", OPEN: True}
    return {"type": "object", "additionalProperties": _schema(inner, limits)}


def _object(shape: type[Wire], limits: tuple[Limits, ...]) -> Schema:
    schema: Schema = {
        "description": " ".join((shape.__doc__ or "").split()),
        "type": "object",
        "properties": dict(sorted(_properties(shape, limits))),
    }
    required = sorted(each.encode_name for each in msgspec.structs.fields(shape) if each.required)
    # Every object says what it is; Kubernetes sees to that before any schema is asked.
    required = [name for name in required if name not in ("apiVersion", "kind", "metadata")]
    if required:
        schema["required"] = required
    if shape.open_ended or shape is ObjectMeta:
        schema[OPEN] = True
    return _limited(schema, shape, "", limits)


def _properties(shape: type[Wire], limits: tuple[Limits, ...]) -> Iterator[tuple[str, Schema]]:
    for each in msgspec.structs.fields(shape):
        name = each.encode_name
        yield name, _limited(_schema(each.type, limits), shape, name, limits)
    for name in shape.unused:
        yield name, _limited({OPEN: True}, shape, name, limits)


def _limited(schema: Schema, shape: type[Wire], name: str, limits: tuple[Limits, ...]) -> Schema:
    for each in limits:
        schema = laid_over(schema, each.get(shape, {}).get(name, {}))
    return schema


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``."""

    name: str
    path: str
    """Where the value stands in the object, as a JSON path."""
    type: str = "string"
    priority: int = 0
    """Above 0, it is shown only with ``-o wide``."""

    def written(self) -> dict[str, Any]:
        """As a definition spells it."""
        priority = {"priority": self.priority} if self.priority else {}
        return {"name": self.name, "type": self.type, "jsonPath": self.path, **priority}


AGE = Column("Age", ".metadata.creationTimestamp", "date")


def condition(name: str, kind: str = "", priority: int = 0) -> Column:
    """The state of a condition."""
    return Column(name, f'.status.conditions[?(@.type=="{kind or name}")].status', priority=priority)


@dataclass(frozen=True, slots=True)
class Definition:
    """One kind as a custom resource."""

    group: str
    shape: type[Wire]
    """It has the name of the kind."""
    versions: tuple[str, ...] = ("v1alpha1",)
    """Those that are served. The first is the one that is stored."""
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    columns_of_version: Mapping[str, tuple[Column, ...]] = field(default_factory=dict)
    """By version, the columns where they are other ones."""
    status: bool = True
    """Whether the status is a subresource, so that only its controller writes it."""
    selector: str = ""
    """For what can be scaled: where in the status the selector of its pods stands."""
    limits: Limits = field(default_factory=dict)
    limits_of_version: Mapping[str, Limits] = field(default_factory=dict)
    """By version, limits that are laid over the others."""
    shapes: Mapping[str, type[Wire]] = field(default_factory=dict)
    """By version, the shape where it is another one."""

    @property
    def kind(self) -> str:
        """As objects name it."""
        return self.shape.__name__

    @property
    def plural(self) -> str:
        """As paths and kubectl name the kind; English plurals that Kubernetes would guess as well."""
        name = self.kind.lower()
        if name.endswith("y"):
            return f"{name[:-1]}ies"
        return f"{name}es" if name.endswith("s") else f"{name}s"

    def schema(self, version: str) -> Schema:
        """What objects of a version may look like."""
        shape = self.shapes.get(version, self.shape)
        return schema_of(shape, self.limits, self.limits_of_version.get(version, {}))

    def written(self) -> dict[str, Any]:
        """The definition as an object, ready to be applied."""
        names: dict[str, Any] = {
            "kind": self.kind,
            "listKind": f"{self.kind}List",
            "plural": self.plural,
            "singular": self.kind.lower(),
        }
        if self.short_names:
            names["shortNames"] = list(self.short_names)
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "names": names,
                "scope": "Namespaced" if self.namespaced else "Cluster",
                "versions": [self._version(version) for version in self.versions],
            },
        }

    def _version(self, version: str) -> dict[str, Any]:
        written: dict[str, Any] = {
            "name": version,
            "served": True,
            "storage": version == self.versions[0],
            "schema": {"openAPIV3Schema": self.schema(version)},
        }
        subresources: dict[str, Any] = {"status": {}} if self.status else {}
        if self.selector:
            subresources["scale"] = {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": self.selector,
            }
        if subresources:
            written["subresources"] = subresources
        if columns := self.columns_of_version.get(version, self.columns):
            written["additionalPrinterColumns"] = [column.written() for column in columns]
        return written
