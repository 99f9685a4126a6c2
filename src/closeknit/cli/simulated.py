"""What ``closeknit simulate`` replays, and where: read from files, or drawn."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from closeknit.cli import shapes
from closeknit.cli.exits import ExitStatus, tell
from closeknit.cli.loading import sources_of
from closeknit.cli.nodes import USUAL_OFFER
from closeknit.dialects import read
from closeknit.hub.copying import replace
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, OneOf
from closeknit.hub.resources import Resources, is_extended
from closeknit.hub.sentences import simulator as sentences
from closeknit.scheduler.wording import printable
from closeknit.text.documents import LARGEST

if TYPE_CHECKING:
    from closeknit.simulator.scenario import Site, Submission

_GPU = "nvidia.com/gpu"
_MOST = 100_000
"""Workloads of a trace, unless --limit says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """What is assumed of a cluster that does not tell."""

    gpus: int
    """Of a host."""
    rack_size: int
    """Nodes of a rack."""
    block_size: int
    """Racks of a block."""


def site_of(shape: str, cluster: str, topology: str, guesses: Guesses) -> Site:
    """The cluster that a shape or a file describes; raises ``InvalidError`` with every problem."""
    from closeknit.simulator.scenario import Site
    from closeknit.simulator.traces.tables import PREFIX, read_site

    if shape and cluster:
        raise InvalidError([sentences.TWO_SITES.at()])
    if shape:
        steps = shapes.parse(shape, option="--nodes")
        offered = USUAL_OFFER + Resources({_GPU: guesses.gpus})
        made = shapes.topology(steps, "site", PREFIX)
        return Site.of(
            made,
            list(shapes.nodes(steps, PREFIX, offered)),
            _GPU,
            about=f"{shape}, {guesses.gpus} GPUs a host",
        )
    if not cluster:
        raise InvalidError([sentences.NO_SITE.at()])
    if cluster.endswith(".csv"):
        return read_site(
            Path(cluster), gpus=guesses.gpus, rack_size=guesses.rack_size, block_size=guesses.block_size
        )
    return _from_manifests(cluster, topology, guesses)


def _from_manifests(cluster: str, topology: str, guesses: Guesses) -> Site:
    from closeknit.simulator.scenario import Site
    from closeknit.simulator.traces.tables import in_racks

    reading = read(list(sources_of([cluster])))
    if reading.problems:
        tell(reading)
        raise typer.Exit(ExitStatus.INVALID)
    found, where = reading.cluster, (Verbatim(cluster),)
    if not found.nodes:
        raise InvalidError([sentences.NO_NODES.at(where)])
    offered = {name for node in found.nodes for name in node.allocatable}
    scarce = sorted(filter(is_extended, offered))
    resource = _GPU if _GPU in scarce or not scarce else scarce[0]
    about = cluster
    if not found.topologies:
        if topology:
            raise InvalidError([sentences.NO_TOPOLOGY.at(where)])
        made_up = f"{guesses.rack_size} nodes make a rack, and {guesses.block_size} racks a block"
        about = f"{cluster}; it has no topology, so {made_up}"
        return in_racks(list(found.nodes), guesses.rack_size, guesses.block_size, resource, about=about)
    names = [each.name for each in found.topologies]
    if (topology and topology not in names) or (not topology and len(names) > 1):
        wrong = sentences.SEVERAL_TOPOLOGIES.at(where, count=len(names), known=OneOf.among(topology, names))
        raise InvalidError([wrong])
    chosen = found.topology(topology or names[0])
    assert chosen is not None
    return Site.of(chosen, list(found.nodes), resource, about=about)


def replayed(site: Site, trace: str, seed: int, limit: int | None) -> tuple[Submission, ...]:
    """The workloads of a trace; without a limit a very long one is refused."""
    from closeknit.simulator.traces import own, tables

    if trace.endswith(".csv"):
        found, notes = tables.read_workloads(Path(trace), site, limit or _MOST, cut=limit is not None)
        sys.stderr.writelines(f"note: {printable(str(note))}\n" for note in notes)
        return found
    file = Path(trace)
    if file.is_file() and (size := file.stat().st_size) > LARGEST:
        # It is not even read.
        wrong = sentences.TRACE_TOO_LARGE.at((Verbatim(trace),), most=LARGEST, bytes=size)
        raise InvalidError([wrong])
    source = next(iter(sources_of([trace])))
    return own.read(source, site, seed, _MOST if limit is None else sys.maxsize)[:limit]


def sped_up(submissions: tuple[Submission, ...], factor: float) -> tuple[Submission, ...]:
    """The same workloads, arriving so many times as fast."""
    return tuple(replace(each, at=round(each.at / factor, 3)) for each in submissions)


def drawn(site: Site, number: int, load: float, burst_share: float, seed: int) -> tuple[Submission, ...]:
    """Workloads drawn for a site."""
    from closeknit.simulator.generated import Mix, generate

    if not number:
        raise InvalidError([sentences.NOTHING_TO_REPLAY.at()])
    if not site.devices:
        raise InvalidError([sentences.NO_DEVICES.at(resource=site.resource)])
    return generate(Mix(workloads=number, load=load, burst_share=burst_share), site, seed)
