"""``closeknit demo``: a sample cluster and a workload of each dialect, placed and shown."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from closeknit.cli import display, explain, manifests, occupancy, plan, topology_tree
from closeknit.cli.display import branch
from closeknit.cli.exits import complain, refusing_invalid
from closeknit.cli.nodes import USUAL_OFFER, from_drawing
from closeknit.dialects import Source, read
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli as sentences
from closeknit.scheduler.planning import Status
from closeknit.scheduler.wording import counted

_DRAWING = "cluster.txt"
_TOPOLOGY = "datacenter"
_FILES = (
    "administration.yaml",
    "kai.yaml",
    "grove.yaml",
    "dynamo.yaml",
    "kueue.yaml",
    "kubernetes.yaml",
    "osmo-pool.json",
    "osmo.yaml",
)
"""What administrators say, and a file of workloads for each dialect."""


def demo(
    *,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY",
            help="Put the files of the demo there, to try the other commands on them; with --live, those that"
            " closeknit up runs.",
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Run it on an embedded cluster, each workload by way of its own operator."
        ),
    ] = False,
) -> None:
    """Place a sample of each dialect on a sample cluster."""
    sources = list(_sources())
    if live:
        from closeknit.cli import live_demo

        if write is None:
            asyncio.run(live_demo.run(sources))
            return
        sources = list(live_demo.submitted(sources))
    if write is not None:
        with refusing_invalid():
            _written([*sources, Source(_DRAWING, _file(_DRAWING))], write)
        sys.stdout.write(f"Now try: closeknit {'up' if live else 'plan'} -f {write}\n")
        return
    reading = read(sources)
    complain(reading.problems)
    cluster = reading.cluster
    tree = occupancy.tree(cluster, cluster.topology(_TOPOLOGY), occupancy.uses_by_node(cluster.holdings))
    matter = occupancy.resources_that_matter(cluster)
    _say("1. A cluster, drawn in a few lines of text (closeknit topology)")
    display.show([topology_tree.drawn(tree, cluster.topology(_TOPOLOGY), matter, None)])
    verdicts = plan.decided(reading)
    number = counted(len(verdicts), "workload")
    _say(f"2. {number}, placed in the order of the queue (closeknit plan)")
    plan.show(verdicts)
    for verdict in verdicts:
        if verdict.status is Status.UNPLACEABLE:
            name = verdict.workload.object
            _say(f"3. Why {name.name} has no place, and what would help (closeknit explain {name.name})")
            before = verdicts[: verdicts.index(verdict)]
            display.show([explain.told(verdict, before)])
    _say("To try it yourself: closeknit demo --write demo, then closeknit plan -f demo")


def _say(words: str) -> None:
    display.show([branch("\n" + words, below=())])


def _sources() -> Iterator[Source]:
    """The demo's cluster as manifests, and its workloads."""
    cluster = from_drawing(_file(_DRAWING).decode(), "topology/", None, _TOPOLOGY, USUAL_OFFER)
    yield Source("cluster.yaml", "".join(manifests.as_yaml(cluster)).encode())
    yield from (Source(name, _file(name)) for name in _FILES)


def _file(name: str) -> bytes:
    return (resources.files("closeknit.cli") / "demo_files" / name).read_bytes()


def _written(sources: list[Source], directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for source in sources:
            (directory / source.name).write_bytes(source.content)
    except OSError as error:
        wrong = sentences.UNWRITABLE_FILES.at((Verbatim(directory),), reason=str(error.strerror))
        raise InvalidError([wrong]) from error
