"""Gangs of which only a part has nodes: which they are, and how long they may stay so.

A crash, a rival or a lost node may leave a gang below its minimum. Its running part counts, and the rest
follows near it. Where that does not happen in time, the part is released, so that its room serves others.
"""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.hub.keys import Key
from closeknit.hub.request import Group
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.deadlines import Deadlines
from closeknit.scheduler.needs import satisfied


def running_pods_below_minimum(workload: Workload) -> tuple[str, ...]:
    """The names of the running pods in groups below their minimum; empty for a complete gang."""
    if not workload.running:
        return ()
    if not isinstance(workload, PlaceableWorkload):
        # Pods that must run with these do not exist, so all that run belong to a gang below its minimum.
        return tuple(pod.name for pod in workload.running) if workload.missing_pods else ()
    groups = {name for top in _partial(workload.request.root) for name in _names(top)}
    return tuple(pod.name for pod in workload.running if pod.group in groups)


def _partial(group: Group) -> Iterator[Group]:
    if not any(pods.bound for pods in group.pod_sets()):
        return
    if not satisfied(group):
        yield group
        return
    for member in group.members:
        if isinstance(member, Group):
            yield from _partial(member)


def _names(group: Group) -> set[str]:
    return {member.name for member, _ in group.walk() if isinstance(member, Group)}


class Patience:
    """Since when each unit has been partial, and when it is to be released."""

    def __init__(self) -> None:
        self.deadlines = Deadlines()
        self._hasty: set[Key] = set()

    def describe(self, now: float) -> tuple[object, ...]:
        """Who is partial and for how much longer, as a value that tells two moments apart."""
        return tuple(
            sorted((unit, until - now, unit in self._hasty) for unit, until in self.deadlines.items())
        )

    def look(self, unit: Key, workload: Workload | None, now: float) -> None:
        """Note what a unit is like now."""
        if workload is None or not running_pods_below_minimum(workload):
            self.deadlines.pop(unit, None)
            self._hasty.discard(unit)
        elif workload.grace_period is None:
            self.deadlines.pop(unit, None)
        else:
            self.deadlines.setdefault(unit, now + workload.grace_period)

    def hurry(self, unit: Key) -> None:
        """What is partial by our own doing, and never ran, is released as soon as it lacks room."""
        self._hasty.add(unit)

    def cannot_complete(self, unit: Key, now: float) -> None:
        """No room was found for the rest of a unit."""
        if unit in self._hasty and unit in self.deadlines:
            self.deadlines[unit] = now
