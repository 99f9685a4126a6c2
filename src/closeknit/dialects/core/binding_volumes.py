"""Binding volumes to claims whose class waits for the first pod: which volume, or where one is to be made.

A volume that exists is claimed for the claim; where a provisioner makes volumes, it is told the pod's node.
The rest is done by the controllers of volumes, and waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from closeknit.apis import core_v1
from closeknit.dialects.core.free_volumes import (
    NOT_MADE,
    class_of,
    could_have,
    free_volumes,
    reaches,
    size_of,
)
from closeknit.dialects.core.matching import matching
from closeknit.dialects.core.reserving import Reservation
from closeknit.dialects.core.volumes import SELECTED_NODE
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import claims as sentences

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""The annotation of a claim whose binding to its volume is complete."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""The annotation of a volume that was claimed for a claim, and not by whoever made it."""


@dataclass(frozen=True, slots=True)
class VolumeBinding:
    """A claim that is to get a volume in reach of a node."""

    claim: Key
    uid: str
    node: str
    pods: tuple[tuple[str, str], ...]
    """Name and uid of each."""
    volume: str = ""
    """The volume; empty where one is made."""
    takes_time: ClassVar = True


Preparation: TypeAlias = Reservation | VolumeBinding


def is_bound(claim: core_v1.PersistentVolumeClaim) -> bool:
    """Whether nothing is left to do for a claim."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def chosen_volumes(
    view: View, node: str, claims: Iterable[Key], being_bound: frozenset[str]
) -> tuple[dict[Key, str], list[Problem]]:
    """The volume of each claim, all of whose pods run on a node; empty where one is to be made.

    ``being_bound`` are volumes that others get of which the view does not know yet. Of those that are large
    enough the smallest is chosen. Problems where some claim finds none.
    """
    found: dict[Key, str] = {}
    waiting: list[Key] = []
    candidates: list[list[str]] = []
    for key in claims:
        stored = view.get(key)
        assert stored is not None
        spec = stored.content.spec
        given = class_of(view, spec.storage_class_name)
        if spec.volume_name or given is None or given.content.provisioner != NOT_MADE:
            found[key] = ""
            continue
        free = (
            each
            for each in view.derive(free_volumes, given.name)
            if each.name not in being_bound
            and could_have(spec, each.content)
            and reaches(view, each.name, node)
        )
        ordered = sorted(free, key=lambda each: (size_of(each.content.spec.capacity), each.name))
        waiting.append(key)
        candidates.append([each.name for each in ordered])
    given_to = matching(candidates)
    missing: list[Problem] = []
    for number, key in enumerate(waiting):
        if number in given_to:
            found[key] = given_to[number]
        else:
            missing.append(sentences.VOLUME_NOT_FOUND.at((), node=node, name=key.name))
    return found, missing


# ------------------------------------------------------------------------------------- writing


def claiming_volume(volume: Mapping[str, Any], wanted: VolumeBinding) -> Mapping[str, Any] | str:
    """What to write into a volume as the server has it, or why it cannot be; nothing where it says so."""
    reference = (volume.get("spec") or {}).get("claimRef") or {}
    ours = (reference.get("namespace"), reference.get("name")) == (wanted.claim.namespace, wanted.claim.name)
    if reference and not (ours and reference.get("uid", wanted.uid) in ("", wanted.uid)):
        return f"PersistentVolume {wanted.volume} was claimed by another."
    if volume["metadata"].get("deletionTimestamp"):
        return f"PersistentVolume {wanted.volume} is being deleted."
    if reference.get("uid"):
        return {}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": wanted.claim.namespace,
        "name": wanted.claim.name,
        "uid": wanted.uid,
    }
    # Whoever made a volume for this claim by name keeps it when the claim goes.
    marked = {} if reference else {"metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}}}
    return {**marked, "spec": {"claimRef": claim}}


def selecting_node(claim: Mapping[str, Any], wanted: VolumeBinding) -> Mapping[str, Any] | str:
    """What to write into a claim so that its volume is made for a node; nothing where it says so."""
    selected = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
    if claim["metadata"].get("deletionTimestamp"):
        return f"PersistentVolumeClaim {wanted.claim.name} is being deleted."
    if (claim.get("spec") or {}).get("volumeName") or selected == wanted.node:
        return {}
    if selected:
        return f"A volume is being made for PersistentVolumeClaim {wanted.claim.name} on node {selected}."
    return {"metadata": {"annotations": {SELECTED_NODE: wanted.node}}}


def taking_back(
    claim: Mapping[str, Any], volume: Mapping[str, Any] | None, had: VolumeBinding
) -> Mapping[str, Any]:
    """What to write so that a claim may get a volume elsewhere; nothing where it has got one."""
    if (claim.get("spec") or {}).get("volumeName"):
        return {}
    if volume is None:
        selected = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        return {"metadata": {"annotations": {SELECTED_NODE: None}}} if selected == had.node else {}
    reference = (volume.get("spec") or {}).get("claimRef") or {}
    marked = BOUND_BY_CONTROLLER in (volume["metadata"].get("annotations") or {})
    if reference.get("uid") != had.uid or (volume.get("status") or {}).get("phase") == "Bound" or not marked:
        return {}
    return {"metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}, "spec": {"claimRef": None}}
