"""From files to hub: what ``read`` returns, and how it gets there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from closeknit.apis import core_v1, scheduling_k8s_io_v1
from closeknit.dialects import core_kinds
from closeknit.dialects.catalogue import Catalogue
from closeknit.dialects.claims import Claim, Claims, by_claim
from closeknit.dialects.claims import seen_by as pods_seen_by
from closeknit.dialects.dialect import Dialect, Surroundings
from closeknit.dialects.manifests import Broken, Manifest, Manifests
from closeknit.dialects.nodes import hub_node
from closeknit.dialects.places import Located, Skipped, Source
from closeknit.dialects.pods import ReadPod, read_pod
from closeknit.dialects.queueing import priorities, queue_order
from closeknit.dialects.telling_apart import Topologies, Workloads
from closeknit.dialects.text.documents import Document, parse
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
    """As they are for everybody: of things of one name, those of the first dialect."""
    seen_by: Mapping[str, Surroundings]
    """As each dialect sees them."""
    topologies: Topologies
    nodes: Mapping[str, Node]
    pods: Sequence[tuple[Claim, ReadPod]]
    workloads: Sequence[Workload]
    """Under the names that they have in their own dialect."""
    problems: Sequence[Located]
    skipped: Sequence[Skipped]


def read_with(dialects: Sequence[Dialect], sources: Sequence[Source], *, lenient: bool) -> Reading:
    """Read sources in these dialects; the promises are those of ``closeknit.dialects.read``."""
    found = gather(dialects, sources, lenient=lenient)
    workloads = Workloads(dialects, found.topologies, found.workloads)
    held = ((workloads.holder(claim), pod) for claim, pod in found.pods)
    return Reading(
        cluster=Cluster(
            topologies=found.topologies.everything(),
            nodes=tuple(found.nodes[name] for name in sorted(found.nodes)),
            holdings=(*_holdings(held), *_reserved(dialects, found, workloads)),
        ),
        workloads=tuple(sorted(workloads.everything(), key=queue_order)),
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
    topologies = Topologies(dialects, _topologies(dialects, manifests, problems))
    claims = Claims(dialects, manifests)
    pods = _pods(manifests, nodes, claims, problems, lenient=lenient)
    claimed = by_claim(pods)
    surroundings = Surroundings(
        topologies=topologies.seen_by(dialects[0].name),
        pods=_by_holder(pods),
        priorities=priorities(manifests.of(scheduling_k8s_io_v1.PriorityClass)),
        lenient=lenient,
    )
    seen_by = {
        dialect.name: replace(
            surroundings,
            topologies=topologies.seen_by(dialect.name),
            pods=pods_seen_by(dialect.claimed_by or dialect.name, claimed),
            names=claims.known(dialect.name),
        )
        for dialect in dialects
    }
    workloads: list[Workload] = []
    for dialect in dialects:
        view = seen_by[dialect.name]
        for found in dialect.workloads(manifests, view):
            if isinstance(found, Located):
                problems.append(found)
            else:
                workloads.append(_sound(found, view.topologies))
    return Gathered(manifests, surroundings, seen_by, topologies, nodes, pods, workloads, problems, skipped)


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


def _topologies(
    dialects: Sequence[Dialect], manifests: Manifests, problems: list[Located]
) -> dict[str, dict[str, Topology]]:
    """The topologies that each dialect describes, by name."""
    found: dict[str, dict[str, Topology]] = {dialect.name: {} for dialect in dialects}
    for dialect in dialects:
        for topology in dialect.topologies(manifests):
            if isinstance(topology, Located):
                problems.append(topology)
            else:
                found[dialect.name][topology.name] = topology
    return found


def _pods(
    manifests: Manifests,
    nodes: Mapping[str, Node],
    claims: Claims,
    problems: list[Located],
    *,
    lenient: bool,
) -> list[tuple[Claim, ReadPod]]:
    """All pods with whose they are; without those whose node has gone."""
    pods: list[tuple[Claim, ReadPod]] = []
    named = {node.name for node in manifests.named(core_v1.Node)}
    for manifest in manifests.of(core_v1.Pod):
        pod = read_pod(manifest)
        problems.extend(manifest.located(problem) for problem in pod.problems)
        if pod.holds and pod.node not in nodes:
            if not lenient and pod.node not in named:
                message = f"There is no node {shown(pod.node)}. {suggestion(pod.node, nodes)}"
                problems.append(manifest.located(Problem("spec.nodeName", message)))
        else:
            pods.append((claims.of(manifest), pod))
    return pods


def _by_holder(pods: Iterable[tuple[Claim, ReadPod]]) -> dict[str, tuple[ReadPod, ...]]:
    found: dict[str, list[ReadPod]] = {}
    for claim, pod in pods:
        found.setdefault(claim.holder, []).append(pod)
    return {holder: tuple(members) for holder, members in found.items()}


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


def _reserved(dialects: Sequence[Dialect], found: Gathered, workloads: Workloads) -> Iterator[Holding]:
    """What is held for pods that are not there yet."""
    for dialect in dialects:
        if dialect.holdings is not None:
            for held in dialect.holdings(found.manifests, found.seen_by[dialect.name]):
                yield replace(held, workload=workloads.holder(Claim(dialect.name, held.workload)))


def _sound(workload: Workload, topologies: Mapping[str, Topology]) -> Workload:
    """A workload whose request the hub accepts; dialects see to that, and here it is made sure."""
    if workload.request is None:
        return workload
    name = workload.request.topology
    problems = hub_request.problems(workload.request, topologies.get(name) if name is not None else None)
    return replace(workload, request=None, problems=problems) if problems else workload
