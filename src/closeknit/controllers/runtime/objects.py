"""Parts of objects that all controllers write alike: owners, finalizers and conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.controllers.runtime.writes import Patch
from closeknit.dialects.core.kinds import owner_references
from closeknit.dialects.core.owner_references import identity_of, possible_controllers
from closeknit.dialects.family import Condition
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.kube.clock import timestamp


def owned(body: Mapping[str, Any], owner: KubernetesObject) -> dict[str, Any]:
    """The object with an owner that controls it, and with which it goes."""
    found = owner_references(owner.api_version, owner.kind, owner.metadata.name, owner.metadata.uid)
    return {**body, "metadata": {**body["metadata"], **found}}


def owner_indexes(kinds: Iterable[Kind]) -> list[Index]:
    """How the objects of some kinds are found by the identity of the object that controls them."""
    shapes = dict.fromkeys(kind.shape for kind in kinds)
    return [Index(_owner_index(shape), shape, possible_controllers, of_metadata=True) for shape in shapes]


def children(view: View, shape: type[KubernetesObject], owner: Stored[Any]) -> Sequence[Stored[Any]]:
    """The objects of a shape that an object controls, in the order in which they came."""
    return view.found(_owner_index(shape), identity_of(owner)) if owner.content.metadata.uid else ()


def _owner_index(shape: type[Any]) -> str:
    return f"controlled {shape.__module__}.{shape.__qualname__}"


def finalizers_of(stored: Stored[Any]) -> list[str]:
    """The finalizers of an object that was read whole."""
    return list(stored.written["metadata"].get("finalizers") or ())


def with_finalizer(stored: Stored[Any], finalizer: str) -> tuple[Patch, ...]:
    """The write that adds a finalizer; none where it is there, or where it is too late for one."""
    found = finalizers_of(stored)
    if finalizer in found or stored.content.metadata.deletion_timestamp:
        return ()
    return (_finalizers(stored, [*found, finalizer]),)


def without_finalizer(stored: Stored[Any], finalizer: str) -> tuple[Patch, ...]:
    """The write that removes a finalizer; none where it is not there."""
    found = finalizers_of(stored)
    if finalizer not in found:
        return ()
    return (_finalizers(stored, [each for each in found if each != finalizer]),)


def _finalizers(stored: Stored[Any], finalizers: list[str]) -> Patch:
    version = stored.written["metadata"]["resourceVersion"]
    return Patch(stored.key, {"metadata": {"finalizers": finalizers or None}}, resource_version=str(version))


def conditions(
    before: Iterable[Mapping[str, Any]],
    wanted: Iterable[Condition],
    now: datetime,
    *,
    generation: int | None = None,
) -> list[dict[str, Any]]:
    """Conditions as a status holds them: those of other types stay, and times move where a status does."""
    found = {str(each.get("type")): dict(each) for each in before}
    for each in wanted:
        old = found.get(each.type, {})
        moved = old.get("status") != each.status or "lastTransitionTime" not in old
        found[each.type] = {
            "type": each.type,
            "status": each.status,
            "reason": each.reason,
            "message": each.message,
            "lastTransitionTime": timestamp(now) if moved else old["lastTransitionTime"],
            **({"observedGeneration": generation} if generation is not None else {}),
        }
    return list(found.values())
