"""A pool in a cluster: its Topology, its Queue below one that pools share, and what its nodes lack. Pure.

A Topology's levels cannot change, so where the pool's labels do it is deleted and made anew. One that
somebody else made under the same name is left alone, and the pool says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Pool
from closeknit.controllers.runtime.objects import children, conditions, owned
from closeknit.controllers.runtime.writes import (
    NOTHING,
    Apply,
    Decision,
    Delete,
    SetStatus,
    Tell,
    Write,
    key_of,
)
from closeknit.dialects.core.owner_references import possible_owners_of
from closeknit.dialects.family import Condition, Object
from closeknit.dialects.osmo.pools import pool_named
from closeknit.dialects.osmo.render import pool_to_kai, queue_above
from closeknit.dialects.osmo.status import ACCEPTED, LABELLED, PoolOnNodes, pool_on_nodes, pool_status
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.owners import possible_owners

SYNCHRONIZED = "Synchronized"
_SHOWN = 10
"""So many nodes without a label stand in the status by name."""


class Seen(NamedTuple):
    """A pool, what it becomes and what is there of that."""

    pool: Stored[Any]
    on_nodes: PoolOnNodes | None
    """None where it has problems."""
    told: tuple[Condition, ...]
    wanted: tuple[Object, ...]
    """With their owners."""
    there: tuple[Stored[Any] | None, ...]
    """The objects of the same names."""
    topologies: tuple[Stored[Any], ...]
    """Those that are its own, wanted or not."""


def observe(view: View, key: Key) -> Seen | None:
    """A pool and all that it depends on; None where it is gone, going or unreadable."""
    pool = view.get(key)
    if pool is None or pool.content.metadata.deletion_timestamp:
        return None
    wanted = tuple(_with_owners(each, pool, view) for each in pool_to_kai(pool, view).objects)
    return Seen(
        pool,
        view.derive(pool_on_nodes, key.name),
        pool_status(pool, view).conditions,
        wanted,
        tuple(view.get(key_of(each)) for each in wanted),
        tuple(children(view, Topology, pool)),
    )


def _with_owners(made: Object, pool: Stored[Pool], view: View) -> Object:
    """The object with its pool as owner; the queue that pools share belongs to all of them."""
    if made["kind"] == "Topology" or "parentQueue" in made["spec"]:
        return owned(made, pool.content)
    owners = [
        {
            "apiVersion": each.object.api_version,
            "kind": each.object.kind,
            "name": each.name,
            "uid": each.content.metadata.uid,
        }
        for each in sorted(view.of(Pool), key=lambda each: each.name)
        if not each.content.metadata.deletion_timestamp
        and (read := view.derive(pool_named, each.name)) is not None
        and not read.problems
        and queue_above(read) == made["metadata"]["name"]
    ]
    return {**made, "metadata": {**made["metadata"], "ownerReferences": owners}}


def decide(seen: Seen | None, now: datetime) -> Decision:
    """What is written for a pool. What it becomes stays as it is while the pool has problems."""
    if seen is None:
        return NOTHING
    if seen.on_nodes is None:
        told = next(each.message for each in seen.told if each.type == ACCEPTED)
        problem = Tell(seen.pool.key, "Invalid", told, warning=True)
        return Decision((SetStatus(seen.pool.key, _status(seen, None, now)), problem))
    taken = [
        f"{wanted['kind']} {wanted['metadata']['name']}"
        for wanted, there in zip(seen.wanted, seen.there, strict=True)
        if there is not None and not _is_ours(wanted, there)
    ]
    condition = Condition(SYNCHRONIZED, "True", "Synchronized", "Its Topology and Queue are as it says")
    if taken:
        message = f"Somebody else made {' and '.join(taken)}. Delete it, or give the pool another name"
        condition = Condition(SYNCHRONIZED, "False", "NameTaken", message)
    writes: list[Write] = [*_topology_deletes(seen), *_applies(seen)]
    writes.append(SetStatus(seen.pool.key, _status(seen, condition, now)))
    if taken:
        writes.append(Tell(seen.pool.key, condition.reason, condition.message, warning=True))
    return Decision(tuple(writes))


def _is_ours(wanted: Object, there: Stored[Any]) -> bool:
    """Whether an object of the wanted name was made for this pool, or for one that it shares it with."""
    owners = {
        identity
        for each in wanted["metadata"]["ownerReferences"]
        for identity in possible_owners(each["apiVersion"], each["kind"], each["uid"], there.key.namespace)
    }
    return not owners.isdisjoint(possible_owners_of(there))


def _topology_deletes(seen: Seen) -> Iterator[Delete]:
    """Topologies of the pool that it has no use for any more, or whose levels are others."""
    wanted = {key_of(each): each for each in seen.wanted}
    for each in seen.topologies:
        levels = (
            [level["nodeLabel"] for level in wanted[each.key]["spec"]["levels"]] if each.key in wanted else []
        )
        if levels != [level.node_label for level in each.content.spec.levels]:
            yield Delete(each.key, each.content.metadata.uid)


def _applies(seen: Seen) -> Iterator[Apply]:
    """What is missing, and what is ours; a Topology that is deleted is made when it has gone."""
    going = {each.key for each in _topology_deletes(seen)}
    for wanted, there in zip(seen.wanted, seen.there, strict=True):
        if (there is None or _is_ours(wanted, there)) and key_of(wanted) not in going:
            yield Apply(wanted)


def _status(seen: Seen, synchronized: Condition | None, now: datetime) -> dict[str, Any]:
    before = seen.pool.written.get("status") or {}
    found = seen.on_nodes
    types = {each.type for each in seen.told}
    kept = [each for each in before.get("conditions") or () if each["type"] != LABELLED or LABELLED in types]
    told = [*seen.told, *((synchronized,) if synchronized is not None else ())]
    status: dict[str, Any] = {
        "observedGeneration": seen.pool.written["metadata"].get("generation"),
        "conditions": conditions(kept, told, now),
    }
    if found is not None:
        topology = found.pool.topology
        status["queue"] = found.pool.queue
        status["topology"] = topology.name if topology is not None else None
        status["topologyKeys"] = [
            {
                "key": each.key,
                "label": each.label,
                "nodesWithout": len(each.lacking),
                "nodes": list(each.lacking[:_SHOWN]),
            }
            for each in found.keys
        ]
    return status
