"""``closeknit run``: the scheduler on a Kubernetes cluster."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from contextlib import suppress
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Annotated

import typer

from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid
from closeknit.cli.logs import LogFormat, logger
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli as sentences

if TYPE_CHECKING:
    from closeknit.kube.port import KubernetesApi
    from closeknit.kube.rest import Access
    from closeknit.scheduler.instance import Instance
    from closeknit.scheduler.loop import Settings

LEASE = "closeknit-scheduler"
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
    scheduler_names: Annotated[
        list[str],
        typer.Option(
            "--scheduler-name",
            metavar="NAME",
            help="Bind pods with this schedulerName. May repeat. Left out: closeknit and kai-scheduler.",
        ),
    ] = [],  # noqa: B006 (Typer copies it)
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Decide, log and count; write nothing to the cluster.")
    ] = False,
    lease_namespace: Annotated[
        str,
        typer.Option(metavar="NAME", help="Where the lease is kept that one of several instances holds."),
    ] = "",
    connections: Annotated[int, typer.Option(min=1, max=512, metavar="N", help="Bindings at once.")] = 64,
    health_host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where /healthz, /readyz and /metrics are served.")
    ] = "127.0.0.1",
    health_port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="0 takes a free one.")
    ] = 8081,
    log_format: Annotated[
        LogFormat | None, typer.Option(help="Left out: text on a terminal, else JSON, one line a decision.")
    ] = None,
) -> None:
    """Schedule gangs on a Kubernetes cluster, until Ctrl-C or SIGTERM.

    It binds the pods of PodGroups, of Jobs and other controllers that KAI groups, and single pods, where they
    name one of its schedulers: each gang whole and inside the levels that it requires, or not at all. Why one
    waits stands in its conditions and events. Of several instances, one works and the others wait.
    """
    from closeknit.kube.rest import ConfigurationError, load_access

    with refusing_invalid():
        try:
            access = load_access(kubeconfig=kubeconfig, context=context)
        except ConfigurationError as error:
            option = Verbatim("--context" if context else "--kubeconfig")
            raise InvalidError([sentences.NO_CLUSTER.at((option,), reason=str(error))]) from error
        settings = _settings(scheduler_names, connections, dry_run=dry_run)
    namespace = lease_namespace or access.namespace or "default"
    work = _run(access, settings, namespace, (health_host, health_port), log_format)
    # Nearly everything that is made is kept, so looking for garbage often would only take time.
    gc.set_threshold(50_000, 20, 100)
    finish(asyncio.run(work))


def _settings(names: list[str], connections: int, *, dry_run: bool) -> Settings:
    from closeknit.dialects.lone_pods import SCHEDULERS
    from closeknit.dialects.wire.registry import is_name
    from closeknit.scheduler.loop import Settings

    wrong = [
        sentences.NO_SCHEDULER_NAME.at((Verbatim("--scheduler-name"),), name=name)
        for name in names
        if not is_name(name)
    ]
    if wrong:
        raise InvalidError(wrong)
    return Settings(schedulers=frozenset(names) or SCHEDULERS, connections=connections, dry_run=dry_run)


async def _run(
    access: Access,
    settings: Settings,
    lease_namespace: str,
    health: tuple[str, int],
    log_format: LogFormat | None,
) -> ExitStatus:
    from closeknit.kube.rest import connect
    from closeknit.live.leadership import LeaseName
    from closeknit.scheduler.health import HealthServer
    from closeknit.scheduler.instance import Instance

    log = logger(log_format)
    identity = f"{socket.gethostname()}-{os.getpid()}-{SystemRandom().getrandbits(32):08x}"
    told = _told_to_stop()
    async with connect(access, component="scheduler", connections=settings.connections + _CONNECTIONS) as api:
        instance = Instance(
            api,
            settings,
            identity=identity,
            log=log,
            random=Random(),  # noqa: S311 - it spreads calls in time, and guards nothing
            # A dry run writes nothing, a lease included.
            lease=None if settings.dry_run else LeaseName(namespace=lease_namespace, name=LEASE),
        )
        server = HealthServer(instance.probes(), host=health[0], port=health[1])
        try:
            await server.start()
        except OSError as error:
            reason = str(error.strerror or error)
            complain(
                [sentences.CANNOT_LISTEN.at((Verbatim("--health-port"),), port=health[1], reason=reason)]
            )
            return ExitStatus.INVALID
        sys.stdout.write(f"Health, metrics and /debug/snapshot are on {server.address}.\n")
        sys.stdout.flush()
        try:
            if await _reached(api, told):
                await until_told(instance, told)
        finally:
            await server.stop()
    return ExitStatus.DONE


def _told_to_stop() -> asyncio.Event:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    return told


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


async def until_told(instance: Instance, told: asyncio.Event) -> None:
    """Run a scheduler until the process is told to stop and what is under way has settled."""
    running = asyncio.create_task(instance.run())
    waiting = asyncio.create_task(told.wait())
    try:
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            instance.stop()
        await running
    finally:
        for task in (running, waiting):
            task.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)
