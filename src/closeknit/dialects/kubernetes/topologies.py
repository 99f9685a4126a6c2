"""Each label that a group names is a topology of one level: Kubernetes knows no tree of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from closeknit.apis.scheduling_k8s_io_v1alpha2 import GroupTerms, PodGroup
from closeknit.dialects.core.naming import UniqueNames, is_label_key, plain_name
from closeknit.dialects.family import Described
from closeknit.dialects.store.view import View
from closeknit.hub.topology import Level, Topology

_LONGEST = 63


def topologies(view: View) -> Described:
    """The topologies that groups speak of, by names that an object can have."""
    return Described({each.name: each for each in view.derive(by_key).values()})


def by_key(view: View) -> Mapping[str, Topology]:
    """By the key of its label, the topology that a constraint means."""
    keys = {key for stored in view.of(PodGroup) for key in keys_of(stored.content.spec)}
    names = UniqueNames(_LONGEST)
    return {
        key: Topology(names.take(plain_name(key)[:_LONGEST].strip("-")), (Level(key),))
        for key in sorted(keys)
        if is_label_key(key)
    }


def keys_of(terms: GroupTerms) -> Iterator[str]:
    """The label keys that a group names."""
    return (each.key for each in terms.scheduling_constraints.topology)
