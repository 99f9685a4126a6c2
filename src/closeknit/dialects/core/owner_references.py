"""Which object owns another: the one place where families and operators read ``ownerReferences``.

On a cluster every object and every reference has a uid, and both must agree in uid, group, kind and namespace
(`closeknit.hub.owners`). What was never on a server has no uid, so in files a name stands for it.
"""

from __future__ import annotations

from typing import Any

from closeknit.apis.meta_v1 import ObjectMeta, OwnerReference
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.owners import OwnerIdentity, possible_owners


def controller_reference(metadata: ObjectMeta) -> OwnerReference | None:
    """The reference to the object that controls another; None where none does."""
    for reference in metadata.owner_references:
        if reference.controller:
            return reference
    return None


def identity_of(owner: Stored[Any]) -> OwnerIdentity:
    """An object as its dependents name it."""
    key = owner.key
    return OwnerIdentity(key.group, key.kind, key.namespace, owner.content.metadata.uid)


def possible_controllers(dependent: Stored[Any]) -> tuple[OwnerIdentity, ...]:
    """The identities that the controller of an object can have, for indexes; none without a controller."""
    reference = controller_reference(dependent.content.metadata)
    return _identities(reference, dependent.key.namespace) if reference is not None else ()


def possible_owners_of(dependent: Stored[Any]) -> tuple[OwnerIdentity, ...]:
    """The same for all owners of an object."""
    references = dependent.content.metadata.owner_references
    return tuple(
        identity for reference in references for identity in _identities(reference, dependent.key.namespace)
    )


def is_controlled_by(dependent: Stored[Any], owner: Stored[Any]) -> bool:
    """Whether one object of a cluster controls another."""
    return identity_of(owner) in possible_controllers(dependent)


def names_kind(reference: OwnerReference, group: str, kind: str) -> bool:
    """Whether a reference names an object of a kind."""
    return reference.kind == kind and reference.api_version.rpartition("/")[0] == group


def keys_named(reference: OwnerReference, namespace: str) -> tuple[Key, ...]:
    """The keys that a reference of an object in a namespace can mean: in the namespace, or cluster-wide."""
    group = reference.api_version.rpartition("/")[0]
    cluster_wide = Key(group, reference.kind, "", reference.name)
    return (cluster_wide._replace(namespace=namespace), cluster_wide) if namespace else (cluster_wide,)


def refers_to(reference: OwnerReference, namespace: str, owner: Stored[Any]) -> bool:
    """Whether a reference of an object in a namespace means another object, by its name and its uid.

    A uid that only one of the two has proves nothing, which happens in files alone.
    """
    uid = owner.content.metadata.uid
    return owner.key in keys_named(reference, namespace) and (
        not uid or not reference.uid or uid == reference.uid
    )


def owner_named(view: View, reference: OwnerReference, namespace: str) -> Stored[Any] | None:
    """The object that a reference of an object in a namespace means; None where it cannot be seen."""
    seen = (view.get(key) for key in keys_named(reference, namespace))
    return next(
        (owner for owner in seen if owner is not None and refers_to(reference, namespace, owner)), None
    )


def is_owned_by(dependent: Stored[Any], owner: Stored[Any]) -> bool:
    """Whether any reference of an object means another, in files as well."""
    return any(
        refers_to(reference, dependent.key.namespace, owner)
        for reference in dependent.content.metadata.owner_references
    )


def _identities(reference: OwnerReference, namespace: str) -> tuple[OwnerIdentity, ...]:
    return possible_owners(reference.api_version, reference.kind, reference.uid, namespace)
