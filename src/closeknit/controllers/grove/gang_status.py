"""How far PodGangs are: in our own operator, and for a real Grove, which leaves this to the scheduler.

Grove itself only writes the condition ``Initialized``, so without this a PodGang of which everything runs
stays ``Pending`` for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from closeknit.apis.core_v1 import Pod
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.controllers.grove.statuses import status_of
from closeknit.controllers.runtime.comparing import is_going
from closeknit.controllers.runtime.controller import Controller, Operator
from closeknit.controllers.runtime.objects import conditions
from closeknit.controllers.runtime.writes import NOTHING, Decision, SetStatus
from closeknit.dialects.family import Condition
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key


class Progress(NamedTuple):
    """Whether each group of a gang has as many pods as it needs, with a node and ready."""

    scheduled: bool
    ready: bool

    @property
    def phase(self) -> str:
        """The phase, as Grove defines it."""
        return "Running" if self.ready else "Starting" if self.scheduled else "Pending"

    def conditions(self) -> Iterator[Condition]:
        """The conditions ``Scheduled`` and ``Ready``."""
        for kind, holds, what in (
            ("Scheduled", self.scheduled, "have a node"),
            ("Ready", self.ready, "are ready"),
        ):
            enough = "Sufficient" if holds else "Insufficient"
            message = f"{'As' if holds else 'Not as'} many pods {what} as each group needs."
            yield Condition(kind, str(holds), f"{enough}{kind}Pods", message)


class _Observed(NamedTuple):
    gang: Stored[PodGang]
    progress: Progress


def observe(view: View, key: Key) -> _Observed | None:
    """A gang and how far the pods are that it refers to; None if it is gone or going."""
    gang: Stored[PodGang] | None = view.get(key)
    if gang is None or is_going(gang):
        return None
    return _Observed(gang, view.derive(_progress, key))


def _progress(view: View, key: Key) -> Progress:
    gang: PodGang | None = view.content(key)
    assert gang is not None
    scheduled = ready = bool(gang.spec.podgroups)
    for group in gang.spec.podgroups:
        pods = [
            view.derive(_pod, Key("", "Pod", reference.namespace, reference.name))
            for reference in group.pod_references
        ]
        scheduled = scheduled and sum(has_node for has_node, _ in pods) >= group.min_replicas
        ready = ready and sum(is_ready for _, is_ready in pods) >= group.min_replicas
    return Progress(scheduled, ready)


def _pod(view: View, key: Key) -> tuple[bool, bool]:
    """Whether a pod has a node, and whether it is ready."""
    pod: Pod | None = view.content(key)
    if pod is None or pod.metadata.deletion_timestamp or pod.status.phase == "Failed":
        return False, False
    done = pod.status.phase == "Succeeded"
    is_ready = any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)
    return bool(pod.spec.node_name), done or is_ready


def decide(observed: _Observed | None, now: datetime) -> Decision:
    """Write the phase and the two conditions; those of Grove stay."""
    if observed is None:
        return NOTHING
    gang, progress = observed
    before = status_of(gang).get("conditions") or ()
    fields: Mapping[str, Any] = {
        "phase": progress.phase,
        "conditions": conditions(before, progress.conditions(), now),
    }
    return Decision((SetStatus(gang.key, fields, can_wait=True),))


GANG_STATUS = Operator("grove", (Controller("grove-podgang-status", PodGang, observe, decide),))
"""What is done for a real Grove."""
