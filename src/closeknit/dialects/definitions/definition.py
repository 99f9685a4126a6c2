"""Custom resource definitions: a wire shape, and what Kubernetes wants to know beside its schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from closeknit.apis.wire import Wire
from closeknit.dialects.definitions.schemas import Limits, Schema, schema_of


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
