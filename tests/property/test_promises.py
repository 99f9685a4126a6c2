"""Sound, complete, optimal or honest: against judges that share no code with the engine."""

from __future__ import annotations

from hypothesis import given

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Request
from closeknit.testing.strategies import instances
from tests.property.effort import effort
from tests.trials.trial import judged


@effort(300)
@given(instances())
def test_what_is_decided_is_sound_complete_and_honestly_optimal(instance: tuple[Cluster, Request]) -> None:
    trial = judged(*instance)

    assert trial.failures == (), (trial.unsound, trial.traceback, trial.better)


@effort(100)
@given(instances())
def test_an_explanation_does_not_change_the_decision(instance: tuple[Cluster, Request]) -> None:
    cluster, request = instance
    decided, solved = Engine(cluster).decide(request), Engine(cluster).solve(request)

    assert type(decided) is type(solved)
    if isinstance(decided, Placed):
        assert solved == decided
