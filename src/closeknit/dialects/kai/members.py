"""Which pods belong to which subgroup, and what they make of it."""

from __future__ import annotations

from collections.abc import Sequence

from closeknit.apis.core_v1 import Pod
from closeknit.apis.kai_keys import GROUP_ANNOTATION, SUBGROUP_LABEL
from closeknit.dialects.core.minimum_members import Crew, crew, equal
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import ReadPod, Shape, Stage, by_rank
from closeknit.dialects.kai.subgroups import Tree
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown, suggestion

DEFAULT = "default"
"""What KAI calls the pods of a PodGroup that has no subgroups."""

_LABEL_PATH = within("metadata.labels", SUBGROUP_LABEL)
_SHARES = ("gpu-fraction", "gpu-memory")


def workload_of(pod: Pod, namespace: str) -> str | None:
    """The PodGroup that a pod names as its own."""
    group = pod.metadata.annotations.get(GROUP_ANNOTATION)
    return workload_name(namespace, group) if group else None


def subgroup_of(pod: ReadPod, group: str, tree: Tree) -> str | Problem:
    """The name of the pod's subgroup, empty for the PodGroup itself; or why it has none."""
    written = pod.manifest.content.metadata.labels.get(SUBGROUP_LABEL, "")
    if not tree.parts:
        if written in ("", DEFAULT):
            return ""
        message = f"There is no subgroup {shown(written)}: PodGroup {group} has none. Remove the label."
        return as_told(_LABEL_PATH, message)
    if not written:
        message = f"PodGroup {group} has subgroups, so each of its pods must name one. "
        return as_told(_LABEL_PATH, message + suggestion("", tree.leaves()))
    if written not in tree.parts:
        message = f"PodGroup {group} has no subgroup {shown(written)}. "
        return as_told(_LABEL_PATH, message + suggestion(written, tree.leaves()))
    if tree.children[written]:
        message = f"{shown(written)} has subgroups, and so no pods of its own. "
        return as_told(_LABEL_PATH, message + suggestion(written, tree.leaves(written)))
    return written


def share_problems(pod: ReadPod) -> list[Problem]:
    """Parts of a GPU that a pod asks for: the hub counts whole units only."""
    annotations = pod.manifest.content.metadata.annotations
    return [
        as_told(
            within("metadata.annotations", key),
            "Shared GPUs are not taken into account when pods are placed. Ask for whole ones.",
        )
        for key in _SHARES
        if key in annotations
    ]


def assumed(group: str, subgroup: str, count: int, shape: Shape) -> Crew:
    """The pods of a subgroup for which none are given: as many as must run at once."""
    own_name = group.rpartition("/")[2]
    stem = f"{own_name}-{subgroup}" if subgroup else own_name
    return equal(subgroup or DEFAULT, group, count, shape, [f"{stem}-{i}" for i in range(count)])


def given(group: str, subgroup: str, minimum: int, pods: Sequence[ReadPod]) -> Crew | int:
    """The pods of a subgroup, any ``minimum`` of which must run at once; or how many it lacks.

    Pods that succeeded have had their turn, so they count towards the minimum; so do
    those that run. Where nothing is left to place, a gang that has shrunk is no matter of placement.
    """
    present = sorted(
        (pod for pod in pods if pod.stage in (Stage.RUNNING, Stage.OPEN)),
        key=lambda pod: (pod.stage is Stage.OPEN, by_rank(pod)),
    )
    least = max(minimum - sum(pod.stage is Stage.SUCCEEDED for pod in pods), 0)
    if all(pod.stage is Stage.RUNNING for pod in present):
        least = min(least, len(present))
    if least > len(present):
        return least - len(present)
    return crew(subgroup or DEFAULT, group, least, present)
