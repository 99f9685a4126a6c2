"""Decide which workload owns a pod when several families claim it.

A pod of a PodCliqueSet may name a PodGroup as well, and one that queues in Kueue may carry annotations
of KAI. Families claim in the order of ``closeknit.dialects.DIALECTS``. A claim of a family that lists the
workloads it ``makes`` (KAI) counts only where the workload exists or will be made; any other claim always
counts. Where no claim counts, the first one does. A pod that nobody claims belongs to its controller, or to
itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from closeknit.apis import core_v1
from closeknit.dialects.core.naming import lone_holder, workload_name
from closeknit.dialects.core.node_amounts import held_for
from closeknit.dialects.core.owner_references import controller_reference, keys_named
from closeknit.dialects.core.pods import ReadPod, Stage, read_pod
from closeknit.dialects.core.shared_gpus import GPU, first_sharers, shares_gpu
from closeknit.dialects.core.taken_devices import claims_by_pool
from closeknit.dialects.core.volumes import pods_by_volume_claim
from closeknit.dialects.family import Family
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.resources import Resources

CLAIM = "claim"
"""The index that finds pods by what claims them."""


class Claim(NamedTuple):
    """A workload that a pod may belong to, and the family that claims it."""

    key: Key
    family: str = ""
    """Empty where no family claims the pod, and the key is that of its controller or its own."""

    @property
    def holder(self) -> str:
        """Who holds what the pod uses, as it is shown."""
        name = workload_name if self.family else lambda *of: lone_holder(self.key.kind, *of)
        return name(self.key.namespace, self.key.name)


def pods_by_claim(families: Sequence[Family]) -> Index:
    """The index that finds pods by what claims them."""
    claiming = [(family.name, family.owner_of) for family in families if family.owner_of is not None]

    def claims(pod: Stored[core_v1.Pod]) -> Iterable[Claim]:
        named = [Claim(key, name) for name, owner_of in claiming if (key := owner_of(pod)) is not None]
        return named or (_unclaimed(pod),)

    return Index(CLAIM, core_v1.Pod, claims)


def indexes_of(families: Sequence[Family]) -> list[Index]:
    """The indexes of a store that these families read."""
    own = (index for family in families for index in family.indexes)
    return [pods_by_claim(families), pods_by_volume_claim(), claims_by_pool(), *own]


def claim_of(view: View, pod: Key) -> Claim:
    """The claim that a pod in the store belongs to."""
    claims: Sequence[Claim] = view.values(CLAIM, pod)
    claim = claims[0] if len(claims) == 1 else view.derive(_first_that_exists, claims)
    if claim.key == pod or claim.key.kind == "PodGroup" or view.derive(_may_own, pod, claim.key):
        return claim
    return Claim(pod)


def _may_own(view: View, pod: Key, owner: Key) -> bool:
    """Whether the object that a pod names as its controller is the one of that name; true of any other.

    After a Job was deleted without its pods, another of its name has nothing to do with them.
    """
    content: core_v1.Pod | None = view.content(pod)
    reference = controller_reference(content.metadata) if content is not None else None
    if reference is None or owner not in keys_named(reference, pod.namespace):
        return True
    uid = view.derive(_uid_of, owner)
    return not uid or not reference.uid or uid == reference.uid


def _uid_of(view: View, key: Key) -> str:
    """The uid of an object; empty where it has none or cannot be seen."""
    content = view.content(key)
    return str(content.metadata.uid) if content is not None else ""


def _first_that_exists(view: View, claims: Sequence[Claim]) -> Claim:
    for claim in claims:
        family = next(one for one in view.families if one.name == claim.family)
        if family.makes is None or exists(view, claim.key):
            return claim
    return claims[0]


def objects_for(view: View, family: Family, shape: type[Any]) -> Iterator[Stored[Any]]:
    """The objects of a shape that a family has to do with: of others than pods all, of pods those that it
    claims, and those that nobody claims for a family that takes what is left.
    """
    wanted = family.name if family.owner_of is not None else ""
    for stored in view.of(shape):
        if shape is not core_v1.Pod or any(
            claim.family == wanted for claim in view.values(CLAIM, stored.key)
        ):
            yield stored


def exists(view: View, workload: Key) -> bool:
    """Whether a workload is there, or will be made from an object that is."""
    return view.has(workload) or any(
        family.makes is not None and workload in view.derive(family.makes) for family in view.families
    )


def pods_of(view: View, workload: Key, family: str, *, all_waiting: bool = False) -> tuple[ReadPod, ...]:
    """The pods of a workload, in the order in which they came, without those whose node has gone.

    Where the view follows a cluster, also without those that may not be bound now, or not by us, unless
    ``all_waiting``.
    """
    claim = Claim(workload, family)
    present = (
        view.derive(pod_of, pod.key) for pod in view.found(CLAIM, claim) if claim_of(view, pod.key) == claim
    )
    return tuple(
        pod
        for pod in present
        if pod is not None and not pod.lost and (all_waiting or not held_back(pod, view.schedulers))
    )


def held_back(pod: ReadPod, schedulers: frozenset[str] | None) -> bool:
    """Whether a pod waits for a gate to open, or for another scheduler; never so in files."""
    if schedulers is None or pod.stage is not Stage.OPEN:
        return False
    spec = pod.stored.content.spec
    return bool(spec.scheduling_gates) or spec.scheduler_name not in schedulers


def pod_of(view: View, key: Key) -> ReadPod | None:
    """A pod as far as placing it is concerned; None where it is not in the store."""
    stored = view.get(key)
    if stored is None:
        return None
    pod = read_pod(stored)
    shares = view.schedulers is None and pod.holds and shares_gpu(stored.content)
    if shares and key in view.derive(first_sharers):
        pod = replace(pod, shape=replace(pod.shape, resources=pod.shape.resources + GPU))
    there = not pod.holds or view.is_readable(Key("", "Node", "", pod.node))
    return pod if there else replace(pod, lost=True)


def _unclaimed(pod: Stored[core_v1.Pod]) -> Claim:
    reference = controller_reference(pod.content.metadata)
    return Claim(keys_named(reference, pod.namespace)[0] if reference is not None else pod.key)


def held(view: View, key: Key) -> Holding:
    """What a pod holds on its node for nobody yet, claims included; nothing where it is not in the store."""
    pod = view.derive(pod_of, key)
    return held_for(view, pod, "") if pod is not None else Holding("", "", Resources())
