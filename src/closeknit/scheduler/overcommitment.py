"""Nodes that hold more than they offer because two instances bound pods to them: the later binding is
evicted.

A lease cannot exclude that entirely (``docs/explanation/leadership.md``): a binding that was under way for
too long is carried out after a successor has decided about the same capacity.

| state of a node | event | next |
|---|---|---|
| fits | a pod comes for which there is no room | overbound |
| fits | it offers less, or a pod on it grows | exceeded |
| fits | at the first look of a term, it holds too much already | exceeded |
| exceeded | a pod comes, and it holds more than after the last change of another sort | overbound |
| overbound | every binding to it has its answer | its later pods are evicted; overbound until they are gone |
| overbound | an eviction is refused | overbound; requested again after a wait that grows |
| exceeded, overbound | it holds no more than it offers | fits |

An exceeded node shows nothing that a binding has caused, so no pod is evicted for it. Times are seconds of
the caller's clock. Pure: what is to be evicted is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

import msgspec

from closeknit.dialects.core.priority import seconds_since_epoch
from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.resources import Resources
from closeknit.scheduler.cluster_state import ClusterState

_FIRST_RETRY, _LONGEST_RETRY = 10.0, 600.0


class LaterBinding(msgspec.Struct, frozen=True, gc=False):
    """A pod for which its node has no room beside the pods that were bound before it."""

    pod: Key
    uid: str
    node: str
    unit: Key
    """What it is evicted as a part of; the pod itself if it belongs to no unit."""


@dataclass(slots=True)
class _Node:
    limit: Resources
    """What it may hold without a pod being evicted."""
    is_overbound: bool
    attempts: int = 0
    not_before: float = -inf


class Overcommitment:
    """All nodes that hold more than they offer."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._nodes: dict[str, _Node] = {}
        self._looked_at = -inf
        self._begun = False

    def __len__(self) -> int:
        """How many nodes hold more than they offer."""
        return len(self._nodes)

    def next_time(self) -> float | None:
        """When an eviction is requested again though nothing changes."""
        times = (node.not_before for node in self._nodes.values() if node.not_before > self._looked_at)
        return min(times, default=None)

    def look(self, now: float, is_busy: Callable[[Key], bool]) -> list[LaterBinding]:
        """Take in what happened to nodes since the last look; the bindings that are to be evicted now.

        ``is_busy``: whether something is under way for a unit, of which no pod is evicted then.
        """
        self._looked_at = now
        news = self._state.take_node_news()
        if self._begun:
            for name in sorted(news.joined | news.altered | (news.left & self._nodes.keys())):
                self._check(name, joined=name in news.joined, altered=name in news.altered)
        else:
            self._begun = True
            for name in self._state.engine.overcommitted_nodes():
                self._check(name, joined=False, altered=True)
        overbound = [name for name, node in self._nodes.items() if node.is_overbound]
        return [later for name in overbound for later in self._later_bindings(name, now, is_busy)]

    def _check(self, name: str, *, joined: bool, altered: bool) -> None:
        if not self._state.engine.is_overcommitted(name):
            self._nodes.pop(name, None)
            return
        used, offered = self._used(name), self._state.nodes[name].allocatable
        known = self._nodes.get(name)
        if not _exceeds(used, offered):
            self._nodes.pop(name, None)
        elif known is None:
            # If something else has changed as well, the cause is not known, and no pod is evicted.
            self._nodes[name] = _Node(
                _most(used, offered) if altered else offered, is_overbound=joined and not altered
            )
        elif altered or not joined:
            known.limit = _most(used, offered) if not known.is_overbound else known.limit
        elif _exceeds(used, known.limit):
            known.is_overbound = True

    def _later_bindings(
        self, name: str, now: float, is_busy: Callable[[Key], bool]
    ) -> Iterator[LaterBinding]:
        known = self._nodes[name]
        # The outcome of a binding that is under way decides which one came later.
        if now < known.not_before or any(self._state.is_assumed(pod) for pod, _ in self._state.pods_on(name)):
            return
        units = [(pod, self._state.unit_of(pod)) for pod in self._without_room(name, known.limit)]
        later = [
            LaterBinding(pod, self._state.uid_of(pod), name, unit) for pod, unit in units if not is_busy(unit)
        ]
        if later:
            known.not_before = now + min(_FIRST_RETRY * 2 ** min(known.attempts, 10), _LONGEST_RETRY)
            known.attempts += 1
        yield from later

    def _without_room(self, name: str, limit: Resources) -> Iterator[Key]:
        """The pods of ours that exceed what a node may hold, beside all that came before them."""
        staying = [each for each in self._state.pods_on(name) if not self._state.is_leaving(each[0])]
        used = Resources()
        for pod, holding in sorted(staying, key=lambda each: self._bound_order(each[0])):
            with_it = used + _amounts(holding)
            if _exceeds(with_it, limit) and not self._state.is_foreign(pod):
                yield pod
            else:
                used = with_it

    def _bound_order(self, pod: Key) -> tuple[float, bool, float, str, str]:
        """What decides which of two pods was bound later: facts that the API shows to every instance.

        Of two that their kubelet has not accepted yet, one of another scheduler counts as the later one.
        """
        state = self._state
        started = seconds_since_epoch(written) if (written := state.start_time(pod)) else None
        created = seconds_since_epoch(state.creation_time(pod)) or 0.0
        return (
            inf if started is None else started,
            state.is_foreign(pod),
            created,
            pod.namespace,
            pod.name,
        )

    def _used(self, name: str) -> Resources:
        return sum((_amounts(holding) for _, holding in self._state.pods_on(name)), Resources())


def _amounts(holding: Holding) -> Resources:
    return holding.resources * holding.pods + Resources({"pods": holding.pods})


def _exceeds(used: Resources, limit: Resources) -> bool:
    """Whether more is used than the limit has, of something that it names."""
    return any(used.get(name, 0) > amount for name, amount in limit.items())


def _most(used: Resources, offered: Resources) -> Resources:
    """Of everything that is offered, that amount or what is used, whichever is more."""
    return Resources({name: max(amount, used.get(name, 0)) for name, amount in offered.items()})
