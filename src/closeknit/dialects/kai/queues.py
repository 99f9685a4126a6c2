"""Queues: a forest in which only queues without children take workloads.

Checked are parents that do not exist, queues that are each other's parents, and quotas that mean
nothing. Where any Queue is given, every PodGroup must name one that exists and has no children; KAI
passes over all others without a word. ``queueing`` counts how much a queue may use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.apis.scheduling_run_ai_v2 import Queue
from closeknit.dialects.core.notes import not_in_sight, tolerated
from closeknit.dialects.kai.rules import value_problems
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem, shown
from closeknit.hub.sentences import core, hub
from closeknit.hub.sentences import kai as sentences

UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues that exist, be they valid or not."""

    parents: Mapping[str, str]
    """By name; empty for a queue at the top, and for one that could not be read."""
    with_children: AbstractSet[str]


def queues(view: View) -> Queues:
    """All queues."""
    parents = {key.name: "" for key in view.keys(Queue)}
    parents |= {queue.name: queue.content.spec.parent_queue for queue in view.of(Queue)}
    return Queues(parents, frozenset(parents.values()))


def queue_problems(view: View, name: str, path: Path) -> Iterator[Problem]:
    """What is wrong with naming this queue; nothing where no queue is known at all."""
    known = view.derive(queues)
    if known.parents and (name not in known.parents or name in known.with_children):
        yield tolerated(_wrong_queue(known, name, path), lenient=view.lenient)


def _wrong_queue(known: Queues, name: str, path: Path) -> Problem:
    leaves = [queue for queue in known.parents if queue not in known.with_children]
    if not name:
        return sentences.NO_QUEUE_NAMED.at(path, allowed=OneOf.among("", leaves))
    if name not in known.parents:
        # Administrators may create a queue after the workloads that name it; these wait for it.
        remedy = OneOf.among(name, leaves)
        return core.NOT_FOUND.at(path, kind="Queue", name=name, remedy=remedy).as_waiting()
    below = OneOf.among("", [queue for queue in leaves if name in _above(queue, known.parents)])
    return sentences.QUEUE_WITH_CHILDREN.at(path, queue=name, allowed=below)


def check_queue(queue: Stored[Queue], view: View) -> Iterator[Problem]:
    """Everything that is wrong with a queue."""
    parents = view.derive(queues).parents
    parent, path = queue.content.spec.parent_queue, ("spec", "parentQueue")
    if parent and parent not in parents:
        others = OneOf.among(parent, [name for name in parents if name != queue.name])
        unknown = core.NOT_FOUND.at(path, kind="Queue", name=parent, remedy=others)
        yield not_in_sight(unknown, view, others.allowed)
    above = _above(queue.name, parents)
    # A circle is one mistake, reported at the first of its queues by name.
    if queue.name in above and queue.name == min(above):
        circle = " > ".join(shown(name) for name in (queue.name, *above))
        yield sentences.CIRCLE_OF_QUEUES.at(path, circle=circle)
    resources = queue.content.spec.resources
    for name, share in (("gpu", resources.gpu), ("cpu", resources.cpu), ("memory", resources.memory)):
        for field, value in (("quota", share.quota), ("limit", share.limit)):
            if value < 0 and value != UNLIMITED:
                where = ("spec", "resources", name, field)
                yield sentences.NEGATIVE_QUOTA.at(where, value=value, unlimited=UNLIMITED)
        if share.over_quota_weight < 0:
            where = ("spec", "resources", name, "overQuotaWeight")
            yield hub.NEGATIVE.at(where, value=share.over_quota_weight)
    spec = queue.content.spec
    for field, runtime in (
        ("preemptMinRuntime", spec.preempt_min_runtime),
        ("reclaimMinRuntime", spec.reclaim_min_runtime),
    ):
        if runtime:
            yield from value_problems(field, runtime, ("spec", field))


def circular(name: str, parents: Mapping[str, str]) -> bool:
    """Whether a queue has no top: it, or a queue above it, is its own ancestor."""
    above = _above(name, parents)
    return bool(above) and (name in above or parents.get(above[-1], "") in above)


def _above(queue: str, parents: Mapping[str, str]) -> list[str]:
    """The queue's parent, its parent and so on, up to the top or to where a circle closes."""
    found: dict[str, None] = {}
    name = parents.get(queue, "")
    while name and name not in found:
        found[name] = None
        name = parents.get(name, "")
    return list(found)
