"""Fewer pods that a user could ask for instead, tried on the whole request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from closeknit.engine.compiled_request import CompiledRequest, Goal
from closeknit.engine.explanation import variants
from closeknit.engine.explanation.blame import Culprit
from closeknit.engine.explanation.trials import Trials
from closeknit.engine.score import Spread, new_pods
from closeknit.hub.copying import replace
from closeknit.hub.outcome import CountChange, Relaxation
from closeknit.hub.request import Group, PodSet

Counts: TypeAlias = dict[str, int]
"""By pod set: count and minimum."""

_ONE_BY_ONE = 2
"""Pod sets of several that are alike whose counts may change each in its own way."""


class FewerPods:
    """Looks for the most pods of a request that can be placed."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials

    def relaxation(self, root: Group, culprits: Sequence[Culprit]) -> Relaxation | None:
        """Fewer pods with which the whole request can be placed; None where none were found."""
        cores = [culprit.core for culprit in culprits]
        blamed = {pods.name for core in cores for pods in core.pod_sets() if variants.wanted(pods)}
        every = {pods.name for pods in root.pod_sets()}
        for allowed in (blamed, every):
            loose = self._trials.compiled(variants.loosened(root, allowed, 1), Goal.WISHES)
            for spread in self._trials.most(loose):
                counts = self._tried(root, _evened(root, _fewer(root, loose, spread)))
                if counts:
                    return Relaxation(tuple(CountChange(name, counts[name]) for name in sorted(counts)))
        return None

    def _tried(self, root: Group, counts: Counts) -> Counts:
        """Counts that can be placed, as large as possible; empty where that cannot be shown."""
        if not counts:
            return counts
        # Filling costs less than a search where much fits, so it goes ahead as far as it gets.
        filled = self._raised(root, counts, self._trials.fills)
        for found in (filled, counts):
            if self._trials.placeable(variants.recounted(root, found)):
                return self._raised(root, found, self._trials.placeable)
        return {}

    def _raised(self, root: Group, counts: Counts, works: Callable[[Group], bool | None]) -> Counts:
        """The same counts, each as large as the others allow; what need not change at all is dropped.

        Pod sets that are alike and have come down to the same count go up together.
        """
        pods_of = {pods.name: pods for pods in root.pod_sets()}
        dials: dict[object, list[str]] = {}
        for name in sorted(counts):
            dials.setdefault((_likeness(pods_of[name]), counts[name]), []).append(name)
        for names in dials.values():
            least = pods_of[names[0]].least
            # With everything back at its minimum, the request is known not to be placeable.
            low, high = counts[names[0]], least - (len(names) == len(counts))
            probe = low + 1
            while low < high:
                if works(variants.recounted(root, {**counts, **dict.fromkeys(names, probe)})):
                    low = probe
                else:
                    high = probe - 1
                probe = (low + high + 1) // 2
            raised = {**counts, **dict.fromkeys(names, low)}
            counts = {name: to for name, to in raised.items() if to < pods_of[name].least}
        return counts


def _fewer(root: Group, loose: CompiledRequest, spread: Spread) -> Counts:
    """Pod sets that get some, but not all, of the pods that must run. Sets left out whole need no change."""
    pods_of = {pods.name: pods for pods in root.pod_sets()}
    counts: Counts = {}
    for pod_set in loose.pod_sets:
        pods = pods_of[pod_set.name]
        running = len(pods.bound) + new_pods(spread, pod_set)
        if 0 < running < pods.least:
            counts[pod_set.name] = running
    return counts


def _evened(root: Group, counts: Counts) -> Counts:
    """One count for all pod sets that are alike, where many or all of them change, as for replicas."""
    alike: dict[PodSet, list[str]] = {}
    for pods in root.pod_sets():
        alike.setdefault(_likeness(pods), []).append(pods.name)
    evened = dict(counts)
    for names in alike.values():
        changed = [counts[name] for name in names if name in counts]
        if len(changed) > _ONE_BY_ONE or (changed and len(changed) == len(names)):
            evened.update(dict.fromkeys(names, min(changed)))
    return evened


def _likeness(pods: PodSet) -> PodSet:
    """A pod set but for its name; one with running pods is like no other."""
    return pods if pods.bound else replace(pods, name="", pods=())
