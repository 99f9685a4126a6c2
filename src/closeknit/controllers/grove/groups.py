"""PodCliqueScalingGroups: their cliques, once for each replica."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from closeknit.apis.closeknit_keys import TEMPLATE
from closeknit.apis.grove_io_v1alpha1 import PodClique, PodCliqueScalingGroup
from closeknit.apis.grove_keys import SCALING_GROUP
from closeknit.controllers.grove import parts
from closeknit.controllers.grove.rolling import (
    Part,
    deleted,
    is_available,
    is_updated,
    part,
    template_of,
    writes,
)
from closeknit.controllers.grove.statuses import (
    CURRENT,
    breached,
    breached_since,
    condition_of,
    generation_of,
    selector_of,
    status_of,
    termination_delay,
)
from closeknit.controllers.runtime.comparing import digest, is_going
from closeknit.controllers.runtime.controller import Controller
from closeknit.controllers.runtime.objects import conditions, owned
from closeknit.controllers.runtime.writes import NOTHING, Decision, SetStatus, Tell, Write
from closeknit.dialects.family import Object
from closeknit.dialects.grove.blueprint import ScalingGroup
from closeknit.dialects.grove.owners import set_of
from closeknit.dialects.grove.to_cliques import to_clique
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key


class _Observed(NamedTuple):
    group: Stored[PodCliqueScalingGroup] | None
    known: bool
    """Whether the set tells what the group consists of."""
    replicas: tuple[tuple[Part, ...], ...]
    others: tuple[Stored[PodClique], ...]
    """PodCliques that were made for the group and are not wanted."""
    held: bool
    """Whether it is not the group's turn yet to change to the templates of its set."""
    delay: timedelta


def observe(view: View, key: Key) -> _Observed:
    """A scaling group, and the PodCliques that it has and should have."""
    group = view.get(key)
    place = parts.place_of(key.namespace, group.content.metadata) if group is not None else None
    if group is None or place is None:
        return _Observed(group, known=False, replicas=(), others=(), held=False, delay=timedelta())
    bodies, template = view.derive(_wanted, key)
    by_name = {each.name: each for each in parts.cliques_of_group(view, key)}
    replicas = tuple(
        tuple(part(body, by_name.pop(body["metadata"]["name"], None)) for body in within) for within in bodies
    )
    return _Observed(
        group,
        bool(bodies),
        replicas,
        tuple(by_name.values()),
        held=group.content.metadata.annotations.get(TEMPLATE) != template,
        delay=view.derive(_delay, place[0]),
    )


def _delay(view: View, key: Key) -> timedelta:
    """How long fewer replicas may be ready than must be, as the set says."""
    pod_clique_set = view.get(key)
    return termination_delay(pod_clique_set) if pod_clique_set is not None else timedelta.max


def _wanted(view: View, key: Key) -> tuple[tuple[tuple[Object, ...], ...], str]:
    """The PodCliques that a scaling group should have, by replica, and the digest of their templates."""
    group: PodCliqueScalingGroup | None = view.content(key)
    place = parts.place_of(key.namespace, group.metadata) if group is not None else None
    made = view.derive(parts.as_scaled, *place) if place is not None else None
    if group is None or place is None or made is None:
        return (), ""
    found: dict[int, list[Object]] = {}
    template = ""
    for instance in view.derive(parts.instances_by_name, *place).values():
        scaled = instance.scaled
        if scaled is not None and scaled.name == key.name:
            found.setdefault(scaled.index, []).append(owned(to_clique(made, instance), group))
            template = template_digest(scaled.group)
    return tuple(tuple(found[index]) for index in sorted(found)), template


def template_digest(group: ScalingGroup) -> str:
    """What the pods of a scaling group are made from, in short."""
    return digest({clique.name: [clique.pod_spec, clique.given.labels] for clique in group.cliques})


def decide(observed: _Observed, now: datetime) -> Decision:
    """Make and change PodCliques replica by replica, and end replicas that have lost too many pods."""
    group = observed.group
    if group is None or is_going(group) or not observed.known:
        return NOTHING
    available = sum(map(is_available, observed.replicas))
    least = group.content.spec.min_available
    ended, again_at = _ended(observed, now) if available >= least else ((), None)
    status = _status(observed, group, available, now)
    kept = [within for i, within in enumerate(observed.replicas) if i not in ended]
    done: tuple[Write, ...] = (
        *deleted(observed.others),
        *(
            write
            for i in ended
            for write in deleted(each.found for each in observed.replicas[i] if each.found is not None)
        ),
        *writes(kept, group, held=observed.held),
        *_told(group),
        SetStatus(group.key, status, can_wait=True),
    )
    return Decision(done, again_at)


def _ended(observed: _Observed, now: datetime) -> tuple[tuple[int, ...], datetime | None]:
    """The replicas whose time is over, and when the next one's is."""
    ended, times = [], []
    for i, within in enumerate(observed.replicas):
        found = [each.found for each in within if each.found is not None and not is_going(each.found)]
        since = [moment for each in found if (moment := breached_since(each)) is not None]
        if since and min(since) + observed.delay <= now:
            ended.append(i)
        elif since:
            times.append(min(since) + observed.delay)
    return tuple(ended), min(times, default=None)


def _told(group: Stored[PodCliqueScalingGroup]) -> Iterator[Write]:
    spec = group.content.spec
    if spec.replicas < spec.min_available:
        said = f"{spec.replicas} replicas are asked for, but minAvailable keeps {spec.min_available}."
        yield Tell(group.key, "BelowMinAvailable", said, warning=True, action="Scale")


def _status(
    observed: _Observed, group: Stored[PodCliqueScalingGroup], available: int, now: datetime
) -> Mapping[str, Any]:
    least = group.content.spec.min_available
    scheduled = sum(
        all(
            each.found is not None and condition_of(each.found, "PodCliqueScheduled").get("status") == "True"
            for each in within
        )
        for within in observed.replicas
    )
    told = [breached(group, enough=available >= least, ready=str(available), least=str(least))]
    return {
        "observedGeneration": generation_of(group),
        "replicas": sum(all(each.found is not None for each in within) for within in observed.replicas),
        "scheduledReplicas": scheduled,
        "availableReplicas": available,
        "updatedReplicas": 0 if observed.held else sum(map(is_updated, observed.replicas)),
        CURRENT: template_of(group),
        "selector": selector_of(set_of(group.content.metadata), SCALING_GROUP, group.name),
        "conditions": conditions(status_of(group).get("conditions") or (), told, now),
    }


GROUPS = Controller("grove-podcliquescalinggroup", PodCliqueScalingGroup, observe, decide, manager="grove")
