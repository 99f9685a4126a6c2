"""The example of Kubernetes' own gangs does what its comments say."""

from __future__ import annotations

from tests.scenario.commands import EXAMPLES, planned, translated

FOLDER = EXAMPLES / "kubernetes"


def test_the_gang_lands_in_the_rack_that_has_room_for_it() -> None:
    status, outcomes = planned(FOLDER)
    (outcome,) = outcomes.values()

    assert status == 0
    assert {each["domain"][0] for each in outcome["pods"]} == {"r2"}
    assert (outcome["dialect"], len(outcome["pods"])) == ("kubernetes", 3)


def test_it_becomes_a_pod_group_of_kai() -> None:
    assert [each["kind"] for each in translated("kai", FOLDER)] == ["Topology", "PodGroup", *["Pod"] * 3]
