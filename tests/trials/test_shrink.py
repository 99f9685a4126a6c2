from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.hub.request import problems
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import draw, parse
from closeknit.testing.strategies import random_instance
from tests.trials.shrink import Instance, shrunk, smaller


def test_what_does_not_matter_is_taken_away() -> None:
    cluster = parse("""
        b1
          r1
            x1: 8 used=2 taint:dedicated=ml:NoSchedule
            x2: 8 used=1:train
          r2
            x3: 4 unschedulable
    """)
    asked = request(
        "train",
        group("g", pods("a", 5, minimum=2, bound=["x2"], names=["p1", "p2", "p3", "p4"]), required="rack"),
        group("h", pods("b", 2), pods("c", 3), preferred="rack", minimum=1),
    )

    def fails(instance: Instance) -> bool:
        """As if an engine failed wherever x1 is there and two pods of b are asked for."""
        found, wanted = instance
        return any(node.name == "x1" for node in found.nodes) and any(
            pod_set.name == "b" and pod_set.count >= 2 for pod_set in wanted.root.pod_sets()
        )

    small, wanted = shrunk((cluster, asked), fails)

    assert draw(small) == "b1\n  r1\n    x1: 8\n"
    assert wanted == request("train", pods("b", 2))


def test_a_minimum_shrinks_with_the_members() -> None:
    asked = request("train", pods("a", 1), pods("b", 1), minimum=2)

    small, wanted = shrunk((parse("x1: 1"), asked), lambda instance: instance[1].root.minimum is not None)

    assert small.nodes == ()
    assert wanted == request("train", minimum=0)


@settings(max_examples=30)
@given(st.integers(0, 10**9))
def test_every_step_leaves_a_valid_instance(seed: int) -> None:
    for cluster, asked in smaller(random_instance(Random(seed))):
        topology = None if asked.topology is None else cluster.topology(asked.topology)
        assert problems(asked, topology) == ()
        names = {node.name for node in cluster.nodes}
        assert names >= {node for pod_set in asked.root.pod_sets() for node in pod_set.bound}
        assert names >= {holding.node for holding in cluster.holdings}
