"""``closeknit plan``: place everything in the files or in a cluster, and change nothing."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from closeknit.cli import display, loading, occupancy, options, svg, verdict_tree
from closeknit.cli.clusters import upper
from closeknit.cli.exits import ExitStatus, faulty, finish, refusing_invalid, tell
from closeknit.cli.scheduler_names import SchedulerNames, require_names
from closeknit.dialects import Reading
from closeknit.hub.outcome import Placed
from closeknit.hub.topology import Topology
from closeknit.scheduler import outcome_json, planning, wording
from closeknit.scheduler.planning import AnyVerdict, Status


def plan(
    files: options.Files = [],  # noqa: B006 (Typer copies it)
    *,
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
    output: Annotated[
        options.Picture, typer.Option("-o", "--output", help="text, json, or a picture as svg.")
    ] = options.Picture.TEXT,
    settings: options.Settings = [],  # noqa: B006 (Typer copies it)
    scheduler_names: SchedulerNames = [],  # noqa: B006 (Typer copies it)
    lenient: options.Lenient = False,
) -> None:
    """Place the workloads in the files on the nodes in them.

    The order of the queue is priority, then creation time, then name, and each workload sees the earlier
    ones placed. Nothing is changed anywhere. With --context or --kubeconfig, nodes, topologies and what is in
    use come from that cluster, and its own queue is counted; it is shown where the files hold no workload.
    """
    with refusing_invalid():
        require_names(scheduler_names)
        given = loading.given(files, context, kubeconfig, settings=settings)
        reading = loading.reading_of(given, lenient=lenient, schedulers=scheduler_names)
        tell(reading)
        every = decided(reading)
    verdicts = _asked_for(reading, every)
    match output:
        case options.Picture.JSON:
            sys.stdout.write(f"{outcome_json.text(outcome_json.outcomes(verdicts))}\n")
        case options.Picture.SVG:
            sys.stdout.writelines(svg.drawn(picture(reading, verdicts, every, given.place)))
        case options.Picture.TEXT:
            show(verdicts, given.place)
            if verdicts and not reading.cluster.nodes:
                sys.stderr.write(f"note: {upper(given.holders)} no Node.\n")
    if len(verdicts) < len(every):
        others = [verdict for verdict in every if verdict.workload.key in reading.live]
        sys.stderr.write(f"note: The queue of the cluster was counted: {summary(others)}\n")
    finish(status(verdicts, reading))


def _asked_for(reading: Reading, verdicts: list[AnyVerdict]) -> list[AnyVerdict]:
    """Those of the files, where they hold workloads, because then their fate is the question; else all."""
    of_files = [verdict for verdict in verdicts if verdict.workload.key not in reading.live]
    return of_files or verdicts


def decided(reading: Reading) -> list[AnyVerdict]:
    """What becomes of every workload that was read, in queue order."""
    from closeknit.engine import Engine

    cluster, workloads = reading.cluster, reading.workloads
    verdicts: list[AnyVerdict] = []
    what = f"Placing {wording.counted(len(workloads), 'workload')}"
    with loading.working(
        what, big=len(cluster.nodes) + 10 * len(workloads) > 20_000, steps=len(workloads)
    ) as step:
        for verdict in planning.plan(Engine(cluster), cluster, workloads):
            verdicts.append(verdict)
            step()
    return verdicts


def status(verdicts: Sequence[AnyVerdict], reading: Reading) -> ExitStatus:
    """Invalid input outweighs a workload that found no place."""
    statuses = {verdict.status for verdict in verdicts}
    if faulty(reading) or Status.INVALID in statuses:
        return ExitStatus.INVALID
    return ExitStatus.DONE if statuses <= {Status.PLACED} else ExitStatus.UNPLACED


def show(verdicts: Sequence[AnyVerdict], place: str = "the files") -> None:
    """Trees on a terminal, lines elsewhere, and a sum at the end."""
    if display.console().is_terminal:
        display.show(verdict_tree.tree(verdict) for verdict in verdicts)
    else:
        sys.stdout.writelines(f"{line}\n" for verdict in verdicts for line in verdict_tree.lines(verdict))
    sys.stdout.write(f"{summary(verdicts, place)}\n")


def summary(verdicts: Sequence[AnyVerdict], place: str = "the files") -> str:
    """How many workloads found a place, in one sentence."""
    if not verdicts:
        return f"There is no workload in {place}, so there is nothing to place."
    counts = Counter(verdict.status for verdict in verdicts)
    parts = [f"{counts[each]} {wording.status(each)}" for each in Status if counts[each]]
    return f"{wording.counted(len(verdicts), 'workload')}: {', '.join(parts)}."


def picture(
    reading: Reading, verdicts: Sequence[AnyVerdict], every: Sequence[AnyVerdict], place: str
) -> svg.Picture:
    """The cluster with what the plan puts where; what was in use before, or is not asked for, is grey."""
    placements = [
        (verdict.workload.request, verdict.outcome)
        for verdict in every
        if isinstance(verdict.outcome, Placed)
    ]
    uses = occupancy.uses_by_node(reading.cluster.holdings, placements)
    topology = _shown(reading, verdicts)
    told = summary(verdicts, place)
    return svg.Picture(
        title=told,
        description=" ".join([told, *(f"{entry.text}." for entry in _entries(verdicts))]),
        root=occupancy.tree(reading.cluster, topology, uses),
        resources=occupancy.resources_that_matter(reading.cluster),
        legend=list(_entries(verdicts)),
        levels=topology.labels if topology is not None else (),
    )


def _shown(reading: Reading, verdicts: Sequence[AnyVerdict]) -> Topology | None:
    """The topology that most workloads speak of; a picture has room for one."""
    asked = Counter(verdict.topology.name for verdict in verdicts if verdict.topology is not None)
    by_use = sorted(reading.cluster.topologies, key=lambda each: (-asked[each.name], each.name))
    return by_use[0] if by_use else None


def _entries(verdicts: Sequence[AnyVerdict]) -> Iterator[svg.Entry]:
    for verdict in verdicts:
        text = "".join(word for word, _ in verdict_tree.heading(verdict))
        yield svg.Entry(verdict.workload.request.name if isinstance(verdict.outcome, Placed) else None, text)
