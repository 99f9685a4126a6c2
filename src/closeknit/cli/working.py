"""What a process on a cluster runs: scheduler, controllers, admission, until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Collection, Coroutine, Iterable, Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli.exits import ExitStatus, complain
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import Code, InvalidError, Problem
from closeknit.hub.sentences import cli as sentences

if TYPE_CHECKING:
    from closeknit.admission.instance import Admission
    from closeknit.controllers.instance import Controllers
    from closeknit.dialects.store.store import Entry
    from closeknit.kube.leases import Terms
    from closeknit.kube.port import KubernetesApi
    from closeknit.live.log import Log
    from closeknit.scheduler.health import Probes
    from closeknit.scheduler.instance import Instance
    from closeknit.scheduler.settings import Settings

SCHEDULER_LEASE = "closeknit-scheduler"
CONTROLLERS_LEASE = "closeknit-controllers"

Scheduling = Annotated[
    bool, typer.Option("--scheduler/--no-scheduler", help="Whether to bind pods to nodes.")
]
Controlling = Annotated[
    bool,
    typer.Option(
        "--controllers/--no-controllers",
        help="Whether to do what the operators of Grove, Kueue, Dynamo and OSMO do.",
    ),
]
External = Annotated[
    list[str],
    typer.Option(
        "--external",
        metavar="FAMILY",
        help="A family whose own operator runs there: kai, grove, dynamo, osmo or kueue. May repeat.",
    ),
]


OperatorConfig = Annotated[
    list[str],
    typer.Option(
        "--operator-config",
        metavar="FILE",
        help="A file with an OperatorConfiguration of Grove or Dynamo, or a Configuration of Kueue, as its"
        " operator is installed with. May repeat.",
    ),
]


def operator_settings(files: Sequence[str]) -> Sequence[Entry]:
    """What operators are told in files; the command ends where something is wrong with them."""
    if not files:
        return ()
    from closeknit import dialects
    from closeknit.cli.loading import sources_of

    found = dialects.operator_settings(sources_of(files))
    if found.problems:
        complain(found.problems)
        raise typer.Exit(ExitStatus.INVALID)
    return found.entries


def require_families(external: Collection[str]) -> None:
    """Refuse names that no family has."""
    from closeknit.admission.reviewer import FAMILIES

    wrong = [
        sentences.NO_OPERATOR.at((Verbatim("--external"),), name=name, known=", ".join(sorted(FAMILIES)))
        for name in external
        if name not in FAMILIES
    ]
    if wrong:
        raise InvalidError(wrong)


def cannot_listen(option: str, port: int, error: OSError, wrong: Code = sentences.CANNOT_LISTEN) -> Problem:
    """That a port cannot be had, by the option that names it and in the system's own words."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return wrong.at((Verbatim(option),), port=port, reason=reason)


def managed_families(external: Collection[str], *, controllers: bool) -> frozenset[str]:
    """The families that this process looks after: KAI as its scheduler, the others by their operators."""
    from closeknit.controllers.operators import OPERATORS

    return frozenset({"kai", *(OPERATORS if controllers else ())}).difference(external)


class Workers:
    """A scheduler and controllers that share what they follow; each has its own lease."""

    def __init__(
        self,
        api: KubernetesApi,
        *,
        identity: str,
        log: Log,
        scheduling: Settings | None,
        external: Collection[str] | None,
        lease_namespace: str = "",
        admission: Admission | None = None,
        settings: Sequence[Entry] = (),
        terms: Terms | None = None,
    ) -> None:
        """``scheduling``, ``external`` and ``admission`` are None for a process that does not do it.

        Without ``lease_namespace`` it is alone on a cluster of its own, and needs no lease.
        """
        from closeknit.controllers.instance import Controllers
        from closeknit.controllers.operators import managed
        from closeknit.dialects import DIALECTS
        from closeknit.kube.clock import SYSTEM_CLOCK
        from closeknit.live.failure_log import FailureLog
        from closeknit.live.following import Following, kinds_read
        from closeknit.live.leadership import LeaseName
        from closeknit.scheduler.instance import Instance
        from closeknit.scheduler.status.outcomes import KIND as OUTCOME_KIND

        def lease(name: str) -> LeaseName | None:
            return LeaseName(namespace=lease_namespace, name=name) if lease_namespace else None

        # The dice spread calls in time, and guard nothing.
        dice = Random()  # noqa: S311
        operators = managed(external) if external is not None else ()
        families = [
            *(scheduling.families if scheduling is not None else ()),
            *(DIALECTS if operators else ()),
        ]
        kinds = kinds_read(families, (kind for each in operators for kind in each.kinds))
        if scheduling is not None:
            kinds = (*kinds, OUTCOME_KIND)
        self.failures = FailureLog(log)
        self.following = Following(api, kinds, clock=SYSTEM_CLOCK, random=dice, log=log, record=self.failures)
        self.admission = admission
        self.scheduler: Instance | None = None
        self.controllers: Controllers | None = None
        if scheduling is not None:
            self.scheduler = Instance(
                api,
                scheduling,
                identity=identity,
                log=log,
                random=dice,
                # A dry run writes nothing, a lease included.
                lease=None if scheduling.dry_run else lease(SCHEDULER_LEASE),
                following=self.following,
                terms=terms,
                record=self.failures,
            )
        if operators:
            self.controllers = Controllers(
                api,
                operators,
                identity=identity,
                log=log,
                random=dice,
                lease=lease(CONTROLLERS_LEASE),
                following=self.following,
                settings=settings,
                terms=terms,
                record=self.failures,
            )

    async def run(self, told: asyncio.Event, beside: Iterable[Coroutine[Any, Any, None]] = ()) -> None:
        """Work until told to stop and what is under way has settled, with something else beside."""
        parts = [each for each in (self.scheduler, self.controllers) if each is not None]
        admission = () if self.admission is None else (self.admission.run(),)
        await run_until(told, (self.following.run(), *admission, *beside), parts)

    def probes(self) -> Probes:
        """What whoever runs the process may ask."""
        from closeknit.live.cache_metrics import CacheMetrics
        from closeknit.live.leader_metrics import leadership_metrics
        from closeknit.scheduler.health import Probes
        from closeknit.scheduler.instance import not_alive

        cache = CacheMetrics(self.following)
        found = self.scheduler.probes() if self.scheduler is not None else None

        def ready() -> str | None:
            not_ready = found.ready() if found is not None else None
            for each in (self.controllers, self.admission):
                if not_ready is None and each is not None:
                    not_ready = each.not_ready()
            return not_ready

        parts = (each for each in (self.scheduler, self.controllers) if each is not None)
        leaderships = [part.leadership for part in parts if part.leadership.name]

        def metrics() -> bytes:
            counted = found.metrics() if found is not None else b""
            others = (each for each in (self.controllers, self.admission) if each is not None)
            return b"".join(
                (
                    counted,
                    cache.written(),
                    *(each.metrics.written() for each in others),
                    leadership_metrics(leaderships),
                    self.failures.written(),
                )
            )

        return Probes(
            alive=lambda: not_alive(self.following),
            ready=ready,
            metrics=metrics,
            snapshot=found.snapshot if found is not None else _nothing,
            roles=lambda: {each.name: each.role.value for each in leaderships},
        )


def _nothing() -> Iterator[bytes]:
    yield from ()


async def run_until(
    told: asyncio.Event,
    work: Iterable[Coroutine[Any, Any, None]],
    parts: Sequence[Instance | Controllers] = (),
) -> None:
    """Work until told to stop, or until something ends by itself; what failed is raised.

    ``parts`` settle what is under way before they end; ``work`` is cancelled after that.
    """
    settling = [asyncio.create_task(each.run()) for each in parts]
    others = [asyncio.create_task(each) for each in (told.wait(), *work)]
    try:
        done, _ = await asyncio.wait({*settling, *others}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        for each in parts:
            each.stop()
        while unsettled := [task for task in settling if not task.done()]:
            # They stand on the work beside them, and would wait for ever for what has failed.
            beside = [task for task in others if not task.done()]
            done, _ = await asyncio.wait({*unsettled, *beside}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in (*settling, *others):
            task.cancel()
        await asyncio.gather(*settling, *others, return_exceptions=True)


def told_to_stop() -> asyncio.Event:
    """Set at Ctrl-C, or when the process is told to end."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    return told
