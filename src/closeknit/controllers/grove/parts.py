"""What belongs to a PodCliqueSet: how its parts are found, and what they should be as it is scaled now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from closeknit.apis.core_v1 import Pod, Service
from closeknit.apis.grove_io_v1alpha1 import PodClique, PodCliqueScalingGroup, PodCliqueSet
from closeknit.apis.grove_keys import MANAGED_BY, OPERATOR, POD_CLIQUE, REPLICA_INDEX, SCALING_GROUP
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.dialects.family import Object
from closeknit.dialects.grove.blueprint import Blueprint, Drawn, blueprint_of
from closeknit.dialects.grove.instances import CliqueInstance, instances_of
from closeknit.dialects.grove.names import scaling_group_name
from closeknit.dialects.grove.owners import set_key, set_of
from closeknit.dialects.grove.to_gangs import gangs_of_replica
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key

KINDS = (
    Kind("grove.io", "PodClique", ("v1alpha1",), PodClique),
    Kind("grove.io", "PodCliqueScalingGroup", ("v1alpha1",), PodCliqueScalingGroup),
    Kind("", "Service", ("v1",), Service),
)
"""What the operator makes, and nobody else reads."""

_CLIQUES, _GROUPS, _SERVICES, _PODS, _MEMBERS = (
    "grove-cliques-of-set",
    "grove-groups-of-set",
    "grove-services-of-set",
    "grove-pods-of-clique",
    "grove-cliques-of-group",
)


def _set_of(stored: Stored[Any]) -> Iterator[Key]:
    if name := set_of(stored.content.metadata):
        yield set_key(stored.namespace, name)


def _labelled(label: str, group: str, kind: str, stored: Stored[Any]) -> Iterator[Key]:
    labels = stored.content.metadata.labels
    if (name := labels.get(label)) and labels.get(MANAGED_BY) == OPERATOR:
        yield Key(group, kind, stored.namespace, name)


INDEXES = (
    Index(_CLIQUES, PodClique, _set_of, of_metadata=True),
    Index(_GROUPS, PodCliqueScalingGroup, _set_of, of_metadata=True),
    Index(_SERVICES, Service, _set_of, of_metadata=True),
    Index(_PODS, Pod, lambda pod: _labelled(POD_CLIQUE, "grove.io", "PodClique", pod), of_metadata=True),
    Index(
        _MEMBERS,
        PodClique,
        lambda clique: _labelled(SCALING_GROUP, "grove.io", "PodCliqueScalingGroup", clique),
        of_metadata=True,
    ),
)
"""Parts are found by their labels: an owner may be gone, or may have been taken off."""


def cliques_of_set(view: View, key: Key) -> Sequence[Stored[PodClique]]:
    """All PodCliques that were made for a set."""
    return view.found(_CLIQUES, key)


def groups_of_set(view: View, key: Key) -> Sequence[Stored[PodCliqueScalingGroup]]:
    """All PodCliqueScalingGroups that were made for a set."""
    return view.found(_GROUPS, key)


def services_of_set(view: View, key: Key) -> Sequence[Stored[Service]]:
    """All Services that were made for a set."""
    return view.found(_SERVICES, key)


def gangs_of_set(view: View, key: Key) -> Sequence[Stored[PodGang]]:
    """All PodGangs that were made for a set."""
    return view.found("grove-gangs", key)


def cliques_of_group(view: View, key: Key) -> Sequence[Stored[PodClique]]:
    """All PodCliques that were made for a scaling group."""
    return view.found(_MEMBERS, key)


def pods_of_clique(view: View, key: Key) -> Sequence[Stored[Pod]]:
    """All pods that were made for a PodClique."""
    return view.found(_PODS, key)


def clique_key(namespace: str, name: str) -> Key:
    """The key of a PodClique."""
    return Key("grove.io", "PodClique", namespace, name)


def group_key(namespace: str, name: str) -> Key:
    """The key of a PodCliqueScalingGroup."""
    return Key("grove.io", "PodCliqueScalingGroup", namespace, name)


def place_of(namespace: str, metadata: ObjectMeta) -> tuple[Key, int] | None:
    """The set that a part was made for, and the number of its replica; None where its labels do not tell."""
    name, index = set_of(metadata), metadata.labels.get(REPLICA_INDEX, "")
    return (set_key(namespace, name), int(index)) if name and index.isdecimal() else None


# ------------------------------------------------------------------------------------- what should be


def drawn_of(view: View, key: Key) -> Drawn:
    """The blueprint of a set and its problems; neither where it is gone or going: nothing is made for it."""
    given: PodCliqueSet | None = view.content(key)
    if given is None or given.metadata.deletion_timestamp:
        return Drawn(None)
    return view.derive(blueprint_of, key)


def asked_replicas(view: View, key: Key) -> int | None:
    """How many replicas a part is scaled to; None where there is no such part."""
    given: PodClique | PodCliqueScalingGroup | None = view.content(key)
    if given is None or given.metadata.deletion_timestamp:
        return None
    replicas = given.spec.replicas
    return 1 if replicas is None else int(replicas)


def as_scaled(view: View, key: Key, replica: int) -> Blueprint | None:
    """The blueprint of a set, with its scaling groups as large as those of one replica are asked to be.

    Those that are part of the base gang are never fewer than the gang needs.
    """
    made = view.derive(drawn_of, key).blueprint
    if made is None or replica >= made.replicas:
        return None

    def asked(name: str) -> int | None:
        return view.derive(
            asked_replicas, group_key(made.namespace, scaling_group_name(made.name, replica, name))
        )

    return replace(
        made,
        groups=tuple(
            group
            if (found := asked(group.name)) is None
            else replace(group, replicas=max(found, group.least))
            for group in made.groups
        ),
    )


def instances_by_name(view: View, key: Key, replica: int) -> Mapping[str, CliqueInstance]:
    """The PodCliques that one replica of a set should have."""
    made = view.derive(as_scaled, key, replica)
    return {each.name: each for each in instances_of(made, replica)} if made is not None else {}


def gangs_by_name(view: View, key: Key) -> Mapping[str, Object]:
    """The PodGangs that a set should have, without references to pods."""
    made = view.derive(drawn_of, key).blueprint
    found: dict[str, Object] = {}
    for replica in range(made.replicas if made is not None else 0):
        found.update(view.derive(_gangs_of_replica, key, replica))
    return found


def _gangs_of_replica(view: View, key: Key, replica: int) -> Mapping[str, Object]:
    made = view.derive(as_scaled, key, replica)
    if made is None:
        return {}
    return {gang["metadata"]["name"]: with_references(gang, {}) for gang in gangs_of_replica(made, replica)}


def with_references(gang: Object, names: Mapping[str, Sequence[str]]) -> Object:
    """A PodGang with references to the pods of each of its groups."""
    namespace = gang["metadata"]["namespace"]
    groups = [
        {
            **group,
            "podReferences": [
                {"namespace": namespace, "name": name} for name in sorted(names.get(group["name"], ()))
            ],
        }
        for group in gang["spec"]["podgroups"]
    ]
    return {**gang, "spec": {**gang["spec"], "podgroups": groups}}
