"""How a workload queues: what its queue lets it use, whether it is preemptible, how long it runs.

What a Queue may use are accounts that pods are charged to while they run.
``limit`` is how much a queue may use at most, with all queues below it. ``quota`` is what it deserves: beyond
it, queues are served after those that stay within theirs, the lowest use for its ``overQuotaWeight`` first.
A workload that is not preemptible never gets more than ``quota``, because nobody could take it back. As in
KAI, what is not written is zero, and -1 is no limit; a queue counts GPUs, CPU and memory, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import Any

from closeknit.apis.closeknit_keys import RUN_SECONDS
from closeknit.apis.kai_keys import GRACE_PERIOD, PREEMPTION_DELAY
from closeknit.apis.scheduling_run_ai_v2 import Queue, QueueResource, QueueSpec
from closeknit.apis.wire import Number
from closeknit.dialects.core.durations import seconds
from closeknit.dialects.kai.queues import UNLIMITED, circular, queues
from closeknit.dialects.kai.rules import PREEMPTIBILITIES
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.quota import NO_LIMIT, Account
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import kai as sentences
from closeknit.hub.shortfall import QuotaScope
from closeknit.hub.workload import STALENESS_GRACE, WorkloadBase

NOT_PREEMPTIBLE_FROM = 100
"""The priority from which on a workload is not preemptible, unless it says so."""
_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?", re.ASCII)
GPU, CPU, MEMORY = "nvidia.com/gpu", "cpu", "memory"
_UNITS: Mapping[str, int] = {GPU: 1, CPU: 10**6, MEMORY: 10**6}
"""How many units of the hub one unit of a Queue is: GPUs, thousandths of a core, millions of bytes."""
_CLUSTER = Account(("the cluster",), Resources(dict.fromkeys(_UNITS, NO_LIMIT)), scope=QuotaScope.QUEUE)
_DEFAULT_PRIORITY = 100


def queued(view: View, workload: WorkloadBase, queue: str, preemptibility: str) -> WorkloadBase:
    """The workload with the accounts of its queue; an empty ``preemptibility`` leaves it to the priority."""
    preemptible = workload.priority < NOT_PREEMPTIBLE_FROM
    if preemptibility:
        preemptible = preemptibility == PREEMPTIBILITIES[0]
    accounts = _accounts(view, queue, preemptible=preemptible)
    return replace(workload, accounts=accounts, preemptible=preemptible)


def written_preemptibility(stored: Stored[Any]) -> str:
    """What a PodGroup says; empty where it says nothing that is a word."""
    return _written(stored, "preemptibility")


def written_grace_period(stored: Stored[Any]) -> str:
    """The staleness grace period of a PodGroup: its field, else its annotation; empty if neither is set."""
    return _written(stored, "stalenessGracePeriod") or stored.content.metadata.annotations.get(
        GRACE_PERIOD, ""
    )


def written_preemption_delay(stored: Stored[Any]) -> str:
    """The preemption delay of a PodGroup: its field, else its annotation; empty if neither is set."""
    return _written(stored, "preemptionDelay") or stored.content.metadata.annotations.get(
        PREEMPTION_DELAY, ""
    )


def preemption_delay(duration: str) -> float:
    """Seconds that a workload waits before others may be evicted for it.

    As in KAI, a text that is not a duration, or is a negative one, counts as none.
    """
    return max(seconds(duration) or 0.0, 0.0)


def grace_period(duration: str) -> float | None:
    """Seconds that a gang may stay below its minimum; None for ever.

    As in KAI, a negative duration means for ever, and a text that is not a duration the default.
    """
    long = seconds(duration)
    if long is None:
        return STALENESS_GRACE
    return long if long >= 0 else None


def _written(stored: Stored[Any], field: str) -> str:
    spec = stored.written.get("spec")
    value = spec.get(field) if isinstance(spec, dict) else None
    return value if isinstance(value, str) else ""


def check_declared_run_time(stored: Stored[Any], found: list[Problem]) -> None:
    """A declared run time is a hint, which no decision relies on (`core/time_limits`), but is a number."""
    written = stored.content.metadata.annotations.get(RUN_SECONDS)
    if written is not None and not (_SECONDS.fullmatch(written) and float(written) > 0):
        found.append(sentences.NOT_A_RUN_TIME.at(("metadata", "annotations", RUN_SECONDS), value=written))


def _accounts(view: View, name: str, *, preemptible: bool) -> tuple[Account, ...]:
    """The accounts of a workload in a queue; none where it is not known or lies in a circle of queues."""
    known = view.derive(queues).parents
    if name not in known or circular(name, known):
        return ()
    own = view.derive(_account, name)
    return (own,) if preemptible else (own, view.derive(_guaranteed, name))


def _account(view: View, name: str) -> Account:
    """What a queue may use in all."""
    spec, parent = _spec(view, name)
    quota = {resource: _amount(resource, share.quota) for resource, share in _shares(spec).items()}
    return Account(
        name=(f"Queue {name}",),
        quota=Resources(quota),
        borrowing={
            resource: _amount(resource, share.limit) - quota[resource]
            for resource, share in _shares(spec).items()
            if share.limit != UNLIMITED
        },
        weights={resource: float(share.over_quota_weight) for resource, share in _shares(spec).items()},
        priority=_DEFAULT_PRIORITY if spec.priority is None else spec.priority,
        preempt_after=seconds(spec.preempt_min_runtime),
        reclaim_after=seconds(spec.reclaim_min_runtime),
        scope=QuotaScope.QUEUE,
        within=view.derive(_account, parent) if parent else _CLUSTER,
    )


def _guaranteed(view: View, name: str) -> Account:
    """What workloads that are not preemptible may use of a queue."""
    spec, parent = _spec(view, name)
    shares = _shares(spec)
    return Account(
        name=(f"Queue {name}", "not preemptible"),
        quota=Resources({resource: _amount(resource, share.quota) for resource, share in shares.items()}),
        borrowing={resource: 0 for resource, share in shares.items() if share.quota != UNLIMITED},
        scope=QuotaScope.QUEUE,
        within=view.derive(_guaranteed, parent) if parent else _CLUSTER,
    )


def _spec(view: View, name: str) -> tuple[QueueSpec, str]:
    """What a queue says, and its parent if that exists."""
    stored: Stored[Queue] | None = view.get(Key("scheduling.run.ai", "Queue", "", name))
    spec = stored.content.spec if stored is not None else QueueSpec()
    return spec, spec.parent_queue if spec.parent_queue in view.derive(queues).parents else ""


def _shares(spec: QueueSpec) -> dict[str, QueueResource]:
    return {GPU: spec.resources.gpu, CPU: spec.resources.cpu, MEMORY: spec.resources.memory}


def _amount(resource: str, written: Number) -> int:
    """An amount in the hub's units; a part of a unit is of no use to anybody."""
    if written == UNLIMITED:
        return NO_LIMIT
    return min(floor(Fraction(written) * _UNITS[resource]), NO_LIMIT)
