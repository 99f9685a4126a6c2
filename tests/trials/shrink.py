"""Makes a failing instance small: takes away what is not needed for it to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.request import Group, PodSet, Request, problems

Instance: TypeAlias = tuple[Cluster, Request]


def shrunk(instance: Instance, fails: Callable[[Instance], bool]) -> Instance:
    """The instance after every step of ``smaller`` that leaves it failing."""
    pending = smaller(instance)
    while (candidate := next(pending, None)) is not None:
        if fails(candidate):
            instance = candidate
            pending = smaller(instance)
    return instance


def smaller(instance: Instance) -> Iterator[Instance]:
    """Valid instances that are a little simpler, the largest steps first."""
    cluster, request = instance
    candidates = (
        *((_without_node(cluster, node.name), _unbound(request, node.name)) for node in cluster.nodes),
        *((cluster, replace(request, root=root)) for root in _simpler_groups(request.root)),
        *((each, request) for each in _simpler_clusters(cluster, request)),
    )
    for simpler, asked in candidates:
        topology = None if asked.topology is None else simpler.topology(asked.topology)
        if not problems(asked, topology) and _accounted(simpler, asked):
            yield simpler, asked


def _accounted(cluster: Cluster, request: Request) -> bool:
    """Whether running pods and the holdings that stand for them agree in number."""
    running = sum(len(pods.bound) for pods in request.root.pod_sets())
    return running == sum(each.pods for each in cluster.holdings if each.workload == request.name)


def _without_node(cluster: Cluster, name: str) -> Cluster:
    return replace(
        cluster,
        nodes=tuple(node for node in cluster.nodes if node.name != name),
        holdings=tuple(holding for holding in cluster.holdings if holding.node != name),
    )


def _unbound(request: Request, node: str) -> Request:
    """The request without its running pods on a node."""

    def unbound(pods: PodSet) -> PodSet:
        bound = tuple(each for each in pods.bound if each != node)
        return _resized(pods, pods.count - len(pods.bound) + len(bound), bound)

    return replace(request, root=request.root.mapped(unbound))


def _resized(pods: PodSet, count: int, bound: tuple[str, ...]) -> PodSet:
    minimum = None if pods.minimum is None else min(pods.minimum, count)
    return replace(pods, count=count, bound=bound, minimum=minimum, pods=pods.pods[: count - len(bound)])


def _simpler_groups(group: Group) -> Iterator[Group]:
    for i, member in enumerate(group.members):
        before, after = group.members[:i], group.members[i + 1 :]
        fewer = (*before, *after)
        least = None if group.minimum is None else min(group.minimum, len(fewer))
        yield replace(group, members=fewer, minimum=least)
        if isinstance(member, Group):
            if len(member.members) == 1:
                yield replace(group, members=(*before, *member.members, *after))
            yield from (replace(group, members=(*before, inner, *after)) for inner in _simpler_groups(member))
        else:
            yield from (replace(group, members=(*before, pods, *after)) for pods in _simpler_pods(member))
    if group.required is not None:
        yield replace(group, required=None)
    if group.preferred is not None:
        yield replace(group, preferred=None)
    if group.minimum is not None:
        yield replace(group, minimum=None)


def _simpler_pods(pods: PodSet) -> Iterator[PodSet]:
    if pods.open:
        yield _resized(pods, pods.count - 1, pods.bound)
    if pods.minimum is not None:
        yield replace(pods, minimum=None)
    if pods.filter != NodeFilter():
        yield replace(pods, filter=NodeFilter())
    if pods.host_ports:
        yield replace(pods, host_ports=frozenset())
    if pods.pods:
        yield replace(pods, pods=())


def _simpler_clusters(cluster: Cluster, request: Request) -> Iterator[Cluster]:
    for i, holding in enumerate(cluster.holdings):
        if holding.workload != request.name:
            yield replace(cluster, holdings=(*cluster.holdings[:i], *cluster.holdings[i + 1 :]))
    for i, node in enumerate(cluster.nodes):
        if node.taints or node.unschedulable or not node.ready:
            plain = replace(node, taints=(), unschedulable=False, ready=True)
            yield replace(cluster, nodes=(*cluster.nodes[:i], plain, *cluster.nodes[i + 1 :]))
    for topology in cluster.topologies:
        if topology.name != request.topology:
            yield replace(cluster, topologies=tuple(each for each in cluster.topologies if each != topology))
