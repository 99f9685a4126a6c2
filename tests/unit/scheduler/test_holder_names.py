"""Pods of several controllers hold what they use under the one name of their unit."""

from __future__ import annotations

import json

from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.cluster_state import ClusterState
from tests.unit.dialects.kai.owned import job_set, replicated
from tests.unit.scheduler.objects import entry, node, of_set


def following(*, on: str) -> tuple[ClusterState, Workload]:
    """A JobSet of two Jobs of one pod each, that wait or run."""
    owner = json.loads(job_set(replicated("a", 2, 1)))
    owner["metadata"] |= {"namespace": "default", "uid": "u"}
    state = ClusterState()
    for obj in (node("n"), owner, *(of_set(f"p{i}", i, on=on) for i in range(2))):
        state.put(entry(obj))
    (unit,) = state.news().units.values()
    assert unit is not None
    return state, unit


def test_a_job_set_that_runs_is_let_go_of_as_a_whole() -> None:
    """Whoever tries what would be free without it does so by this name."""
    state, unit = following(on="n")
    assert isinstance(unit, PlaceableWorkload)

    state.engine.release(unit.request.name)

    assert list(state.engine.holdings()) == []


def test_pods_are_their_units_from_the_moment_in_which_they_are_bound() -> None:
    state, unit = following(on="")
    assert isinstance(unit, PlaceableWorkload)
    told: list[str] = []
    state.listen(
        lambda before, after: told.extend(each.workload for each in (before, after) if each), lambda: None
    )

    for i in range(2):
        state.assume(entry(of_set(f"p{i}", i)).key, "n")
    state.news()

    assert told == [unit.request.name] * 2
