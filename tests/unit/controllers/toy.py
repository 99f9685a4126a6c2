"""A small operator: every Queue gets a Topology of its name, with the levels of its label, and says so."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.scheduling_run_ai_v2 import Queue
from closeknit.controllers.runtime.controller import Controller, Operator
from closeknit.controllers.runtime.objects import (
    children,
    conditions,
    finalizers_of,
    owned,
    with_finalizer,
    without_finalizer,
)
from closeknit.controllers.runtime.writes import NOTHING, Apply, Decision, Delete, SetStatus, Tell, Write
from closeknit.dialects.family import Condition
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Entry
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key

FINALIZER = "toy.closeknit.dev/owed"


class Observed(NamedTuple):
    queue: Stored[Any] | None
    topologies: tuple[Stored[Any], ...]


def observe(view: View, key: Key) -> Observed:
    queue = view.get(key)
    if queue is not None and queue.name == "poison":
        raise RuntimeError("poison")
    return Observed(queue, tuple(children(view, Topology, queue)) if queue is not None else ())


def decide(observed: Observed, now: datetime) -> Decision:
    queue, topologies = observed
    if queue is None:
        return NOTHING
    if queue.content.metadata.deletion_timestamp:
        going: tuple[Write, ...] = tuple(Delete(each.key, each.content.metadata.uid) for each in topologies)
        return Decision(going or without_finalizer(queue, FINALIZER))
    if FINALIZER not in finalizers_of(queue):
        return Decision(with_finalizer(queue, FINALIZER))
    labels = queue.content.metadata.labels
    levels = labels.get("levels", "zone").split(".")
    body = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": queue.name},
        "spec": {"levels": [{"nodeLabel": each} for each in levels]},
    }
    status = queue.written.get("status") or {}
    ready = Condition("Ready", str(bool(topologies)), "Made", "There is a Topology.")
    told = conditions(status.get("conditions") or (), [ready], now)
    return Decision(
        (
            Apply(owned(body, queue.content)),
            SetStatus(queue.key, {"conditions": told, "old": None}, can_wait="waits" in labels),
            Tell(queue.key, "Made", "It has a Topology."),
        ),
        again_at=now + timedelta(seconds=100),
    )


def is_labelled(entry: Entry) -> bool:
    return isinstance(entry, Stored) and "levels" in entry.content.metadata.labels


TOY = Operator("kai", (Controller("toy", Queue, observe, decide),))
LABELLED = Operator("kai", (Controller("toy", Queue, observe, decide, looks_after=is_labelled),))
"""The same for Queues that have the label, or have had it."""


def queue(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name, "labels": labels},
        "spec": {"resources": {}},
    }
