"""One scheduler with all that belongs to it: reports, metrics, logs, and the lease that lets it work."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

from closeknit.apis.core_v1 import Pod
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.dialects.core.pods import Stage
from closeknit.dialects.ownership import pods_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.capacity import LevelCapacity
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import Request
from closeknit.hub.resources import is_extended
from closeknit.hub.workload import Workload
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.events import Recorder
from closeknit.kube.leases import Terms
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import Resource
from closeknit.live.containment import Containment, Record
from closeknit.live.failure_log import FailureLog
from closeknit.live.following import Following
from closeknit.live.leadership import Leadership, LeaseName
from closeknit.live.log import Log
from closeknit.live.supervision import supervised
from closeknit.scheduler.cluster_state import FAMILIES
from closeknit.scheduler.health import Probes
from closeknit.scheduler.loop import Scheduler
from closeknit.scheduler.metrics import Metrics, Readings
from closeknit.scheduler.observing import Observer
from closeknit.scheduler.settings import Settings
from closeknit.scheduler.snapshot import snapshot
from closeknit.scheduler.status.conditions import STATUSES
from closeknit.scheduler.status.outcomes import KIND as OUTCOME_KIND
from closeknit.scheduler.status.outcomes import FollowedOutcomes
from closeknit.scheduler.status.pod_events import PodEvents
from closeknit.scheduler.status.reporting import Reporter

COMPONENT = "closeknit"
_FAREWELL = 5.0
"""Seconds for the last reports and events."""
_STUCK = 60.0
"""A scheduler that was not heard of for so many seconds should be restarted."""


_REPORTED = tuple(
    kind
    for family in FAMILIES
    for kind in family.kinds
    if (kind.group, kind.kind) in STATUSES and kind.served
)
"""The kinds that show reports in their status."""


class Instance:
    """Schedules while it holds the lease, waits while it does not, until ``stop``."""

    def __init__(
        self,
        api: KubernetesApi,
        settings: Settings,
        *,
        identity: str,
        log: Log,
        random: Random,
        lease: LeaseName | None = None,
        clock: Clock = SYSTEM_CLOCK,
        following: Following | None = None,
        terms: Terms | None = None,
        record: Record | None = None,
    ) -> None:
        """``record``: where failures of objects are counted and logged."""
        self._settings = settings
        self._identity = identity
        self._log = log
        self._random = random
        self._clock = clock
        self._following = following
        self.leadership = Leadership(
            api,
            lease,
            identity=identity,
            log=log,
            random=random,
            clock=clock,
            terms=terms,
            progresses=self._progresses,
        )
        self.containment = Containment("scheduler", record or FailureLog(log))
        self._scheduler: Scheduler | None = None
        self._reporter: Reporter | None = None
        self._recorder: Recorder | None = None
        self._pod_events: PodEvents | None = None
        self.metrics = Metrics(
            Readings(
                waiting=self._queue_depth,
                in_flight=self._in_flight,
                capacity=self._capacity,
                behind=self._behind,
                overcommitted=self._overcommitted,
                reports=self._reports,
            )
        )
        self._observer = Observer(self.metrics, log)

    async def run(self) -> None:
        """Work until ``stop`` was called and what was under way is settled."""
        await self.leadership.lead(self._supervised)
        self._log.info("stopped")

    def stop(self) -> None:
        """Decide nothing more, let bindings under way settle, and end."""
        self.leadership.stop()
        if self._scheduler is not None:
            self._scheduler.stop()

    async def _supervised(self, api: KubernetesApi) -> None:
        """Schedule, and begin again if an error escapes all containment."""
        await supervised(
            partial(self._schedule, api),
            self.containment,
            log=self._log,
            random=self._random,
            clock=self._clock,
            settling=self._settings.bind_deadline,
        )

    async def _schedule(self, api: KubernetesApi) -> None:
        """Schedule for one term, with new state: what was known before may be out of date.

        All writes go through ``api``, which sends them only while the lease is held.
        """
        recorder = Recorder(api, COMPONENT, instance=self._identity, random=self._random, clock=self._clock)
        pod_events = None
        if self._settings.pod_events:
            pod_events = PodEvents(
                api,
                COMPONENT,
                instance=self._identity,
                random=self._random,
                busy=lambda: self.busy,
                clock=self._clock,
            )
        outcomes = FollowedOutcomes(self._show, self._resource, self._labels)
        reporter = Reporter(
            api,
            recorder,
            find=self._find,
            resource=self._resource,
            show=self._show,
            outcomes=outcomes,
            denied=self._is_denied,
            ended_pods=self._ended_pods,
            describe=self._describe,
            random=self._random,
            pods=self._waiting_pods,
            outdated=self._is_outdated,
            busy=lambda: self.busy,
            pod_events=pod_events,
            clock=self._clock,
            containment=self.containment,
        )
        scheduler = Scheduler(
            api,
            self._settings,
            random=self._random,
            # A dry run shows itself in logs and metrics, and writes nothing to the cluster.
            reporter=None if self._settings.dry_run else reporter,
            observer=self._observer,
            clock=self._clock,
            following=self._following,
            call_deadline=self.leadership.call_deadline,
            containment=self.containment,
        )
        self._scheduler, self._reporter, self._recorder = scheduler, reporter, recorder
        self._pod_events = pod_events
        scheduler.state.listen(None, reporter.nodes_changed)
        self._log.info(
            "scheduling", schedulers=sorted(self._settings.schedulers), dry_run=self._settings.dry_run
        )
        reporting = asyncio.create_task(
            supervised(reporter.run, self.containment, log=self._log, random=self._random, clock=self._clock)
        )
        try:
            changes = _Changes(reporter, outcomes)
            with scheduler.following.listening(changes, (*_REPORTED, OUTCOME_KIND), lambda: None):
                await scheduler.run()
            await self._say_the_last(reporter)
        finally:
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)
            self._scheduler = None

    async def _say_the_last(self, reporter: Reporter) -> None:
        """What was decided is told before the end, unless the server takes too long."""
        last = asyncio.ensure_future(reporter.flush())
        limit = asyncio.ensure_future(self._clock.sleep(_FAREWELL))
        await asyncio.wait({last, limit}, return_when=asyncio.FIRST_COMPLETED)
        for task in (last, limit):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    # ------------------------------------------------------------------------------------------ being asked

    def probes(self) -> Probes:
        """What an operator may ask."""
        return Probes(
            alive=self._not_alive,
            ready=self._not_ready,
            metrics=self.metrics.written,
            snapshot=self._snapshot,
        )

    @property
    def ready(self) -> bool:
        """Whether it schedules: the cluster was read, and looked at once."""
        scheduler = self._scheduler
        return scheduler is not None and scheduler.counters.looks > 0 and self._not_ready() is None

    @property
    def busy(self) -> bool:
        """Whether bindings are under way, or come so fast that the next ones can be expected."""
        return self._scheduler is not None and self._scheduler.binder.busy

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, and nothing was told that was not looked at."""
        return self._scheduler is None or self._scheduler.idle

    @property
    def untold(self) -> int:
        """How many reports and events are not written yet."""
        reports = self._reporter.pending if self._reporter is not None else 0
        return reports + (self._recorder.unwritten if self._recorder is not None else 0)

    @property
    def following(self) -> Following | None:
        """What it knows of the cluster; None while it does not work."""
        return self._scheduler.following if self._scheduler is not None else None

    def _progresses(self) -> bool:
        """Whether decisions end; a leader of which they do not must lose its lease."""
        return self._scheduler is None or self._scheduler.deciding_for < _STUCK

    def _not_alive(self) -> str | None:
        if self._scheduler is None:
            return None
        if not self._progresses():
            return f"A decision has been under way for {self._scheduler.deciding_for:.0f} s."
        return not_alive(self._scheduler.following)

    def _not_ready(self) -> str | None:
        if self._scheduler is None:
            return None if self.leadership.waiting else "The scheduler has not started."
        unread = sorted(
            kind for kind, fresh in self._scheduler.following.freshness().items() if not fresh.synced
        )
        return f"Not yet listed: {', '.join(unread)}." if unread else None

    def _snapshot(self) -> Iterator[bytes]:
        entries = self._scheduler.state.entries() if self._scheduler is not None else ()
        return snapshot(entries, self._settings.schedulers)

    def _find(self, key: Key) -> ObjectMeta | None:
        entry = self._scheduler.state.view.entry(key) if self._scheduler is not None else None
        return entry.content.metadata if isinstance(entry, Stored) else None

    def _show(self, key: Key) -> Mapping[str, Any] | None:
        """An object as the informer has it, status included; None for pods, which have no status here."""
        mirror = self.following.mirror(key.group, key.kind) if self.following is not None else None
        shown = mirror.get(key.name, key.namespace) if mirror is not None else None
        return shown if isinstance(shown, dict) else None

    def _labels(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace, as far as its informer knows."""
        shown = self._show(Key("", "Namespace", "", namespace))
        return (shown["metadata"].get("labels") or {}) if shown is not None else {}

    def _is_denied(self, pod: Key) -> bool:
        """Whether a pod has a node, and shows that it has none."""
        mirror = self.following.mirror("", "Pod") if self.following is not None else None
        shown: Pod | None = mirror.get(pod.name, pod.namespace) if mirror is not None else None
        if shown is None or not shown.spec.node_name:
            return False
        return ("PodScheduled", "False") in ((each.type, each.status) for each in shown.status.conditions)

    def _describe(self, request: Request) -> Placed | None:
        if self._scheduler is None:
            return None
        try:
            return self._scheduler.state.engine.describe(request, ())
        except InvalidError:
            # It was compiled against topologies that are being replaced; it is compiled again soon.
            return None

    def _waiting_pods(self, workload: Workload) -> Iterator[str]:
        if self._scheduler is not None:
            pods = pods_of(self._scheduler.state.view, workload.object.key, workload.dialect)
            yield from (pod.name for pod in pods if pod.stage is Stage.OPEN)

    def _ended_pods(self, workload: Workload) -> Iterator[str]:
        if self._scheduler is not None:
            pods = pods_of(self._scheduler.state.view, workload.object.key, workload.dialect)
            yield from (pod.name for pod in pods if pod.stage in (Stage.SUCCEEDED, Stage.FAILED))

    def _is_outdated(self, workload: Workload) -> bool:
        return self._scheduler is not None and self._scheduler.state.is_stale(workload)

    def _resource(self, key: Key) -> Resource | None:
        found = self._scheduler.following.resources if self._scheduler is not None else {}
        return found.get((key.group, key.kind))

    def _in_flight(self) -> int:
        return len(self._scheduler.binder) if self._scheduler is not None else 0

    def _overcommitted(self) -> int:
        return len(self._scheduler.core.overcommitment) if self._scheduler is not None else 0

    def _behind(self) -> float:
        if self._scheduler is None:
            return 0.0
        return behind(self._scheduler.following)

    def _queue_depth(self) -> Mapping[str, int]:
        return Counter(self._reporter.reasons()) if self._reporter is not None else {}

    def _capacity(self) -> tuple[LevelCapacity, ...]:
        if self._scheduler is None:
            return ()
        engine = self._scheduler.state.engine
        # Every node has CPU, so its capacity is reported only if there are no devices.
        scarce = [name for name in engine.resources if is_extended(name)] or ["cpu"]
        return tuple(each for name in scarce for each in engine.capacity(name))

    def _reports(self) -> Mapping[str, int]:
        if self._reporter is None or self._recorder is None:
            return {}
        results = {
            "written": self._reporter.written,
            "refused": self._reporter.refused,
            "corrected": self._reporter.corrected,
            "failed": self._reporter.failed,
            "dropped-events": self._recorder.dropped,
        }
        if self._pod_events is not None:
            results["dropped-pod-events"] = self._pod_events.dropped
        return results


class _Changes:
    """Passes on which objects that show reports have changed."""

    def __init__(self, reporter: Reporter, outcomes: FollowedOutcomes) -> None:
        self._reporter = reporter
        self._outcomes = outcomes

    def heard(self, kind: Kind, api_version: str, key: Key, obj: Any | None) -> None:  # noqa: ARG002
        """An object has changed; None if it is gone."""
        if kind is OUTCOME_KIND:
            if (unit := self._outcomes.unit_of(key, gone=obj is None)) is not None:
                self._reporter.object_changed(unit)
        elif obj is not None:
            self._reporter.object_changed(key)


def behind(following: Following) -> float:
    """For how many seconds changes may have been missed."""
    return max((each.behind for each in following.freshness().values()), default=0.0)


def not_alive(following: Following) -> str | None:
    """Why a process that follows a cluster should be restarted; None while it need not."""
    seconds = behind(following)
    return f"Nothing was heard of the API server for {seconds:.0f} s." if seconds > _STUCK else None
