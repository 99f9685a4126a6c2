"""Objects put into an embedded cluster when it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kube as sentences
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import ApiError
from closeknit.kube.port import ApplyPatch, MergePatch
from closeknit.kube.resources import NAMESPACES

MANAGER: Final = "closeknit-up"
_FIRST: Final = {"Namespace": 0, "CustomResourceDefinition": 0, "PriorityClass": 1, "Node": 1}


def kind_and_name(obj: Mapping[str, Any]) -> str:
    """What an object is called, as far as it says so."""
    return f"{obj.get('kind')}/{_name(obj)}"


async def load(
    cluster: EmbeddedCluster,
    objects: Iterable[Mapping[str, Any]],
    *,
    place: Callable[[Mapping[str, Any]], str] = kind_and_name,
) -> list[Problem]:
    """Apply objects, those that others need first, and make the namespaces that they name.

    What was refused is returned, each with the object's place, its kind and name; the others are there.
    """
    problems: list[Problem] = []
    for obj in sorted(objects, key=lambda one: _FIRST.get(str(one.get("kind")), 2)):
        name, where = _name(obj), (Verbatim(place(obj)),)
        kind = cluster.core.kinds.of_object(str(obj.get("apiVersion", "")), str(obj.get("kind", "")))
        if kind is None:
            problems.append(sentences.UNSERVED_KIND.at(where, version=str(obj.get("apiVersion"))))
            continue
        if not name:
            field = Verbatim(f"{place(obj)}: metadata.name")
            problems.append(sentences.UNNAMED_OBJECT.at((field,)))
            continue
        try:
            await _apply(cluster, obj, name)
        except ApiError as error:
            problems.append(sentences.REFUSED.at(where, message=str(error)))
    return problems


def _name(obj: Mapping[str, Any]) -> str:
    meta = obj.get("metadata")
    name = meta.get("name") if isinstance(meta, Mapping) else None
    return name if isinstance(name, str) else ""


async def _apply(cluster: EmbeddedCluster, obj: Mapping[str, Any], name: str) -> None:
    resource = next(
        one
        for one in await cluster.resources()
        if (one.api_version, one.kind) == (obj["apiVersion"], obj["kind"])
    )
    meta = obj["metadata"]
    namespace = str(meta.get("namespace") or "default") if resource.namespaced else ""
    if namespace and cluster.core.store.table(("", "namespaces")).get(("", namespace)) is None:
        await cluster.create(NAMESPACES, {"metadata": {"name": namespace}}, field_manager=MANAGER)
    kept = {
        key: value for key, value in meta.items() if key not in ("uid", "resourceVersion", "managedFields")
    }
    body = {**obj, "metadata": kept}
    await cluster.patch(resource, name, ApplyPatch(body, MANAGER, force=True), namespace=namespace)
    if (status := obj.get("status")) and "status" in resource.subresources:
        await cluster.patch(
            resource,
            name,
            MergePatch({"status": status}),
            namespace=namespace,
            subresource="status",
            field_manager=MANAGER,
        )
