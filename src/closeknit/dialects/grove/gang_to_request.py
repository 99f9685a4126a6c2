"""A PodGang as a tree of the hub.

Its group configurations are groups around the pod groups that they list, and each pod group is a group
of its pods: those that it refers to, or as many as must run at once where it refers to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from closeknit.apis import scheduler_grove_io_v1alpha1 as wire
from closeknit.apis.grove_keys import POD_CLIQUE
from closeknit.apis.kai_keys import SUBGROUP_LABEL
from closeknit.dialects.core.assumed_pods import Assumed, pods_not_there
from closeknit.dialects.core.minimum_members import Candidate, ExpectedPod, pods_of_leaf
from closeknit.dialects.core.pods import ReadPod, Stage, rank
from closeknit.dialects.grove.constraints import Constraints
from closeknit.dialects.grove.gang_rules import GANG
from closeknit.dialects.grove.names import pod_name
from closeknit.hub.problems import OneOf, Problem
from closeknit.hub.request import Group, Request
from closeknit.hub.sentences import grove as sentences


def pods_by_group(
    given: wire.PodGang, pods: Sequence[ReadPod], strays: list[tuple[ReadPod, Problem]]
) -> dict[str, list[ReadPod]]:
    """The pods of each pod group; those that belong to none are added to ``strays``, with the reason.

    The pod group is the one that refers to the pod, or else that of the pod's own label.
    """
    referenced = {one.name: group.name for group in given.spec.podgroups for one in group.pod_references}
    names = tuple(group.name for group in given.spec.podgroups)
    found: dict[str, list[ReadPod]] = {}
    for pod in pods:
        labels = pod.stored.content.metadata.labels
        key = POD_CLIQUE if POD_CLIQUE in labels else SUBGROUP_LABEL
        name = referenced.get(pod.name) or labels.get(key, "")
        if name in names:
            found.setdefault(name, []).append(pod)
        elif pod.stage in (Stage.OPEN, Stage.RUNNING):
            strays.append((pod, _stray(given.metadata.name, key, name, names)))
    return found


def _stray(gang: str, key: str, name: str, names: tuple[str, ...]) -> Problem:
    if not name:
        return sentences.POD_GROUP_UNNAMED.at(("metadata", "labels", POD_CLIQUE), gang=gang)
    remedy = OneOf(name, names)
    return sentences.POD_OF_NO_GROUP.at(("metadata", "labels", key), gang=gang, name=name, remedy=remedy)


def gang_request(
    given: wire.PodGang,
    name: str,
    constraints: Constraints,
    pods: Mapping[str, Sequence[ReadPod]],
    *,
    not_there: Assumed | None,
) -> Request:
    """The request of a gang that is in order; all of it is placed at once.

    ``not_there`` holds what pods are assumed to ask for where a group has none; None assumes nothing.
    """
    topology, levels = constraints.topology, constraints.levels
    config_of = {
        each: config.name
        for config in given.spec.topology_constraint_group_configs
        for each in config.pod_group_names
    }
    members: dict[str, list[Group]] = {}
    for group in given.spec.podgroups:
        there = pods.get(group.name, ())
        candidates = _candidates(group, there, not_there)
        least = group.min_replicas - sum(pod.stage is Stage.SUCCEEDED for pod in there)
        least = min(max(least, 0), len(candidates))
        leaf = pods_of_leaf(group.name, name, least, candidates)
        made = levels[group.name].group(group.name, leaf.members, leaf.minimum)
        # A configuration stands where the first of its pod groups does.
        members.setdefault(config_of.get(group.name, group.name), []).append(made)
    outermost = [
        levels[one].group(one, inner) if inner[0].name in config_of else inner[0]
        for one, inner in members.items()
    ]
    return Request(name, levels[GANG].group(name, outermost), topology.name if topology else None)


def lacking(given: wire.PodGang, pods: Mapping[str, Sequence[ReadPod]]) -> Iterator[Problem]:
    """Which pod groups of a gang in a cluster have not as many pods as must run at once."""
    counted = (Stage.RUNNING, Stage.OPEN, Stage.SUCCEEDED)
    for i, group in enumerate(given.spec.podgroups):
        there = sum(pod.stage in counted for pod in pods.get(group.name, ()))
        if there < group.min_replicas:
            yield pods_not_there(("spec", "podgroups", i, "minReplicas"), group.min_replicas, there)


def _candidates(group: wire.PodGroup, pods: Sequence[ReadPod], assumed: Assumed | None) -> list[Candidate]:
    """All pods of a group, running ones first. One that is not there is like the others of its group."""
    there: list[Candidate] = [pod for pod in pods if pod.stage in (Stage.RUNNING, Stage.OPEN)]
    if assumed is not None:
        there.extend(_expected(group, pods, len(there), assumed))
    return sorted(there, key=lambda one: (one.stage is Stage.OPEN, rank(one.name)))


def _expected(
    group: wire.PodGroup, pods: Sequence[ReadPod], there: int, assumed: Assumed
) -> Iterator[ExpectedPod]:
    first = next((pod for pod in pods if pod.stage is Stage.OPEN), pods[0] if pods else None)
    like = first.shape if first is not None else assumed.of(group.name)
    known = {pod.name for pod in pods}
    names = [one.name for one in group.pod_references if one.name not in known]
    # Pods that failed or are leaving will be replaced, under names that nobody knows yet.
    done = sum(pod.stage is Stage.SUCCEEDED for pod in pods)
    lacking = max(group.min_replicas - there - len(names) - done, 0)
    taken = {*known, *names}
    unused = (pod_name(group.name, i) for i in range(lacking + len(taken)))
    names.extend(islice((name for name in unused if name not in taken), lacking))
    yield from (ExpectedPod(name, like) for name in names)
