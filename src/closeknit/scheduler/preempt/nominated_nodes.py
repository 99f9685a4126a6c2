"""``status.nominatedNodeName`` of pods: which values are wanted, and which were written.

A value is written again until the server takes or refuses it, one call for a pod at a time. It is cleared if
the plan of the pod ends before the pod is bound. A bound pod keeps what it has, because servers clear it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from closeknit.hub.keys import Key
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.commit import Nominate


class NominatedPod(NamedTuple):
    """A pod that waits, and the node that is nominated for it."""

    uid: str
    node: str
    """Empty if a value that was written is cleared."""


class NominatedNodes:
    """What is written into the status of pods."""

    def __init__(self) -> None:
        self._wanted: dict[Key, NominatedPod] = {}
        self._written: dict[Key, NominatedPod] = {}
        """What the server took or refused."""
        self._calls: dict[Key, int] = {}
        """By pod with a call under way, how often it failed."""

    def found(self, pod: Key, uid: str, node: str) -> None:
        """A pod has a value that an earlier scheduler wrote."""
        self._wanted[pod] = self._written[pod] = NominatedPod(uid, node)

    def calls(
        self, wanted: Mapping[Key, NominatedPod], is_waiting: Callable[[Key, str], bool]
    ) -> Iterator[Nominate]:
        """What must be written; ``is_waiting`` says whether a pod of this uid exists and has no node."""
        if not wanted and not self._wanted:
            return
        for pod, (uid, _) in list(self._wanted.items()):
            if pod in wanted:
                continue
            if is_waiting(pod, uid) and pod in (self._written.keys() | self._calls.keys()):
                self._wanted[pod] = NominatedPod(uid, "")
            else:
                self._forget(pod)
        self._wanted.update(wanted)
        for pod, (uid, node) in list(self._wanted.items()):
            if pod not in self._calls and self._written.get(pod) != (uid, node):
                self._calls[pod] = 0
                yield Nominate(pod, uid, node)

    def answered(self, call: Nominate, answer: Answer) -> tuple[Nominate, int] | None:
        """A call was answered: the next one for its pod, and how often that failed."""
        tries = self._calls.pop(call.pod, 0)
        wanted = self._wanted.get(call.pod)
        if wanted is None:
            return None
        if answer in (Answer.LATER, Answer.LOST):
            tries += 1
        else:
            self._written[call.pod] = NominatedPod(call.uid, call.node)
            if wanted == (call.uid, call.node):
                if not call.node:
                    self._forget(call.pod)
                return None
            tries = 0
        self._calls[call.pod] = tries
        return Nominate(call.pod, *wanted), tries

    def _forget(self, pod: Key) -> None:
        self._wanted.pop(pod, None)
        self._written.pop(pod, None)

    def describe(self) -> tuple[object, ...]:
        """All values, as a value that distinguishes two moments."""
        return (
            tuple(sorted(self._wanted.items())),
            tuple(sorted(self._written.items())),
            tuple(sorted(self._calls)),
        )
