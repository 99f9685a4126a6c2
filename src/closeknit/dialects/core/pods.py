"""Pods in the store: what each asks of a node, and how far it has come."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

import msgspec

from closeknit.apis import core_v1
from closeknit.dialects.core.neighbours import NeighbourReader
from closeknit.dialects.core.node_filters import node_filter
from closeknit.dialects.core.references import references
from closeknit.dialects.core.resources import pod_resources
from closeknit.dialects.store.objects import Stored
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.neighbours import Neighbour
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem, Range
from closeknit.hub.request import HostPort, PodSet, Reference
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import core as sentences

MOST_PODS = 150_000
"""How many pods one workload may have: as many as Kubernetes supports in a cluster."""

_DIGITS = re.compile(r"([0-9]+)")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 (nothing is bound here)


class Stage(Enum):
    """How far a pod has come."""

    OPEN = "open"
    """Waiting for a node. Gates that hold it back are taken to open in time."""
    RUNNING = "running"
    """It has a node, and is not finished."""
    LEAVING = "leaving"
    """It is being deleted: it still uses its node if it has one, but no quota, and its workload goes on."""
    SUCCEEDED = "succeeded"
    """It has done its work, and uses nothing any more."""
    FAILED = "failed"
    """It uses nothing any more; if it is to run again, another pod takes its place."""


class Shape(msgspec.Struct, frozen=True, gc=False):
    """What makes two pods interchangeable."""

    resources: Resources
    filter: NodeFilter = NodeFilter()
    host_ports: frozenset[HostPort] = frozenset()
    claims: tuple[Reference, ...] = ()
    neighbour: Neighbour = Neighbour()

    def asks_like(self, other: Shape) -> bool:
        """Whether two ask the same of a node, whatever other pods see of them."""
        return replace(self, neighbour=other.neighbour) == other

    def pod_set(
        self, name: str, *, bound: Sequence[str] = (), waiting: Sequence[str] = (), least: int | None = None
    ) -> PodSet:
        """Pods of this shape: the nodes of those that run, the names of the others, and how many must run."""
        count = len(bound) + len(waiting)
        return PodSet(
            name=name,
            count=count,
            resources=self.resources,
            minimum=None if least == count else least,
            filter=self.filter,
            host_ports=self.host_ports,
            bound=tuple(bound),
            pods=tuple(waiting),
            claims=self.claims,
            neighbour=self.neighbour,
        )


class ReadPod(msgspec.Struct, frozen=True, gc=False):
    """A pod as far as placing it is concerned."""

    stored: Stored[core_v1.Pod]
    shape: Shape
    stage: Stage
    node: str
    """Empty where it has none."""
    problems: tuple[Problem, ...]
    """What is wrong with it; its shape then means nothing."""
    lost: bool = False
    """Whether it has a node that is not in the store."""

    @property
    def name(self) -> str:
        """The pod's own name, without its namespace."""
        return self.stored.name

    def holding(self, workload: str) -> Holding:
        """What it uses of its node, on behalf of a workload; others see all of its labels."""
        labels = tuple(sorted(self.stored.content.metadata.labels.items()))
        seen = self.shape.neighbour
        if seen.labels != labels:
            seen = replace(seen, labels=labels)
        return Holding(workload, self.node, self.shape.resources, 1, self.shape.host_ports, seen)

    @property
    def holds(self) -> bool:
        """Whether it uses something of a node."""
        return bool(self.node) and self.stage in (Stage.RUNNING, Stage.LEAVING)


class ReadTemplate(msgspec.Struct, frozen=True, gc=False):
    """What each pod of a template asks for; ``problems`` are those of ``ReadPod``."""

    shape: Shape
    problems: tuple[Problem, ...]


def read_template(
    spec: core_v1.PodSpec,
    path: Path = (),
    *,
    namespace: str,
    labels: Mapping[str, str],
) -> ReadTemplate:
    """Read what a pod or a pod template asks for, with every problem; ``path`` is where that stands.

    ``namespace`` and ``labels`` are those that its pods have or will have.
    """
    bare = msgspec.structs.replace(spec, node_name="") if spec.node_name else spec
    read = _read_template(_encoded(bare), namespace, tuple(sorted(labels.items())))
    if not path or not read.problems:
        return read
    return ReadTemplate(read.shape, tuple(problem.under(*path) for problem in read.problems))


def template_problems(
    spec: core_v1.PodSpec, path: Path = (), *, namespace: str, labels: Mapping[str, str]
) -> tuple[Problem, ...]:
    """The problems that ``read_template`` finds. Most pods say nothing that can be wrong but quantities."""
    containers = (*spec.containers, *spec.init_containers)
    says_more = spec.tolerations or spec.topology_spread_constraints or spec.affinity != _ANYWHERE
    if says_more or any(each.ports for each in containers):
        return read_template(spec, path, namespace=namespace, labels=labels).problems
    found = _containers_missing(spec)
    pod_resources(spec, found)
    return tuple([problem.under(*path) for problem in found])


_ANYWHERE = core_v1.PodSpec(containers=()).affinity
_encoded = msgspec.json.Encoder().encode


@lru_cache(maxsize=4096)
def _read_template(written: bytes, namespace: str, labels: tuple[tuple[str, str], ...]) -> ReadTemplate:
    """Pods with equal specs and labels are read once, and have one shape that need not be compared."""
    spec, read = _read_spec(written)
    reader = NeighbourReader(spec, namespace, dict(labels))
    shape = _with_neighbour(read.shape, reader.read())
    return ReadTemplate(shape, (*read.problems, *reader.problems))


@lru_cache(maxsize=4096)
def _with_neighbour(shape: Shape, neighbour: Neighbour) -> Shape:
    """One shape for all pods that differ in nothing but labels that tell them apart."""
    return replace(shape, neighbour=neighbour)


@lru_cache(maxsize=4096)
def _read_spec(written: bytes) -> tuple[core_v1.PodSpec, ReadTemplate]:
    """What a spec says without the pods around it; pods with equal specs are read once."""
    spec = msgspec.json.decode(written, type=core_v1.PodSpec)
    found = _containers_missing(spec)
    shape = Shape(
        pod_resources(spec, found), node_filter(spec, found), _host_ports(spec, found), references(spec)
    )
    return spec, ReadTemplate(shape, tuple(found))


def _containers_missing(spec: core_v1.PodSpec) -> list[Problem]:
    return [] if spec.containers else [sentences.NO_CONTAINERS.at(("spec", "containers"))]


def read_pod(stored: Stored[core_v1.Pod]) -> ReadPod:
    """Read one pod, with every problem in it."""
    pod = stored.content
    read = read_template(_with_own_claims(pod), namespace=stored.namespace, labels=pod.metadata.labels)
    own = any(each.ephemeral is not None for each in pod.spec.volumes)
    return ReadPod(
        stored=stored,
        shape=replace(read.shape, claims=claims_of(pod)) if own else read.shape,
        stage=_stage(pod),
        node=pod.spec.node_name,
        problems=read.problems,
    )


def _with_own_claims(pod: core_v1.Pod) -> core_v1.PodSpec:
    """What a pod is made of, with the claims that were made for it instead of their templates."""
    made = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    if not made:
        return pod.spec
    claims = tuple(
        core_v1.PodResourceClaim(name=each.name, resource_claim_name=made[each.name])
        if made.get(each.name)
        else each
        for each in pod.spec.resource_claims
        # Where a status names no claim, none was needed.
        if made.get(each.name, "any")
    )
    return msgspec.structs.replace(pod.spec, resource_claims=claims)


def claims_of(pod: core_v1.Pod) -> tuple[Reference, ...]:
    """What a pod claims by name, for itself or with others; nothing, and at no cost, for most."""
    if not pod.spec.resource_claims and not pod.spec.volumes:
        return ()
    return references(_with_own_claims(pod), pod.metadata)


def pod_problems(pods: Iterable[ReadPod]) -> Iterator[Problem]:
    """What is wrong with pods whoever they belong to, reported for their workload."""
    for pod in pods:
        yield from (problem.of("Pod", pod.name) for problem in (*pod.stored.problems, *pod.problems))


Rank: TypeAlias = tuple[tuple[int | str, ...], str]


def by_rank(pod: ReadPod) -> Rank:
    """A key that sorts pods by name, with numbers counted: ``worker-2`` before ``worker-10``."""
    return rank(pod.name)


@lru_cache(maxsize=16384)
def rank(name: str) -> Rank:
    """The key by which a pod of this name is sorted."""
    text, *parts = _DIGITS.split(name)
    key: list[int | str] = [text]
    # Numbers and texts take turns. A longer number is greater, and equal lengths compare as text.
    for digits, text in zip(parts[::2], parts[1::2], strict=True):
        number = digits.lstrip("0")
        key += (len(number), number, text)
    return tuple(key), name


def _stage(pod: core_v1.Pod) -> Stage:
    if pod.status.phase == "Succeeded":
        return Stage.SUCCEEDED
    if pod.status.phase == "Failed":
        return Stage.FAILED
    if pod.metadata.deletion_timestamp:
        return Stage.LEAVING
    return Stage.RUNNING if pod.spec.node_name else Stage.OPEN


def _host_ports(spec: core_v1.PodSpec, found: list[Problem]) -> frozenset[HostPort]:
    """The ports of the node that the pod takes; init containers that end give theirs back."""
    lists = (("containers", spec.containers), ("initContainers", spec.init_containers))
    ports: set[HostPort] = set()
    for field, containers in lists:
        for i, container in enumerate(containers):
            for j, port in enumerate(container.ports):
                path = ("spec", field, i, "ports", j)
                if not 0 <= port.host_port <= 65535:
                    found.append(
                        sentences.OUT_OF_RANGE.at(
                            (*path, "hostPort"), value=port.host_port, allowed=Range(1, 65535)
                        )
                    )
                if port.protocol not in _PROTOCOLS:
                    remedy = OneOf(port.protocol, _PROTOCOLS)
                    wrong = sentences.UNKNOWN_CHOICE.at(
                        (*path, "protocol"), value=port.protocol, remedy=remedy
                    )
                    found.append(wrong)
                if port.host_port and (field == "containers" or container.restart_policy == "Always"):
                    # Kubernetes writes all addresses in two ways.
                    address = "" if port.host_ip == _ALL_ADDRESSES else port.host_ip
                    ports.add(HostPort(port.host_port, port.protocol, address))
    return frozenset(ports)
