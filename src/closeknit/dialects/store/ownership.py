"""Whose a pod is, where several families have a word for that.

A pod of a PodCliqueSet may name a PodGroup as well, and one that queues in Kueue may carry annotations
of KAI. It belongs to the first that claims it for a workload that exists. Two families may also have
workloads of one name: what each sees under it are its own pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.apis.core_v1 import Pod
from closeknit.dialects.core.naming import lone_holder
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.family import Dialect
from closeknit.dialects.store.objects import Manifest, Manifests


@dataclass(frozen=True, slots=True)
class Claim:
    """The family that claims a pod, and for whom."""

    family: str
    """Empty where no family does."""
    holder: str
    """The workload; or the pod's controller, or the pod itself."""


class Claims:
    """Decides whose pods are."""

    def __init__(self, dialects: Sequence[Dialect], manifests: Manifests) -> None:
        self._dialects = dialects
        self._known: dict[str, set[str]] = {}
        for dialect in dialects:
            if dialect.names is not None:
                self._known.setdefault(dialect.claimed_by or dialect.name, set()).update(
                    manifests.once(dialect.names)
                )

    def known(self, family: str) -> AbstractSet[str]:
        """The workloads that pods may name in this family's words."""
        return self._known.get(family, frozenset())

    def of(self, pod: Manifest[Pod]) -> Claim:
        """Who holds what a pod uses: the workload that claims it, else its controller, else itself."""
        claims = [
            Claim(dialect.name, name)
            for dialect in self._dialects
            if (name := dialect.workload_of(pod.content, pod.namespace)) is not None
        ]
        for claim in claims:
            if claim.family not in self._known or claim.holder in self._known[claim.family]:
                return claim
        if claims:
            return claims[0]
        for owner in pod.content.metadata.owner_references:
            if owner.controller:
                return Claim("", lone_holder(owner.kind, pod.namespace, owner.name))
        return Claim("", lone_holder("Pod", pod.namespace, pod.name))


def by_claim(pods: Iterable[tuple[Claim, ReadPod]]) -> dict[Claim, tuple[ReadPod, ...]]:
    """The pods of each claim, in the order given."""
    found: dict[Claim, list[ReadPod]] = {}
    for claim, pod in pods:
        found.setdefault(claim, []).append(pod)
    return {claim: tuple(members) for claim, members in found.items()}


def seen_by(family: str, pods: Mapping[Claim, tuple[ReadPod, ...]]) -> dict[str, tuple[ReadPod, ...]]:
    """All pods: a family's own under the names of its workloads, those of others under names of nobody's."""
    return {
        claim.holder if claim.family in ("", family) else f"{claim.family} {claim.holder}": members
        for claim, members in pods.items()
    }
