"""Claims in the oracle: devices are handed out one by one, and our readers' counts come to the same."""

from __future__ import annotations

import math
from itertools import product
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Outcome, Placed
from closeknit.hub.request import Request
from closeknit.testing import oracle
from closeknit.testing.builders import pods, request
from closeknit.testing.claims import Claims, Device, Need, Volume, broken_claims, handed_out
from closeknit.testing.drawings import parse
from closeknit.testing.meaning import broken
from closeknit.testing.random_claims import counted, random_claims
from closeknit.testing.scene import Scene
from closeknit.testing.strategies import TINY, random_instance
from tests import brute
from tests.trials.trial import decided, instance_of, judged

A, B = Device("a", 40), Device("b", 80)


@pytest.mark.parametrize(
    ("devices", "needs", "expected"),
    [
        pytest.param([A], [Need(1)], True, id="any device will do"),
        pytest.param([A], [Need(2)], False, id="there are too few"),
        pytest.param([A, A], [Need(1, "b")], False, id="none is of the model"),
        pytest.param([A, A], [Need(1, memory=80)], False, id="none has the memory"),
        pytest.param([Device("a", 40, tainted=True)], [Need(1)], False, id="a tainted one is not taken"),
        pytest.param(
            [Device("a", 40, tainted=True)], [Need(1, tolerates=True)], True, id="who tolerates it takes it"
        ),
        pytest.param([Device("a", 40, held=True)], [Need(1)], False, id="another pod has it"),
        pytest.param(
            [A, B], [Need(1), Need(1, "b")], True, id="who may take any leaves the only one of its model"
        ),
        pytest.param(
            [A, B], [Need(1, "b"), Need(1, memory=80)], False, id="one device does not serve two needs"
        ),
        pytest.param(
            [B, B], [Need(1, "a", or_else=(Need(2, "b"),))], True, id="two of another model will do as well"
        ),
        pytest.param(
            [A, B], [Need(2, "a", or_else=(Need(2, "b"),))], False, id="one of each model is not two of one"
        ),
        pytest.param(
            [A, B],
            [Need(1, "a", or_else=(Need(1, "b"),)), Need(1, "a")],
            True,
            id="who accepts another model leaves the first to who does not",
        ),
    ],
)
def test_devices_are_handed_out_if_there_is_a_way(
    devices: list[Device], needs: list[Need], expected: bool
) -> None:
    assert handed_out(devices, needs) is expected


def random_claimed(seed: int) -> tuple[Cluster, Request, Claims]:
    rng = Random(seed)
    cluster, asked = random_instance(rng, TINY)
    return cluster, asked, random_claims(rng, cluster, asked)


@settings(max_examples=200)
@given(st.integers(0, 10**9))
def test_what_readers_count_is_what_can_be_handed_out(seed: int) -> None:
    cluster, asked, claims = random_claimed(seed)
    sets = [each.name for each in asked.root.pod_sets() if each.name in claims.needs][:3]
    assume(sets)
    offered, said = counted(cluster, asked, claims)
    taken = {each.name: each.resources - plain.resources
             for each, plain in zip(said.root.pod_sets(), asked.root.pod_sets(), strict=True)}  # fmt: skip

    for plain_node, node in zip(cluster.nodes, offered.nodes, strict=True):
        room = node.allocatable - plain_node.allocatable
        for numbers in product(range(4), repeat=len(sets)):
            needs = [need for name, n in zip(sets, numbers, strict=True) for need in claims.needs[name] * n]
            resources = {name for each in sets for name in taken[each] if "attachable" not in name}
            fits = all(
                sum(taken[each].get(name, 0) * n for each, n in zip(sets, numbers, strict=True))
                <= room.get(name, 0)
                for name in resources
            )
            assert fits == handed_out(claims.devices[node.name], needs), (node.name, numbers)


@settings(max_examples=150)
@given(st.integers(0, 10**9))
def test_the_oracle_with_claims_agrees_with_brute_force(seed: int) -> None:
    cluster, asked, claims = random_claimed(seed)
    ways = (math.comb(each.open + len(cluster.nodes), each.open) for each in asked.root.pod_sets())
    assume(math.prod(ways) <= 1500)
    scene = Scene.of(cluster, asked)

    expected = any(
        not any(broken(scene, spread)) and not any(broken_claims(claims, scene.nodes, asked, spread))
        for spread in brute.spreads(cluster, asked)
    )

    assert oracle.feasible(cluster, asked, claims) is expected


CLUSTER = parse("""
    r1
      x1: 4
    r2
      x2: 4
""")
REQUEST = request("train", pods("a", 2))


def blind(_: Cluster, __: Request) -> Outcome:
    """Decides as if pods claimed nothing."""
    return decided(CLUSTER, REQUEST)


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param(
            Claims(devices={"x1": (A,), "x2": (A,)}, needs={"a": (Need(1),)}), id="a device for each pod"
        ),
        pytest.param(Claims(volumes={"a": (Volume("rack", ("r2",)),)}), id="a volume that one rack reaches"),
        pytest.param(
            Claims(volumes={"a": (Volume(attached=True),)}, limits={"x1": 1, "x2": 1}),
            id="a volume for each pod, of which nodes take one",
        ),
    ],
)
def test_an_engine_that_passes_over_claims_is_noticed(claims: Claims) -> None:
    assert judged(CLUSTER, REQUEST, None, claims).failures == ()
    assert "unsound" in judged(CLUSTER, REQUEST, None, claims, decide=blind).failures


def test_random_requests_claim_devices_and_volumes_and_some_cannot_be_placed() -> None:
    claimed = [each for each in map(instance_of, range(300)) if each.claims != Claims()]
    placed = [isinstance(decided(*counted(c, asked, claims)), Placed) for c, asked, _, claims in claimed]

    assert len(claimed) > 30
    assert sum(bool(each.claims.needs) for each in claimed) > 15
    assert sum(bool(each.claims.volumes) for each in claimed) > 10
    assert any(placed)
    assert not all(placed)
