"""Carries out decisions: pods are bound, and parts of gangs are released.

One commit a unit at a time: while one is under way, the unit is not decided again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from closeknit.dialects.core.binding_volumes import Preparation, VolumeBinding
from closeknit.hub.keys import Key
from closeknit.hub.workload import Workload
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.claiming import volume_ready
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.commit import Action, Answered, Believe, Bind, Call, Commit, Evict, Look, Nominate
from closeknit.scheduler.deadlines import Deadlines
from closeknit.scheduler.planning import Verdict
from closeknit.scheduler.preparations import Disbelieve, Prepare, Undo
from closeknit.scheduler.reporter import Observer

EVICTION_TRIES = 8
"""How often an eviction is requested in a row, which takes about 10 s: throttling ends sooner than that."""


@dataclass(slots=True)
class Counters:
    """What has happened since the start."""

    decisions: int = 0
    bindings: int = 0
    conflicts: int = 0
    retries: int = 0
    releases: int = 0
    evictions: int = 0
    """Pods that were evicted for other units."""
    looks: int = 0
    ended: int = 0
    """Searches that were ended because other units waited."""


class Settled(msgspec.Struct, frozen=True, gc=False):
    """A commit that has come to its end."""

    commit: Commit
    verdict: Verdict


class UncountedPodsError(Exception):
    """What pods of a unit hold cannot be counted, so that they must not be bound."""


class Acting:
    """All that is under way."""

    def __init__(
        self,
        state: ClusterState,
        send: Callable[[Call, int], None],
        counters: Counters,
        observer: Observer,
    ) -> None:
        self._state = state
        self._send = send
        self._counters = counters
        self._observer = observer
        self._commits: dict[Key, Settled] = {}
        self._unit_of: dict[Key, Key] = {}
        """By pod that is being bound, its unit."""
        self._leaving: dict[Key, tuple[str, Key, int]] = {}
        """By pod that is made to go: its uid, its unit, and how often that was tried."""
        self._leaving_of: Counter[Key] = Counter()
        """By unit, how many of its pods are made to go."""
        self._accepted: dict[Key, None] = {}
        """Units of which the eviction of a pod was accepted since the last look."""
        self._evicted: dict[Key, str] = {}
        """Pods whose eviction was accepted since the last look, with their uids."""
        self._refused: Counter[Key] = Counter()
        """By unit, how many evictions the server did not accept since the last look."""
        self._staying: list[Key] = []
        """Units of which a pod was to go and may not, or which have given claims back."""
        self._settled: list[Settled] = []
        self._claimed_by: dict[Key, Key] = {}
        """By claim that is made ready or given back, its unit."""
        self.deadlines = Deadlines()
        """By unit, until when its volumes are waited for."""
        self._giving_back: dict[Key, tuple[Undo, int]] = {}
        """By claim that a unit gives back without being bound: the call, and how often that was tried."""

    def __len__(self) -> int:
        """How many commits are under way."""
        return len(self._commits)

    def describe(self) -> tuple[object, ...]:
        """All that is under way, as a value that tells two moments apart."""
        commits = tuple((unit, each.commit.describe()) for unit, each in sorted(self._commits.items()))
        return commits, tuple(sorted(self._leaving.items())), tuple(sorted(self._giving_back))

    def is_binding(self, unit: Key) -> bool:
        """Whether pods of a unit are being bound."""
        return unit in self._commits

    def verdicts(self) -> Iterator[Verdict]:
        """The placements that are being bound."""
        return (settled.verdict for settled in self._commits.values())

    def busy_with(self, unit: Key) -> bool:
        """Whether something is under way for a unit, so that it must not be decided now."""
        return (
            unit in self._commits
            or unit in self._leaving_of
            or bool(self._giving_back and any(self._claimed_by[each] == unit for each in self._giving_back))
        )

    def is_preparing(self, claims: Iterable[Key]) -> bool:
        """Whether one of these claims is being made ready or given back."""
        return any(each in self._claimed_by for each in claims)

    def commit(
        self,
        verdict: Verdict,
        pods: Sequence[Bind],
        prepare: Sequence[Preparation] = (),
        until: float = 0.0,
    ) -> None:
        """Believe that pods are bound and have what they claim, and bind them.

        What others have to do their part of is waited for ``until`` then.
        """
        workload = verdict.workload
        unit = workload.object.key
        commit = Commit(unit, pods, first=not workload.running, prepare=prepare)
        self._commits[unit] = Settled(commit, verdict)
        if any(what.takes_time for what in prepare):
            self.deadlines[unit] = until
        for what in prepare:
            self._claimed_by[what.claim] = unit
            self._state.beliefs.believe(what)
        for each in pods:
            self._state.assume(each.pod, each.node)
            self._unit_of[each.pod] = unit
        if not all(self._state.is_counted(each.pod) for each in pods):
            raise UncountedPodsError(unit)
        for call in commit.calls():
            self._send(call, 0)

    def release(self, workload: Workload, pods: Iterable[Key]) -> None:
        """Make pods of a unit go."""
        for pod in pods:
            self.evict(pod, workload.object.key)

    def evict(self, pod: Key, unit: Key) -> None:
        """Evict a pod of a unit, unless that is under way."""
        stored = self._state.pod(pod)
        if stored is not None and pod not in self._leaving:
            uid = stored.content.metadata.uid
            self._leaving[pod] = (uid, unit, 0)
            self._leaving_of[unit] += 1
            self._send(Evict(pod, uid), 0)
            self._counters.releases += 1

    def evictions(self) -> tuple[Sequence[Key], Mapping[Key, int]]:
        """Units of which evictions were accepted, and how many were not, since the last call."""
        accepted, self._accepted = self._accepted, {}
        refused, self._refused = self._refused, Counter()
        return tuple(accepted), refused

    def evicted_pods(self) -> Mapping[Key, str]:
        """Pods whose eviction was accepted since the last call, with their uids."""
        evicted, self._evicted = self._evicted, {}
        return evicted

    def is_releasing(self, call: Evict) -> bool:
        """Whether an eviction is that of a gang that is released, and not part of a preemption."""
        return self._leaving.get(call.pod, ("",))[0] == call.uid

    def evicted(self, pod: Key, uid: str) -> None:
        """The server accepted the eviction of a pod, and will soon report that it is being deleted."""
        self._counters.evictions += 1
        self._state.evicted(pod, uid)

    def give_back(self, unit: Key, claims: Iterable[Preparation]) -> None:
        """Take back what claims of a unit have got, which is not bound where they are."""
        for what in claims:
            if what.claim not in self._claimed_by:
                self._claimed_by[what.claim] = unit
                self._giving_back[what.claim] = (Undo(what), 0)
                self._send(Undo(what), 0)

    def look_at_volumes(self, now: float) -> None:
        """See which volumes are bound by now, and give up those that are not in time."""
        late = self.deadlines.take(now) if self.deadlines else ()
        for unit in (*self.deadlines, *late):
            under_way = self._commits[unit]
            commit = under_way.commit
            for what in commit.preparations.waiting:
                assert isinstance(what, VolumeBinding)
                ready = volume_ready(self._state, what, commit.nodes_of(what.pods))
                if ready is True:
                    commit.preparations.ready_now(what.claim)
                elif ready or unit in late:
                    why = ready or f"PersistentVolumeClaim {what.claim.name} got no volume in time."
                    commit.cannot_prepare(why)
            self._act(under_way, ())

    def settled(self) -> list[Settled]:
        """The commits that have come to their end since the last call."""
        found, self._settled = self._settled, []
        return found

    # ------------------------------------------------------------------------------------------ hearing

    def answered(self, answered: Answered) -> None:
        """A call was answered."""
        call = answered.call
        if isinstance(call, Evict):
            self._eviction_answered(call, answered.answer)
            return
        if isinstance(call, Prepare | Undo):
            self._preparation_answered(call, answered)
            return
        under_way = self._commit_of(call.pod)
        if under_way is None or isinstance(call, Nominate):
            return
        commit = under_way.commit
        if isinstance(call, Look):
            self._act(under_way, commit.look_answered(call.pod, answered.answer, answered.uid, answered.node))
        else:
            self._note(call, answered)
            self._act(under_way, commit.bind_answered(call.pod, answered.answer, answered.why))

    def _preparation_answered(self, call: Prepare | Undo, answered: Answered) -> None:
        claim, answer = call.what.claim, answered.answer
        if claim in self._giving_back:
            self._given_back(claim, answer)
            return
        under_way = self._commits.get(self._claimed_by.get(claim, claim))
        if under_way is None or claim not in under_way.commit.preparations.claims:
            return
        if isinstance(call, Undo):
            self._act(under_way, under_way.commit.undone(claim, answer))
            return
        if answer is Answer.DONE:
            self._state.beliefs.confirm(call.what, answered.version)
        elif answer is not Answer.CONFLICT:
            name = f"{claim.namespace}/{claim.name}"
            self._observer.not_bound(name, "", answer.value, answered.why)
        self._act(under_way, under_way.commit.prepared(claim, answer, answered.why))

    def _given_back(self, claim: Key, answer: Answer) -> None:
        call, tries = self._giving_back[claim]
        if answer in (Answer.DONE, Answer.GONE, Answer.REFUSED):
            del self._giving_back[claim]
            self._staying.append(self._claimed_by.pop(claim))
        else:
            self._giving_back[claim] = (call, tries + 1)
            self._send(call, tries + 1)

    def told(self, pods: Iterable[Key]) -> None:
        """The server has told of pods that were believed to be bound."""
        for pod in pods:
            under_way = self._commit_of(pod)
            if under_way is None:
                continue
            stored, commit = self._state.pod(pod), under_way.commit
            if stored is None or stored.content.metadata.uid != commit.uid(pod):
                self._act(under_way, commit.gone(pod))
            elif stored.content.spec.node_name:
                self._act(under_way, commit.told(pod, stored.content.spec.node_name))

    def left(self) -> list[Key]:
        """Units of which a pod has gone that was made to go, or will not go; they may be decided again."""
        units, self._staying = self._staying, []
        for pod, (uid, unit, _) in list(self._leaving.items()):
            stored = self._state.pod(pod)
            metadata = stored.content.metadata if stored is not None else None
            if metadata is None or metadata.uid != uid or metadata.deletion_timestamp:
                self._stop_waiting_for(pod)
                units.append(unit)
        return units

    def _stop_waiting_for(self, pod: Key) -> None:
        _, unit, _ = self._leaving.pop(pod)
        self._leaving_of[unit] -= 1
        if not self._leaving_of[unit]:
            del self._leaving_of[unit]

    def _note(self, call: Bind, answered: Answered) -> None:
        self._counters.conflicts += answered.answer is Answer.CONFLICT
        if answered.answer is Answer.DONE:
            self._observer.bound(answered.seconds)
        elif answered.answer in (Answer.CONFLICT, Answer.REFUSED, Answer.LOST):
            pod = f"{call.pod.namespace}/{call.pod.name}"
            self._observer.not_bound(pod, call.node, answered.answer.value, answered.why)

    def _commit_of(self, pod: Key) -> Settled | None:
        unit = self._unit_of.get(pod)
        return self._commits.get(unit) if unit is not None else None

    def _act(self, under_way: Settled, actions: Sequence[Action]) -> None:
        commit = under_way.commit
        if commit.preparations:
            actions = [*actions, *commit.advance()]
        for action in actions:
            if isinstance(action, Disbelieve):
                self._state.beliefs.forget(action.what)
            elif isinstance(action, Prepare | Undo):
                tries = commit.preparations.tries(action.what.claim)
                self._counters.retries += bool(tries)
                self._send(action, tries)
            elif isinstance(action, Believe):
                if action.node:
                    self._state.assume(action.pod, action.node)
                else:
                    self._state.forget(action.pod)
            elif isinstance(action, Bind) and not self._state.has_node(action.node):
                self._act(under_way, commit.give_up(action.pod, f"Node {action.node} has gone."))
            else:
                tries = commit.tries(action.pod)
                self._counters.retries += bool(tries)
                self._send(action, tries)
        if commit.done and commit.unit in self._commits:
            del self._commits[commit.unit]
            for pod in commit.pods:
                del self._unit_of[pod]
            self.deadlines.pop(commit.unit, None)
            for what in commit.preparations.wanted:
                del self._claimed_by[what.claim]
                if what.takes_time:
                    self._state.beliefs.forget(what)
            self._counters.bindings += commit.bound
            self._settled.append(under_way)

    def _eviction_answered(self, call: Evict, answer: Answer) -> None:
        uid, unit, tries = self._leaving.get(call.pod, ("", None, 0))
        if uid != call.uid or unit is None:
            return
        not_yet = answer in (Answer.LATER, Answer.LOST)
        if not_yet and tries + 1 < EVICTION_TRIES:
            self._leaving[call.pod] = (uid, unit, tries + 1)
            self._send(call, tries + 1)
        elif not_yet or answer is Answer.REFUSED:
            # A disruption budget may refuse for hours: meanwhile the gang may become complete near this pod.
            self._refused[unit] += 1
            self._stop_waiting_for(call.pod)
            self._staying.append(unit)
        else:
            # The server will soon report that it is being deleted, or gone.
            self._accepted[unit] = None
            self._evicted[call.pod] = call.uid
            self._state.evicted(call.pod, uid)
