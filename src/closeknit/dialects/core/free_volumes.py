"""Volumes that nobody has: which claims could have them, and from which nodes they are reached."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis import core_v1
from closeknit.apis.storage_k8s_io_v1 import StorageClass
from closeknit.dialects.core.neighbours import requirements
from closeknit.dialects.core.node_filters import selector_terms
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub import quantities
from closeknit.hub.keys import Key
from closeknit.hub.nodes import NAME_FIELD, Operator, Requirement, Term
from closeknit.hub.problems import InvalidError

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
NOT_MADE = "kubernetes.io/no-provisioner"
"""The provisioner of a class whose volumes nobody makes."""


def reached_from(volume: core_v1.PersistentVolume) -> list[tuple[Term, ...]]:
    """The nodes of a volume's affinity, which kube-scheduler looks at whether a claim has it or not."""
    required = volume.spec.node_affinity.required
    return [selector_terms(required, (), [])] if required is not None else []


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
        for terms in reached_from(stored.content)
    )


def could_have(wanted: core_v1.PersistentVolumeClaimSpec, volume: core_v1.PersistentVolume) -> bool:
    """Whether a free volume of its class is what a claim wants."""
    labels = volume.metadata.labels
    meant = requirements(wanted.selector, (), []) if wanted.selector is not None else ()
    return (
        all(each.holds(labels.get(each.key)) for each in meant)
        and set(wanted.access_modes) <= set(volume.spec.access_modes)
        and wanted.volume_mode == volume.spec.volume_mode
        and size_of(volume.spec.capacity) >= size_of(wanted.resources.requests)
    )


def volumes_to_have(view: View, spec: core_v1.PersistentVolumeClaimSpec, name: str) -> Iterator[Term]:
    """Nodes that reach a volume of a class that nobody has and that is what a claim wants."""
    for stored in view.derive(free_volumes, name):
        if could_have(spec, stored.content):
            lists = reached_from(stored.content)
            yield from lists[0] if lists else (Term((Requirement(NAME_FIELD, Operator.NOT_IN, ()),)),)


def size_of(amounts: dict[str, str | int | float]) -> int:
    """How much is asked for or offered, in bytes."""
    try:
        return quantities.amount("storage", amounts.get("storage", 0))
    except InvalidError:
        return 0
