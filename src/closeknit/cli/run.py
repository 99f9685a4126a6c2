"""``closeknit run``: the scheduler and the controllers on a Kubernetes cluster."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import election, webhook
from closeknit.cli.collecting import collect_in_pauses
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid
from closeknit.cli.logs import LogFormat, logger
from closeknit.cli.map_process import serve_map
from closeknit.cli.scheduler_names import OPTION, SchedulerNames, schedulers_named
from closeknit.cli.working import (
    Controlling,
    External,
    OperatorConfig,
    Scheduling,
    Workers,
    cannot_listen,
    operator_settings,
    require_families,
    told_to_stop,
)
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli as sentences

if TYPE_CHECKING:
    from closeknit.admission.instance import Admission
    from closeknit.kube.port import KubernetesApi
    from closeknit.kube.rest import Access

_RETRY = 2.0
"""Seconds between two attempts to reach the API server at the start."""
_CONNECTIONS = 96
"""More than bindings take, so that watches and reports have theirs."""


def run(
    *,
    kubeconfig: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="As for kubectl. Left out: $KUBECONFIG, ~/.kube/config, or the pod's own account.",
        ),
    ] = "",
    context: Annotated[str, typer.Option(metavar="NAME", help="A context of the kubeconfig.")] = "",
    scheduler_names: SchedulerNames = [],  # noqa: B006 (Typer copies it)
    scheduler: Scheduling = True,
    controllers: Controlling = True,
    external: External = [],  # noqa: B006 (Typer copies it)
    operator_config: OperatorConfig = [],  # noqa: B006
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Schedule, log and count; write nothing, so without controllers."),
    ] = False,
    pod_events: Annotated[
        bool,
        typer.Option(
            "--pod-events/--no-pod-events",
            help="Write a Scheduled event for each pod that was bound, after the bindings.",
        ),
    ] = True,
    lease_namespace: Annotated[
        str,
        typer.Option(metavar="NAME", help="Where the lease is kept that one of several instances holds."),
    ] = "",
    lease_duration: election.Duration = 15.0,
    renew_deadline: election.RenewDeadline = 10.0,
    retry_period: election.RetryPeriod = 2.0,
    webhook_port: webhook.Port = 0,
    webhook_host: webhook.Host = "127.0.0.1",
    webhook_service: webhook.Service = "",
    webhook_certificates: webhook.Folder = None,
    webhook_url: webhook.Url = "",
    webhook_configuration: webhook.Configuration = "closeknit",
    operator_users: webhook.Operators = [],  # noqa: B006 (Typer copies it)
    connections: Annotated[int, typer.Option(min=1, max=512, metavar="N", help="Bindings at once.")] = 64,
    health_host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where /healthz, /readyz and /metrics are served.")
    ] = "127.0.0.1",
    health_port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="0 takes a free one.")
    ] = 8081,
    map_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="N",
            help="Serve the live map on this port of loopback, by a process of its own; 0 takes a free one.",
        ),
    ] = None,
    log_format: Annotated[
        LogFormat | None, typer.Option(help="Left out: text on a terminal, else JSON, one line a decision.")
    ] = None,
) -> None:
    """Schedule gangs and run their operators on a Kubernetes cluster, until Ctrl-C or SIGTERM.

    It binds the pods of PodGroups, of Jobs and other controllers that KAI groups, and single pods, where they
    name one of its schedulers: each gang whole and inside the levels that it requires, or not at all. Why one
    waits stands in its conditions and events. Controllers make what PodCliqueSets and others consist of,
    and keep it as it should be. Of several instances, one works and the others wait. With --webhook-port
    it also reviews, for the API server, what is created and changed; every instance does.
    """
    from closeknit.kube.rest import ConfigurationError, load_access
    from closeknit.scheduler.settings import Settings

    with refusing_invalid():
        try:
            access = load_access(kubeconfig=kubeconfig, context=context)
        except ConfigurationError as error:
            option = Verbatim("--context" if context else "--kubeconfig")
            raise InvalidError([sentences.NO_CLUSTER.at((option,), reason=str(error))]) from error
        settings = Settings(
            schedulers=schedulers_named(scheduler_names),
            connections=connections,
            pod_events=pod_events,
            dry_run=dry_run,
        )
        require_families(external)
        terms = election.lease_terms(lease_duration, renew_deadline, retry_period)
        reviewing = webhook.Webhook(
            port=webhook_port,
            host=webhook_host,
            service=webhook_service,
            folder=webhook_certificates,
            url=webhook_url,
            configuration=webhook_configuration,
            operators=operator_users,
        )
        reviewing.check()
        configured = operator_settings(operator_config)
        # A dry run writes nothing, so that only a scheduler has something to do there.
        if not scheduler and (dry_run or (not controllers and not webhook_port)):
            raise InvalidError([sentences.NOTHING_TO_RUN.at((Verbatim("--no-scheduler"),))])
    namespace = lease_namespace or access.namespace or "default"
    log = logger(log_format)
    identity = f"{socket.gethostname()}-{os.getpid()}-{SystemRandom().getrandbits(32):08x}"

    def workers(api: KubernetesApi) -> Workers:
        return Workers(
            api,
            identity=identity,
            log=log,
            scheduling=settings if scheduler else None,
            external=external if controllers and not dry_run else None,
            lease_namespace=namespace,
            terms=terms,
            admission=reviewing.admission(api, access.namespace or namespace, external, configured, log)
            if webhook_port and not dry_run
            else None,
            settings=configured,
        )

    def beside() -> Iterator[Coroutine[Any, Any, None]]:
        if map_port is not None:
            chosen = ("--port", str(map_port), "--context", context, "--kubeconfig", kubeconfig)
            named = (each for name in scheduler_names for each in (OPTION, name))
            yield serve_map((*chosen, *named), log)

    work = _run(access, connections + _CONNECTIONS, workers, (health_host, health_port), beside)
    finish(asyncio.run(work))


async def _run(
    access: Access,
    connections: int,
    started: Callable[[KubernetesApi], Workers],
    health: tuple[str, int],
    beside: Callable[[], Iterable[Coroutine[Any, Any, None]]],
) -> ExitStatus:
    from closeknit.kube.rest import connect
    from closeknit.scheduler.health import HealthServer

    told = told_to_stop()
    async with connect(access, component="scheduler", connections=connections) as api:
        workers = started(api)
        server = HealthServer(workers.probes(), host=health[0], port=health[1])
        try:
            await server.start()
        except OSError as error:
            complain([cannot_listen("--health-port", health[1], error)])
            return ExitStatus.INVALID
        sys.stdout.write(f"Health, metrics and /debug/snapshot are on {server.address}.\n")
        sys.stdout.flush()
        collecting = asyncio.create_task(collect_in_pauses(workers.scheduler))
        try:
            if await _reached(api, told) and await _listening(workers.admission, told):
                await workers.run(told, beside())
            elif not told.is_set():
                return ExitStatus.INVALID
        except InvalidError as error:
            complain(error.problems)
            return ExitStatus.INVALID
        finally:
            collecting.cancel()
            await server.stop()
    return ExitStatus.DONE


async def _listening(admission: Admission | None, told: asyncio.Event) -> bool:
    """Whether the webhook listens, where there is to be one; what keeps it from that is told."""
    from closeknit.admission.keeping import UnusableCertificateError
    from closeknit.kube.errors import ApiError

    while admission is not None and not told.is_set():
        try:
            await admission.start()
        except OSError as error:
            wrong = sentences.WEBHOOK_CANNOT_LISTEN
            complain([cannot_listen("--webhook-port", admission.port, error, wrong)])
            return False
        except UnusableCertificateError as error:
            where = (Verbatim("--webhook-certificates"),)
            complain([sentences.UNUSABLE_CERTIFICATE.at(where, reason=str(error))])
            return False
        except ApiError as error:
            sys.stderr.write(f"The webhook cannot start yet; it is tried again. {error}\n")
            with suppress(TimeoutError):
                async with asyncio.timeout(_RETRY):
                    await told.wait()
            continue
        return True
    return not told.is_set()


async def _reached(api: KubernetesApi, told: asyncio.Event) -> bool:
    """Return when the API server answers; whether it did before the process was told to stop."""
    from closeknit.kube.errors import ApiError

    before = ""
    while not told.is_set():
        try:
            version = await api.version()
        except ApiError as error:
            if str(error) != before:
                before = str(error)
                sys.stderr.write(f"The API server does not answer; it is asked again. {before}\n")
            with suppress(TimeoutError):
                async with asyncio.timeout(_RETRY):
                    await told.wait()
            continue
        sys.stdout.write(f"The API server speaks Kubernetes {version}.\n")
        sys.stdout.flush()
        return True
    return False
