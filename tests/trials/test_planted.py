"""Planted instances are what they promise, and the engine is judged by what was planted."""

from __future__ import annotations

from random import Random

import pytest

from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Outcome, Unplaceable
from closeknit.hub.request import Group, Request, problems
from closeknit.testing.meaning import broken
from closeknit.testing.scene import Scene
from tests.trials import oracle_run
from tests.trials.planted import planted_instance
from tests.trials.trial import judged


@pytest.mark.parametrize("seed", range(40))
def test_what_was_planted_is_a_placement(seed: int) -> None:
    planted = planted_instance(Random(seed))

    assert problems(planted.request, planted.cluster.topology("default")) == ()
    assert list(broken(Scene.of(planted.cluster, planted.request), planted.spread)) == []


@pytest.mark.parametrize("seed", range(40))
def test_planted_instances_are_of_the_size_that_is_promised(seed: int) -> None:
    planted = planted_instance(Random(seed))
    groups = [group for group, _ in planted.request.root.walk() if isinstance(group, Group)]
    shapes = {tuple(pods.resources.items()) for pods in planted.request.root.pod_sets()}

    assert 16 <= len(planted.cluster.nodes) <= 200
    assert 2 <= len(planted.cluster.topologies[0].levels) <= 4
    # The root is one more, and groups that got no pods are left out.
    assert len(groups) <= 13
    assert len(shapes) <= 5


def no_room(_: Cluster, request: Request) -> Outcome:
    return Unplaceable(request.name)


def test_saying_no_to_a_planted_instance_is_a_miss() -> None:
    assert judged(*planted_instance(Random(1)), decide=no_room).failures == ("missed",)


def test_a_planted_instance_is_replayed_by_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    seed = min(range(20), key=lambda each: len(planted_instance(Random(each)).cluster.nodes))

    status = oracle_run.main(["--planted", "--only", str(seed)])

    assert status == int("verdict: good" not in capsys.readouterr().out.splitlines())
