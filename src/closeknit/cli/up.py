"""``closeknit up``: an embedded cluster that kubectl can talk to."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid
from closeknit.cli.kubeconfig_file import CONTEXT, require_free, written
from closeknit.cli.logs import logger
from closeknit.cli.manifests import Manifest
from closeknit.cli.nodes import USUAL_OFFER, from_drawing, from_shape, named_drawing
from closeknit.cli.working import (
    Controlling,
    External,
    OperatorConfig,
    Scheduling,
    Workers,
    cannot_listen,
    managed_families,
    operator_settings,
    require_families,
    told_to_stop,
)
from closeknit.cli.written_objects import DESCRIBING, objects_in
from closeknit.dialects.definitions import FAMILIES
from closeknit.dialects.lone_pods import SCHEDULERS
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import cli as sentences
from closeknit.kube.resources import POD_GROUPS
from closeknit.scheduler.wording import counted, printable

if TYPE_CHECKING:
    from closeknit.dialects.store.store import Entry
    from closeknit.kube.embedded.cluster import EmbeddedCluster
    from closeknit.kube.embedded.http.server import Server
    from closeknit.server.app import MapServer

_SCHEDULERS = SCHEDULERS | {"default-scheduler"}
"""Whose pods are bound: there is no other scheduler here, and Kueue leaves pods to the usual one."""
_SAMPLE = "zone=2,rack=2,host=4"
_PREFIX = "topology/"
_TOPOLOGY = "datacenter"
OPERATOR = "system:serviceaccount:closeknit-system:closeknit"
"""Who the scheduler and the controllers are to the cluster; everybody else is an administrator."""


def up(
    *,
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL=N,...,host=N",
            help=f"The shape, as for closeknit nodes --shape. Left out: {_SAMPLE}, unless files bring nodes.",
        ),
    ] = None,
    drawn: Annotated[
        str | None,
        typer.Option("--drawing", metavar="FILE", help="A drawing of the cluster, instead of a shape."),
    ] = None,
    files: options.Files = [],  # noqa: B006 (Typer copies it)
    state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the cluster in this SQLite file, and go on from it."),
    ] = None,
    kubeconfig: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to write what kubectl needs. Only you can read it.")
    ] = Path("closeknit.kubeconfig"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="The port on loopback. Left out: a free one.")
    ] = 0,
    map_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="N", help="The port of the live map. Left out: a free one."),
    ] = None,
    gang_api: Annotated[
        bool,
        typer.Option(
            "--gang-api", help="Serve Kubernetes' own PodGroups and Workloads; so do files that hold some."
        ),
    ] = False,
    scheduler: Scheduling = True,
    controllers: Controlling = True,
    external: External = [],  # noqa: B006 (Typer copies it)
    operator_config: OperatorConfig = [],  # noqa: B006
) -> None:
    """Serve an embedded Kubernetes cluster on loopback, until Ctrl-C.

    It needs no installation: kubectl get, apply, describe, delete, patch, scale, wait and explain work on it.
    The scheduler binds pods whose schedulerName is kai-scheduler, closeknit or default-scheduler, and tells
    each decision here. Nodes are stand-ins: pods that are bound to them count as running, and end after the
    seconds of their annotation closeknit.dev/run-seconds.
    """
    from closeknit.kube.embedded.loading import kind_and_name

    with refusing_invalid():
        written_in = objects_in(files)
        given = [each.object for each in written_in]
        has_nodes = any(each.get("kind") == "Node" for each in given) or (
            state is not None and state.exists()
        )
        objects = [*_cluster_objects(nodes, drawn, has_nodes=has_nodes), *given]
        require_free(kubeconfig)
        require_families(external)
        configured = operator_settings(operator_config)

    def workers(cluster: EmbeddedCluster) -> Workers:
        from closeknit.scheduler.settings import Settings

        return Workers(
            cluster,
            identity="closeknit-up",
            log=logger(None),
            scheduling=Settings(schedulers=_SCHEDULERS) if scheduler else None,
            external=external if controllers else None,
            settings=configured,
        )

    managed = managed_families(external, controllers=controllers)
    written_at = {id(each.object): each.origin for each in written_in}

    def place(obj: Mapping[str, Any]) -> str:
        origin = written_at.get(id(obj))
        return f"{origin.source}:{origin.document}:{kind_and_name(obj)}" if origin else kind_and_name(obj)

    work = _serve(
        objects,
        state,
        kubeconfig,
        (port, map_port or 0),
        workers,
        place=place,
        admission=lambda cluster: _admission(cluster, managed, configured),
        gang_api=gang_api or any(each.get("apiVersion") == POD_GROUPS.api_version for each in given),
    )
    finish(asyncio.run(work))


def _cluster_objects(shape: str | None, drawn: str | None, *, has_nodes: bool) -> Iterator[Manifest]:
    """The nodes to begin with; none of its own accord where the files or the state hold some already."""
    if shape is not None and drawn is not None:
        raise InvalidError([sentences.NODES_AND_DRAWING.at()])
    if drawn is not None:
        _, text = named_drawing(drawn)
        made: Iterable[Manifest] = from_drawing(text, _PREFIX, None, _TOPOLOGY, USUAL_OFFER)
    elif shape is not None or not has_nodes:
        offered = USUAL_OFFER + Resources({"nvidia.com/gpu": 8})
        made = from_shape(shape or _SAMPLE, _PREFIX, _TOPOLOGY, offered, option="--nodes")
    else:
        made = ()
    for manifest in made:
        # A drawn pod names a workload that does not exist here, and would go with it.
        manifest["metadata"].pop("ownerReferences", None)
        yield manifest


async def _serve(
    objects: list[Manifest],
    state: Path | None,
    kubeconfig: Path,
    ports: tuple[int, int],
    started: Callable[[EmbeddedCluster], Workers],
    *,
    place: Callable[[Mapping[str, Any]], str],
    admission: Callable[[EmbeddedCluster], AbstractAsyncContextManager[None]],
    gang_api: bool = False,
) -> ExitStatus:
    from closeknit.kube.embedded.cluster import EmbeddedCluster
    from closeknit.kube.embedded.loading import load
    from closeknit.kube.embedded.sqlite import SqliteJournal, StateFileError

    definitions = [one.written() for family in FAMILIES.values() for one in family]
    try:
        keeper = SqliteJournal(state) if state is not None else None
    except StateFileError as error:
        complain([sentences.UNUSABLE_STATE.at((Verbatim("--state"),), reason=str(error))])
        return ExitStatus.INVALID
    cluster = EmbeddedCluster(definitions, keeper=keeper, gang_api=gang_api)
    async with admission(cluster):
        in_order = sorted(objects, key=lambda one: one.get("kind") not in DESCRIBING)
        refused = await load(cluster, in_order, place=place)
        if refused:
            complain(refused)
            await cluster.close()
            return ExitStatus.INVALID
        status = await _listen(
            cluster,
            ports,
            kubeconfig,
            started,
            lambda address, map_address: _greet(address, map_address, kubeconfig, state, objects),
        )
    if status is ExitStatus.DONE:
        kept = f" {printable(str(state))} keeps it." if state else ""
        sys.stdout.write(f"\nThe cluster is down.{kept}\n")
    return status


@asynccontextmanager
async def _admission(
    cluster: EmbeddedCluster, families: Collection[str], settings: Iterable[Entry]
) -> AsyncIterator[None]:
    """Review writes by the rules of these families, once all that there is was read."""
    from closeknit.admission.embedded import admit
    from closeknit.admission.instance import following_for
    from closeknit.admission.reviewer import Reviewer
    from closeknit.kube.clock import SYSTEM_CLOCK

    reviewer = Reviewer(cluster, families=families, operators={OPERATOR}, settings=settings)
    # The dice spread calls in time, and guard nothing.
    async with following_for(reviewer, cluster, SYSTEM_CLOCK, Random()) as synced:  # noqa: S311
        await synced
        admit(cluster, reviewer)
        yield


async def _listen(
    cluster: EmbeddedCluster,
    ports: tuple[int, int],
    kubeconfig: Path,
    started: Callable[[EmbeddedCluster], Workers],
    greet: Callable[[str, str], None],
) -> ExitStatus:
    from closeknit.kube.embedded.http.server import Server
    from closeknit.kube.standins import run_standins
    from closeknit.server.instance import MapInstance

    own = cluster.acting_as(OPERATOR)
    working = started(own)
    server = Server(cluster, port=ports[0])
    shown = MapInstance(
        own,
        random=Random(),  # noqa: S311 (the dice spread calls in time, and guard nothing)
        port=ports[1],
        following=working.following,
        schedulers=_SCHEDULERS,
    )
    try:
        await _listening(server, "--port", ports[0])
        await _listening(shown.server, "--map-port", ports[1])
        with written(server, kubeconfig):
            # Whoever reads that Ctrl-C ends it may press it at once.
            told = told_to_stop()
            greet(server.address, shown.server.address)
            await working.run(told, [run_standins(own), shown.run()])
    except InvalidError as error:
        complain(error.problems)
        return ExitStatus.INVALID
    finally:
        await shown.server.stop()
        await server.stop()
        await cluster.close()
    return ExitStatus.DONE


async def _listening(server: Server | MapServer, option: str, port: int) -> None:
    """Start a server; a port that cannot be had is refused by the option that names it."""
    try:
        await server.start()
    except OSError as error:
        raise InvalidError([cannot_listen(option, port, error)]) from error


def _greet(address: str, picture: str, kubeconfig: Path, state: Path | None, objects: list[Manifest]) -> None:
    number = sum(one.get("kind") == "Node" for one in objects)
    lines = [
        f"An embedded Kubernetes cluster listens on {address}"
        + (f", with {counted(number, 'node')}." if number else "."),
        "Its state is in memory." if state is None else f"Its state is in {printable(str(state))}.",
        f"Its live map is on {picture}",
        "In another terminal:",
        *(f"  {each}" for each in suggested(kubeconfig, Path("examples/kai"))),
        "kubectl works there too.",
        "Ctrl-C ends it.",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def suggested(kubeconfig: Path, examples: Path) -> Iterator[str]:
    """Commands that work when they are pasted; those on the examples where there are any."""
    yield f"export KUBECONFIG={printable(shlex.quote(str(kubeconfig.absolute())))}"
    yield f"closeknit topology --context {CONTEXT}"
    if examples.is_dir():
        yield f"closeknit apply -f {examples}/"
        yield "closeknit get podgroups,pods -o wide"
        # Without its group, the kind would be ambiguous beside Kubernetes' own PodGroups.
        yield "closeknit describe podgroup.scheduling.run.ai/sample1"
    else:
        yield "closeknit get nodes,pods -A"
        yield "closeknit get workloads -A"
