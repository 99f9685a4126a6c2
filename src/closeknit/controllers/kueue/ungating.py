"""Lets pods go that wait for their domain: as many to each as was assigned, by rank where they have one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import chain, repeat
from typing import NamedTuple

from closeknit.apis import core_v1
from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.controllers.kueue.conditions import runs
from closeknit.controllers.kueue.pod_groups import is_gated
from closeknit.controllers.kueue.reservations import BY_WORKLOAD
from closeknit.controllers.runtime.writes import NOTHING, Decision, Patch
from closeknit.dialects.core.pods import rank as by_name
from closeknit.dialects.kueue.assignments import Assigned, from_written
from closeknit.dialects.kueue.quotas import flavor_named
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import InvalidError
from closeknit.hub.topology import DomainPath

_TOGETHER = timedelta(seconds=1)
"""Pods that come within this time are let go together, so that ranks are given to all at once."""


class Waiting(NamedTuple):
    """A pod that waits for its domain."""

    key: Key
    uid: str
    rank: int | None
    created: str
    gates: tuple[str, ...]
    """Those of others, which stay."""


class PodSetPods(NamedTuple):
    """The pods of one pod set."""

    assigned: Assigned
    """Without levels where there is no topology: then pods wait for admission alone."""
    selector: tuple[tuple[str, str], ...]
    """The labels of the flavors that were assigned."""
    waiting: tuple[Waiting, ...]
    """In the order of their names."""
    gone: tuple[tuple[DomainPath, int], ...]
    """By domain, how many pods were let go to it and have not ended."""


def observe(view: View, key: Key) -> tuple[PodSetPods, ...]:
    """By pod set of a Workload that runs, the pods that wait for a domain; empty where none does."""
    stored = view.get(key)
    if stored is None or not runs(stored):
        return ()
    pods: dict[str, list[Stored[core_v1.Pod]]] = {}
    for pod in view.found(BY_WORKLOAD, key):
        if pod.content.status.phase not in ("Succeeded", "Failed"):
            pods.setdefault(pod.content.metadata.labels.get(keys.POD_SET, ""), []).append(pod)
    admission, sets = (
        stored.content.status.admission,
        {each.name: each for each in stored.content.spec.pod_sets},
    )
    assert admission is not None
    found = []
    for given in admission.pod_set_assignments:
        own = pods.get(given.name, ())
        if given.name not in sets or not any(is_gated(pod) for pod in own):
            continue
        assigned = Assigned((), (((), len(own)),))
        if given.topology_assignment is not None:
            try:
                assigned = from_written(given.topology_assignment)
            except InvalidError:
                continue
        flavors = [view.derive(flavor_named, name) for name in dict.fromkeys(given.flavors.values())]
        selector = {key: value for each in flavors if each is not None for key, value in each.labels.items()}
        found.append(_read(assigned, tuple(selector.items()), own, sets[given.name]))
    return tuple(found)


def _read(
    assigned: Assigned,
    selector: tuple[tuple[str, str], ...],
    pods: Sequence[Stored[core_v1.Pod]],
    given: wire.PodSet,
) -> PodSetPods:
    waiting: list[Waiting] = []
    gone: Counter[DomainPath] = Counter()
    asked = given.topology_request
    each = given.count // (asked.sub_group_count or 1)
    for pod in sorted(pods, key=lambda one: by_name(one.name)):
        metadata, spec = pod.content.metadata, pod.content.spec
        rank = _rank(pod, asked, each)
        if is_gated(pod):
            if metadata.deletion_timestamp:
                continue
            ours = (keys.GATE, keys.ADMISSION_GATE)
            gates = tuple(gate.name for gate in spec.scheduling_gates if gate.name not in ours)
            waiting.append(Waiting(pod.key, metadata.uid, rank, metadata.creation_timestamp, gates))
            continue
        domain = tuple(spec.node_selector.get(level, "") for level in assigned.levels)
        gone[domain] += 1
    return PodSetPods(assigned, selector, tuple(waiting), tuple(gone.items()))


def _rank(pod: Stored[core_v1.Pod], asked: wire.PodSetTopologyRequest, each: int) -> int | None:
    metadata = pod.content.metadata
    numbers = []
    for label in (asked.sub_group_index_label, asked.pod_index_label):
        written = (metadata.labels.get(label) or metadata.annotations.get(label) or "") if label else "0"
        if not written.isdecimal() or len(written) > 8:
            return None
        numbers.append(int(written))
    job, index = numbers
    return job * each + index if asked.pod_index_label and index < each else None


def decide(observed: tuple[PodSetPods, ...], now: datetime) -> Decision:
    """The pods that are let go now; the rest waits for those that come within a second, or for room."""
    writes: list[Patch] = []
    again: datetime | None = None
    for pods in observed:
        later = _not_before(pods, now)
        if later is not None:
            again = later if again is None else min(again, later)
            continue
        for pod, domain in _domains(pods):
            selector = {**dict(pods.selector), **dict(zip(pods.assigned.levels, domain, strict=True))}
            gates = [{"name": name} for name in pod.gates]
            spec = {"schedulingGates": gates or None, "nodeSelector": selector}
            writes.append(Patch(pod.key, {"spec": spec}, uid=pod.uid))
    return Decision(tuple(writes), again) if writes or again else NOTHING


def _not_before(pods: PodSetPods, now: datetime) -> datetime | None:
    """When pods are let go of which others are still to come; None for now."""
    total = sum(count for _, count in pods.assigned.domains)
    if len(pods.waiting) + sum(count for _, count in pods.gone) >= total:
        return None
    newest = max(each.created for each in pods.waiting)
    until = datetime.fromisoformat(newest) + _TOGETHER
    return until if until > now else None


def _domains(pods: PodSetPods) -> list[tuple[Waiting, DomainPath]]:
    """Each pod with the domain that it goes to: by rank where that agrees with those that went before."""
    left: Counter[DomainPath] = Counter()
    for domain, count in pods.assigned.domains:
        left[domain] += count
    order = list(chain.from_iterable(repeat(domain, count) for domain, count in pods.assigned.domains))
    left.subtract(dict(pods.gone))
    ranked = [
        (each, order[each.rank]) for each in pods.waiting if each.rank is not None and each.rank < len(order)
    ]
    needed = Counter(domain for _, domain in ranked)
    distinct = len({each.rank for each, _ in ranked}) == len(pods.waiting) == len(ranked)
    if distinct and all(left[domain] >= count for domain, count in needed.items()):
        return ranked
    free = chain.from_iterable(repeat(domain, max(count, 0)) for domain, count in left.items())
    return list(zip(pods.waiting, free, strict=False))
