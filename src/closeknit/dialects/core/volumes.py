"""Volumes that pods claim: from which nodes they can be reached, and how many a node takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec

from closeknit.apis import core_v1
from closeknit.apis.storage_k8s_io_v1 import CsiNode
from closeknit.dialects.core.free_volumes import NOT_MADE, class_of, reached_from, volumes_of, volumes_to_have
from closeknit.dialects.core.notes import binds
from closeknit.dialects.core.owner_references import names_kind
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.nodes import NAME_FIELD, Operator, Requirement, Term
from closeknit.hub.problems import Problem
from closeknit.hub.request import Reference
from closeknit.hub.sentences import claims as sentences

ANY_NUMBER = 2**40
"""Stands for the volumes of a driver on a node that does not limit them."""
BY_VOLUME_CLAIM = "volume-claim"
"""The index that finds pods by the volume claims that they name."""
_ZONES = {
    "topology.kubernetes.io/zone": "",
    "topology.kubernetes.io/region": "",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Labels of a volume that its node must have as well, and the newer name by which it may have an old one."""
_ALONE = "ReadWriteOncePod"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The annotation of a claim by which a provisioner learns where its first pod is to run."""


class _Claimed(Protocol):
    terms: list[tuple[Term, ...]]
    problems: list[Problem]

    def take(self, amounts: Mapping[str, int], times: int = 1) -> None: ...


def pods_by_volume_claim() -> Index:
    """Finds pods that have a node by the volume claims that they name."""

    def claims(pod: Stored[core_v1.Pod]) -> Iterator[tuple[str, str]]:
        if pod.content.spec.node_name and pod.content.status.phase not in ("Succeeded", "Failed"):
            for volume in pod.content.spec.volumes:
                if volume.persistent_volume_claim is not None:
                    yield pod.namespace, volume.persistent_volume_claim.claim_name
                elif volume.ephemeral is not None:
                    yield pod.namespace, own_claim(pod.name, volume.name)

    return Index(BY_VOLUME_CLAIM, core_v1.Pod, claims)


def own_claim(pod: str, volume: str) -> str:
    """The name of the claim that kube-controller-manager makes for an ephemeral volume of a pod."""
    return f"{pod}-{volume}"


def attach_limit(driver: str) -> str:
    """The resource of which a pod takes one for each volume of a driver."""
    return f"attachable-volumes-csi-{driver}"


def limited_drivers(view: View) -> frozenset[str]:
    """The drivers that attach a limited number of volumes to some node."""
    return frozenset(
        driver.name
        for stored in view.of(CsiNode)
        for driver in stored.content.spec.drivers
        if driver.allocatable.count is not None
    )


def attachable(view: View, node: str) -> dict[str, int]:
    """How many volumes of each driver a node takes in all, where some node limits them."""
    limited = view.derive(limited_drivers)
    if not limited:
        return {}
    stored = view.get(Key("storage.k8s.io", "CSINode", "", node))
    drivers = stored.content.spec.drivers if stored is not None else ()
    own = {each.name: each.allocatable.count for each in drivers if each.allocatable.count is not None}
    return {attach_limit(each): own.get(each, ANY_NUMBER) for each in limited}


def add_volume(
    view: View, namespace: str, reference: Reference, claimed: _Claimed, *, shared: bool = False
) -> None:
    """Count a claim to a volume; one that is made for its pod alone counts as its template says before."""
    stored = view.get(Key("", "PersistentVolumeClaim", namespace, reference.name)) if reference.name else None
    if stored is None and reference.template:
        if binds(view) and reference.name:
            claimed.problems.append(sentences.VOLUME_CLAIM_NOT_MADE.at((), name=reference.name))
        else:
            spec = msgspec.json.decode(reference.template, type=core_v1.PersistentVolumeClaimSpec)
            _add_class(view, spec, reference.name, claimed, shared=False)
        return
    if stored is None:
        missing = sentences.NOT_IN_SIGHT.at((), kind=reference.kind, name=reference.name)
        claimed.problems.append(missing)
        return
    if reference.owner and not _was_made_for(stored.content, reference.owner):
        claimed.problems.append(sentences.VOLUME_CLAIM_OF_OTHERS.at((), name=reference.name))
        return
    spec = stored.content.spec
    if _ALONE in spec.access_modes:
        for pod in view.found(BY_VOLUME_CLAIM, (namespace, reference.name)):
            # No node has such a label, and who reads the explanation learns why.
            taken = Requirement(f"volume {reference.name} free of pod {pod.name}", Operator.EXISTS)
            claimed.terms.append((Term((taken,)),))
            break
    if not spec.volume_name:
        _add_class(view, spec, reference.name, claimed, shared=shared)
        if selected := stored.content.metadata.annotations.get(SELECTED_NODE):
            claimed.terms.append((Term((Requirement(NAME_FIELD, Operator.IN, (selected,)),)),))
        return
    volume = view.get(Key("", "PersistentVolume", "", spec.volume_name))
    if volume is None:
        missing = sentences.NOT_IN_SIGHT.at((), kind="PersistentVolume", name=spec.volume_name)
        claimed.problems.append(missing)
        return
    claimed.terms += (*reached_from(volume.content), *_in_zones(volume.content))
    csi = volume.content.spec.csi
    if csi is not None and csi.driver in view.derive(limited_drivers):
        claimed.take({attach_limit(csi.driver): 1})


def _was_made_for(claim: core_v1.PersistentVolumeClaim, owner: str) -> bool:
    """Whether a pod controls a claim; the pod is known by its uid, or by its name where it has none."""
    return any(
        each.controller and names_kind(each, "", "Pod") and owner in (each.uid, each.name)
        for each in claim.metadata.owner_references
    )


def _in_zones(volume: core_v1.PersistentVolume) -> Iterator[tuple[Term, ...]]:
    """The nodes of a volume's zones; kube-scheduler looks at these labels only once a claim has the volume.

    A node without any of the labels is in no zone, and taken to be near.
    """
    nowhere = Term(tuple(Requirement(each, Operator.DOES_NOT_EXIST) for each in _ZONES))
    for label, newer in _ZONES.items():
        if label in volume.metadata.labels:
            values = tuple(sorted(volume.metadata.labels[label].split("__")))
            terms = [Term((Requirement(label, Operator.IN, values),)), nowhere]
            if newer:
                old = Requirement(label, Operator.DOES_NOT_EXIST)
                terms.append(Term((old, Requirement(newer, Operator.IN, values))))
            yield tuple(terms)


def _add_class(
    view: View, spec: core_v1.PersistentVolumeClaimSpec, name: str, claimed: _Claimed, *, shared: bool
) -> None:
    """Count a claim that has no volume yet, by the class from which it will get one."""
    stored = class_of(view, spec.storage_class_name)
    if stored is None:
        missing = spec.storage_class_name or "that is the default"
        claimed.problems.append(sentences.NOT_IN_SIGHT.at((), kind="StorageClass", name=missing))
        return
    given = stored.content
    if given.provisioner in view.derive(limited_drivers):
        claimed.take({attach_limit(given.provisioner): 1})
    if given.volume_binding_mode != "WaitForFirstConsumer":
        claimed.problems.append(sentences.VOLUME_IMMEDIATE.at((), name=name))
    elif spec.selector is not None and given.provisioner != NOT_MADE and binds(view):
        claimed.problems.append(sentences.VOLUME_SELECTED.at((), name=name))
    elif given.provisioner == NOT_MADE:
        claimed.terms.append(tuple(volumes_to_have(view, spec, stored.name)))
        if not shared:
            claimed.take({volumes_of(stored.name): 1})
    elif given.allowed_topologies:
        terms = (
            Term(tuple(Requirement(each.key, Operator.IN, tuple(sorted(each.values))) for each in term))
            for term in (one.match_label_expressions for one in given.allowed_topologies)
        )
        claimed.terms.append(tuple(terms))
