"""``closeknit top``: domains by what is free in them, and the largest gang that each would take."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from closeknit.cli import display, loading, occupancy, options
from closeknit.cli.clusters import upper
from closeknit.cli.display import Branch, Tone, branch
from closeknit.cli.exits import ExitStatus, faulty, finish, refusing_invalid, tell
from closeknit.cli.occupancy import Domain, Host
from closeknit.cli.topology import topologies_named
from closeknit.hub.copying import replace
from closeknit.hub.natural_order import natural
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, OneOf
from closeknit.hub.sentences import cli as sentences
from closeknit.hub.topology import Topology
from closeknit.scheduler import outcome_json
from closeknit.scheduler.wording import printable, quantity

_BAR = 20
_ROWS = 10
"""Domains that are shown of a level, unless --all says otherwise."""


def top(
    files: options.Files = [],  # noqa: B006 (Typer copies it)
    *,
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
    name: options.TopologyName = None,
    resource: Annotated[
        str,
        typer.Option(metavar="NAME", help="The resource to count. Left out: the scarcest that nodes have."),
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="Show all domains of every level.")] = False,
    output: Annotated[
        options.Text, typer.Option("-o", "--output", help="text, or json.")
    ] = options.Text.TEXT,
    lenient: options.Lenient = False,
) -> None:
    """Show which domains have most free, and the largest gang that fits into each.

    A gang is counted in pods of one unit of the resource, and in pods that fill a node. Nodes that take no
    pods (cordoned, not ready) count as full.
    """
    with refusing_invalid():
        given = loading.given(files, context, kubeconfig)
        reading = loading.reading_of(given, lenient=lenient)
        tell(replace(reading, skipped=()))
        chosen = topologies_named(reading.cluster, name, given)
        counted_in = _resource(resource, occupancy.resources_that_matter(reading.cluster))
    uses = occupancy.uses_by_node(reading.cluster.holdings)
    levels = [
        level
        for each in chosen
        for level in _levels(occupancy.tree(reading.cluster, each, uses), each, counted_in)
    ]
    if output is options.Text.JSON:
        sys.stdout.write(
            f"{outcome_json.text({'resource': counted_in, 'levels': [_json(each) for each in levels]})}\n"
        )
    elif not reading.cluster.nodes:
        sys.stdout.write(f"{upper(given.holders)} no Node, so that there is no room to show.\n")
    else:
        display.show(_shown(each, counted_in, None if everything else _ROWS) for each in levels)
    finish(ExitStatus.INVALID if faulty(reading) else ExitStatus.DONE)


@dataclass(frozen=True, slots=True)
class Room:
    """What a domain has, and what is free of it."""

    path: tuple[str, ...]
    total: int
    free: int
    """As many pods of one unit fit."""
    whole: int
    """Nodes none of whose resource is in use: as many pods that fill a node fit."""
    nodes: int

    @property
    def used(self) -> float:
        """The share that is not free."""
        return 1 - self.free / self.total if self.total else 1.0


@dataclass(frozen=True, slots=True)
class LevelRoom:
    """The domains of one level, those with most free first."""

    topology: str
    level: str
    rooms: tuple[Room, ...]


def _resource(asked: str, known: Sequence[str]) -> str:
    if asked and asked not in known:
        wrong = sentences.UNKNOWN_RESOURCE_NAME.at(
            (Verbatim("--resource"),), resource=asked, known=OneOf.among(asked, known)
        )
        raise InvalidError([wrong])
    return asked or next(iter(known), "cpu")


def _levels(root: Domain, topology: Topology | None, resource: str) -> Iterator[LevelRoom]:
    name = topology.name if topology is not None else ""
    yield LevelRoom(name, "cluster", (_room((), root, resource),))
    here: list[tuple[tuple[str, ...], Domain]] = [((), root)]
    # Single nodes are no level of their own: the largest gang there is one pod.
    for level in topology.levels if topology is not None else ():
        here = [((*path, inner.name), inner) for path, domain in here for inner in domain.domains]
        if here and any(inner.nodes > 1 for _, inner in here):
            rooms = sorted((_room(path, inner, resource) for path, inner in here), key=_most_first)
            yield LevelRoom(name, level.name or level.label, tuple(rooms))


def _most_first(room: Room) -> tuple[object, ...]:
    return -room.free, -room.whole, [natural(each) for each in room.path]


def _room(path: tuple[str, ...], domain: Domain, resource: str) -> Room:
    hosts = list(domain.all_hosts())
    offers = [(host.node.allocatable.get(resource, 0), _free(host, resource)) for host in hosts]
    return Room(
        path=path,
        total=sum(total for total, _ in offers),
        free=sum(free for _, free in offers),
        whole=sum(total == free > 0 for total, free in offers),
        nodes=len(hosts),
    )


def _free(host: Host, resource: str) -> int:
    if not host.node.ready or host.node.unschedulable:
        return 0
    return max(host.node.allocatable.get(resource, 0) - host.used(resource), 0)


def _shown(level: LevelRoom, resource: str, most: int | None) -> Branch:
    where = f"{printable(level.topology)}: " if level.topology else ""
    rooms = level.rooms[:most]
    width = max(len(_path(room)) for room in rooms)
    lines = [branch(*_line(room, resource, width)) for room in rooms]
    if len(rooms) < len(level.rooms):
        lines.append(branch((f"{len(level.rooms) - len(rooms):,} more with no more free; --all", Tone.QUIET)))
    head = f"{where}{printable(level.level)}, by free {printable(resource)}"
    return branch((head, Tone.TITLE), below=lines)


def _path(room: Room) -> str:
    return printable("/".join(room.path)) or "all nodes"


def _line(room: Room, resource: str, width: int) -> Iterator[str | tuple[str, Tone]]:
    filled = round(room.used * _BAR)
    tone = Tone.GOOD if room.used < 0.5 else Tone.DOUBTFUL if room.free else Tone.BAD
    yield (f"{_path(room):<{width}}  ", Tone.TITLE)
    yield ("█" * filled, tone)
    yield ("░" * (_BAR - filled), Tone.QUIET)
    free, total = (quantity(resource, units) for units in (room.free, room.total))
    yield f" {room.used:4.0%} used, {free} of {total} free; largest gang: {free} pods of one"
    yield f", {room.whole:,} of a whole node"


def _json(level: LevelRoom) -> dict[str, object]:
    return {
        "topology": level.topology,
        "level": level.level,
        "domains": [
            {
                "domain": list(room.path),
                "nodes": room.nodes,
                "total": room.total,
                "free": room.free,
                "wholeNodes": room.whole,
            }
            for room in level.rooms
        ],
    }
