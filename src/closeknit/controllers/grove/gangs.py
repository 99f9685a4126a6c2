"""PodGangs: which pods belong to each and may start, the PodGroup of KAI, and how far they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from closeknit.apis.grove_io_v1alpha1 import PodClique, PodCliqueSet
from closeknit.apis.grove_keys import SCHEDULER_NAME, TOPOLOGY_NAME
from closeknit.apis.kai_keys import SCHEDULER
from closeknit.apis.kai_keys import TOPOLOGY as KAI_TOPOLOGY
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.controllers.grove import parts
from closeknit.controllers.grove.gang_status import Progress
from closeknit.controllers.grove.releasing import Gated, gated, may_start, releases
from closeknit.controllers.grove.statuses import count, generation_of, status_of
from closeknit.controllers.runtime.comparing import is_going
from closeknit.controllers.runtime.controller import Controller
from closeknit.controllers.runtime.objects import conditions, owned
from closeknit.controllers.runtime.writes import NOTHING, Apply, Decision, SetStatus, Tell, Write, key_of
from closeknit.dialects.core.owner_references import identity_of, possible_controllers
from closeknit.dialects.family import Condition, Object
from closeknit.dialects.grove.owners import set_key, set_of
from closeknit.dialects.grove.to_pod_groups import queue_named, queue_of, to_pod_group
from closeknit.dialects.grove.topologies import kai_names, known
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.owners import OwnerIdentity
from closeknit.hub.problems import Problem

_KEPT = (
    ("spec", "markUnschedulable"),
    ("spec", "schedulingBackoff"),
)
"""Fields of a PodGroup that belong to KAI and its users."""


class _Group(NamedTuple):
    """The pods of one PodClique, as its gang sees them."""

    name: str
    least: int
    pods: tuple[str, ...]
    complete: bool
    """Whether all pods that were asked for exist."""
    scheduled: int
    ready: int
    gated: tuple[Gated, ...] = ()
    """Those of the pods that have the gate, as soon as they may start."""


class _Observed(NamedTuple):
    gang: Stored[PodGang] | None
    wanted: Object | None
    """What its set makes of it; the gang as it is where there is no set."""
    groups: tuple[_Group, ...]
    pod_group: Object | None
    problems: tuple[Problem, ...]
    referred: tuple[Gated, ...] = ()
    """Pods that may start, have the gate, and to which the gang refers already."""
    grouped: bool = False
    """Whether the PodGroup is there."""
    leaving: bool = False
    """Whether an earlier PodGroup is going away."""


def observe(view: View, key: Key) -> _Observed:
    """A gang, what its set makes of it, and its pods."""
    gang = view.get(key)
    if gang is None or is_going(gang):
        return _Observed(None, None, (), None, ())
    name = set_of(gang.content.metadata)
    if name:
        wanted = view.derive(parts.gangs_by_name, set_key(gang.namespace, name)).get(gang.name)
        if wanted is None:
            # Its parts stay as they are, and what it refers to may start.
            return _Observed(gang, None, (), None, (), view.derive(_referred, key))
        groups = tuple(
            view.derive(_group, parts.clique_key(key.namespace, each["name"]), each["minReplicas"])
            for each in wanted["spec"]["podgroups"]
        )
    else:
        wanted, groups = None, ()
    pod_group, problems = view.derive(_pod_group, key)
    there = view.derive(_is_going, key_of(pod_group)) if pod_group is not None else None
    referred = view.derive(_referred, key)
    return _Observed(
        gang, wanted, groups, pod_group, problems, referred, grouped=there is False, leaving=there is True
    )


def _is_going(view: View, key: Key) -> bool | None:
    """Whether an object that is there goes away; None where there is none."""
    found = view.get(key)
    return is_going(found) if found is not None else None


def _referred(view: View, key: Key) -> tuple[Gated, ...]:
    """The pods that may start and have the gate, of those that a gang refers to."""
    gang: PodGang | None = view.content(key)
    found: list[Gated] = []
    for group in gang.spec.podgroups if gang is not None else ():
        clique_key = parts.clique_key(key.namespace, group.name)
        clique: PodClique | None = view.content(clique_key)
        if clique is None or not group.pod_references:
            continue
        _, waiting = view.derive(_pods, clique_key, _owner(clique_key, clique))
        if waiting and may_start(view, clique, key.namespace):
            names = {each.name for each in group.pod_references}
            found.extend(each for each in waiting if each.key.name in names)
    return tuple(found)


def _group(view: View, key: Key, least: int) -> _Group:
    clique = view.get(key)
    asked = view.derive(parts.asked_replicas, key)
    if clique is None or asked is None:
        return _Group(key.name, least, (), complete=False, scheduled=0, ready=0)
    pods, waiting = view.derive(_pods, key, identity_of(clique))
    scheduled, ready = count(clique, "scheduledReplicas"), count(clique, "readyReplicas")
    complete = len(pods) >= max(asked, least)
    released = waiting if waiting and may_start(view, clique.content, key.namespace) else ()
    return _Group(key.name, least, pods, complete, scheduled, ready, released)


def _owner(key: Key, clique: PodClique) -> OwnerIdentity:
    return OwnerIdentity(key.group, key.kind, key.namespace, clique.metadata.uid)


def _pods(view: View, clique: Key, owner: OwnerIdentity) -> tuple[tuple[str, ...], tuple[Gated, ...]]:
    """The names of a PodClique's own pods, and those of them that have the gate."""
    found = [
        pod
        for pod in parts.pods_of_clique(view, clique)
        if owner in possible_controllers(pod) and not is_going(pod)
    ]
    return tuple(sorted(pod.name for pod in found)), tuple(gated(found))


def _pod_group(view: View, key: Key) -> tuple[Object | None, tuple[Problem, ...]]:
    """The PodGroup of a gang whose pods KAI schedules, and why there is none."""
    gang: PodGang | None = view.content(key)
    if gang is None or gang.metadata.labels.get(SCHEDULER_NAME, SCHEDULER) != SCHEDULER:
        return None, ()
    found: list[Problem] = []
    owner = set_of(gang.metadata)
    whole: PodCliqueSet | None = view.content(set_key(key.namespace, owner)) if owner else None
    if whole is not None:
        queue = queue_of(whole, found)
    else:
        queue = queue_named(gang.metadata.labels, gang.metadata.annotations)
    if found:
        return None, tuple(found)
    annotations = gang.metadata.annotations
    name = annotations.get(TOPOLOGY_NAME) or annotations.get(KAI_TOPOLOGY, "")
    # What the server and this operator note on the gang itself is not for its PodGroup.
    plain = {key: text for key, text in annotations.items() if not key.startswith("closeknit.dev/applied")}
    given = msgspec.structs.replace(gang, metadata=msgspec.structs.replace(gang.metadata, annotations=plain))
    topology = view.derive(known).topologies.get(name)
    named = view.derive(kai_names).get(name, "")
    return owned(to_pod_group(given, key.namespace, queue, named=named, topology=topology), gang), ()


def decide(observed: _Observed, now: datetime) -> Decision:
    """Fill in the pods, keep the PodGroup, release the pods that it refers to, and tell the phase."""
    gang = observed.gang
    if gang is None:
        return NOTHING
    # What happens to the gang and its PodGroup now is no reason to hold those back whom they know.
    first = observed.referred if observed.pod_group is None or observed.grouped else ()
    done: list[Write] = [*releases(first)]
    references = _references(observed, gang)
    if observed.wanted is not None:
        done.append(Apply(parts.with_references(observed.wanted, references)))
    if observed.pod_group is not None:
        done.append(Apply(observed.pod_group, _KEPT))
    done.extend(
        Tell(gang.key, "KAIBackendMappingFailed", str(each), warning=True, action="Schedule")
        for each in observed.problems
    )
    if observed.wanted is not None:
        # Writes of another type wait for those before them, so nothing is scheduled before its gang is there.
        new = (each for group in observed.groups for each in group.gated if each not in first)
        if references and not observed.leaving:
            done.extend(releases(new))
        done.append(SetStatus(gang.key, _status(observed, gang, now), can_wait=True))
    return Decision(tuple(done))


def _references(observed: _Observed, gang: Stored[PodGang]) -> Mapping[str, tuple[str, ...]]:
    """The pods of each group, as soon as all have been there once."""
    begun = any(group.pod_references for group in gang.content.spec.podgroups)
    if not begun and not all(group.complete for group in observed.groups):
        return {}
    return {group.name: group.pods for group in observed.groups}


def _status(observed: _Observed, gang: Stored[PodGang], now: datetime) -> Mapping[str, Any]:
    progress = Progress(
        scheduled=all(group.scheduled >= group.least for group in observed.groups),
        ready=all(group.ready >= group.least for group in observed.groups),
    )
    told = (*_conditions(observed), *progress.conditions())
    return {
        "observedGeneration": generation_of(gang),
        "phase": progress.phase,
        "conditions": conditions(status_of(gang).get("conditions") or (), told, now),
    }


def _conditions(observed: _Observed) -> Iterator[Condition]:
    missing = [group.name for group in observed.groups if not group.complete]
    if missing:
        said = f"Pods are missing in {', '.join(missing)}."
        yield Condition("Initialized", "False", "PodGangPodsCreationPending", said)
    else:
        yield Condition("Initialized", "True", "PodGangPodsCreated", "All pods exist.")


GANGS = Controller("grove-podgang", PodGang, observe, decide, manager="grove")
