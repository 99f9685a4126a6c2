"""What the answers to bindings mean, where one of them was lost; and what is not decided meanwhile."""

from __future__ import annotations

from random import Random

import pytest

from closeknit.dialects.core.reserving import Reservation
from closeknit.hub.keys import Key
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.binder import pause
from closeknit.scheduler.commit import (
    DOUBTFUL_LOOKS,
    Action,
    Believe,
    Bind,
    Call,
    Commit,
    Evict,
    Look,
)
from closeknit.scheduler.core import Core
from closeknit.scheduler.preparations import Disbelieve, Prepare, Undo
from closeknit.scheduler.reporter import Silence
from closeknit.scheduler.settings import Settings
from tests.unit.scheduler.objects import entry, node, pod, pod_group, together, topology

POD = Key("", "Pod", "default", "p")
BIND, LOOK = Bind(POD, "uid", "n"), Look(POD, "uid")


def refused_after_a_loss() -> tuple[Commit, list[Action]]:
    """A binding that was lost, sent again, and refused then."""
    commit = Commit(Key("", "PodGroup", "default", "g"), [BIND], first=True)
    assert commit.bind_answered(POD, Answer.LOST) == [LOOK]
    assert commit.look_answered(POD, Answer.DONE, "uid") == [BIND]
    return commit, commit.bind_answered(POD, Answer.REFUSED, "A webhook says no.")


def test_a_refusal_ends_a_binding_of_which_nothing_was_lost() -> None:
    commit = Commit(Key("", "PodGroup", "default", "g"), [BIND], first=True)

    assert commit.bind_answered(POD, Answer.REFUSED, "A webhook says no.") == [Believe(POD)]
    assert commit.done


def test_the_room_of_a_lost_binding_is_kept_until_it_can_no_longer_be_carried_out() -> None:
    commit, actions = refused_after_a_loss()
    looks = 0
    while actions == [LOOK]:
        assert not commit.done
        looks += 1
        actions = commit.look_answered(POD, Answer.DONE, "uid")

    assert looks == DOUBTFUL_LOOKS
    assert actions == [Believe(POD)]
    assert commit.done
    assert commit.refused == {POD: "A webhook says no."}


def test_looking_takes_longer_than_an_api_server_works_on_a_request() -> None:
    class Hasty(Random):
        def random(self) -> float:
            return 0.0

    assert sum(pause(Hasty(), tries) for tries in range(1, DOUBTFUL_LOOKS + 1)) > 60


@pytest.mark.parametrize("looks", [0, 3, DOUBTFUL_LOOKS - 1])
def test_a_lost_binding_that_is_carried_out_late_counts_after_all(looks: int) -> None:
    commit, _ = refused_after_a_loss()
    for _ in range(looks):
        assert commit.look_answered(POD, Answer.DONE, "uid") == [LOOK]

    assert commit.look_answered(POD, Answer.DONE, "uid", "n") == []
    assert commit.done
    assert commit.whole


def test_a_gang_is_not_decided_while_a_part_of_it_is_being_released() -> None:
    calls: list[Call] = []
    core = Core(
        Settings(),
        lambda call, _: calls.append(call),
        reporter=Silence(),
        observer=Silence(),
        random=Random(1),
    )

    def look(now: float) -> list[Call]:
        calls.clear()
        core.look(now)
        while core.decide(now):
            pass
        core.evict_overdue(now)
        return list(calls)

    gang = pod_group("g", minMember=2, topologyConstraint=together("rack"))
    nodes = [node(name, 1, rack="r") for name in ("a", "b")]
    there = [pod("p1", "g", on="a"), pod("p2", "g"), pod("other", on="b", scheduler="other")]
    for each in (topology("rack"), *nodes, gang, *there):
        core.state.put(entry(each))
    assert look(0.0) == []
    assert look(61.0) == [Evict(Key("", "Pod", "default", "p1"), "uid-p1")]

    # Now there is room beside the pod that goes, and something has happened to the gang.
    core.state.remove(Key("", "Pod", "default", "other"))
    core.state.put(entry(pod("p3", "g")))
    assert look(62.0) == []

    core.state.remove(Key("", "Pod", "default", "p1"))
    assert {call.pod.name for call in look(63.0) if isinstance(call, Bind)} == {"p2", "p3"}


# ------------------------------------------------------------------------------------- what pods claim

CLAIM = Key("resource.k8s.io", "ResourceClaim", "default", "c")
OTHER = Key("resource.k8s.io", "ResourceClaim", "default", "d")
SECOND = Bind(Key("", "Pod", "default", "q"), "uid-q", "m")


def reservation(claim: Key = CLAIM, pod: Bind = BIND) -> Reservation:
    return Reservation(claim, "uid-c", frozenset(), ((pod.pod.name, pod.uid),), {})


def preparing() -> Commit:
    """Two pods, each with a claim that has to get devices."""
    commit = Commit(
        Key("", "PodGroup", "default", "g"),
        [BIND, SECOND],
        first=True,
        prepare=[reservation(), reservation(OTHER, SECOND)],
    )
    assert commit.calls() == [Prepare(reservation()), Prepare(reservation(OTHER, SECOND))]
    return commit


def test_no_pod_is_bound_before_every_claim_of_the_commit_is_ready() -> None:
    commit = preparing()

    assert commit.prepared(CLAIM, Answer.DONE) == []
    assert [*commit.prepared(OTHER, Answer.DONE), *commit.advance()] == [BIND, SECOND]
    assert commit.bind_answered(POD, Answer.DONE) == []
    assert commit.bind_answered(SECOND.pod, Answer.DONE) == []
    assert commit.advance() == []
    assert (commit.done, commit.whole) == (True, True)


@pytest.mark.parametrize("answer", [Answer.LOST, Answer.CONFLICT, Answer.LATER])
def test_a_call_that_may_not_have_been_carried_out_is_made_again(answer: Answer) -> None:
    commit = preparing()

    assert commit.prepared(CLAIM, answer) == [Prepare(reservation())]
    assert commit.preparations.tries(CLAIM) == 1


@pytest.mark.parametrize("answer", [Answer.REFUSED, Answer.GONE])
def test_where_a_claim_cannot_be_made_ready_no_pod_is_bound_and_all_is_taken_back(answer: Answer) -> None:
    commit = preparing()
    assert commit.prepared(OTHER, Answer.DONE) == []

    actions = commit.prepared(CLAIM, answer, "It has got other devices.")

    assert [*actions, *commit.advance()] == [
        Undo(reservation()),
        Believe(POD),
        Believe(SECOND.pod),
        Undo(reservation(OTHER, SECOND)),
    ]
    assert commit.undone(CLAIM, Answer.LOST) == [Undo(reservation())]
    assert commit.undone(CLAIM, Answer.DONE) == [Disbelieve(reservation())]
    assert commit.undone(OTHER, Answer.GONE) == [Disbelieve(reservation(OTHER, SECOND))]
    assert commit.done
    assert set(commit.refused.values()) == {"It has got other devices."}


def test_a_pod_that_goes_before_any_is_bound_ends_the_commit_without_a_part() -> None:
    commit = preparing()

    assert [*commit.gone(POD), *commit.advance()] == [Believe(POD), Believe(SECOND.pod)]
    assert commit.prepared(CLAIM, Answer.LOST) == [Undo(reservation())]
    assert commit.prepared(OTHER, Answer.DONE) == [Undo(reservation(OTHER, SECOND))]
    assert commit.refused == {}


def test_what_was_given_to_a_pod_that_is_not_bound_after_all_is_taken_back() -> None:
    commit = preparing()
    for claim in (CLAIM, OTHER):
        commit.prepared(claim, Answer.DONE)
    assert commit.advance() == [BIND, SECOND]
    assert commit.bind_answered(SECOND.pod, Answer.DONE) == []

    assert commit.bind_answered(POD, Answer.REFUSED, "A webhook says no.") == [Believe(POD)]
    assert commit.advance() == [Undo(reservation())]
    assert not commit.done
