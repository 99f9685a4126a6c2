"""Discovery: which groups, versions and resources there are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from closeknit.kube.embedded.kinds import Kind, Kinds
from closeknit.kube.resources import Resource

_VERBS: Final = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_PART_VERBS: Final = ["get", "patch", "update"]
_POSTED: Final = {"binding": ("", "v1", "Binding"), "eviction": ("policy", "v1", "Eviction")}
_SCALE: Final = ("autoscaling", "v1", "Scale")


def core_versions(address: str) -> dict[str, Any]:
    """The answer to ``/api``."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def groups(kinds: Kinds) -> dict[str, Any]:
    """The answer to ``/apis``."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(name, versions) for name, versions in _versions(kinds).items() if name],
    }


def group(kinds: Kinds, name: str) -> dict[str, Any] | None:
    """The answer to ``/apis/GROUP``."""
    versions = _versions(kinds).get(name) if name else None
    return None if versions is None else {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def _group(name: str, versions: list[str]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _versions(kinds: Kinds) -> dict[str, list[str]]:
    """By group, its versions, the one to prefer first."""
    found: dict[str, list[str]] = {}
    for _, resource in kinds.served():
        versions = found.setdefault(resource.group, [])
        if resource.version not in versions:
            versions.append(resource.version)
    return {name: sorted(versions, key=_rank) for name, versions in found.items()}


def _rank(version: str) -> tuple[int, int, int, str]:
    """Stable versions before beta before alpha, newer ones before older ones, other words last."""
    match = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if match is None:
        return (3, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (stage, -int(match[1]), -int(match[3] or 0), version)


def resource_list(kinds: Kinds, group_name: str, version: str) -> dict[str, Any] | None:
    """The answer to ``/api/v1`` and ``/apis/GROUP/VERSION``."""
    listed: list[dict[str, Any]] = []
    for kind, resource in kinds.served():
        if (resource.group, resource.version) == (group_name, version):
            listed.extend(_resources(kind, resource))
    if not listed:
        return None
    name = f"{group_name}/{version}" if group_name else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": name,
        "resources": sorted(listed, key=lambda one: str(one["name"])),
    }


def _resources(kind: Kind, resource: Resource) -> Iterable[dict[str, Any]]:
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.singular or resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _VERBS,
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    yield entry
    for part in resource.subresources:
        group_name, version, name = _part_kind(kind, resource, part)
        one: dict[str, Any] = {
            "name": f"{resource.plural}/{part}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": name,
            "verbs": ["create"] if part in _POSTED else ["update"] if part == "finalize" else _PART_VERBS,
        }
        if (group_name, version) != (resource.group, resource.version):
            one["group"], one["version"] = group_name, version
        yield one


def _part_kind(kind: Kind, resource: Resource, part: str) -> tuple[str, str, str]:
    if part == "scale":
        return _SCALE
    return _POSTED.get(part, (resource.group, resource.version, kind.name))


def aggregated(kinds: Kinds, *, core: bool) -> dict[str, Any]:
    """Everything at once, for clients that ask for it so; the core group apart from the others."""
    items = []
    for name, versions in _versions(kinds).items():
        if (name == "") is core:
            items.append(
                {
                    "metadata": {"name": name, "creationTimestamp": None}
                    if name
                    else {"creationTimestamp": None},
                    "versions": [
                        {
                            "version": version,
                            "freshness": "Current",
                            "resources": [
                                _aggregated(kind, resource)
                                for kind, resource in kinds.served()
                                if (resource.group, resource.version) == (name, version)
                            ],
                        }
                        for version in versions
                    ],
                }
            )
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated(kind: Kind, resource: Resource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular or resource.kind.lower(),
        "verbs": _VERBS,
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    parts = []
    for part in resource.subresources:
        group_name, version, name = _part_kind(kind, resource, part)
        parts.append(
            {
                "subresource": part,
                "responseKind": {"group": group_name, "version": version, "kind": name},
                "verbs": ["create"] if part in _POSTED else ["update"] if part == "finalize" else _PART_VERBS,
            }
        )
    if parts:
        entry["subresources"] = parts
    return entry
