"""Reads the objects of a cluster that planning needs. Nothing is ever written.

A kind that the cluster serves in other versions only, or that may not be listed, is passed over with a note.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from closeknit.cli.clusters import AskedCluster
from closeknit.cli.unserved import Unserved, unserved
from closeknit.dialects import KINDS, Kind, Served
from closeknit.kube.errors import ForbiddenError, GoneError, NotFoundError
from closeknit.kube.port import EVERYTHING, KubernetesApi, Object, Selection, pages
from closeknit.kube.resources import Resource


class Progress(Protocol):
    """Told how far a reading has come."""

    def __call__(self, done: int = 1, *, more: int = 0) -> None:
        """So many steps are done, and so many are known to come that were not known before."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The objects of a cluster, and what is worth knowing about how they were read."""

    served: Served
    unserved: Unserved
    """The kinds that the cluster has not."""
    unread: tuple[str, ...]
    """Notes on objects that are there, or may be, and were passed over."""


async def read_cluster(cluster: AskedCluster, progress: Progress, kinds: Sequence[Kind] = KINDS) -> Snapshot:
    """All objects of these kinds. Kinds are listed at the same time, each page by page."""
    resources = await cluster.api.resources()
    chosen = readable(kinds, resources)
    parts = await asyncio.gather(*(_listed(cluster, each, progress) for each in chosen.values()))
    objects = list(itertools.chain.from_iterable(found for found, _ in parts))
    return Snapshot(
        Served(cluster.name, objects, cluster.namespace),
        unserved=unserved(kinds, resources),
        unread=(
            *_in_other_versions(kinds, resources, cluster.name),
            *(note for _, note in parts if note),
        ),
    )


def readable(kinds: Iterable[Kind], resources: Iterable[Resource]) -> dict[tuple[str, str], list[Resource]]:
    """For each kind that is served, the versions that are read, the one that the server prefers first."""
    wanted = _versions(kinds)
    found: dict[tuple[str, str], list[Resource]] = {}
    for each in resources:
        if each.version in wanted.get((each.group, each.kind), ()):
            found.setdefault((each.group, each.kind), []).append(each)
    return found


def _versions(kinds: Iterable[Kind]) -> dict[tuple[str, str], set[str]]:
    """The versions that are read, by group and kind. What has no name is a file, and never served."""
    versions: dict[tuple[str, str], set[str]] = defaultdict(set)
    for kind in kinds:
        if kind.named and kind.served:
            versions[kind.group, kind.kind].update(kind.versions)
    return versions


def _in_other_versions(kinds: Sequence[Kind], resources: Sequence[Resource], cluster: str) -> Iterator[str]:
    """What to know about kinds that the cluster has in no version that is read."""
    served: dict[tuple[str, str], list[str]] = defaultdict(list)
    for each in resources:
        served[each.group, each.kind].append(each.version)
    for (group, kind), versions in _versions(kinds).items():
        has = served.get((group, kind))
        if has and not versions.intersection(has):
            found, read = ", ".join(has), ", ".join(sorted(versions))
            yield (
                f"{kind} ({group}) is passed over: {cluster} serves it in {found}, and it is read in {read}."
            )


async def _listed(
    cluster: AskedCluster, versions: Sequence[Resource], progress: Progress
) -> tuple[list[Object], str]:
    """The objects of a kind, and a note where they are not all of them."""
    resource = versions[0]
    try:
        return await _everything(cluster.api, versions, EVERYTHING, progress), ""
    except NotFoundError:
        return [], f"{resource.kind} is passed over: {cluster.name} no longer serves {resource.qualified}."
    except ForbiddenError as error:
        reason = str(error).removesuffix(".")
    lacking = f'{reason}. Grant the verb "list" on {resource.qualified} to read them.'
    if resource.namespaced:
        own = Selection(namespace=cluster.namespace)
        try:
            found = await _everything(cluster.api, versions, own, progress)
        except ForbiddenError:
            pass
        else:
            return found, f"{resource.kind} is read in namespace {cluster.namespace} only: {lacking}"
    return [], f"{resource.kind} is passed over: {lacking}"


async def _everything(
    api: KubernetesApi, versions: Sequence[Resource], selection: Selection, progress: Progress
) -> list[Object]:
    """All objects of a kind, each in the version in which it was written last, where that is read.

    A server without a converter for a kind leaves out what its other versions do not know.
    """
    found = await _in_one_version(api, versions[0], selection, progress)
    for other in versions[1:]:
        if any(_written_in(each) == other.api_version for each in found):
            again = await _in_one_version(api, other, selection, progress)
            as_written = {_key(each): each for each in again if _written_in(each) == other.api_version}
            found = [as_written.get(_key(each), each) for each in found]
    return [_clean(each) for each in found]


async def _in_one_version(
    api: KubernetesApi, resource: Resource, selection: Selection, progress: Progress
) -> list[Object]:
    found: list[Object] = []
    expected = 0
    try:
        async for page in pages(api, resource, selection):
            found.extend(page.items)
            known = len(found) + (page.remaining or 0)
            progress(len(page.items), more=max(known - expected, 0))
            expected = max(known, expected)
    except GoneError:
        # The server forgot the moment of the first page while later ones were read. In one piece it cannot.
        return (await api.list(resource, selection)).items
    return found


def _written_in(obj: Object) -> str:
    """The version in which an object, and not only its status, was written last; empty where nobody knows."""
    writers = obj.get("metadata", {}).get("managedFields") or ()
    own = [each for each in writers if not each.get("subresource")]
    return str(max(own, key=lambda each: each.get("time") or "").get("apiVersion", "")) if own else ""


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _clean(obj: Object) -> Object:
    """The object without what nobody reads, and without fields that are null, as files are read."""
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    return without_nulls(obj) if _has_null(obj) else obj


def _has_null(value: Any) -> bool:
    inner = value.values() if type(value) is dict else value
    for each in inner:
        if each is None or ((type(each) is dict or type(each) is list) and _has_null(each)):
            return True
    return False


def without_nulls(value: Any) -> Any:
    """The same value; to Kubernetes, a field that is null and one that is missing mean the same."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value
