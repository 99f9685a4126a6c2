"""How the pods of one decision are bound: which calls to make, and what each answer means.

What pods claim is made ready first (see ``preparations``); most claim nothing, and are bound at once.

Every pod is believed to be on its node before the first call is sent, and until it is known that it is not.
So whatever a lost answer hides, no decision gives its room away. ``docs/explanation/commit-protocol.md``
tells the whole protocol, and ``tests/property/test_commit_protocol.py`` tries every order of events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import msgspec

from closeknit.dialects.core.binding_volumes import Preparation
from closeknit.hub.keys import Key
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.preparations import Disbelieve, Preparations, Prepare, Undo

DOUBTFUL_LOOKS = 20
"""How often a pod is looked at before a lost binding of it is no longer believed in.

With the binder's waits this takes longer than the minute after which an API server ends a request.
"""
_GONE = "The pod has gone."


class Step(Enum):
    """How far the binding of a pod has come."""

    HELD = "held"
    """What it claims, or what another pod of the commit claims, is not ready yet."""
    BIND = "bind"
    """A binding is on its way, or is to be sent."""
    LOOK = "look"
    """Nobody knows whether the binding was carried out; the server is being asked."""
    BOUND = "bound"
    """The pod is where it was meant to be."""
    ENDED = "ended"
    """The pod will not be bound by this commit."""


class Bind(msgspec.Struct, frozen=True, gc=False):
    """Put a pod on a node."""

    pod: Key
    uid: str
    node: str


class Look(msgspec.Struct, frozen=True, gc=False):
    """Ask which node a pod has."""

    pod: Key
    uid: str


class Believe(msgspec.Struct, frozen=True, gc=False):
    """Believe that a pod is on this node, wherever it was meant to be; empty for what the server says."""

    pod: Key
    node: str = ""


class Evict(msgspec.Struct, frozen=True, gc=False):
    """Make a pod go; another pod of its name is left alone."""

    pod: Key
    uid: str


class Nominate(msgspec.Struct, frozen=True, gc=False):
    """Write the node on which capacity is kept for a pod into its status; empty for none."""

    pod: Key
    uid: str
    node: str = ""


Call: TypeAlias = Bind | Look | Evict | Nominate | Prepare | Undo
Action: TypeAlias = Bind | Look | Believe | Prepare | Undo | Disbelieve


class Answered(msgspec.Struct, frozen=True, gc=False):
    """A call and what it came to."""

    call: Call
    answer: Answer
    why: str = ""
    uid: str = ""
    """Of a pod that was looked at."""
    node: str = ""
    seconds: float = 0.0
    """How long it took."""
    version: str = ""
    """Of an object that was written."""


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

    def __init__(
        self, unit: Key, pods: Iterable[Bind], *, first: bool, prepare: Iterable[Preparation] = ()
    ) -> None:
        self.unit = unit
        self.preparations = Preparations(prepare)
        self.first = first
        """Whether no pod of the unit had a node before."""
        step = Step.HELD if self.preparations else Step.BIND
        self._bindings = {each.pod: _Binding(each.uid, each.node, step) for each in pods}
        self._open = len(self._bindings)

    @property
    def done(self) -> bool:
        """Whether nothing is left to wait for."""
        return not self._open and self.preparations.settled

    @property
    def whole(self) -> bool:
        """Whether every pod is bound where it was meant to be."""
        return all(each.step is Step.BOUND for each in self._bindings.values())

    @property
    def bound(self) -> int:
        """How many pods are bound."""
        return sum(each.step is Step.BOUND for each in self._bindings.values())

    @property
    def bound_pods(self) -> Iterator[Bind]:
        """The pods that are bound, with their nodes."""
        for pod, each in self._bindings.items():
            if each.step is Step.BOUND:
                yield Bind(pod, each.uid, each.node)

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
        pods = (
            (pod, each.node, each.step.value, each.doubtful, each.left)
            for pod, each in self._bindings.items()
        )
        return (*pods, self.preparations.describe())

    def nodes_of(self, pods: Iterable[tuple[str, str]]) -> frozenset[str]:
        """The nodes of pods, by name and uid, that may still be bound."""
        uids = {uid for _, uid in pods}
        every = self._bindings.values()
        return frozenset(each.node for each in every if each.uid in uids and each.step is not Step.ENDED)

    def uid(self, pod: Key) -> str:
        """The uid of the pod that was meant."""
        return self._bindings[pod].uid

    def calls(self) -> Sequence[Bind | Prepare]:
        """The first calls: one for each claim that must be made ready, or else for each pod."""
        return self.preparations.calls() or [
            Bind(pod, each.uid, each.node) for pod, each in self._bindings.items()
        ]

    def prepared(self, claim: Key, answer: Answer, why: str = "") -> list[Action]:
        """A call to make a claim ready was answered."""
        return list(self.preparations.prepared(claim, answer, why))

    def undone(self, claim: Key, answer: Answer) -> list[Action]:
        """A call to take back what was made ready was answered."""
        return list(self.preparations.undone(claim, answer))

    def cannot_prepare(self, why: str) -> None:
        """What pods claim will not be ready; harmless where they are being bound already."""
        if any(each.step is Step.HELD for each in self._bindings.values()):
            self.preparations.fail(why)

    def advance(self) -> list[Action]:
        """Bind pods as soon as all is ready, end them where it will not be, take back what no pod uses.

        Asked after everything that happens to a commit with something to prepare.
        """
        if not self.preparations:
            return []
        found: list[Action] = []
        held = [(pod, each) for pod, each in self._bindings.items() if each.step is Step.HELD]
        refused = False
        ended = [each.why for each in self._bindings.values() if each.step is Step.ENDED]
        if ended and (held or not self.bound) and not self.preparations.failed:
            # Nothing is bound yet, so the gang is decided again without a part of it being bound.
            self.preparations.fail(ended[0])
        elif self.preparations.failed:
            refused = True
        if self.preparations.failed:
            for pod, each in held:
                each.refused = refused
                found += self._ended(pod, each, self.preparations.failed)
        elif self.preparations.ready:
            for pod, each in held:
                each.step = Step.BIND
                found.append(Bind(pod, each.uid, each.node))
        if not self._open:
            used = (each.uid for each in self._bindings.values() if each.step is Step.BOUND)
            found += self.preparations.undo_unused(frozenset(used))
        return found

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
