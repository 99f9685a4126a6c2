"""Queues: a forest in which only queues without children take workloads.

Checked are parents that do not exist, queues that are each other's parents, and quotas that mean
nothing. Where any Queue is given, every PodGroup must name one that exists and has no children; KAI
passes over all others without a word. How much a queue may use is not counted here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from closeknit.apis.scheduling_run_ai_v2 import Queue
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem, as_told, shown, suggestion

UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues that exist, be they valid or not."""

    parents: Mapping[str, str] = dataclass_field(default_factory=dict)
    """By name; empty for a queue at the top, and for one that could not be read."""

    def problems(self, name: str, path: str) -> Iterator[Problem]:
        """What is wrong with naming this queue; nothing where no queue is known at all."""
        if not self.parents:
            return
        inner = set(self.parents.values())
        leaves = [queue for queue in self.parents if queue not in inner]
        if not name:
            yield as_told(path, f"No queue is named, so KAI would pass it over. {suggestion('', leaves)}")
        elif name not in self.parents:
            yield as_told(path, f"There is no Queue {shown(name)}. {suggestion(name, leaves)}")
        elif name in inner:
            below = [queue for queue in leaves if self._is_below(queue, name)]
            message = f"Queue {shown(name)} has queues below it, and so takes no workloads."
            yield as_told(path, f"{message} {suggestion('', below)}")

    def _is_below(self, queue: str, other: str) -> bool:
        seen: set[str] = set()
        while queue and queue not in seen:
            seen.add(queue)
            queue = self.parents.get(queue, "")
            if queue == other:
                return True
        return False


NO_QUEUES = Queues()
"""Where nothing is known of queues, any name will do."""


def read_queues(manifests: View) -> tuple[Queues, list[Reported]]:
    """All queues, and everything that is wrong with them."""
    read = list(manifests.of(Queue))
    parents = {one.name: "" for one in manifests.keys(Queue)}
    parents |= {queue.name: queue.content.spec.parent_queue for queue in read}
    found = [queue.report(problem) for queue in read for problem in _problems(queue, parents)]
    return Queues(parents), found


def _problems(queue: Stored[Queue], parents: Mapping[str, str]) -> Iterator[Problem]:
    parent = queue.content.spec.parent_queue
    others = [name for name in parents if name != queue.name]
    if parent and parent not in parents:
        message = f"There is no Queue {shown(parent)}. {suggestion(parent, others)}"
        yield as_told("spec.parentQueue", message)
    circle = _circle(queue.name, parents)
    # A circle is one mistake, told at the first of its queues by name.
    if circle and queue.name == min(circle):
        written = " > ".join(shown(name) for name in (*circle, circle[0]))
        message = f"These queues are each other's parents: {written}. Let one of them have no parent."
        yield as_told("spec.parentQueue", message)
    resources = queue.content.spec.resources
    for name, share in (("gpu", resources.gpu), ("cpu", resources.cpu), ("memory", resources.memory)):
        path = f"spec.resources.{name}"
        for field, value in (("quota", share.quota), ("limit", share.limit)):
            if value < 0 and value != UNLIMITED:
                message = f"{value} is negative. Write zero or more, or {UNLIMITED} for no limit."
                yield as_told(f"{path}.{field}", message)
        if share.over_quota_weight < 0:
            message = f"{share.over_quota_weight} is negative. Write zero or more."
            yield as_told(f"{path}.overQuotaWeight", message)


def _circle(start: str, parents: Mapping[str, str]) -> list[str]:
    """The queues from this one up to itself again; empty where it does not come back."""
    trail: list[str] = []
    name = start
    while name and name not in trail:
        trail.append(name)
        name = parents.get(name, "")
    return trail if name == start and trail else []
