"""All PodGroups, those that were written and those that KAI would make, each read once."""

from __future__ import annotations

from dataclasses import dataclass

from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.family import Surroundings
from closeknit.dialects.kai.derivation import derive, read_derived
from closeknit.dialects.kai.derived import Derived
from closeknit.dialects.kai.queues import NO_QUEUES, read_queues
from closeknit.dialects.kai.workloads import ReadGroup, read_pod_group
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View


@dataclass(frozen=True, slots=True)
class Groups:
    """What was read, in the order of the documents of each kind."""

    written: tuple[tuple[Stored[PodGroup], ReadGroup], ...]
    derived: tuple[tuple[Derived, ReadGroup], ...]


def derived_groups(manifests: View) -> tuple[Derived, ...]:
    """The PodGroups that KAI would make."""
    return manifests.derive(derive)


def read_groups(manifests: View, surroundings: Surroundings) -> Groups:
    """Every PodGroup with its workload."""
    return manifests.derive(_read, surroundings)


def _read(manifests: View, surroundings: Surroundings) -> Groups:
    unusable = {one.name for one in manifests.keys(Topology)} - surroundings.topologies.keys()
    queues = NO_QUEUES if surroundings.lenient else read_queues(manifests)[0]
    return Groups(
        tuple(
            (group, read_pod_group(group, surroundings, unusable, queues)) for group in manifests.of(PodGroup)
        ),
        tuple(
            (made, read_derived(made, surroundings, unusable, queues)) for made in derived_groups(manifests)
        ),
    )
