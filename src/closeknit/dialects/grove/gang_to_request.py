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
from closeknit.dialects.core.levels import Levels
from closeknit.dialects.core.minimum_members import Candidate, Crew, ExpectedPod, crew
from closeknit.dialects.core.pods import ReadPod, Stage, rank
from closeknit.dialects.grove.gang_rules import GANG
from closeknit.dialects.grove.names import pod_name
from closeknit.hub.problems import OneOf, Problem
from closeknit.hub.request import Group, Member, Request
from closeknit.hub.sentences import grove as sentences


def pods_by_group(
    given: wire.PodGang, pods: Sequence[ReadPod], strays: list[tuple[ReadPod, Problem]]
) -> dict[str, list[ReadPod]]:
    """The pods of each pod group; those that belong to none are added to ``strays``, with the reason.

    A reference tells the pod group, or else the pod's own label.
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
    topology: str | None,
    levels: Mapping[str, Levels],
    pods: Mapping[str, Sequence[ReadPod]],
    *,
    not_there: Assumed | None,
) -> Request:
    """The request of a gang that is in order; all of it is placed at once.

    ``not_there`` says what pods ask for of whose group none is there; None, that pods which are not there are
    none of it.
    """
    within_config = {
        each: config
        for config in given.spec.topology_constraint_group_configs
        for each in config.pod_group_names
    }
    members: dict[str, list[Member]] = {}
    outermost: list[str | Member] = []
    for group in given.spec.podgroups:
        own = levels[group.name]
        filled = _crew(group, name, pods.get(group.name, ()), not_there)
        made = Group(group.name, filled.members, own.required, own.preferred, filled.minimum)
        config = within_config.get(group.name)
        if config is None:
            outermost.append(made)
            continue
        if config.name not in members:
            outermost.append(config.name)
        members.setdefault(config.name, []).append(made)
    whole = tuple(
        Group(one, tuple(members[one]), levels[one].required, levels[one].preferred)
        if isinstance(one, str)
        else one
        for one in outermost
    )
    return Request(name, Group(name, whole, levels[GANG].required, levels[GANG].preferred), topology)


def lacking(given: wire.PodGang, pods: Mapping[str, Sequence[ReadPod]]) -> Iterator[Problem]:
    """Which pod groups of a gang in a cluster have not as many pods as must run at once."""
    counted = (Stage.RUNNING, Stage.OPEN, Stage.SUCCEEDED)
    for i, group in enumerate(given.spec.podgroups):
        there = sum(pod.stage in counted for pod in pods.get(group.name, ()))
        if there < group.min_replicas:
            yield pods_not_there(("spec", "podgroups", i, "minReplicas"), group.min_replicas, there)


def _crew(group: wire.PodGroup, root: str, pods: Sequence[ReadPod], assumed: Assumed | None) -> Crew:
    """The pods of a group, any ``minReplicas`` of which must run at once."""
    there = _members(group, pods, assumed)
    least = group.min_replicas - sum(pod.stage is Stage.SUCCEEDED for pod in pods)
    return crew(group.name, root, min(max(least, 0), len(there)), there)


def _members(group: wire.PodGroup, pods: Sequence[ReadPod], assumed: Assumed | None) -> list[Candidate]:
    """All pods of a group, running ones first. One that is not there is like the others of its group."""
    there: list[Candidate] = [pod for pod in pods if pod.stage in (Stage.RUNNING, Stage.OPEN)]
    if assumed is not None:
        there.extend(_expected(group, pods, len(there), assumed))
    return sorted(there, key=lambda one: (one.stage is Stage.OPEN, rank(one.name)))


def _expected(
    group: wire.PodGroup, pods: Sequence[ReadPod], there: int, assumed: Assumed
) -> Iterator[ExpectedPod]:
    like = pods[0].shape if pods else assumed.of(group.name)
    known = {pod.name for pod in pods}
    names = [one.name for one in group.pod_references if one.name not in known]
    # Pods that failed or are leaving will be replaced, under names that nobody knows yet.
    done = sum(pod.stage is Stage.SUCCEEDED for pod in pods)
    lacking = max(group.min_replicas - there - len(names) - done, 0)
    taken = {*known, *names}
    unused = (pod_name(group.name, i) for i in range(lacking + len(taken)))
    names.extend(islice((name for name in unused if name not in taken), lacking))
    yield from (ExpectedPod(name, like) for name in names)
