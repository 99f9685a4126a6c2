"""``closeknit topology``: the tree of domains, what each offers and what of it is in use."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Annotated

import typer

from closeknit.cli import display, loading, occupancy, options, svg, topology_check, topology_tree
from closeknit.cli.clusters import upper
from closeknit.cli.display import branch
from closeknit.cli.exits import ExitStatus, faulty, finish, refusing_invalid, tell
from closeknit.cli.loading import Given
from closeknit.cli.occupancy import Domain
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, OneOf
from closeknit.hub.sentences import cli as sentences
from closeknit.hub.topology import Topology
from closeknit.scheduler import outcome_json, wording
from closeknit.scheduler.outcome_json import Json

_COLORED = 24
"""Workloads that get a color of their own in a picture; eyes tell no more apart."""


def topology(
    files: options.Files = [],  # noqa: B006 (Typer copies it)
    *,
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
    name: options.TopologyName = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="How many levels to show. Left out: as deep as stays readable."
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Report nodes without labels, label values under several parents, and levels with one domain"
            " instead of the tree.",
        ),
    ] = False,
    output: Annotated[
        options.Picture, typer.Option("-o", "--output", help="text, json, or a picture as svg.")
    ] = options.Picture.TEXT,
    lenient: options.Lenient = False,
) -> None:
    """Show the tree of domains with capacity and use.

    Domains and nodes side by side that differ only in name share a line. With --context or --kubeconfig, they
    are those of that cluster.
    """
    with refusing_invalid():
        given = loading.given(files, context, kubeconfig)
        reading = loading.reading_of(given, lenient=lenient)
        tell(replace(reading, skipped=()))
        chosen = topologies_named(reading.cluster, name, given)
    uses = occupancy.uses_by_node(reading.cluster.holdings)
    trees = [(each, occupancy.tree(reading.cluster, each, uses)) for each in chosen]
    resources = occupancy.resources_that_matter(reading.cluster)
    match output:
        case options.Picture.JSON:
            told = [_json(each, root, depth, reading.cluster) for each, root in trees]
            sys.stdout.write(f"{outcome_json.text({'topologies': told})}\n")
        case options.Picture.SVG:
            sys.stdout.writelines(svg.drawn(_picture(*trees[0], resources)))
        case options.Picture.TEXT if check:
            display.show(_report(each, reading.cluster, given) for each in chosen)
        case options.Picture.TEXT:
            display.show(topology_tree.drawn(root, each, resources, depth) for each, root in trees)
    finish(ExitStatus.INVALID if faulty(reading) else ExitStatus.DONE)


def topologies_named(cluster: Cluster, name: str | None, given: Given) -> Sequence[Topology | None]:
    """The topology of this name, or all of them; raises ``InvalidError`` where there is none."""
    if name is None:
        # Without any, there is still the cluster to show.
        return tuple(sorted(cluster.topologies, key=attrgetter("name"))) or (None,)
    found = cluster.topology(name)
    if found is None:
        names = [each.name for each in cluster.topologies]
        remedy = OneOf.among(name, names)
        where, holders = (Verbatim("--topology"),), upper(given.holders)
        wrong = sentences.UNKNOWN_TOPOLOGY.at(where, holders=holders, topology=name, remedy=remedy)
        raise InvalidError([wrong])
    return [found]


def _report(chosen: Topology | None, cluster: Cluster, given: Given) -> display.Branch:
    if chosen is None:
        return branch(f"{upper(given.holders)} no topology, so there is nothing to check.")
    found = list(topology_check.findings(cluster, chosen))
    head = f"{wording.printable(chosen.name)}: " + (
        wording.counted(len(found), "remark") if found else "nothing to remark"
    )
    return branch((head, display.Tone.TITLE), below=(branch(finding.message) for finding in found))


def _json(chosen: Topology | None, root: Domain, depth: int | None, cluster: Cluster) -> Json:
    return {
        "name": chosen.name if chosen is not None else None,
        "levels": list(chosen.labels) if chosen is not None else [],
        "cluster": _domain(root, chosen.labels if chosen is not None else (), depth),
        "findings": outcome_json.plain(tuple(topology_check.findings(cluster, chosen))) if chosen else [],
    }


def _domain(domain: Domain, levels: Sequence[str], depth: int | None) -> Json:
    """A domain and, down to the depth, the domains and nodes inside it."""
    told: Json = {
        "domain": list(domain.path),
        "level": levels[len(domain.path) - 1] if domain.path else None,
        "nodes": domain.nodes,
        "capacity": {name: wording.quantity(name, units) for name, units in sorted(domain.capacity.items())},
        "used": {name: wording.quantity(name, units) for name, units in sorted(domain.used.items())},
    }
    if depth is None or depth > 0:
        inner = None if depth is None else depth - 1
        told["domains"] = [_domain(each, levels, inner) for each in domain.domains]
        told["hosts"] = [host.node.name for host in domain.hosts]
    return told


def _picture(chosen: Topology | None, root: Domain, resources: Sequence[str]) -> svg.Picture:
    name = chosen.name if chosen is not None else "no topology"
    title = f"{name}: {wording.counted(root.nodes, 'node')}"
    return svg.Picture(
        title=title,
        description=" ".join(
            [
                f"{title}.",
                *(f"{domain.name} has {wording.counted(domain.nodes, 'node')}." for domain in root.domains),
            ]
        ),
        root=root,
        resources=resources,
        legend=list(_largest_users(root)),
        levels=chosen.labels if chosen is not None else (),
    )


def _largest_users(root: Domain) -> Iterator[svg.Entry]:
    pods: Counter[str] = Counter()
    for host in root.all_hosts():
        for use in host.uses:
            pods[use.workload] += use.pods
    for workload, number in sorted(pods.items(), key=lambda each: (-each[1], each[0]))[:_COLORED]:
        yield svg.Entry(workload, f"{workload}: {wording.counted(number, 'pod')}")
