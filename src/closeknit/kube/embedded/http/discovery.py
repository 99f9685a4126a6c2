"""Discovery: which groups, versions and resources there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from closeknit.kube.embedded.kinds import Kinds
from closeknit.kube.resources import Resource

_VERBS: Final = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_VERBS_OF_PART: Final = {"binding": ["create"], "eviction": ["create"], "finalize": ["update"]}
_KIND_OF_PART: Final = {
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
}
_BINDINGS: Final = {
    "name": "bindings",
    "singularName": "binding",
    "namespaced": True,
    "kind": "Binding",
    "verbs": ["create"],
}


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
    listed = [
        entry
        for _, resource in kinds.served()
        if (resource.group, resource.version) == (group_name, version)
        for entry in _entries(resource)
    ]
    if not listed:
        return None
    if not group_name:
        listed.append(_BINDINGS)
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group_name}/{version}" if group_name else version,
        "resources": sorted(listed, key=lambda one: str(one["name"])),
    }


def _entries(resource: Resource) -> Iterator[dict[str, Any]]:
    """A resource, and each of its parts."""
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
        own = (resource.group, resource.version, resource.kind)
        group_name, version, kind = _KIND_OF_PART.get(part, own)
        one = {
            "name": f"{resource.plural}/{part}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind,
            "verbs": _VERBS_OF_PART.get(part, ["get", "patch", "update"]),
        }
        if (group_name, version) != own[:2]:
            one["group"], one["version"] = group_name, version
        yield one


def aggregated(kinds: Kinds, *, core: bool) -> dict[str, Any]:
    """Everything at once, for clients that ask for it so; the core group apart from the others."""
    items = [
        {
            "metadata": {"name": name, "creationTimestamp": None} if name else {"creationTimestamp": None},
            "versions": [
                {
                    "version": version,
                    "freshness": "Current",
                    "resources": _aggregated(resource_list(kinds, name, version), name, version),
                }
                for version in versions
            ],
        }
        for name, versions in _versions(kinds).items()
        if (name == "") is core
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated(listed: dict[str, Any] | None, group_name: str, version: str) -> list[dict[str, Any]]:
    """The same resources, each with its parts within it."""
    found: dict[str, dict[str, Any]] = {}
    for entry in listed["resources"] if listed is not None else ():
        plural, _, part = entry["name"].partition("/")
        about = {
            "responseKind": {
                "group": entry.get("group", group_name),
                "version": entry.get("version", version),
                "kind": entry["kind"],
            },
            "verbs": entry["verbs"],
        }
        if part:
            found[plural].setdefault("subresources", []).append({"subresource": part, **about})
            continue
        found[plural] = {
            "resource": plural,
            "scope": "Namespaced" if entry["namespaced"] else "Cluster",
            "singularResource": entry["singularName"],
            **about,
            **{word: entry[word] for word in ("shortNames", "categories") if word in entry},
        }
    return list(found.values())
