"""Volumes that pods claim: from which nodes they can be reached, and how many a node takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec

from closeknit.apis import core_v1
from closeknit.apis.storage_k8s_io_v1 import CsiNode, StorageClass
from closeknit.dialects.core.node_filters import selector_terms
from closeknit.dialects.core.notes import binds
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub import quantities
from closeknit.hub.keys import Key
from closeknit.hub.nodes import NAME_FIELD, Operator, Requirement, Term
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.request import Reference
from closeknit.hub.sentences import claims as sentences

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
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
NOT_MADE = "kubernetes.io/no-provisioner"
"""The provisioner of a class whose volumes nobody makes."""


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
    claimed.terms += (*_reached_from(volume.content), *_in_zones(volume.content))
    csi = volume.content.spec.csi
    if csi is not None and csi.driver in view.derive(limited_drivers):
        claimed.take({attach_limit(csi.driver): 1})


def _was_made_for(claim: core_v1.PersistentVolumeClaim, owner: str) -> bool:
    """Whether a pod controls a claim; the pod is known by its uid, or by its name where it has none."""
    return any(
        each.controller and each.kind == "Pod" and owner in (each.uid, each.name)
        for each in claim.metadata.owner_references
    )


def _reached_from(volume: core_v1.PersistentVolume) -> list[tuple[Term, ...]]:
    """The nodes of a volume's affinity, which kube-scheduler looks at whether a claim has it or not."""
    required = volume.spec.node_affinity.required
    return [selector_terms(required, (), [])] if required is not None else []


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
    elif spec.selector is not None and binds(view):
        claimed.problems.append(sentences.VOLUME_SELECTED.at((), name=name))
    elif given.provisioner == NOT_MADE:
        claimed.terms.append(tuple(_volumes_to_have(view, spec, stored.name)))
        if not shared:
            claimed.take({volumes_of(stored.name): 1})
    elif given.allowed_topologies:
        terms = (
            Term(tuple(Requirement(each.key, Operator.IN, tuple(sorted(each.values))) for each in term))
            for term in (one.match_label_expressions for one in given.allowed_topologies)
        )
        claimed.terms.append(tuple(terms))


def class_of(view: View, name: str | None) -> Stored[StorageClass] | None:
    """The class of a claim: the one that it names, or the default."""
    if name is not None:
        return view.get(Key("storage.k8s.io", "StorageClass", "", name))
    defaults = [
        each
        for each in view.of(StorageClass)
        if each.content.metadata.annotations.get(DEFAULT_CLASS) == "true"
    ]
    return defaults[0] if defaults else None


def volumes_of(name: str) -> str:
    """The resource of which a pod takes one for each claim to a volume of a class that nobody makes."""
    return f"{name}.storageclass.storage.k8s.io/persistentvolumes"


def free_volumes(view: View, name: str) -> tuple[Stored[core_v1.PersistentVolume], ...]:
    """The volumes of a class that nobody has."""
    return tuple(
        stored
        for stored in view.of(core_v1.PersistentVolume)
        if stored.content.spec.storage_class_name == name
        and stored.content.spec.claim_ref is None
        and stored.content.status.phase in ("", "Available")
    )


def found_classes(view: View) -> tuple[str, ...]:
    """The classes whose volumes are not made but found when their pod is placed."""
    return tuple(
        sorted(
            stored.name
            for stored in view.of(StorageClass)
            if stored.content.provisioner == NOT_MADE
            and stored.content.volume_binding_mode == "WaitForFirstConsumer"
        )
    )


def volumes_beside(view: View, node: str) -> dict[str, int]:
    """How many free volumes of each class that nobody makes a node reaches."""
    return {
        volumes_of(name): sum(
            bool(reaches(view, each.name, node)) for each in view.derive(free_volumes, name)
        )
        for name in view.derive(found_classes)
    }


def reaches(view: View, volume: str, node: str) -> bool | None:
    """Whether a volume can be used from a node; None where one of them is not in sight."""
    stored = view.get(Key("", "PersistentVolume", "", volume))
    machine = view.get(Key("", "Node", "", node))
    if stored is None or machine is None:
        return None
    labels = {**machine.content.metadata.labels, NAME_FIELD: node}
    return all(
        any(
            term.requirements and all(each.holds(labels.get(each.key)) for each in term.requirements)
            for term in terms
        )
        for terms in _reached_from(stored.content)
    )


def could_have(wanted: core_v1.PersistentVolumeClaimSpec, volume: core_v1.PersistentVolume) -> bool:
    """Whether a free volume of its class is what a claim wants."""
    return (
        set(wanted.access_modes) <= set(volume.spec.access_modes)
        and wanted.volume_mode == volume.spec.volume_mode
        and size_of(volume.spec.capacity) >= size_of(wanted.resources.requests)
    )


def _volumes_to_have(view: View, spec: core_v1.PersistentVolumeClaimSpec, name: str) -> Iterator[Term]:
    """Nodes that reach a volume of a class that nobody has and that is what a claim wants."""
    for stored in view.derive(free_volumes, name):
        if could_have(spec, stored.content):
            lists = _reached_from(stored.content)
            yield from lists[0] if lists else (Term((Requirement(NAME_FIELD, Operator.NOT_IN, ()),)),)


def size_of(amounts: dict[str, str | int | float]) -> int:
    """How much is asked for or offered, in bytes."""
    try:
        return quantities.amount("storage", amounts.get("storage", 0))
    except InvalidError:
        return 0
