"""The conditions and events that KAI would give PodGroups and pods, as far as files show.

A PodGroup that cannot be placed as it is written gets the condition ``UnschedulableOnNodePool`` and an event,
and one whose pods do not all exist an event with the number that it waits for. Where KAI gives a reason
in its log alone, as for a level that does not exist, or none at all, as for a queue that takes no
workloads, the reason is in the status here. Whether there is room now is for the scheduler to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from closeknit.apis.core_v1 import Pod
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.core.pods import Stage
from closeknit.dialects.family import Condition, Event, Status
from closeknit.dialects.kai.compile import read_pod_group
from closeknit.dialects.kai.members import members
from closeknit.dialects.kai.owners import check_pod
from closeknit.dialects.kai.subgroups import tree
from closeknit.dialects.kai.terms import leaves_of
from closeknit.dialects.kai.topologies import FAMILY
from closeknit.dialects.ownership import claim_of, pod_of, pods_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kai as sentences

_UNSCHEDULABLE = "Unschedulable"
_MOST_JOINED = 8
_ALIVE = (Stage.OPEN, Stage.RUNNING, Stage.SUCCEEDED)


def pod_group_status(group: Stored[PodGroup], view: View) -> Status:
    """Why a PodGroup cannot be placed, and how many pods it waits for."""
    # That too few pods exist is reported by the event about awaited pods.
    refusals = view.derive(read_pod_group, group.key).refusals
    awaited = tuple(Event("Normal", "NotReady", str(note)) for note in _awaited(group, view))
    if not refusals:
        return Status(events=awaited)
    message = _joined(refusals)
    return Status(
        (Condition("UnschedulableOnNodePool", "True", _UNSCHEDULABLE, message),),
        (Event("Normal", _UNSCHEDULABLE, message), *awaited),
    )


def pod_status(pod: Stored[Pod], view: View) -> Status:
    """Why a pod of a PodGroup that waits for a node will not get one."""
    claim, read = claim_of(view, pod.key), view.derive(pod_of, pod.key)
    if claim.family != FAMILY or read is None or read.stage is not Stage.OPEN:
        return Status()
    own = [*read.problems, *check_pod(pod, view)]
    of_group: tuple[Problem, ...] = ()
    if (group := view.get(claim.key)) is not None:
        found = view.derive(read_pod_group, group.key)
        own.extend(each.problem for each in found.of_pods if each.key == pod.key)
        of_group = found.problems
    if own:
        message = _joined(own)
        return Status(
            (Condition("PodScheduled", "False", _UNSCHEDULABLE, message),),
            (Event("Warning", _UNSCHEDULABLE, message),),
        )
    if not of_group:
        return Status()
    name = claim.key.name
    return Status(
        events=(Event("Warning", _UNSCHEDULABLE, _joined(each.of("PodGroup", name) for each in of_group)),)
    )


def _awaited(group: Stored[PodGroup], view: View) -> Iterator[Problem]:
    """The leaves of which fewer pods exist than must run at once."""
    subgroups = tree(group.content.spec, [])
    pods = pods_of(view, group.key, FAMILY)
    by_leaf = members(pods, group.name, subgroups).by_leaf
    for leaf, minimum in leaves_of(group.content.spec, subgroups).items():
        present = [pod for pod in by_leaf.get(leaf, ()) if pod.stage in _ALIVE]
        if len(present) < minimum:
            gated = sum(bool(pod.stored.content.spec.scheduling_gates) for pod in present)
            yield sentences.PODS_AWAITED.at(
                subgroups.path(leaf, "minMember"), minimum=minimum, existing=len(present), gated=gated
            )


def _joined(problems: Iterable[Problem]) -> str:
    """One message, not longer than a person reads."""
    texts = [str(problem) for problem in problems]
    rest = len(texts) - _MOST_JOINED
    return " ".join([*texts[:_MOST_JOINED], f"{rest} more."] if rest > 0 else texts)
