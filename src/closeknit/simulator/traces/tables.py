"""Traces and sites as CSV, read row by row: own columns, Alibaba's openb lists, and lists of switches."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as File

from closeknit.hub.nodes import Node
from closeknit.hub.paths import Path, Verbatim
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import simulator as sentences
from closeknit.hub.topology import HOSTNAME, Level, Topology
from closeknit.simulator.scenario import Ask, Site, Submission
from closeknit.simulator.traces.fields import plain_number
from closeknit.simulator.traces.own import COLUMNS, MOST_PROBLEMS, checked, submission_of

PREFIX = "topology/"
GPU = "nvidia.com/gpu"
GPU_MILLI = "alibaba.com/gpu-milli"
"""Thousandths of a GPU: openb's pods may share one."""
MODEL = "alibaba.com/gpu-model"
_OPENB_PODS = {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time"}
_OPENB_NODES = {"sn", "cpu_milli", "memory_mib", "gpu", "model"}
_LONGEST_LABEL = 63


@dataclass
class _Rows:
    """A table that is open; ``problems`` grows while it is read."""

    name: str
    columns: list[str]
    rows: Iterator[tuple[int, dict[str, str]]]
    problems: list[Problem] = field(default_factory=list)

    def path(self, line: int, *steps: str) -> Path:
        return (Verbatim(f"{self.name}:line {line}:"), *steps)

    def number(self, line: int, row: Mapping[str, str], column: str, most: float = 1e15) -> float:
        found = plain_number(row[column])
        if found is None or not 0 <= found <= most:
            wrong = sentences.NOT_A_NUMBER.at(
                self.path(line, column), value=row[column], allowed="a number from 0 on"
            )
            self.problems.append(wrong)
            return 0.0
        return found


def read_table(file: File, read: Callable[[_Rows], tuple[object, ...]]) -> tuple[object, ...]:
    """What is read from a CSV file; raises ``InvalidError`` where it is none."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            rows = csv.reader(opened, strict=True)
            columns = [each.strip() for each in next(rows, [])]
            table = _Rows(str(file), columns, iter(()))
            table.rows = _rows(rows, table)
            return read(table)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise InvalidError([sentences.NOT_CSV.at((Verbatim(str(file)),), reason=reason)]) from error


def _rows(rows: Iterator[list[str]], table: _Rows) -> Iterator[tuple[int, dict[str, str]]]:
    for line, row in enumerate(rows, start=2):
        if len(table.problems) > MOST_PROBLEMS:
            return
        if not row:
            continue
        if len(row) != len(table.columns):
            wrong = sentences.SHORT_ROW.at(table.path(line), found=len(row), wanted=len(table.columns))
            table.problems.append(wrong)
            continue
        yield line, dict(zip(table.columns, map(str.strip, row), strict=True))


# ------------------------------------------------------------------------------------------- workloads


def read_workloads(
    file: File, site: Site, limit: int, *, cut: bool
) -> tuple[tuple[Submission, ...], list[Problem]]:
    """Workloads and notes. Rows beyond the limit are not read: they are cut off, or the trace is refused."""
    notes: list[Problem] = []

    def read(table: _Rows) -> tuple[Submission, ...]:
        if set(table.columns) >= _OPENB_PODS:
            found = _limited(_openb_pods(table, notes, site), limit, table, cut=cut)
        elif {"name", "at", "runs"} <= set(table.columns) <= set(COLUMNS):
            found = _limited(_own(table, site), limit, table, cut=cut)
        else:
            raise InvalidError([_unknown(table, f"own traces ({', '.join(COLUMNS)}) and openb's pod list")])
        return checked(found, table.problems, table.name)

    return read_table(file, read), notes  # type: ignore[return-value]


def _limited(found: Iterator[Submission], limit: int, table: _Rows, *, cut: bool) -> list[Submission]:
    taken: list[Submission] = []
    for each in found:
        if len(taken) == limit:
            if not cut:
                table.problems.append(sentences.TOO_MANY_WORKLOADS.at((Verbatim(table.name),), most=limit))
            break
        taken.append(each)
    return taken


def _unknown(table: _Rows, known: str) -> Problem:
    found = ", ".join(table.columns)[:200] or "missing"
    return sentences.UNKNOWN_COLUMNS.at((Verbatim(table.name),), found=found, known=known)


def _own(table: _Rows, site: Site) -> Iterator[Submission]:
    for line, row in table.rows:
        amounts = {
            name: row[column]
            for column, name in (("gpus", site.resource), ("cpu", "cpu"), ("memory", "memory"))
            if row.get(column)
        }
        written = {key: value for key, value in row.items() if key not in ("gpus", "cpu", "memory") and value}
        if amounts:
            written["resources"] = amounts  # type: ignore[assignment]
        made = submission_of(written, table.path(line), site, table.problems)
        if made is not None:
            yield made


def _openb_pods(table: _Rows, notes: list[Problem], site: Site) -> Iterator[Submission]:
    """Pods that were scheduled, each a gang of one that runs from then to its deletion."""
    never = 0
    for line, row in table.rows:
        before = len(table.problems)
        created = table.number(line, row, "creation_time", 1e10)
        deleted = table.number(line, row, "deletion_time", 1e10)
        if not row.get("scheduled_time", row["creation_time"]):
            never += 1
            continue
        started = table.number(line, row, "scheduled_time", 1e10) if "scheduled_time" in row else created
        if len(table.problems) == before and not created <= started <= deleted:
            end, start = (
                (row["deletion_time"], str(started)) if deleted < started else (str(started), str(created))
            )
            wrong = sentences.ENDS_BEFORE_START.at(table.path(line), end=end, start=start)
            table.problems.append(wrong)
        resources = _openb_amounts(table, line, row)
        whole = int(table.number(line, row, "num_gpu"))
        shared = int(table.number(line, row, "gpu_milli"))
        devices = {site.resource: shared if whole == 1 and 0 < shared < 1000 else whole * 1000}
        models = tuple(filter(None, row.get("gpu_spec", "").split("|")))
        if len(table.problems) == before:
            ask = Ask(1, resources + Resources(devices), selector=((MODEL, models),) if models else ())
            yield Submission(row["name"], created, deleted - started, ask)
    if never:
        notes.append(sentences.NEVER_RAN.at((Verbatim(table.name),), count=never))


def _openb_amounts(table: _Rows, line: int, row: Mapping[str, str]) -> Resources:
    cpu = int(table.number(line, row, "cpu_milli", 1e9)) * 10**6
    return Resources({"cpu": cpu, "memory": int(table.number(line, row, "memory_mib", 1e9)) * 2**20})


# --------------------------------------------------------------------------------------------- sites


def read_site(file: File, *, gpus: int, rack_size: int, block_size: int) -> Site:
    """A site from openb's list of nodes, or from a list of hosts with the switches above each."""

    def read(table: _Rows) -> tuple[Site]:
        if set(table.columns) >= _OPENB_NODES:
            return (_openb_site(table, rack_size, block_size),)
        if len(table.columns) > 1:
            return (_switches(table, gpus),)
        known = "openb's list of nodes, and a list of hosts with the switches above each, coarsest first"
        raise InvalidError([_unknown(table, known)])

    return read_table(file, read)[0]  # type: ignore[return-value]


def _openb_site(table: _Rows, rack_size: int, block_size: int) -> Site:
    nodes = []
    for line, row in table.rows:
        gpus = int(table.number(line, row, "gpu", 1e6)) * 1000
        offered = _openb_amounts(table, line, row) + Resources({GPU_MILLI: gpus, "pods": 110})
        nodes.append(Node(name=row["sn"], labels={MODEL: row["model"]}, allocatable=offered))
    _require_nodes(table, [node.name for node in nodes])
    made_up = f"{rack_size} nodes in the order of the list make a rack, and {block_size} racks a block"
    about = f"{File(table.name).name}; it tells no racks, so {made_up}"
    return in_racks(nodes, rack_size, block_size, GPU_MILLI, scale=1000, about=about)


def in_racks(
    nodes: list[Node], rack_size: int, block_size: int, resource: str, *, scale: int = 1, about: str = ""
) -> Site:
    """Nodes that tell no racks, put into racks and blocks in their order."""
    levels = (Level(f"{PREFIX}block", "block"), Level(f"{PREFIX}rack", "rack"), Level(HOSTNAME, "host"))
    placed = [
        Node(
            name=node.name,
            labels={
                **node.labels,
                levels[0].label: f"block-{number // (rack_size * block_size):04}",
                levels[1].label: f"rack-{number // rack_size:05}",
                HOSTNAME: node.name,
            },
            allocatable=node.allocatable,
            taints=node.taints,
            ready=node.ready,
            unschedulable=node.unschedulable,
        )
        for number, node in enumerate(nodes)
    ]
    return Site.of(Topology("site", levels), placed, resource, scale=scale, about=about)


def _switches(table: _Rows, gpus: int) -> Site:
    host, *switches = table.columns
    levels = [Level(f"{PREFIX}{_label(name)}", name) for name in switches]
    nodes = []
    for line, row in table.rows:
        labels = {}
        for level, name in zip(levels, switches, strict=True):
            if not row[name]:
                table.problems.append(
                    sentences.MISSING_FIELD.at(table.path(line, name), example="the switch")
                )
            labels[level.label] = row[name][:_LONGEST_LABEL]
        # A label has 63 letters, and hosts may be known by longer hashes.
        name = row[host].lower()[: _LONGEST_LABEL if len(row[host]) <= _LONGEST_LABEL else 16]
        labels[HOSTNAME] = name
        offered = Resources({GPU: gpus, "pods": 110})
        nodes.append(Node(name=name, labels=labels, allocatable=offered))
    _require_nodes(table, [node.name for node in nodes])
    topology = Topology("site", (*levels, Level(HOSTNAME, "host")))
    about = f"{File(table.name).name}, {gpus} GPUs a host"
    return Site.of(topology, nodes, GPU, about=about)


def _label(column: str) -> str:
    return (
        "".join(each if each.isalnum() or each in "-_." else "-" for each in column).strip("-_.") or "level"
    )


def _require_nodes(table: _Rows, names: list[str]) -> None:
    for name in {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else ():
        table.problems.append(sentences.NODE_TWICE.at((Verbatim(table.name),), name=name))
    if not names and not table.problems:
        table.problems.append(sentences.NO_NODES.at((Verbatim(table.name),)))
    if table.problems:
        raise InvalidError(table.problems[:MOST_PROBLEMS])
