"""From files to hub: what ``read`` returns, and how it gets there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from closeknit.apis import core_v1, scheduling_k8s_io_v1
from closeknit.dialects import core_kinds
from closeknit.dialects.dialect import Dialect, Surroundings
from closeknit.dialects.documents import Document, parse
from closeknit.dialects.manifests import Broken, Catalogue, Manifest, Manifests
from closeknit.dialects.naming import lone_holder
from closeknit.dialects.nodes import hub_node
from closeknit.dialects.places import Located, Skipped, Source
from closeknit.dialects.pods import ReadPod, read_pod
from closeknit.dialects.queueing import priorities, queue_order
from closeknit.hub import request as hub_request
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.nodes import Node
from closeknit.hub.problems import Problem, shown, suggestion
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology
from closeknit.hub.workload import Workload


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that was found in a bag of documents."""

    cluster: Cluster
    """Topologies, nodes, and what bound and unfinished pods hold."""
    workloads: tuple[Workload, ...]
    """In queue order: priority, then creation time, then name. An invalid one has no request."""
    problems: tuple[Located, ...]
    """All problems of all documents, each once, in the order of the documents."""
    skipped: tuple[Skipped, ...] = ()
    """Documents of kinds that nobody here reads."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a bag of documents holds, before anything is made of it beyond workloads."""

    manifests: Manifests
    surroundings: Surroundings
    nodes: Mapping[str, Node]
    pods: Sequence[tuple[str, ReadPod]]
    workloads: Sequence[Workload]
    problems: Sequence[Located]
    skipped: Sequence[Skipped]


def read_with(dialects: Sequence[Dialect], sources: Sequence[Source], *, lenient: bool) -> Reading:
    """Read sources in these dialects; the promises are those of ``closeknit.dialects.read``."""
    found = gather(dialects, sources, lenient=lenient)
    topologies = found.surroundings.topologies
    return Reading(
        cluster=Cluster(
            topologies=tuple(topologies[name] for name in sorted(topologies)),
            nodes=tuple(found.nodes[name] for name in sorted(found.nodes)),
            holdings=_holdings(found.pods),
        ),
        workloads=tuple(sorted(found.workloads, key=queue_order)),
        problems=in_order(found.problems, sources),
        skipped=tuple(found.skipped),
    )


def in_order(problems: Iterable[Located], sources: Sequence[Source]) -> tuple[Located, ...]:
    """Problems in the order of the documents they were found in."""
    places = {source.name: i for i, source in reversed(list(enumerate(sources)))}
    return tuple(sorted(problems, key=lambda found: (places[found.source], found.document)))


def gather(dialects: Sequence[Dialect], sources: Sequence[Source], *, lenient: bool) -> Gathered:
    """Recognise all documents and read the workloads among them."""
    passed_over: dict[str, frozenset[str]] = dict(core_kinds.PASSED_OVER)
    for dialect in dialects:
        for group, names in dialect.passed_over.items():
            passed_over[group] = passed_over.get(group, frozenset()) | names
    kinds = [*core_kinds.KINDS, *(kind for dialect in dialects for kind in dialect.kinds)]
    problems: list[Located] = []
    skipped: list[Skipped] = []
    kept: list[Manifest[Any] | Broken] = []
    catalogue = Catalogue(kinds, passed_over)
    for result in catalogue.manifests(_documents(sources, problems), lenient=lenient):
        match result:
            case Located():
                problems.append(result)
            case Skipped():
                skipped.append(result)
            case Manifest() | Broken():
                kept.append(result)
    manifests = Manifests(kept)
    nodes = _nodes(manifests, problems)
    topologies: dict[str, Topology] = {}
    for dialect in dialects:
        for topology in dialect.topologies(manifests):
            if isinstance(topology, Located):
                problems.append(topology)
            else:
                topologies[topology.name] = topology
    pods = _pods(manifests, nodes, dialects, problems, lenient=lenient)
    surroundings = Surroundings(
        topologies=topologies,
        pods=_by_workload(pods),
        priorities=priorities(manifests.of(scheduling_k8s_io_v1.PriorityClass)),
        lenient=lenient,
    )
    workloads: list[Workload] = []
    for dialect in dialects:
        for found in dialect.workloads(manifests, surroundings):
            if isinstance(found, Located):
                problems.append(found)
            else:
                workloads.append(_sound(found, topologies))
    return Gathered(manifests, surroundings, nodes, pods, workloads, problems, skipped)


def _documents(sources: Iterable[Source], problems: list[Located]) -> Iterator[Document]:
    for source in sources:
        for result in parse(source):
            if isinstance(result, Located):
                problems.append(result)
            else:
                yield result


def _nodes(manifests: Manifests, problems: list[Located]) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    for manifest in manifests.of(core_v1.Node):
        found: list[Problem] = []
        node = hub_node(manifest.content, found)
        problems.extend(manifest.located(problem) for problem in found)
        nodes[node.name] = node
    return nodes


def _pods(
    manifests: Manifests,
    nodes: Mapping[str, Node],
    dialects: Sequence[Dialect],
    problems: list[Located],
    *,
    lenient: bool,
) -> list[tuple[str, ReadPod]]:
    """All pods with the name of their workload; without those whose node has gone."""
    pods: list[tuple[str, ReadPod]] = []
    named = {node.name for node in manifests.named(core_v1.Node)}
    for manifest in manifests.of(core_v1.Pod):
        pod = read_pod(manifest)
        problems.extend(manifest.located(problem) for problem in pod.problems)
        if pod.holds and pod.node not in nodes:
            if not lenient and pod.node not in named:
                message = f"There is no node {shown(pod.node)}. {suggestion(pod.node, nodes)}"
                problems.append(manifest.located(Problem("spec.nodeName", message)))
        else:
            pods.append((_workload_of(manifest, dialects), pod))
    return pods


def _workload_of(manifest: Manifest[core_v1.Pod], dialects: Sequence[Dialect]) -> str:
    """Who holds what a pod uses: the workload that claims it, else its controller, else the pod itself."""
    for dialect in dialects:
        if (name := dialect.workload_of(manifest.content, manifest.namespace)) is not None:
            return name
    for owner in manifest.content.metadata.owner_references:
        if owner.controller:
            return lone_holder(owner.kind, manifest.namespace, owner.name)
    return lone_holder("Pod", manifest.namespace, manifest.name)


def _by_workload(pods: Iterable[tuple[str, ReadPod]]) -> dict[str, tuple[ReadPod, ...]]:
    found: dict[str, list[ReadPod]] = {}
    for workload, pod in pods:
        found.setdefault(workload, []).append(pod)
    return {workload: tuple(members) for workload, members in found.items()}


def _holdings(pods: Iterable[tuple[str, ReadPod]]) -> tuple[Holding, ...]:
    """What pods hold, equal ones of one workload on one node together; in a stable order."""
    counts: dict[tuple[str, str, Resources, frozenset[HostPort]], int] = {}
    for workload, pod in pods:
        if pod.holds and not pod.problems:
            key = (workload, pod.node, pod.shape.resources, pod.shape.host_ports)
            counts[key] = counts.get(key, 0) + 1
    holdings = (
        Holding(workload=workload, node=node, resources=resources, pods=count, host_ports=ports)
        for (workload, node, resources, ports), count in counts.items()
    )
    return tuple(
        sorted(
            holdings,
            key=lambda held: (
                held.workload,
                held.node,
                tuple(held.resources.items()),
                sorted(held.host_ports),
            ),
        )
    )


def _sound(workload: Workload, topologies: Mapping[str, Topology]) -> Workload:
    """A workload whose request the hub accepts; dialects see to that, and here it is made sure."""
    if workload.request is None:
        return workload
    name = workload.request.topology
    problems = hub_request.problems(workload.request, topologies.get(name) if name is not None else None)
    return replace(workload, request=None, problems=problems) if problems else workload
