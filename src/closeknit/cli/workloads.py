"""``closeknit get workloads``: what all families ask for, in one table, and how far each has come."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING

from closeknit.cli.live import read_cluster
from closeknit.cli.loading import working
from closeknit.cli.tables import aligned, cell
from closeknit.hub.nearest import nearest
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, shown
from closeknit.hub.sentences import cli as sentences
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.wording import printable

if TYPE_CHECKING:
    from closeknit.cli.clusters import AskedCluster
    from closeknit.dialects import Kind
    from closeknit.server.documents import WorkloadRow
    from closeknit.server.live_map import LiveMap

WORKLOADS = "workloads"
"""The word for all of them; Kueue's own are ``workloads.kueue.x-k8s.io``."""

_HEADER = ("KIND", "NAME", "QUEUE", "PRIORITY", "STATE", "PODS", "WHERE")
_GATHER = 0.2
"""Seconds that changes are gathered before they are shown."""
_BAR = 8


async def show(
    cluster: AskedCluster,
    *,
    namespace: str,
    name: str,
    everywhere: bool,
    watch: bool,
    schedulers: frozenset[str],
) -> None:
    """Print the workloads of a namespace, or of all of them, and with ``watch`` every change until Ctrl-C."""
    from closeknit.dialects import DIALECTS
    from closeknit.live.following import kinds_read
    from closeknit.scheduler.cluster_state import ClusterState
    from closeknit.server.live_map import SHOWN_FAMILIES, LiveMap

    live = LiveMap(ClusterState(SHOWN_FAMILIES, schedulers), time=time.time)
    table = _Table(live, namespace="" if everywhere else namespace, name=name, bars=sys.stdout.isatty())
    kinds = kinds_read(DIALECTS)
    if watch:
        # Where the cluster cannot be reached, that is said; later, it is asked again.
        await cluster.api.version()
        await _follow(cluster, kinds, live, table)
    else:
        await _read(cluster, kinds, live)
        table.require_there(cluster.name)
        table.print_changes()


async def _read(cluster: AskedCluster, kinds: Sequence[Kind], live: LiveMap) -> None:
    from closeknit.live.entries import key_of

    with working("Reading the cluster", big=True, steps=0) as progress:
        found = await read_cluster(cluster, progress, kinds)
    sys.stderr.writelines(f"note: {printable(note)}\n" for note in found.unread)
    by_version = {(kind.group, kind.kind, version): kind for kind in kinds for version in kind.versions}
    for obj in found.served.objects:
        group, _, version = obj["apiVersion"].rpartition("/")
        kind, metadata = by_version[group, obj["kind"], version], obj["metadata"]
        key = key_of(kind, metadata.get("namespace", ""), metadata["name"])
        live.state.heard(kind, obj["apiVersion"], key, obj)
    live.refresh()


async def _follow(cluster: AskedCluster, kinds: Sequence[Kind], live: LiveMap, table: _Table) -> None:
    from closeknit.kube.clock import SYSTEM_CLOCK
    from closeknit.live.following import Following

    changed = asyncio.Event()
    # The dice spread calls in time, and guard nothing.
    following = Following(cluster.api, kinds, clock=SYSTEM_CLOCK, random=Random())  # noqa: S311
    with following.listening(live.state, kinds, changed.set) as listening:

        async def printed() -> None:
            await listening.synced()
            while True:
                changed.clear()
                live.refresh()
                table.print_changes()
                await changed.wait()
                await asyncio.sleep(_GATHER)

        await asyncio.gather(following.run(), printed())


class _Table:
    """Prints rows that are new or different since they were last printed."""

    def __init__(self, live: LiveMap, *, namespace: str, name: str, bars: bool) -> None:
        self._live, self._namespace, self._name, self._bars = live, namespace, name, bars
        self._printed: dict[int, list[str]] = {}
        self._widths: list[int] = []

    def _rows(self) -> list[WorkloadRow]:
        return [
            row
            for row in self._live.rows()
            if not row.foreign and self._namespace in ("", row.namespace) and self._name in ("", row.name)
        ]

    def require_there(self, cluster: str) -> None:
        """Refuse a name that no workload has."""
        rows = self._rows()
        if rows or not self._name:
            if not rows:
                where = f" in namespace {self._namespace}" if self._namespace else ""
                sys.stderr.write(printable(f"There are no workloads{where}.") + "\n")
            return
        names = [row.name for row in self._live.rows() if not row.foreign]
        near = nearest(self._name, names)
        remedy = (
            f" Did you mean {shown(near)}?" if near is not None else " closeknit get workloads -A lists them."
        )
        place_of = f"namespace {self._namespace}" if self._namespace else cluster
        raise InvalidError(
            [
                sentences.NO_SUCH_OBJECT.at(
                    (Verbatim("NAME"),), kind="workload", name=self._name, place=place_of, remedy=remedy
                )
            ]
        )

    def print_changes(self) -> None:
        """Print what is not as it was printed last; a workload that has gone is told once."""
        queue = {self._live.row(unit).id: number for number, unit in enumerate(self._live.waiting(), start=1)}
        rows = self._rows()
        cells = {row.id: self._cells(row, queue) for row in rows}
        new = [each for number, each in cells.items() if self._printed.get(number) != each]
        gone = [each for number, each in self._printed.items() if number not in cells]
        ended = [[*each[:-3], "gone", "", ""] for each in gone]
        header = [] if self._printed or not rows else [self._header()]
        texts = [*header, *new, *ended]
        self._printed = cells
        if texts:
            least = self._widths or [0] * len(texts[0])
            columns = zip(*texts, strict=True)
            self._widths = [
                max(width, *map(len, column)) for width, column in zip(least, columns, strict=True)
            ]
            sys.stdout.writelines(aligned(texts, self._widths))
            sys.stdout.flush()

    def _header(self) -> list[str]:
        return [*([] if self._namespace else ["NAMESPACE"]), *_HEADER]

    def _cells(self, row: WorkloadRow, queue: dict[int, int]) -> list[str]:
        unit = self._live.unit(row.kind, row.namespace, row.name)
        words = (
            *(() if self._namespace else (row.namespace,)),
            row.kind,
            row.name,
            row.queue,
            row.priority,
            row.state,
            self._pods(row),
            self._where(row, unit, queue),
        )
        return [cell(each) for each in words]

    def _pods(self, row: WorkloadRow) -> str:
        whole = row.pods + row.open
        told = f"{row.pods}/{whole}"
        if not self._bars or not whole:
            return told
        filled = row.pods * _BAR // whole
        return f"{'█' * filled}{'░' * (_BAR - filled)} {told}"

    def _where(self, row: WorkloadRow, unit: Workload | None, queue: dict[int, int]) -> str:
        """The finest domain that all its pods share, what is wrong with it, or its turn."""
        if unit is None:
            return ""
        if not isinstance(unit, PlaceableWorkload):
            return next((str(problem) for problem in unit.problems), "")
        domain = "/".join(self._shared(unit))
        waits = f"number {queue[row.id]} of {len(queue)} in the queue" if row.id in queue else ""
        return "; ".join(filter(None, (domain, waits)))

    def _shared(self, unit: PlaceableWorkload) -> Iterator[str]:
        state = self._live.state
        topology = state.topologies.topology_of(unit.request)
        used = sorted(set(self._live.nodes_of(unit).values()))
        found = [state.nodes[node] for node in used if node in state.nodes]
        if topology is None or not found:
            yield from (node.name for node in found[:1] if len(found) == 1)
            return
        for values in zip(*(topology.path(node.labels) for node in found), strict=False):
            if len(set(values)) > 1:
                return
            yield values[0]
