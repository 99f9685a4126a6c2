"""Metadata: what every object carries, prepared and checked the same way for all kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from closeknit.kube.embedded.checking import bad_value, forbidden, required
from closeknit.kube.errors import Cause

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_ANNOTATIONS_LIMIT: Final = 256 * 1024

LABEL_RULE: Final = (
    "a lowercase RFC 1123 label has a-z, 0-9 and '-', and begins and ends with a letter or digit"
)
SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain has a-z, 0-9, '-' and '.', and begins and ends with a letter or digit"
)
VALUE_RULE: Final = (
    "a label's value is empty, or has letters, digits, '-', '_' and '.' "
    "and begins and ends with a letter or digit"
)


def name_problem(name: str, *, label: bool = False) -> str:
    """Why a name is none; empty where it is one."""
    longest = 63 if label else 253
    if len(name) > longest:
        return f"must be no more than {longest} characters"
    if not (_LABEL if label else _SUBDOMAIN).fullmatch(name):
        return LABEL_RULE if label else SUBDOMAIN_RULE
    return ""


@lru_cache(maxsize=8192)
def key_problem(key: str) -> str:
    """Why a label or annotation key is none; empty where it is one."""
    prefix, slash, name = key.rpartition("/")
    if slash and (not prefix or len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return f"prefix part {SUBDOMAIN_RULE}"
    if not name:
        return "name part must be non-empty"
    if len(name) > 63:
        return "name part must be no more than 63 characters"
    if not _QUALIFIED.fullmatch(name):
        return "name part has letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
    return ""


@lru_cache(maxsize=8192)
def label_value_problem(value: str) -> str:
    """Why a label's value is none; empty where it is one."""
    if len(value) > 63:
        return "must be no more than 63 characters"
    if value and not _QUALIFIED.fullmatch(value):
        return VALUE_RULE
    return ""


_JUDGED: Final = (
    *("name", "generateName", "namespace"),
    *("labels", "annotations", "ownerReferences", "finalizers"),
)


def differs(metadata: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether metadata differ in what ``problems`` looks at."""
    for name in _JUDGED:
        one, two = metadata.get(name), other.get(name)
        if one is not two and one != two:
            return True
    return False


def problems(metadata: Mapping[str, Any], *, namespaced: bool, label_name: bool) -> Iterator[Cause]:
    """Everything that is wrong with an object's metadata."""
    yield from _name_problems(metadata, label_name=label_name)
    namespace = metadata.get("namespace")
    if not namespaced and namespace:
        yield forbidden("metadata.namespace", "not allowed on this type")
    elif namespace and (problem := name_problem(namespace, label=True)):
        yield bad_value("metadata.namespace", namespace, problem)
    yield from label_problems(metadata.get("labels") or {}, "metadata.labels")
    size = 0
    for key, value in (metadata.get("annotations") or {}).items():
        size += len(key) + len(value)
        if problem := key_problem(key.lower()):
            yield bad_value("metadata.annotations", key, problem)
    if size > _ANNOTATIONS_LIMIT:
        yield Cause(
            "metadata.annotations",
            f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes",
            "FieldValueTooLong",
        )
    yield from _owner_problems(metadata.get("ownerReferences") or ())
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        if problem := key_problem(finalizer):
            yield bad_value(f"metadata.finalizers[{index}]", finalizer, problem)


def _name_problems(metadata: Mapping[str, Any], *, label_name: bool) -> Iterator[Cause]:
    prefix = metadata.get("generateName")
    # The dash before the part that the server adds is not at the name's end.
    if prefix and (problem := name_problem(prefix.removesuffix("-") or "-", label=label_name)):
        yield bad_value("metadata.generateName", prefix, problem)
    name = metadata.get("name")
    if not name:
        yield required("metadata.name", "name or generateName is required")
    elif problem := name_problem(name, label=label_name):
        yield bad_value("metadata.name", name, problem)


def label_problems(labels: Mapping[str, str], path: str) -> Iterator[Cause]:
    """Everything that is wrong with labels."""
    for key, value in labels.items():
        if problem := key_problem(key):
            yield bad_value(path, key, problem)
        if problem := label_value_problem(value):
            yield bad_value(path, value, problem)


def _owner_problems(owners: Any) -> Iterator[Cause]:
    controllers = 0
    for owner in owners:
        path = "metadata.ownerReferences"
        for field, word in (("apiVersion", "version"), ("kind", "kind"), ("name", "name"), ("uid", "uid")):
            if not owner.get(field):
                yield bad_value(f"{path}.{field}", owner.get(field, ""), f"{word} must not be empty")
        if str(owner.get("apiVersion", "")).count("/") > 1:
            yield bad_value(f"{path}.apiVersion", owner["apiVersion"], "must be VERSION or GROUP/VERSION")
        controllers += bool(owner.get("controller"))
    if controllers > 1:
        yield bad_value(
            "metadata.ownerReferences",
            [dict(owner) for owner in owners],
            "Only one reference can have Controller set to true",
        )
