"""What becomes of DynamoGraphDeployments: a PodCliqueSet each, and what Grove makes of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from closeknit.apis.dynamo_keys import ENABLE_GROVE
from closeknit.dialects.dynamo.compile import drawn_deployment
from closeknit.dialects.dynamo.pathways import is_for_grove
from closeknit.dialects.dynamo.topologies import known_to_dynamo, mapped
from closeknit.dialects.family import Object, Rendered
from closeknit.dialects.grove.blueprint import Blueprint
from closeknit.dialects.grove.express import to_binding
from closeknit.dialects.grove.to_gangs import to_gangs
from closeknit.dialects.grove.to_pod_groups import to_pod_groups
from closeknit.dialects.grove.to_pods import to_pods
from closeknit.dialects.grove.topologies import kai_names
from closeknit.dialects.kai.to_pod_group import to_topology_object
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.sentences import dynamo as sentences
from closeknit.hub.topology import Topology

_NOT_FOR_GROVE = sentences.NOT_FOR_GROVE.at(("metadata", "annotations", ENABLE_GROVE))


def set_of_deployment(stored: Stored[Any], view: View) -> Rendered:
    """The PodCliqueSet of a deployment, with its pods as they were written."""
    drawn = view.derive(drawn_deployment, stored.key)
    if drawn.made is not None and not is_for_grove(drawn.deployment):
        return Rendered(problems=(_NOT_FOR_GROVE,))
    return Rendered((drawn.made,)) if drawn.made is not None else Rendered()


def gangs_of_deployment(stored: Stored[Any], view: View) -> Rendered:
    """The PodGangs of a deployment, with the topology of the operator's settings where it is meant."""
    return _rendered(stored, view, lambda made: (*map(to_binding, _mapping(made, view)), *to_gangs(made)))


def pods_of_deployment(stored: Stored[Any], view: View) -> Rendered:
    """The pods of a deployment."""
    return _rendered(stored, view, to_pods)


def pod_groups_of_deployment(stored: Stored[Any], view: View) -> Rendered:
    """A PodGroup of KAI for every gang, with the topology of the operator's settings where it is meant.

    All other topologies are Grove's to translate.
    """

    def written(made: Blueprint) -> Iterator[Object]:
        yield from map(to_topology_object, _mapping(made, view))
        yield from to_pod_groups(made, view.derive(kai_names), view.derive(known_to_dynamo).topologies)

    return _rendered(stored, view, written)


def _mapping(made: Blueprint, view: View) -> tuple[Topology, ...]:
    """The topology of the operator's settings, for a deployment that speaks of it.

    Equal objects are written once, however many deployments do.
    """
    mapping = mapped(view)
    return (mapping,) if mapping is not None and made.topology == mapping.name else ()


def _rendered(stored: Stored[Any], view: View, write: Callable[[Blueprint], Iterable[Object]]) -> Rendered:
    """What is written of the set that is made of a deployment; nothing where it has problems."""
    drawn = view.derive(drawn_deployment, stored.key)
    made = drawn.blueprint
    if made is None:
        return Rendered()
    if not is_for_grove(drawn.deployment):
        return Rendered(problems=(_NOT_FOR_GROVE,))
    # The uid is that of the deployment; the set that will own these objects has none yet.
    metadata = msgspec.structs.replace(made.given.metadata, uid="")
    return Rendered(tuple(write(replace(made, given=msgspec.structs.replace(made.given, metadata=metadata)))))
