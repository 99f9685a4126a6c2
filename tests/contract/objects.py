"""Whether an object that we write would be taken by the server it is meant for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import kubernetes.client
from jsonschema import Draft202012Validator

from tests.contract import rules
from tests.contract.definitions import PROJECTS, published, strict, strict_validator

_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_PART}(\.{_PART})*")
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"({_PART}(\.{_PART})*/)?{_WORD}")
_VALUE = re.compile(rf"({_WORD})?")


def faults(written: dict[str, Any], earlier_grove: bool = False) -> Iterator[str]:
    """Everything that a strict server would refuse; an object that nobody can judge is a fault too."""
    group, _, version = written["apiVersion"].rpartition("/")
    kind = written["kind"]
    who = f"{kind} {written['metadata'].get('name', written['metadata'].get('generateName'))}"
    if group in PROJECTS:
        earlier = "grove-alpha8" if earlier_grove and PROJECTS[group] == "grove" else None
        # Of what has not changed since, only today's definition is at hand.
        project = earlier if earlier and published(group, kind, version, earlier) else None
        validator = strict_validator(group, kind, version, project)
        judged: Any = written
    elif group == "scheduling.k8s.io":
        validator, judged = _of_client(f"{version.capitalize()}{kind}"), written
    elif (group, kind) in (("", "Pod"), ("batch", "Job")):
        validator = _pod_or_job(kind)
        # The definition is older than this field.
        judged = {name: value for name, value in written["spec"].items() if name != "schedulingGroup"}
        own = _of_client("V1PodSchedulingGroup").iter_errors(written["spec"].get("schedulingGroup", {}))
        yield from (f"{who}: {error.message}" for error in own)
        yield from (f"{who}: there is no field {name}" for name in written.keys() - {*_TOP, "spec", "status"})
    else:
        yield f"{who}: nothing is published that could judge {written['apiVersion']}"
        return
    for error in validator.iter_errors(judged):
        yield f"{who}: {error.json_path}: {error.message[:300]}"
    yield from (f"{who}: {fault}" for fault in _beyond_types(validator.schema, judged, "$"))
    yield from (f"{who}: {fault}" for fault in rules.broken(written, earlier_grove=earlier_grove))
    yield from (f"{who}: {fault}" for fault in _metadata_faults(written["metadata"]))
    if _holds_null(written):
        yield f"{who}: null stands where a field should be left out"


_TOP = frozenset({"apiVersion", "kind", "metadata"})


@cache
def _pod_or_job(kind: str) -> Draft202012Validator:
    """Pods and Jobs have no published definition, but a JobSet's holds both of their specs."""
    schema = published("jobset.x-k8s.io", "JobSet", "v1alpha2")
    assert schema is not None
    spec = schema["properties"]["spec"]["properties"]["replicatedJobs"]["items"]
    spec = spec["properties"]["template"]["properties"]["spec"]
    if kind == "Pod":
        spec = spec["properties"]["template"]["properties"]["spec"]
    return Draft202012Validator(strict(spec))


@cache
def _of_client(model: str) -> Draft202012Validator:
    """What Kubernetes' own client for Python publishes of a type."""
    return Draft202012Validator(_schema(model))


def _schema(name: str) -> dict[str, Any]:
    plain = {"str": "string", "int": "integer", "bool": "boolean", "datetime": "string", "float": "number"}
    if name in plain:
        return {"type": plain[name]}
    if name == "object":
        return {}
    if inner := re.fullmatch(r"list\[(.+)\]", name):
        return {"type": "array", "items": _schema(inner[1])}
    if inner := re.fullmatch(r"dict[\[(]str, (.+)[\])]", name):
        return {"type": "object", "additionalProperties": _schema(inner[1])}
    model = getattr(kubernetes.client, name)
    fields = {model.attribute_map[field]: _schema(kind) for field, kind in model.openapi_types.items()}
    return {"type": "object", "properties": fields, "additionalProperties": False}


def _metadata_faults(metadata: dict[str, Any]) -> Iterator[str]:
    for field in ("name", "namespace"):
        text = metadata.get(field, "a")
        if len(text) > 253 or not _SUBDOMAIN.fullmatch(text):
            yield f"metadata.{field} {text!r} is not a name"
    if "name" not in metadata and "generateName" not in metadata:
        yield "metadata.name is missing"
    for key, value in metadata.get("labels", {}).items():
        if not _KEY.fullmatch(key) or not isinstance(value, str) or not _VALUE.fullmatch(value):
            yield f"the label {key!r}: {value!r} is not allowed"
    for key, value in metadata.get("annotations", {}).items():
        if not _KEY.fullmatch(key) or not isinstance(value, str):
            yield f"the annotation {key!r}: {value!r} is not allowed"
    known = {"name", "namespace", "generateName", "labels", "annotations", "ownerReferences", "finalizers"}
    yield from (f"metadata.{name} is not ours to write" for name in metadata.keys() - known)


def _beyond_types(schema: Any, value: Any, path: str) -> Iterator[str]:
    """What servers check and JSON Schema has no word for: keys of lists, and the size of numbers."""
    if isinstance(value, dict):
        inner = schema.get("additionalProperties")
        for key, each in value.items():
            known = schema.get("properties", {}).get(key, inner if isinstance(inner, dict) else {})
            yield from _beyond_types(known, each, f"{path}.{key}")
    elif isinstance(value, list):
        keys = schema.get("x-kubernetes-list-map-keys", [])
        defaults = schema.get("items", {}).get("properties", {})
        if schema.get("x-kubernetes-list-type") == "map":
            names = [tuple(each.get(key, defaults[key].get("default")) for key in keys) for each in value]
            if len(set(names)) != len(names):
                yield f"{path}: two items have the same {', '.join(keys)}"
        if schema.get("x-kubernetes-list-type") == "set" and len(set(value)) != len(value):
            yield f"{path}: an item stands twice in a set"
        for i, each in enumerate(value):
            yield from _beyond_types(schema.get("items", {}), each, f"{path}[{i}]")
    elif type(value) is int and schema.get("format") == "int32" and not -(2**31) <= value < 2**31:
        yield f"{path}: {value} is too large"


def _holds_null(written: dict[str, Any]) -> bool:
    return "null" in json.dumps(written) and any(inner is None for inner in _values(written))


def _values(value: Any) -> Iterator[Any]:
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _values(inner)
