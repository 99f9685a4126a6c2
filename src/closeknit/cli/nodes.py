"""``closeknit nodes``: Node manifests for a cluster that exists as a shape or as a drawing."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from closeknit.cli import loading, manifests, options, shapes
from closeknit.cli.exits import refusing_invalid, tell
from closeknit.cli.loading import STANDARD_INPUT, sources_of
from closeknit.cli.manifests import Manifest
from closeknit.cli.topology import topologies_named
from closeknit.dialects import KINDS, Kind
from closeknit.hub import drawing, quantities
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.nodes import Node
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import Code, InvalidError, Problem
from closeknit.hub.quantities import Rounding
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import cli as sentences

USUAL_OFFER = Resources.parse({"cpu": "96", "memory": "1Ti", "pods": "110"}, Rounding.DOWN)
"""What a node has beside its GPUs unless somebody says otherwise; the options below repeat it."""


def nodes(
    *,
    shape: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL=N,...,host=N",
            help="Levels, coarsest first. Each number counts the children of one parent: "
            "zone=2,block=4,rack=8,host=16 makes 2 x 4 x 8 x 16 = 1024 nodes.",
        ),
    ] = None,
    drawn: Annotated[
        str | None,
        typer.Option(
            "--drawing",
            metavar="FILE",
            help="A drawing: one line a domain, indented under the one that holds it, hosts as 'name: gpus'.",
        ),
    ] = None,
    gpus: Annotated[
        int, typer.Option(min=0, metavar="N", help="GPUs (nvidia.com/gpu) of each node of a shape.")
    ] = 8,
    cpu: Annotated[
        str,
        typer.Option(metavar="QUANTITY", help="CPU of each node; in a drawing, of hosts that do not say."),
    ] = "96",
    memory: Annotated[str, typer.Option(metavar="QUANTITY", help="Memory, likewise.")] = "1Ti",
    pods: Annotated[str, typer.Option(metavar="N", help="How many pods a node takes, likewise.")] = "110",
    prefix: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Put before a level's name to make its node label; host is kubernetes.io/hostname.",
        ),
    ] = "topology/",
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Names of a drawing's levels, coarsest first. "
            "Left out: the last ones of region, zone, block and rack.",
        ),
    ] = None,
    topology: Annotated[
        str | None, typer.Option(metavar="NAME", help="Print a KAI Topology of this name first.")
    ] = None,
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
    output: Annotated[
        options.Manifests, typer.Option("-o", "--output", help="yaml, or one json List.")
    ] = options.Manifests.YAML,
) -> None:
    """Print Node manifests, from a shape, a drawing or a cluster.

    Pods that a drawing shows as running become Pod manifests. Of the nodes of a cluster, all is printed that
    matters for placing pods.
    """
    with refusing_invalid():
        if context or kubeconfig:
            described = _of_live(context, kubeconfig, topology, shape=shape, drawing=drawn, levels=levels)
            _print(described, output)
            return
        offered = _offered({"cpu": cpu, "memory": memory, "pods": pods})
        if shape is not None and drawn is None and levels is None:
            described = from_shape(shape, prefix, topology, offered + Resources({"nvidia.com/gpu": gpus}))
        elif drawn is not None and shape is None:
            source, text = named_drawing(drawn)
            with _within(source):
                described = from_drawing(text, prefix, levels, topology, offered)
        else:
            raise InvalidError([_usage(shape, drawn).at()])
    _print(described, output)


def _print(described: Iterable[Manifest], output: options.Manifests) -> None:
    write = manifests.as_yaml if output is options.Manifests.YAML else manifests.as_json
    sys.stdout.writelines(write(described))


def _of_live(
    context: str, kubeconfig: str, topology: str | None, **made_up: str | None
) -> Iterator[Manifest]:
    """The nodes of a cluster, and before them one of its topologies."""
    for option, value in made_up.items():
        if value is not None:
            wrong = sentences.SHAPE_AND_CLUSTER.at((Verbatim(f"--{option}"),), option=f"--{option}")
            raise InvalidError([wrong])
    # Who only wants nodes needs to be allowed no more than to list nodes.
    kinds = [each for each in KINDS if each.kind == "Node" or (topology is not None and _is_set_up(each))]
    given = loading.given([], context, kubeconfig, kinds)
    reading = loading.reading_of(given, lenient=True)
    tell(replace(reading, notes=()))
    if topology is not None:
        chosen = topologies_named(reading.cluster, topology, given)
        yield from (manifests.topology(each) for each in chosen if each is not None)
    yield from map(manifests.node, reading.cluster.nodes)


def _is_set_up(kind: Kind) -> bool:
    """Whether it describes a cluster, and not what runs in it: all that is in no namespace, and pools."""
    return not kind.namespaced or (kind.own_file is not None and not kind.workload)


def _usage(shape: str | None, drawn: str | None) -> Code:
    if shape is not None and drawn is not None:
        return sentences.SHAPE_AND_DRAWING
    if shape is not None:
        return sentences.LEVELS_OF_SHAPE
    return sentences.NEITHER_SHAPE_NOR_DRAWING


def from_shape(
    shape: str, prefix: str, topology: str | None, offered: Resources, *, option: str = "--shape"
) -> Iterator[Manifest]:
    """The manifests of a shape; raises ``InvalidError`` at once, and makes nodes one at a time."""
    steps = shapes.parse(shape, option=option)
    made = shapes.topology(steps, topology or "", prefix)
    first = [manifests.topology(made)] if topology is not None else []
    return itertools.chain(first, map(manifests.node, shapes.nodes(steps, prefix, offered)))


def from_drawing(
    text: str, prefix: str, levels: str | None, topology: str | None, offered: Resources
) -> Iterator[Manifest]:
    """The manifests of a drawing, in its own order."""
    if levels is None:
        labels: Iterable[str] = drawing.parse(text).topologies[0].labels
    else:
        labels = [name.strip() for name in levels.split(",") if name.strip()]
    cluster = drawing.parse(
        text,
        topology=topology or "default",
        levels=[label if "/" in label else f"{prefix}{label}" for label in labels],
        host_level=True,
    )
    return _of_cluster(cluster, topology, offered)


def _of_cluster(cluster: Cluster, topology: str | None, offered: Resources) -> Iterator[Manifest]:
    if topology is not None:
        yield manifests.topology(cluster.topologies[0])
    for node in cluster.nodes:
        yield manifests.node(_completed(node, offered))
    yield from manifests.pods(cluster.holdings)


def _completed(node: Node, offered: Resources) -> Node:
    return replace(node, allocatable=Resources({**offered, **node.allocatable}))


def _offered(amounts: dict[str, str]) -> Resources:
    found: list[Problem] = []
    units: dict[str, int] = {}
    for name, text in amounts.items():
        try:
            units[name] = quantities.amount(name, text, Rounding.DOWN)
        except InvalidError as error:
            found.extend(problem.under(Verbatim(f"--{name}")) for problem in error.problems)
    if found:
        raise InvalidError(found)
    return Resources(units)


def named_drawing(name: str) -> tuple[str, str]:
    """The name by which messages speak of a drawing, and the drawing."""
    if name != STANDARD_INPUT and Path(name).is_dir():
        raise InvalidError([sentences.DRAWING_IS_DIRECTORY.at((Verbatim(name),))])
    source = sources_of([name])[0]
    try:
        return source.name, source.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = sentences.DRAWING_NOT_UTF8.at((Verbatim(source.name),), byte=error.start + 1)
        raise InvalidError([wrong]) from error


@contextmanager
def _within(source: str) -> Iterator[None]:
    """Name the file in front of the line of every problem."""
    try:
        yield
    except InvalidError as error:
        raise InvalidError(problem.under(Verbatim(f"{source}:")) for problem in error.problems) from error
