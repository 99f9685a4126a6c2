"""Gates: pods wait until their gang refers to them, and those of a scaled gang for its base gang as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from closeknit.apis.core_v1 import Pod
from closeknit.apis.grove_io_v1alpha1 import PodClique
from closeknit.apis.grove_keys import BASE_POD_GANG, GATE
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.controllers.grove import parts
from closeknit.controllers.grove.statuses import count
from closeknit.controllers.runtime.writes import Patch
from closeknit.dialects.grove.owners import gang_key
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key


class Gated(NamedTuple):
    """A pod that has the gate of its gang."""

    key: Key
    uid: str
    others: tuple[str, ...]
    """Gates that belong to somebody else."""


def gates_of(pod: Stored[Pod]) -> tuple[str, ...]:
    """The names of a pod's gates."""
    return tuple(gate.name for gate in pod.content.spec.scheduling_gates)


def gated(pods: Iterable[Stored[Pod]]) -> Iterator[Gated]:
    """Those of some pods that have the gate."""
    for pod in pods:
        if GATE in (gates := gates_of(pod)):
            others = tuple(name for name in gates if name != GATE)
            yield Gated(pod.key, pod.content.metadata.uid, others)


def may_start(view: View, clique: PodClique, namespace: str) -> bool:
    """Whether the base gang is there, for a PodClique that is scaled from it."""
    base = clique.metadata.labels.get(BASE_POD_GANG)
    return base is None or view.derive(_is_scheduled, gang_key(namespace, base))


def _is_scheduled(view: View, gang: Key) -> bool:
    """Whether every group of a PodGang has as many pods with a node as it needs."""
    given: PodGang | None = view.content(gang)
    return given is not None and all(
        view.derive(_scheduled, parts.clique_key(gang.namespace, group.name)) >= group.min_replicas
        for group in given.spec.podgroups
    )


def _scheduled(view: View, clique: Key) -> int:
    return count(view.get(clique), "scheduledReplicas")


def releases(pods: Iterable[Gated]) -> Iterator[Patch]:
    """The writes that take the gate from pods."""
    for pod in pods:
        left = [{"name": name} for name in pod.others]
        yield Patch(pod.key, {"spec": {"schedulingGates": left or None}}, uid=pod.uid)
