"""Which resources a server serves.

Servers of today answer with everything at once; older ones are asked group by group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec

from closeknit.kube.errors import ApiError
from closeknit.kube.resources import Resource
from closeknit.kube.rest.transport import Request, Transport

_AT_ONCE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


async def discovered(transport: Transport) -> tuple[Resource, ...]:
    """Every resource, each group's preferred version first. A group that does not answer is left out."""
    core, groups = await asyncio.gather(_ask(transport, "/api"), _ask(transport, "/apis"))
    found: list[Resource] = []
    if core.get("kind") == "APIGroupDiscoveryList":
        found += _at_once(core)
    else:
        found += await _one_by_one(transport, [("", version) for version in core.get("versions", ())])
    if groups.get("kind") == "APIGroupDiscoveryList":
        found += _at_once(groups)
    else:
        found += await _one_by_one(transport, _versions(groups))
    return tuple(found)


async def _ask(transport: Transport, path: str) -> dict[str, Any]:
    answer = await transport.send(Request(method="GET", path=path, query={}, accept=_AT_ONCE))
    return msgspec.json.decode(answer, type=dict[str, Any])


def _at_once(document: dict[str, Any]) -> Iterable[Resource]:
    for group in document.get("items", ()):
        name = group.get("metadata", {}).get("name", "")
        for version in group.get("versions", ()):
            for each in version.get("resources", ()):
                yield Resource(
                    group=name,
                    version=version["version"],
                    plural=each["resource"],
                    kind=each.get("responseKind", {}).get("kind", ""),
                    namespaced=each.get("scope") == "Namespaced",
                    singular=each.get("singularResource", ""),
                    short_names=tuple(each.get("shortNames", ())),
                    categories=tuple(each.get("categories", ())),
                    subresources=tuple(sub["subresource"] for sub in each.get("subresources", ())),
                )


def _versions(document: dict[str, Any]) -> list[tuple[str, str]]:
    listed = []
    for group in document.get("groups", ()):
        preferred = group.get("preferredVersion", {}).get("version", "")
        versions = [each["version"] for each in group.get("versions", ())]
        listed += [(group["name"], each) for each in sorted(versions, key=lambda one: one != preferred)]
    return listed


async def _one_by_one(transport: Transport, versions: list[tuple[str, str]]) -> list[Resource]:
    async def one(group: str, version: str) -> list[Resource]:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            answer = await transport.send(Request(method="GET", path=path, query={}))
        except ApiError:
            # An extension's server may be down; the rest of the cluster is usable all the same.
            return []
        listed = msgspec.json.decode(answer, type=dict[str, Any]).get("resources", ())
        beneath: dict[str, list[str]] = {}
        for each in listed:
            plural, _, subresource = each["name"].partition("/")
            beneath.setdefault(plural, []).extend([subresource] if subresource else [])
        return [
            Resource(
                group=group,
                version=version,
                plural=each["name"],
                kind=each["kind"],
                namespaced=each["namespaced"],
                singular=each.get("singularName", ""),
                short_names=tuple(each.get("shortNames", ())),
                categories=tuple(each.get("categories", ())),
                subresources=tuple(beneath[each["name"]]),
            )
            for each in listed
            if "/" not in each["name"]
        ]

    answers = await asyncio.gather(*(one(group, version) for group, version in versions))
    return [resource for answer in answers for resource in answer]
