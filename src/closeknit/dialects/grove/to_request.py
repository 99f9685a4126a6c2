"""A PodCliqueSet as a tree of the hub.

Each replica of the set is a group that carries the set's constraint. Base gang and
scaled gangs lie below it, so the constraint holds for all of them together; in Grove it holds
within each gang only. What a replica cannot do without are its own cliques and the
first ``minAvailable`` replicas of each scaling group. The others lie in a branch of
which nothing is needed, each of them whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from closeknit.apis.grove_keys import PART_OF, POD_CLIQUE
from closeknit.dialects.core.naming import pod_set_name, workload_name
from closeknit.dialects.core.pods import ReadPod, Stage, by_rank
from closeknit.dialects.grove.blueprint import Blueprint, Clique
from closeknit.dialects.grove.names import (
    clique_name,
    pod_name,
    replica_name,
    scaled_name,
    scaling_group_name,
)
from closeknit.hub.copying import replace
from closeknit.hub.request import Group, Request


def to_request(made: Blueprint, pods: Sequence[ReadPod] = ()) -> Request:
    """The request of a PodCliqueSet. Replicas stand for themselves, so one of them is enough to begin with.

    ``pods`` are those that exist already; they count by the clique that their label names.
    """
    by_clique: dict[str, list[ReadPod]] = {}
    for pod in pods:
        labels = pod.stored.content.metadata.labels
        by_clique.setdefault(labels.get(POD_CLIQUE, ""), []).append(pod)
    replicas = tuple(_replica(made, index, by_clique) for index in range(made.replicas))
    name = workload_name(made.namespace, made.name)
    root = Group(name, replicas, minimum=1 if made.replicas > 1 else None)
    return Request(name, root, made.topology)


def _replica(made: Blueprint, index: int, pods: Mapping[str, list[ReadPod]]) -> Group:
    name = replica_name(made.name, index)
    members = [_clique(clique, name, made.name, pods) for clique in made.cliques]
    beyond: list[Group] = []
    for group in made.groups:
        whole = scaling_group_name(made.name, index, group.name)
        for number in range(group.replicas):
            own = scaled_name(whole, number)
            scaled = group.levels.group(
                own, [_clique(clique, own, made.name, pods) for clique in group.cliques]
            )
            (members if number < group.least else beyond).append(scaled)
    if beyond:
        members.append(Group(f"{name}/scaled", tuple(beyond), minimum=0))
    return made.levels.group(name, members)


def _clique(clique: Clique, within: str, part_of: str, pods: Mapping[str, list[ReadPod]]) -> Group:
    name = clique_name(within, clique.name)
    present = pods.get(name, ())
    running = [pod for pod in present if pod.stage is Stage.RUNNING]
    count = max(clique.replicas, len(running))
    waiting = sorted((pod for pod in present if pod.stage is Stage.OPEN), key=by_rank)
    names = [pod.name for pod in waiting][: count - len(running)]
    taken = {pod.name for pod in present}
    unused = (pod_name(name, i) for i in range(count + len(taken)) if pod_name(name, i) not in taken)
    names.extend(next(unused) for _ in range(count - len(running) - len(names)))
    bound = sorted(pod.node for pod in running)
    # Other pods know those of a clique by the labels that are added to them.
    neighbour = clique.shape.neighbour
    labels = tuple(sorted({**dict(neighbour.labels), POD_CLIQUE: name, PART_OF: part_of}.items()))
    shape = replace(clique.shape, neighbour=replace(neighbour, labels=labels))
    pod_set = shape.pod_set(pod_set_name(name, 1), bound=bound, waiting=names, least=clique.least)
    return clique.levels.group(name, [pod_set])
