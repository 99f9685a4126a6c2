"""Pods of one leaf, any so many of which must run, in the hub's tree.

A pod set counts equal pods, and a group counts its members. Where pods differ in shape and not all of them
must run, one that asks for no more than any other may as well be among those that must: wherever the
other fits, it fits too. What is left after that are pods of which none is the easier one, such as pods
for different nodes. They are members by themselves, one pod each, and their group counts them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from closeknit.dialects.core.naming import pod_set_name
from closeknit.dialects.core.pods import ReadPod, Shape, Stage
from closeknit.hub.copying import replace
from closeknit.hub.neighbours import Neighbour
from closeknit.hub.request import Group, PodSet

FEW = 16
"""Where there is a choice among no more pods than this, all of them are members by themselves.

The tree is plainer that way: it has no groups that the manifest does not have.
"""
MOST_CHOICES = 64
"""How many pods of a leaf may be members by themselves; each makes the search longer."""


@dataclass(frozen=True, slots=True)
class ExpectedPod:
    """A pod that is still to be made."""

    name: str
    shape: Shape
    stage: Stage = Stage.OPEN
    node: str = ""


Candidate: TypeAlias = ReadPod | ExpectedPod
"""A pod of a leaf, whether it exists or is still to be made."""
_Piece: TypeAlias = tuple[list[Candidate], int]
"""Equal pods that make one pod set, and how many of them must run at once."""


@dataclass(frozen=True, slots=True)
class _Shares:
    """How the pods that wait are divided, by the number of their shape."""

    must: Mapping[int, int]
    """How many must run whatever is chosen."""
    choice: Mapping[int, int]
    """How many may be among those that must run, or may not."""
    needed: int
    """How many of the latter must run."""


def set_names(leaf: str, root: str) -> Iterator[str]:
    """Names for the pod sets of a leaf; never that of the root, which may be a number as well."""
    return (name for number in count(1) if (name := pod_set_name(leaf, number)) != root)


def equal_pods(leaf: str, root: str, least: int, shape: Shape, pods: Sequence[str]) -> Group:
    """A leaf whose pods, by name, are all alike and still to be placed."""
    return Group(leaf, (shape.pod_set(next(set_names(leaf, root)), waiting=pods, least=least),))


def pods_of_leaf(leaf: str, root: str, least: int, pods: Sequence[Candidate]) -> Group:
    """A leaf from its pods in order, of which ``least`` must run at once.

    Pods of one shape are interchangeable. Where more than ``MOST_CHOICES`` would be members by
    themselves, the first pods count as those that must run until few enough are left: never
    fewer than ``least`` run, but not every choice is tried. No name is that of the ``root``.
    """
    if not _alike(pods):
        pods = _as_those_that_wait(pods)
    if pods and _alike(pods):
        return Group(leaf, (_pod_set(next(set_names(leaf, root)), (list(pods), least)),))
    by_shape: dict[Shape, list[Candidate]] = {}
    for pod in pods:
        by_shape.setdefault(pod.shape, []).append(pod)
    numbers = {shape: number for number, shape in enumerate(by_shape)}
    running = [pod for pod in pods if pod.stage is Stage.RUNNING]
    waiting = [numbers[pod.shape] for pod in pods if pod.stage is not Stage.RUNNING]
    shares = _shares(waiting, list(by_shape), max(least - len(running), 0))
    counted = Counter(numbers[pod.shape] for pod in running[:least])
    together: list[_Piece] = []
    alone: list[_Piece] = []
    for shape, alike in by_shape.items():
        must, choice = shares.must.get(numbers[shape], 0), shares.choice.get(numbers[shape], 0)
        bound = [pod for pod in alike if pod.stage is Stage.RUNNING]
        still = [pod for pod in alike if pod.stage is not Stage.RUNNING]
        if rest := [*bound, *still[:must], *still[must + choice :]]:
            together.append((rest, counted[numbers[shape]] + must))
        alone += [([pod], 1) for pod in still[must : must + choice]]
    names = set_names(leaf, root)
    if alone and any(shares.must.values()):
        whole = tuple(_pod_set(next(names), piece) for piece in together)
        name = f"{leaf}/any-{shares.needed}-of-{len(alone)}"
        singles = tuple(_pod_set(next(names), piece) for piece in alone)
        any_of = Group(name if name != root else f"{name}-pods", singles, minimum=shares.needed)
        return Group(leaf, (*whole, any_of))
    places = {pod.name: place for place, pod in enumerate(pods)}
    pieces = sorted([*together, *alone], key=lambda piece: places[piece[0][0].name])
    # What needs no new pod is formed already, and counts.
    minimum = len(together) + shares.needed if alone else None
    return Group(leaf, tuple(_pod_set(next(names), piece) for piece in pieces), minimum=minimum)


def _alike(pods: Sequence[Candidate]) -> bool:
    """Whether all have one shape; nearly always so, and to compare shapes takes less than to hash them."""
    return all(pod.shape == pods[0].shape for pod in pods)


def _as_those_that_wait(pods: Sequence[Candidate]) -> list[Candidate]:
    """Pods that run count with those that ask the same, whatever labels they have: these are held already."""
    known: dict[Shape, Shape] = {}
    for pod in sorted(pods, key=lambda pod: pod.stage is Stage.RUNNING):
        known.setdefault(replace(pod.shape, neighbour=Neighbour()), pod.shape)
    return [
        replace(pod, shape=known[replace(pod.shape, neighbour=Neighbour())])
        if pod.stage is Stage.RUNNING
        else pod
        for pod in pods
    ]


def _pod_set(name: str, piece: _Piece) -> PodSet:
    pods, least = piece
    bound = [pod.node for pod in pods if pod.stage is Stage.RUNNING]
    waiting = [pod.name for pod in pods if pod.stage is not Stage.RUNNING]
    return pods[0].shape.pod_set(name, bound=bound, waiting=waiting, least=least)


def _shares(waiting: Sequence[int], shapes: Sequence[Shape], needed: int) -> _Shares:
    """Divide the pods that wait, of which so many must run."""
    left = Counter(waiting)
    useful = {number: min(pods, needed) for number, pods in left.items()}
    must: Counter[int] = Counter()
    easier, harder = _ranked(left, shapes)
    still = needed
    for number in easier:
        must[number] = min(left.pop(number), still)
        still -= must[number]
    for number in harder:
        # The others are taken first, so these must run as far as there are too few of the others.
        must[number] = _needed(left, number, still)
        still -= must[number]
        del left[number]
    rest = _divided([number for number in waiting if number in left], still)
    if rest.needed and sum(useful.values()) <= FEW:
        return _Shares({}, useful, needed)
    must.update(rest.must)
    return _Shares(must, rest.choice, rest.needed)


def _ranked(numbers: Iterable[int], shapes: Sequence[Shape]) -> tuple[list[int], list[int]]:
    """The shapes that fit wherever all others fit, easiest first; and the opposite, hardest first."""
    # What asks for less of something and for more of nothing comes first.
    left = sorted(
        numbers, key=lambda each: (sum(shapes[each].resources.values()), len(shapes[each].host_ports))
    )
    easier: list[int] = []
    harder: list[int] = []
    if len(left) > MOST_CHOICES:
        return easier, harder
    while left and all(_fits_wherever(shapes[left[0]], shapes[other]) for other in left[1:]):
        easier.append(left.pop(0))
    while left and all(_fits_wherever(shapes[other], shapes[left[-1]]) for other in left[:-1]):
        harder.append(left.pop())
    return easier, harder


def _fits_wherever(shape: Shape, other: Shape) -> bool:
    return (
        (shape.filter, shape.neighbour) == (other.filter, other.neighbour)
        and shape.host_ports <= other.host_ports
        and all(units <= other.resources.get(name, 0) for name, units in shape.resources.items())
    )


def _divided(waiting: Sequence[int], needed: int) -> _Shares:
    """Divide pods of which none is the easier one."""

    def few_enough(fixed: int) -> bool:
        choice = _choice(Counter(waiting[fixed:]), needed - fixed)
        return sum(choice.values()) <= MOST_CHOICES

    # The more pods are fixed, the fewer are left to choose from; with all that are needed, none.
    fixed = bisect_left(range(needed), x=True, key=few_enough)
    left, still = Counter(waiting[fixed:]), needed - fixed
    must = Counter(waiting[:fixed]) + Counter({number: _needed(left, number, still) for number in left})
    return _Shares(must, _choice(left, still), needed - must.total())


def _choice(waiting: Counter[int], needed: int) -> dict[int, int]:
    """Of each shape, how many may be among those needed or not: more than all that is needed never are."""
    return {number: min(pods, needed) - _needed(waiting, number, needed) for number, pods in waiting.items()}


def _needed(waiting: Counter[int], number: int, needed: int) -> int:
    """How many pods of a shape must run because there are too few others."""
    return max(needed - waiting.total() + waiting[number], 0)
