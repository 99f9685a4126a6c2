"""PodCliqueSets: the parts of each replica, what has become of their topology, and their end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from closeknit.apis.closeknit_keys import TEMPLATE
from closeknit.apis.grove_io_v1alpha1 import PodClique, PodCliqueSet
from closeknit.apis.grove_keys import MANAGED_BY, OPERATOR, PART_OF, REPLICA_INDEX, SCALING_GROUP
from closeknit.controllers.grove import parts
from closeknit.controllers.grove.groups import template_digest
from closeknit.controllers.grove.rolling import Part, deleted, is_available, is_updated, part, writes
from closeknit.controllers.grove.statuses import (
    breached_since,
    generation_of,
    selector_of,
    status_of,
    termination_delay,
)
from closeknit.controllers.runtime.comparing import is_going
from closeknit.controllers.runtime.controller import Controller
from closeknit.controllers.runtime.objects import (
    conditions,
    finalizers_of,
    owned,
    with_finalizer,
    without_finalizer,
)
from closeknit.controllers.runtime.writes import NOTHING, Apply, Decision, SetStatus, Tell, Write
from closeknit.dialects.core.owner_references import identity_of, possible_controllers
from closeknit.dialects.family import Condition, Object
from closeknit.dialects.grove.blueprint import Blueprint, Drawn
from closeknit.dialects.grove.instances import instances_of
from closeknit.dialects.grove.names import replica_name
from closeknit.dialects.grove.status import topology_levels
from closeknit.dialects.grove.to_cliques import to_clique, to_scaling_group
from closeknit.dialects.grove.topologies import known
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.owners import OwnerIdentity

FINALIZER = "grove.io/podcliqueset.grove.io"
"""Parts are found by their labels and deleted even where somebody has taken their owner off."""


class _Replica(NamedTuple):
    parts: tuple[Part, ...]
    """PodCliqueScalingGroups, and PodCliques of their own."""
    service: Object


class _Observed(NamedTuple):
    whole: Stored[PodCliqueSet] | None
    drawn: Drawn
    topology: Condition | None
    replicas: tuple[_Replica, ...]
    gangs: tuple[Object, ...]
    """PodGangs that are missing."""
    others: tuple[Stored[Any], ...]
    """Parts that were made for a set of this name and are not wanted."""


def observe(view: View, key: Key) -> _Observed:
    """A set, the parts that it should have, and those that there are."""
    whole = view.get(key)
    made = view.derive(_made, key)
    if whole is None or is_going(whole):
        return _Observed(whole, Drawn(None), None, (), (), _stored(view, made))
    drawn = view.derive(parts.drawn_of, key)
    topology = view.derive(_topology_of, key)
    if drawn.blueprint is None:
        return _Observed(whole, drawn, topology, (), (), ())
    own = identity_of(whole)
    bodies = view.derive(_wanted, key)
    known = {each.key for each in made}
    replicas = tuple(
        _Replica(tuple(part(body, _found(view, _key(body), known)) for body in within), service)
        for within, service in bodies
    )
    gangs = view.derive(parts.gangs_by_name, key)
    bodies_of_set = (body for within, service in bodies for body in (*within, service))
    wanted = {*map(_key, bodies_of_set), *map(_key, gangs.values())}
    owners = {own, *(each.identity for each in made if each.key in wanted)}
    return _Observed(
        whole,
        drawn,
        topology,
        replicas,
        tuple(body for body in gangs.values() if _key(body) not in known),
        _stored(view, (each for each in made if not _belongs(each, own, wanted, owners))),
    )


class _Made(NamedTuple):
    """A part that was made for a set, whatever its status is: most of them speak to the set by others."""

    key: Key
    identity: OwnerIdentity
    controllers: tuple[OwnerIdentity, ...]
    """The objects that its controller reference can mean."""
    scaled: bool
    """Whether it is a PodClique of a scaling group."""


def _made(view: View, key: Key) -> tuple[_Made, ...]:
    """All parts that were made for a set of this name."""
    every = (parts.services_of_set, parts.gangs_of_set, parts.groups_of_set, parts.cliques_of_set)
    return tuple(
        _Made(
            each.key,
            identity_of(each),
            possible_controllers(each),
            each.shape is PodClique and SCALING_GROUP in each.content.metadata.labels,
        )
        for found in every
        for each in found(view, key)
    )


def _found(view: View, key: Key, made: Collection[Key]) -> Stored[Any] | None:
    """A part of this key, where it was made for the set."""
    return view.get(key) if key in made else None


def _stored(view: View, made: Iterable[_Made]) -> tuple[Stored[Any], ...]:
    found = (view.get(each.key) for each in made)
    return tuple(each for each in found if each is not None)


def _belongs(each: _Made, own: OwnerIdentity, wanted: set[Key], owners: set[OwnerIdentity]) -> bool:
    """Whether a part is wanted and the set controls it; cliques of a scaling group are for that to judge."""
    if each.scaled:
        return not owners.isdisjoint(each.controllers)
    return each.key in wanted and own in each.controllers


def _wanted(view: View, key: Key) -> tuple[tuple[tuple[Object, ...], Object], ...]:
    """By replica of a set, the parts that it makes itself, and the service by which its pods are found."""
    made = view.derive(parts.drawn_of, key).blueprint
    return tuple(_of_replica(made, replica) for replica in range(made.replicas)) if made is not None else ()


def _of_replica(made: Blueprint, replica: int) -> tuple[tuple[Object, ...], Object]:
    found: list[Object] = []
    for group in made.groups:
        body = to_scaling_group(made, replica, group)
        annotations = {**body["metadata"].get("annotations", {}), TEMPLATE: template_digest(group)}
        found.append({**body, "metadata": {**body["metadata"], "annotations": annotations}})
    found.extend(to_clique(made, each) for each in instances_of(made, replica) if each.scaled is None)
    return tuple(found), _service(made, replica)


def _service(made: Blueprint, replica: int) -> Object:
    """The headless service that gives the pods of a replica their host names."""
    labels = {MANAGED_BY: OPERATOR, PART_OF: made.name, REPLICA_INDEX: str(replica)}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": replica_name(made.name, replica),
            "namespace": made.namespace,
            "labels": labels,
        },
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": labels},
    }


def _topology_of(view: View, key: Key) -> Condition | None:
    given: PodCliqueSet | None = view.content(key)
    return topology_levels(given, view.derive(known)) if given is not None else None


def _key(body: Object) -> Key:
    group, _, _ = str(body["apiVersion"]).rpartition("/")
    return Key(group, body["kind"], body["metadata"]["namespace"], body["metadata"]["name"])


# ------------------------------------------------------------------------------------------- decisions


def decide(observed: _Observed, now: datetime) -> Decision:
    """Make, change and end the parts of a set, and tell how many of its replicas there are."""
    whole = observed.whole
    if whole is None:
        return NOTHING
    if is_going(whole):
        return Decision(
            (*deleted(observed.others),) if observed.others else without_finalizer(whole, FINALIZER)
        )
    if FINALIZER not in finalizers_of(whole):
        return Decision(with_finalizer(whole, FINALIZER))
    if observed.drawn.blueprint is None:
        return Decision(tuple(_refusals(observed, whole, now)))
    ended, again_at = _ended(observed, whole, now)
    kept = [each.parts for i, each in enumerate(observed.replicas) if i not in ended]
    made: tuple[Write, ...] = (
        *deleted(observed.others),
        *(write for i in ended for write in _end(observed.replicas[i], whole)),
        *(Apply(owned(each.service, whole.content)) for each in observed.replicas),
        *writes(kept, whole),
        *(Apply(body) for body in observed.gangs),
        *_told(observed, whole),
        SetStatus(whole.key, _status(observed, whole, now), can_wait=True),
    )
    return Decision(made, again_at)


def _refusals(observed: _Observed, whole: Stored[PodCliqueSet], now: datetime) -> Iterator[Write]:
    """What is said of a set that cannot be worked with; its parts stay as they are."""
    for problem in observed.drawn.problems:
        yield Tell(whole.key, "InvalidPodCliqueSet", str(problem), warning=True)
    yield SetStatus(
        whole.key,
        {
            "observedGeneration": generation_of(whole),
            "conditions": _conditions(observed, whole, now),
        },
    )


def _ended(
    observed: _Observed, whole: Stored[PodCliqueSet], now: datetime
) -> tuple[tuple[int, ...], datetime | None]:
    """The replicas whose gang has lost too many pods for too long, and when the next one's time is over."""
    delay = termination_delay(whole)
    ended, times = [], []
    for i, replica in enumerate(observed.replicas):
        found = [each.found for each in replica.parts if each.found is not None and not is_going(each.found)]
        since = [moment for each in found if (moment := breached_since(each)) is not None]
        if since and min(since) + delay <= now:
            ended.append(i)
        elif since:
            times.append(min(since) + delay)
    return tuple(ended), min(times, default=None)


def _end(replica: _Replica, whole: Stored[PodCliqueSet]) -> Iterator[Write]:
    found = [each.found for each in replica.parts if each.found is not None]
    yield from deleted(found)
    if found:
        index = found[0].content.metadata.labels.get(REPLICA_INDEX, "")
        said = f"Replica {index} had too few ready pods for too long; its pods are made anew."
        yield Tell(whole.key, "GangTerminated", said, warning=True, action="Terminate")


def _told(observed: _Observed, whole: Stored[PodCliqueSet]) -> Iterator[Write]:
    condition = observed.topology
    if condition is not None and condition.status != "False":
        yield Tell(whole.key, condition.reason, condition.message, warning=True, action="Constrain")


def _status(observed: _Observed, whole: Stored[PodCliqueSet], now: datetime) -> Mapping[str, Any]:
    replicas: Sequence[tuple[Part, ...]] = [each.parts for each in observed.replicas]
    return {
        "observedGeneration": generation_of(whole),
        "replicas": sum(all(each.found is not None for each in within) for within in replicas),
        "availableReplicas": sum(map(is_available, replicas)),
        "updatedReplicas": sum(map(is_updated, replicas)),
        "hpaPodSelector": selector_of(whole.name),
        "conditions": _conditions(observed, whole, now),
    }


def _conditions(observed: _Observed, whole: Stored[PodCliqueSet], now: datetime) -> list[dict[str, Any]]:
    told = [observed.topology] if observed.topology is not None else []
    before = status_of(whole).get("conditions") or ()
    return conditions(before, told, now, generation=generation_of(whole))


SETS = Controller("grove-podcliqueset", PodCliqueSet, observe, decide, manager="grove")
