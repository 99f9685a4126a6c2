"""Which pods belong to which leaf of a PodGroup, and what the leaf consists of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec

from closeknit.apis.kai_keys import SUBGROUP_LABEL, TASK_PRIORITY
from closeknit.dialects.core.assumed_pods import Assumed, MissingPods, pods_missing
from closeknit.dialects.core.minimum_members import Candidate, ExpectedPod, equal_pods, pods_of_leaf
from closeknit.dialects.core.pods import MOST_PODS, ReadPod, Shape, Stage, pod_problems, rank
from closeknit.dialects.kai.implicit_groups import ImplicitGroup, Leaf, leaf_by_labels
from closeknit.dialects.kai.rules import share_problems
from closeknit.dialects.kai.subgroups import Tree
from closeknit.dialects.store.objects import Reported
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem
from closeknit.hub.request import Group
from closeknit.hub.sentences import kai as sentences

DEFAULT = "default"
"""What KAI calls the pods of a PodGroup that has no subgroups."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_LABEL = ("metadata", "labels", SUBGROUP_LABEL)


class Members(msgspec.Struct, frozen=True, gc=False):
    """The pods of a PodGroup that exist."""

    by_leaf: Mapping[str, Sequence[ReadPod]]
    """The empty name stands for a PodGroup without subgroups."""
    problems: tuple[Problem, ...] = ()
    """Problems of pods, reported for their PodGroup."""
    reported: tuple[Reported, ...] = ()
    """Of these, problems of pods as members, reported for the pods themselves."""


def members(pods: Iterable[ReadPod], group: str, tree: Tree) -> Members:
    """The pods of each leaf; one that fits none is a problem."""
    by_leaf: dict[str, list[ReadPod]] = {}
    wrong: list[tuple[ReadPod, Problem]] = []
    for pod in pods:
        leaf = pod.stored.content.metadata.labels.get(SUBGROUP_LABEL, "")
        if not tree.subgroups and leaf == DEFAULT:
            leaf = ""
        misfits = tuple(_subgroup_problems(leaf, group, tree))
        if not misfits:
            by_leaf.setdefault(leaf, []).append(pod)
        elif pod.stage in (Stage.OPEN, Stage.RUNNING):
            wrong.extend((pod, problem) for problem in misfits)
        if pod.stage is Stage.OPEN:
            wrong.extend(
                (pod, problem) for problem in share_problems(pod.stored.content.metadata.annotations)
            )
    of_members = (problem.of("Pod", pod.name) for pod, problem in wrong)
    reported = tuple(pod.stored.report(problem) for pod, problem in wrong)
    return Members(by_leaf, (*pod_problems(pods), *of_members), reported)


def members_of_implicit(pods: Sequence[ReadPod], made: ImplicitGroup) -> Members:
    """The pods of each leaf that an owner's controller has made already."""
    if not pods:
        return Members({}, ())
    by_leaf: dict[str, list[ReadPod]] = {leaf.name: [] for leaf in made.leaves()}
    leaf_of = leaf_by_labels(made.leaves())
    own: list[ReadPod] = []
    for pod in pods:
        labels = pod.stored.content.metadata.labels
        named = labels.get(SUBGROUP_LABEL)
        leaf = named if named in by_leaf else leaf_of(labels)
        if leaf is not None:
            by_leaf[leaf].append(pod)
            own.append(pod)
    return Members(by_leaf, tuple(pod_problems(own)))


def _subgroup_problems(leaf: str, group: str, tree: Tree) -> Iterator[Problem]:
    if leaf and not tree.subgroups:
        yield sentences.POD_GROUP_WITHOUT_SUBGROUPS.at(_LABEL, subgroup=leaf, group=group)
    elif tree.subgroups and not leaf:
        yield sentences.POD_WITHOUT_SUBGROUP.at(_LABEL, group=group, allowed=OneOf.among("", tree.leaves()))
    elif leaf and leaf not in tree.subgroups:
        allowed = OneOf.among(leaf, tree.leaves())
        yield sentences.NO_SUCH_SUBGROUP.at(_LABEL, subgroup=leaf, group=group, allowed=allowed)
    elif leaf and tree.children[leaf]:
        allowed = OneOf.among(leaf, tree.leaves(leaf))
        yield sentences.POD_OF_A_PARENT.at(_LABEL, subgroup=leaf, allowed=allowed)


def too_many_assumed(leaves: Mapping[str, int], tree: Tree) -> Iterator[Problem]:
    """So many pods that they are not assumed."""
    if sum(leaves.values()) > MOST_PODS:
        totals = zip(leaves, accumulate(leaves.values()), strict=True)
        leaf = next(leaf for leaf, total in totals if total > MOST_PODS)
        yield sentences.TOO_MANY_ASSUMED.at(tree.path(leaf, "minMember"), most=MOST_PODS)


def leaf_pods(
    group: str,
    leaves: Mapping[str, int],
    present: Members,
    assumed: Assumed | None,
    expected: Mapping[str, Sequence[ExpectedPod]],
    *,
    tree: Tree,
    lacking: Callable[[Path, int, int], Problem],
    found: list[Problem],
    missing: list[MissingPods],
) -> dict[str, Group]:
    """Every leaf of a PodGroup, from its pods or, where it has none, assumed.

    ``leaves`` gives how many pods of each must run at once; ``expected`` are pods that others will make. A
    leaf that lacks pods is left out of the answer, and ``found`` gets what ``lacking`` makes of its field,
    minimum and pods; so does ``missing``, with the number.
    """
    made: dict[str, Group] = {}
    without: dict[str, int] = {}
    for leaf, minimum in leaves.items():
        if assumed is not None and leaf not in present.by_leaf and leaf not in expected:
            without[leaf] = minimum
            continue
        there: list[Candidate] = [*present.by_leaf.get(leaf, ()), *expected.get(leaf, ())]
        given = _leaf(group, leaf, minimum, there, shrinks=assumed is not None)
        if isinstance(given, Group):
            made[leaf] = given
        else:
            problem = lacking(tree.path(leaf, "minMember"), minimum, minimum - given)
            missing.append(MissingPods(given, problem))
            found.append(problem)
    if assumed is None:
        return made
    if too_many := list(too_many_assumed(without, tree)):
        found.extend(too_many)
        return made
    own = group.rpartition("/")[2]
    for leaf, minimum in without.items():
        stem = f"{own}-{leaf}" if leaf else own
        names = [f"{stem}-{i}" for i in range(minimum)]
        made[leaf] = equal_pods(leaf or DEFAULT, group, minimum, assumed.of(leaf or DEFAULT), names)
    return made


def leaf_pods_of_implicit(
    group: str,
    made: ImplicitGroup,
    present: Members,
    shape_of: Callable[[Leaf], Shape],
    found: list[Problem],
    *,
    missing: list[MissingPods],
    live: bool,
    judging: bool = False,
) -> dict[str, Group]:
    """Every leaf of an implicit PodGroup; one that has too few pods is a problem of the owner.

    Where ``judging``, leaves that can have no problem are left out.

    ``shape_of`` tells what each pod of a leaf asks for. In a ``live`` cluster, those that must
    run have to exist, or else ``found`` and ``missing`` get those that do not; the others that are still to
    come count, so that there will be room for them.
    """
    leaves = {"": Group(DEFAULT, ())}
    for leaf in made.leaves():
        there = present.by_leaf.get(leaf.name, ())
        if judging and not live and not there and leaf.minimum <= len(leaf.pods):
            continue
        shape = shape_of(leaf)
        if live:
            given = _leaf(group, leaf.name, leaf.minimum, there, shrinks=False)
            alike = all(pod.shape.asks_like(shape) for pod in there)
            # Those to come will get the labels that their controller has put on the others.
            expected = list(_missing(leaf, there[0].shape if there else shape, there)) if alike else []
            if isinstance(given, Group) and expected:
                given = _leaf(group, leaf.name, leaf.minimum, [*there, *expected], shrinks=False)
            if isinstance(given, Group):
                leaves[leaf.name] = given
            else:
                leaves.pop(leaf.name, None)
                problem = pods_missing(leaf.minimum_path, leaf.minimum, leaf.minimum - given)
                missing.append(MissingPods(given, problem))
                found.append(problem)
            continue
        if not there and leaf.minimum <= len(leaf.pods):
            leaves[leaf.name] = equal_pods(leaf.name or DEFAULT, group, leaf.minimum, shape, leaf.pods)
            continue
        given = _leaf(group, leaf.name, leaf.minimum, [*there, *_missing(leaf, shape, there)])
        if isinstance(given, Group):
            leaves[leaf.name] = given
        else:
            facts = {"minimum": leaf.minimum, "made": leaf.minimum - given, "missing": given}
            found.append(sentences.OWNER_MAKES_TOO_FEW.at(leaf.minimum_path, **facts))
    return leaves


def _missing(leaf: Leaf, shape: Shape, present: Sequence[ReadPod]) -> Iterator[ExpectedPod]:
    """The pods that are still to be made, beside those that exist."""
    missing = len(leaf.pods) - sum(pod.stage not in (Stage.FAILED, Stage.LEAVING) for pod in present)
    taken = {pod.name for pod in present}
    unused = (name for name in leaf.pods if name not in taken)
    for _ in range(missing):
        yield ExpectedPod(next(unused, leaf.pods[-1]), shape)


def _leaf(
    group: str, leaf: str, minimum: int, pods: Sequence[Candidate], *, shrinks: bool = True
) -> Group | int:
    """A leaf of these pods, any ``minimum`` of which must run at once; or how many pods it lacks.

    Pods that succeeded have had their turn, so they count towards the minimum; so do
    those that run. Where nothing is left to place, a gang that has shrunk is no matter of placement, if it
    ``shrinks``. Pods that are only expected come last, so that those that exist get their nodes first.
    """
    present = sorted(
        (pod for pod in pods if pod.stage in (Stage.RUNNING, Stage.OPEN)),
        key=lambda pod: (
            pod.stage is Stage.OPEN,
            not shrinks and isinstance(pod, ExpectedPod),
            _task_order(pod),
            rank(pod.name),
        ),
    )
    least = max(minimum - sum(pod.stage is Stage.SUCCEEDED for pod in pods), 0)
    if shrinks and all(pod.stage is Stage.RUNNING for pod in present):
        least = min(least, len(present))
    if least > len(present):
        return least - len(present)
    return pods_of_leaf(leaf or DEFAULT, group, least, present)


def _task_order(pod: Candidate) -> tuple[int, int]:
    """A key that sorts pods by their task priority, largest first, and those that have none last."""
    label = _task_priority(pod)
    if label is None:
        return 2, 0
    return (0, -int(label)) if _WHOLE.fullmatch(label) else (1, 0)


def _task_priority(pod: Candidate) -> str | None:
    return pod.stored.content.metadata.labels.get(TASK_PRIORITY) if isinstance(pod, ReadPod) else None


def task_priority_problems(present: Members) -> Iterator[Problem]:
    """What is wrong with the task priorities of pods."""
    for pod in (pod for pods in present.by_leaf.values() for pod in pods):
        label = _task_priority(pod)
        if label is not None and not _WHOLE.fullmatch(label):
            path = ("metadata", "labels", TASK_PRIORITY)
            yield sentences.NOT_A_TASK_PRIORITY.at(path, value=label).of("Pod", pod.name)
