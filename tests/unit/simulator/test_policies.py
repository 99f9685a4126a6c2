"""Each policy puts gangs where its published rule says."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from closeknit.simulator.policies import POLICIES
from closeknit.simulator.room import Room
from closeknit.simulator.scenario import Ask
from tests.unit.simulator.sites import ask, site


def used(room: Room, busy: Mapping[str, int]) -> None:
    names = [node.name for node in room.site.nodes]
    for name, gpus in busy.items():
        room.take(ask(gpus, 1), ((names.index(name), gpus),))


@pytest.mark.parametrize(
    ("policy", "busy", "asked", "expected"),
    [
        pytest.param("first-fit", {"x1": 8}, ask(2), {"x2": 1, "x3": 1}, id="first fit takes the first nodes, across racks"),
        pytest.param("first-fit", {"x1": 8}, ask(2, required="rack"), {"x2": 1, "x3": 1}, id="first fit heeds no required level"),
        pytest.param("best-fit", {"x4": 6, "x6": 4}, ask(3, 2), {"x4": 1, "x6": 2}, id="best fit takes the fullest nodes"),
        pytest.param("best-fit", {}, ask(7), None, id="a gang that does not fit waits"),
        pytest.param("kueue", {"x1": 4}, ask(2, 4, required="rack"), {"x2": 2}, id="Kueue takes the rack with the least room that is enough, and one node that is enough"),
        pytest.param("kueue", {"x1": 4}, ask(3, 4, required="rack"), {"x1": 1, "x2": 2}, id="Kueue uses the largest node of the rack first"),
        pytest.param("kueue", {"x1": 8, "x3": 8, "x5": 8}, ask(2, required="rack"), None, id="Kueue keeps a required level"),
        pytest.param("kueue", {"x1": 8, "x3": 8, "x5": 8}, ask(2, preferred="rack"), {"x2": 1, "x4": 1}, id="Kueue goes up from a preferred rack to a block"),
        pytest.param("kueue", {"x1": 4}, ask(5, 8, preferred="block"), {"x2": 1, "x3": 1, "x4": 1, "x5": 1, "x6": 1}, id="Kueue takes several blocks, the largest first"),
        pytest.param("kueue", {"x2": 6}, ask(1, 2), {"x2": 1}, id="without a level Kueue takes the node with least room"),
        pytest.param("kai", {"x3": 4}, ask(3, 4, required="rack"), {"x3": 1, "x4": 2}, id="KAI takes the tightest rack, and in it the fullest node first"),
        pytest.param("kai", {"x1": 8, "x3": 8, "x5": 8}, ask(2, required="rack"), None, id="KAI keeps a required level"),
        pytest.param("kai", {"x1": 8, "x3": 4, "x5": 8}, ask(3, 4, preferred="rack"), {"x3": 1, "x4": 2}, id="KAI prefers one rack"),
        pytest.param("kai", {"x1": 8, "x3": 4, "x5": 8, "x6": 8}, ask(4, 4, preferred="rack"), {"x2": 1, "x3": 1, "x4": 2}, id="where no rack is enough, KAI fills the emptiest rack of a block first"),
        pytest.param("kai", {}, ask(6, preferred="rack"), {f"x{n}": 1 for n in range(1, 7)}, id="KAI uses the whole cluster where no block is enough"),
    ],
)  # fmt: skip
def test_a_policy_follows_its_rule(
    policy: str, busy: Mapping[str, int], asked: Ask, expected: Mapping[str, int] | None
) -> None:
    room = Room(site())
    used(room, busy)

    found = POLICIES[policy](room, asked)

    names = [node.name for node in room.site.nodes]
    assert (None if found is None else {names[node]: pods for node, pods in found}) == expected


def test_what_is_given_out_twice_is_an_error() -> None:
    room = Room(site())
    room.take(ask(1), ((0, 1),))

    with pytest.raises(AssertionError, match=r"\bx1\b"):
        room.take(ask(1), ((0, 1),))
