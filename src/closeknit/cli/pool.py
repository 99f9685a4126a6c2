"""``closeknit pool``: OSMO's pools, and the topology keys that a workflow may name in each."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from closeknit import dialects
from closeknit.cli import loading, options
from closeknit.cli.clusters import upper
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid, remark_live
from closeknit.cli.tables import aligned
from closeknit.dialects.osmo.status import PoolOnNodes
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, OneOf
from closeknit.hub.sentences import cli as sentences
from closeknit.scheduler import outcome_json
from closeknit.scheduler.wording import printable


def pool(
    names: Annotated[
        list[str], typer.Argument(metavar="[POOL]...", help="Only these. Left out: all.", show_default=False)
    ] = [],  # noqa: B006 (Typer copies it)
    *,
    files: options.Files = [],  # noqa: B006
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
    output: Annotated[options.Text, typer.Option("-o", "--output", help="text or json.")] = options.Text.TEXT,
    lenient: options.Lenient = False,
) -> None:
    """List OSMO's pools with the topology keys that workflows may name, coarsest first.

    Beside each key stand its node label and how many of the pool's nodes lack it: no task that requires the
    key runs on those. With --context or --kubeconfig, pools and nodes are those of that cluster.
    """
    with refusing_invalid():
        given = loading.given(files, context, kubeconfig)
        found = dialects.pools(given.sources, lenient=lenient)
        chosen = _chosen(found.pools, names, upper(given.holders))
    problems = [each for each in found.problems if not each.live]
    complain(problems)
    remark_live([each for each in found.problems if each.live])
    if output is options.Text.JSON:
        sys.stdout.write(f"{outcome_json.text({'pools': [_entry(each) for each in chosen]})}\n")
    elif chosen:
        rows = [("POOL", "QUEUE", "KEY", "LABEL", "NODES WITHOUT"), *_rows(chosen)]
        sys.stdout.writelines(aligned(rows))
    elif not problems:
        sys.stdout.write(f"{upper(given.holders)} no pool.\n")
    finish(ExitStatus.INVALID if problems else ExitStatus.DONE)


def _chosen(found: Sequence[PoolOnNodes], names: Sequence[str], holders: str) -> list[PoolOnNodes]:
    by_name = {each.pool.name: each for each in found}
    unknown = [
        sentences.UNKNOWN_POOL.at(
            (Verbatim("POOL"),), holders=holders, pool=name, remedy=OneOf.among(name, by_name)
        )
        for name in names
        if name not in by_name
    ]
    if unknown:
        raise InvalidError(unknown)
    return [by_name[name] for name in names] if names else list(found)


def _rows(found: Sequence[PoolOnNodes]) -> Iterator[tuple[str, ...]]:
    """A line for each key; the name of a pool stands in its first."""
    for each in found:
        head = (printable(each.pool.name), each.pool.queue)
        if not each.keys:
            yield (*head, "-", "-", "-")
        for key in each.keys:
            lacking = f"{len(key.lacking)} of {each.nodes}"
            yield (*head, printable(key.key), printable(key.label), lacking)
            head = ("", "")


def _entry(each: PoolOnNodes) -> outcome_json.Json:
    return {
        "name": each.pool.name,
        "backend": each.pool.file.backend,
        "queue": each.pool.queue,
        "topology": each.pool.topology.name if each.pool.topology is not None else None,
        "nodes": each.nodes,
        "topologyKeys": [
            {"key": key.key, "label": key.label, "nodesWithout": list(key.lacking)} for key in each.keys
        ],
    }
