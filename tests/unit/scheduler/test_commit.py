"""What the answers to bindings mean, where one of them was lost; and what is not decided meanwhile."""

from __future__ import annotations

from random import Random

import pytest

from closeknit.hub.keys import Key
from closeknit.scheduler.binder import pause
from closeknit.scheduler.commit import (
    DOUBTFUL_LOOKS,
    Action,
    Answer,
    Believe,
    Bind,
    Call,
    Commit,
    Evict,
    Look,
)
from closeknit.scheduler.core import Core
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
        core.release_overdue(now)
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
