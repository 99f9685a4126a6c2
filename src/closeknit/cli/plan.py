"""``closeknit plan``: place everything in the files, and change nothing."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from closeknit.cli import display, loading, occupancy, options, svg, verdict_tree
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid, remark_skipped
from closeknit.dialects import Reading
from closeknit.hub.outcome import Placed
from closeknit.hub.topology import Topology
from closeknit.scheduler import outcome_json, planning, wording
from closeknit.scheduler.planning import Status, Verdict


def plan(
    files: options.Files,
    *,
    output: Annotated[
        options.Picture, typer.Option("-o", "--output", help="text, json, or a picture as svg.")
    ] = options.Picture.TEXT,
    lenient: options.Lenient = False,
) -> None:
    """Place the workloads in the files on the nodes in them.

    The order of the queue is priority, then creation time, then name, and each workload sees the earlier
    ones placed. Nothing is changed anywhere.
    """
    with refusing_invalid():
        reading = loading.load(files, lenient=lenient)
        complain(reading.problems)
        remark_skipped(reading.skipped)
        verdicts = decided(reading)
    match output:
        case options.Picture.JSON:
            sys.stdout.write(f"{outcome_json.text(outcome_json.outcomes(verdicts))}\n")
        case options.Picture.SVG:
            sys.stdout.writelines(svg.drawn(picture(reading, verdicts)))
        case options.Picture.TEXT:
            show(verdicts)
            if verdicts and not reading.cluster.nodes:
                sys.stderr.write("note: The files hold no Node.\n")
    finish(status(verdicts, reading))


def decided(reading: Reading) -> list[Verdict]:
    """What becomes of every workload that was read, in queue order."""
    from closeknit.engine import Engine

    cluster, workloads = reading.cluster, reading.workloads
    verdicts: list[Verdict] = []
    what = f"Placing {wording.counted(len(workloads), 'workload')}"
    with loading.working(
        what, big=len(cluster.nodes) + 10 * len(workloads) > 20_000, steps=len(workloads)
    ) as step:
        for verdict in planning.plan(Engine(cluster), cluster, workloads):
            verdicts.append(verdict)
            step()
    return verdicts


def status(verdicts: Sequence[Verdict], reading: Reading) -> ExitStatus:
    """Invalid input outweighs a workload that found no place."""
    statuses = {verdict.status for verdict in verdicts}
    if reading.problems or Status.INVALID in statuses:
        return ExitStatus.INVALID
    return ExitStatus.DONE if statuses <= {Status.PLACED} else ExitStatus.UNPLACED


def show(verdicts: Sequence[Verdict]) -> None:
    """Trees on a terminal, lines elsewhere, and a sum at the end."""
    if display.console().is_terminal:
        display.show(verdict_tree.tree(verdict) for verdict in verdicts)
    else:
        sys.stdout.writelines(f"{line}\n" for verdict in verdicts for line in verdict_tree.lines(verdict))
    sys.stdout.write(f"{summary(verdicts)}\n")


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many workloads found a place, in one sentence."""
    if not verdicts:
        return "There is no workload in the files, so there is nothing to place."
    counts = Counter(verdict.status for verdict in verdicts)
    parts = [f"{counts[each]} {wording.status(each)}" for each in Status if counts[each]]
    return f"{wording.counted(len(verdicts), 'workload')}: {', '.join(parts)}."


def picture(reading: Reading, verdicts: Sequence[Verdict]) -> svg.Picture:
    """The cluster with what the plan puts where; what was in use before is grey."""
    placements = [
        (verdict.workload.request, verdict.outcome)
        for verdict in verdicts
        if isinstance(verdict.outcome, Placed) and verdict.workload.request is not None
    ]
    uses = occupancy.uses_by_node(reading.cluster.holdings, placements)
    topology = _shown(reading, verdicts)
    told = summary(verdicts)
    return svg.Picture(
        title=told,
        description=" ".join([told, *(f"{entry.text}." for entry in _entries(verdicts))]),
        root=occupancy.tree(reading.cluster, topology, uses),
        resources=occupancy.resources_that_matter(reading.cluster),
        legend=list(_entries(verdicts)),
        levels=topology.labels if topology is not None else (),
    )


def _shown(reading: Reading, verdicts: Sequence[Verdict]) -> Topology | None:
    """The topology that most workloads speak of; a picture has room for one."""
    asked = Counter(verdict.topology.name for verdict in verdicts if verdict.topology is not None)
    by_use = sorted(reading.cluster.topologies, key=lambda each: (-asked[each.name], each.name))
    return by_use[0] if by_use else None


def _entries(verdicts: Sequence[Verdict]) -> Iterator[svg.Entry]:
    for verdict in verdicts:
        text = "".join(word for word, _ in verdict_tree.heading(verdict))
        request = verdict.workload.request
        placed = isinstance(verdict.outcome, Placed) and request is not None
        yield svg.Entry(request.name if placed and request is not None else None, text)
