"""What is said of a workload beside what it asks for: its queue, whether it is preemptible, its run time."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from closeknit.apis.batch_v1 import Job
from closeknit.apis.closeknit_keys import RUN_SECONDS
from closeknit.dialects.kai.queue_accounts import queue_accounts
from closeknit.dialects.kai.rules import PREEMPTIBILITIES
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kai as sentences
from closeknit.hub.workload import Workload

NOT_PREEMPTIBLE_FROM = 100
"""The priority from which on a workload is not preemptible, unless it says so."""
_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?", re.ASCII)


def queued(view: View, workload: Workload, queue: str, preemptibility: str) -> Workload:
    """The workload with the accounts of its queue; an empty ``preemptibility`` leaves it to the priority."""
    preemptible = workload.priority < NOT_PREEMPTIBLE_FROM
    if preemptibility:
        preemptible = preemptibility == PREEMPTIBILITIES[0]
    accounts = queue_accounts(view, queue, preemptible=preemptible)
    return replace(workload, accounts=accounts, preemptible=preemptible)


def written_preemptibility(stored: Stored[Any]) -> str:
    """What a PodGroup says; empty where it says nothing that is a word."""
    spec = stored.written.get("spec")
    value = spec.get("preemptibility") if isinstance(spec, dict) else None
    return value if isinstance(value, str) else ""


def run_seconds(stored: Stored[Any], found: list[Problem]) -> float | None:
    """How long an object says that it runs at most: by annotation, or as the deadline of a Job."""
    written = stored.content.metadata.annotations.get(RUN_SECONDS)
    if written is not None:
        seconds = float(written) if _SECONDS.fullmatch(written) else 0.0
        if seconds > 0:
            return seconds
        found.append(sentences.NOT_A_RUN_TIME.at(("metadata", "annotations", RUN_SECONDS), value=written))
    return stored.content.spec.active_deadline_seconds if isinstance(stored.content, Job) else None
