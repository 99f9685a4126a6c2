"""OpenAPI v3: what ``kubectl explain`` reads, and where it learns which parameters a server knows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from closeknit.kube.embedded.kinds import Kind, Kinds
from closeknit.kube.embedded.shapes import documents
from closeknit.kube.resources import Resource

_PARAMETERS: Final = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation", "force", "pretty")
]
_HIDDEN: Final = frozenset({"x-micro", "x-name", "x-numbers", "x-quantity", "x-repeatable", "x-sparse"})


def index(kinds: Kinds) -> dict[str, Any]:
    """The answer to ``/openapi/v3``: where the document of each group and version is."""
    found = {}
    for _, resource in kinds.served():
        path = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
        # Clients keep documents under the hash that they are listed with.
        digest = hashlib.sha256(f"{path} {kinds.revision}".encode()).hexdigest()[:32].upper()
        found[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": dict(sorted(found.items()))}


def document(kinds: Kinds, group: str, version: str) -> dict[str, Any] | None:
    """The document of one group and version."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for kind, resource in kinds.served():
        if (resource.group, resource.version) == (group, version):
            _describe(kind, resource, paths, schemas)
    if not paths:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.4"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def older(accept: str) -> tuple[bytes, str]:
    """The answer to ``/openapi/v2``, and its media type: a document that describes nothing.

    kubectl asks for it, in protobuf, where it meets a List or a kind that is not served, and then
    leaves the checking to the server.
    """
    if "protobuf" not in accept:
        about = {"title": "Kubernetes", "version": "v1.36.4"}
        return msgspec.json.encode({"swagger": "2.0", "info": about, "paths": {}}), "application/json"
    # The messages of OpenAPI 2: 1 is the format's version, 2 what the document is about.
    return b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.4", "application/x-protobuf"


def _describe(kind: Kind, resource: Resource, paths: dict[str, Any], schemas: dict[str, Any]) -> None:
    identity = {"group": resource.group, "kind": resource.kind, "version": resource.version}
    name = ".".join(
        (*reversed((resource.group or "core.k8s.io").split(".")), resource.version, resource.kind)
    )
    key = next(key for key, one in kind.resources.items() if one is resource)
    body = _written(kind.schemas[key].document, schemas, top=True)
    properties = {
        "apiVersion": {
            "type": "string",
            "description": "The group and version that the object is written in.",
        },
        "kind": {"type": "string", "description": "The kind of the object."},
        **(body.get("properties") or {}),
        "metadata": {
            "allOf": [_referred("ObjectMeta", schemas)],
            "description": "Name, labels and what else every object carries.",
        },
    }
    schemas[name] = {
        **body,
        "properties": properties,
        "x-kubernetes-group-version-kind": [identity],
    }
    reference = {"$ref": f"#/components/schemas/{name}"}
    answer = {"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}}
    operation = {"parameters": _PARAMETERS, "responses": answer, "x-kubernetes-group-version-kind": identity}
    place = "{namespace}" if resource.namespaced else ""
    collection = resource.path(namespace="NS").replace("/NS/", f"/{place}/") if place else resource.path()
    path_parameters = [
        {"name": word, "in": "path", "required": True, "schema": {"type": "string"}}
        for word in (("namespace",) if place else ())
    ]
    paths[collection] = {
        "get": {**operation, "x-kubernetes-action": "list"},
        "post": {**operation, "x-kubernetes-action": "post"},
        "parameters": path_parameters,
    }
    verbs = {"get": "get", "put": "put", "patch": "patch", "delete": "delete"}
    by_name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    paths[f"{collection}/{{name}}"] = {
        **{verb: {**operation, "x-kubernetes-action": action} for verb, action in verbs.items()},
        "parameters": [*path_parameters, by_name],
    }


def _referred(shape: str, schemas: dict[str, Any]) -> dict[str, Any]:
    """A reference to a shape of the built-in kinds, which is written once."""
    name = f"io.k8s.{shape}"
    if name not in schemas:
        schemas[name] = {}
        schemas[name] = _written(documents()[shape], schemas, top=True)
    return {"$ref": f"#/components/schemas/{name}"}


def _written(part: Mapping[str, Any], schemas: dict[str, Any], *, top: bool = False) -> dict[str, Any]:
    if not top and (shape := part.get("x-name")) and "default" not in part:
        return _referred(shape, schemas)
    written: dict[str, Any] = {}
    for word, value in part.items():
        if word in _HIDDEN:
            continue
        if word == "properties":
            written[word] = {name: _written(inner, schemas) for name, inner in value.items()}
        elif word in ("items", "additionalProperties") and isinstance(value, Mapping):
            written[word] = _written(value, schemas)
        else:
            written[word] = value
    if part.get("x-quantity"):
        return {"oneOf": [{"type": "string"}, {"type": "number"}]}
    return written
