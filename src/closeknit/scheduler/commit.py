"""How the pods of one decision are bound: which calls to make, and what each answer means.

Every pod is believed to be on its node before the first call is sent, and until it is known that it is not.
So whatever a lost answer hides, no decision gives its room away. ``docs/explanation/commit-protocol.md``
tells the whole protocol, and ``tests/property/test_commit_protocol.py`` tries every order of events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from closeknit.hub.keys import Key

DOUBTFUL_LOOKS = 20
"""How often a pod is looked at before a lost binding of it is no longer believed in.

With the binder's waits this takes longer than the minute after which an API server ends a request.
"""
_GONE = "The pod has gone."


class Step(Enum):
    """How far the binding of a pod has come."""

    BIND = "bind"
    """A binding is on its way, or is to be sent."""
    LOOK = "look"
    """Nobody knows whether the binding was carried out; the server is being asked."""
    BOUND = "bound"
    """The pod is where it was meant to be."""
    ENDED = "ended"
    """The pod will not be bound by this commit."""


class Answer(Enum):
    """What a call came to."""

    DONE = "done"
    CONFLICT = "conflict"
    """The pod has a node already, or is another pod of this name."""
    GONE = "gone"
    """There is no such pod any more."""
    REFUSED = "refused"
    """The server will never do it."""
    LATER = "later"
    """It was not carried out; the server asks to try again later."""
    LOST = "lost"
    """It may or may not have been carried out."""


@dataclass(frozen=True, slots=True)
class Bind:
    """Put a pod on a node."""

    pod: Key
    uid: str
    node: str


@dataclass(frozen=True, slots=True)
class Look:
    """Ask which node a pod has."""

    pod: Key
    uid: str


@dataclass(frozen=True, slots=True)
class Believe:
    """Believe that a pod is on this node, wherever it was meant to be; empty for what the server says."""

    pod: Key
    node: str = ""


@dataclass(frozen=True, slots=True)
class Evict:
    """Make a pod go; another pod of its name is left alone."""

    pod: Key
    uid: str


Call: TypeAlias = Bind | Look | Evict
Action: TypeAlias = Bind | Look | Believe


@dataclass(frozen=True, slots=True)
class Answered:
    """A call and what it came to."""

    call: Call
    answer: Answer
    why: str = ""
    uid: str = ""
    """Of a pod that was looked at."""
    node: str = ""
    seconds: float = 0.0
    """How long it took."""


@dataclass(slots=True)
class _Binding:
    uid: str
    node: str
    step: Step = Step.BIND
    tries: int = 0
    why: str = ""
    refused: bool = False
    doubtful: bool = False
    """Whether a binding was lost, so that it may still be carried out however long ago it was sent."""
    left: int = 0
    """How many looks are left until it is given up; 0 while it is not to be."""


class Commit:
    """The binding of one unit's pods. Answers may come in any order, late, or never."""

    def __init__(self, unit: Key, pods: Iterable[Bind], *, first: bool) -> None:
        self.unit = unit
        self.first = first
        """Whether no pod of the unit had a node before."""
        self._bindings = {each.pod: _Binding(each.uid, each.node) for each in pods}
        self._open = len(self._bindings)

    @property
    def done(self) -> bool:
        """Whether nothing is left to wait for."""
        return not self._open

    @property
    def whole(self) -> bool:
        """Whether every pod is bound where it was meant to be."""
        return all(each.step is Step.BOUND for each in self._bindings.values())

    @property
    def bound(self) -> int:
        """How many pods are bound."""
        return sum(each.step is Step.BOUND for each in self._bindings.values())

    @property
    def refused(self) -> Mapping[Key, str]:
        """The pods that the server refused to bind, and why."""
        return {pod: each.why for pod, each in self._bindings.items() if each.refused}

    @property
    def pods(self) -> Iterable[Key]:
        """All pods of the commit."""
        return self._bindings.keys()

    def describe(self) -> tuple[object, ...]:
        """How far each pod has come, as a value that tells two moments apart."""
        return tuple(
            (pod, each.node, each.step.value, each.doubtful, each.left)
            for pod, each in self._bindings.items()
        )

    def uid(self, pod: Key) -> str:
        """The uid of the pod that was meant."""
        return self._bindings[pod].uid

    def calls(self) -> list[Bind]:
        """The first calls, one for each pod."""
        return [Bind(pod, each.uid, each.node) for pod, each in self._bindings.items()]

    def tries(self, pod: Key) -> int:
        """How often a pod's binding had to be tried again."""
        return self._bindings[pod].tries

    def bind_answered(self, pod: Key, answer: Answer, why: str = "") -> list[Action]:
        """A binding was answered."""
        each = self._bindings[pod]
        if each.step is not Step.BIND:
            return []
        match answer:
            case Answer.DONE:
                return self._bound(each)
            case Answer.CONFLICT | Answer.LOST:
                each.step = Step.LOOK
                each.doubtful |= answer is Answer.LOST
                return [Look(pod, each.uid)]
            case Answer.LATER:
                each.tries += 1
                return [Bind(pod, each.uid, each.node)]
            case Answer.GONE:
                return self._ended(pod, each, _GONE)
            case Answer.REFUSED:
                each.refused = True
                return self.give_up(pod, why)

    def look_answered(self, pod: Key, answer: Answer, uid: str = "", node: str = "") -> list[Action]:
        """The server told of a pod: its uid and its node, empty where it has none."""
        each = self._bindings[pod]
        if each.step is not Step.LOOK:
            return []
        match answer:
            case Answer.DONE if uid == each.uid:
                if node:
                    return self.told(pod, node)
                each.tries += 1
                if each.left:
                    each.left -= 1
                    return [Look(pod, each.uid)] if each.left else self._ended(pod, each, each.why)
                each.step = Step.BIND
                return [Bind(pod, each.uid, each.node)]
            case Answer.DONE | Answer.GONE:
                return self._ended(pod, each, _GONE)
            case _:
                each.tries += 1
                return [Look(pod, each.uid)]

    def told(self, pod: Key, node: str) -> list[Action]:
        """The server has told of a pod's node, before the answer or in its place."""
        each = self._bindings.get(pod)
        if each is None or each.step in (Step.BOUND, Step.ENDED):
            return []
        if node == each.node:
            return self._bound(each)
        self._end(each, f"Another scheduler bound it to {node}.")
        return [Believe(pod, node)]

    def gone(self, pod: Key) -> list[Action]:
        """The pod has gone, or another one has its name."""
        each = self._bindings.get(pod)
        if each is None or each.step in (Step.BOUND, Step.ENDED):
            return []
        return self._ended(pod, each, _GONE)

    def give_up(self, pod: Key, why: str) -> list[Action]:
        """A binding that was to be sent is not sent.

        Where an earlier one was lost, its room is kept until the server can no longer be at work on it.
        """
        each = self._bindings[pod]
        if not each.doubtful:
            return self._ended(pod, each, why)
        each.step, each.why, each.left = Step.LOOK, why, DOUBTFUL_LOOKS
        return [Look(pod, each.uid)]

    def _bound(self, each: _Binding) -> list[Action]:
        each.step = Step.BOUND
        self._open -= 1
        return []

    def _ended(self, pod: Key, each: _Binding, why: str) -> list[Action]:
        self._end(each, why)
        return [Believe(pod)]

    def _end(self, each: _Binding, why: str) -> None:
        each.step, each.why = Step.ENDED, why
        self._open -= 1
