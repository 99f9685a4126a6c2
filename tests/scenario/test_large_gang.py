"""A gang of 64 nodes that does not fit, and a stream of small ones behind it.

``python -m bench.large_gang`` prints the figures of a longer stream.
"""

from __future__ import annotations

import sys
from math import ceil
from random import Random
from typing import Any

import pytest

from bench.large_gang import BLOCKS, EACH, GPUS, HOSTS, LARGE, NODES, RACKS, cluster, stream
from closeknit.hub.drawing import GPU
from closeknit.kube.port import DeleteOptions
from closeknit.kube.resources import PODS
from closeknit.testing.queue_simulation import History, Rule, Simulation
from tests.unit.scheduler.living import living
from tests.unit.scheduler.objects import node, pod, pod_group, together, topology

HORIZON = 960.0
"""By then the gang has started in the first-come queue."""
AT_ONCE = DeleteOptions(grace_period=0)
_BACK_OFF = 11
"""Seconds that a live scheduler may wait before it tries the gang again, and one for the binding."""


def history(rule: Rule, seed: int) -> History:
    return Simulation(cluster(), rule, GPU).run(stream(seed, small=90), until=HORIZON)


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1, id="one stream"),
        *(pytest.param(seed, id=f"stream {seed}", marks=pytest.mark.slow) for seed in range(2, 7)),
    ],
)
def test_a_reservation_starts_the_gang_no_later_than_a_first_come_queue_and_uses_more(seed: int) -> None:
    first_come, reserved = history(Rule.FIRST_COME, seed), history(Rule.RESERVATION, seed)
    start = first_come.started[LARGE]
    assert reserved.started[LARGE] <= start
    assert reserved.usage(0, start, GPUS) > first_come.usage(0, start, GPUS) + 0.2


def test_without_a_reservation_the_gang_starves() -> None:
    greedy = history(Rule.GREEDY, 1)
    assert LARGE not in greedy.started


def test_where_nobody_says_when_it_ends_the_gang_gets_its_turn_all_the_same() -> None:
    kept = history(Rule.RESERVATION_WITHOUT_ENDS, 1)
    start = history(Rule.FIRST_COME, 1).started[LARGE]
    assert kept.started[LARGE] < HORIZON
    assert kept.usage(0, start, GPUS) > history(Rule.FIRST_COME, 1).usage(0, start, GPUS)


@pytest.mark.slow
async def test_on_a_live_cluster_the_gang_starts_no_later_and_more_is_used(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The scheduler itself, on an embedded cluster; a first-come queue would wait until one block is empty."""
    dice = Random(1)
    hosts = [(block, rack, host) for block in range(BLOCKS) for rack in range(RACKS) for host in range(HOSTS)]
    ends = {f"n{number}": dice.uniform(20, 300) for number in range(NODES)}
    first_come = min(
        max(ends[f"n{number}"] for number, (of, _, _) in enumerate(hosts) if of == block)
        for block in range(BLOCKS)
    )
    nodes = [
        node(f"n{number}", EACH, block=f"b{block}", rack=f"r{block}{rack}")
        for number, (block, rack, _) in enumerate(hosts)
    ]
    old = [each for name, end in ends.items() for each in _live_gang(f"old-{name}", 1, "rack", end, on=name)]
    leaving = [(end, f"old-{name}-0") for name, end in ends.items()]
    used = waited = 0
    async with living([topology("block", "rack"), *nodes, *old]) as live:
        await live.create(*_live_gang(LARGE, 64, "block", 200))
        coming = 1.0
        for number in range(round(first_come) + _BACK_OFF):
            now = float(number)
            while coming <= now:
                name, size, seconds = (
                    f"small-{coming:.3f}",
                    dice.choice([1, 1, 2, 2, 4, 4, 8]),
                    dice.uniform(20, 300),
                )
                await live.create(*_live_gang(name.replace(".", "-"), size, "rack", seconds))
                coming += dice.expovariate(1 / 2)
            for end, name in [each for each in leaving if each[0] <= now]:
                leaving.remove((end, name))
                await live.cluster.delete(PODS, name, namespace="default", options=AT_ONCE)
            await live.clock.advance(1.0)
            bound = {name for name, on in (await live.nodes()).items() if on}
            known = {name for _, name in leaving}
            for each in (await live.cluster.list(PODS)).items:
                name = each["metadata"]["name"]
                if name in bound and name not in known:
                    seconds = float(each["metadata"]["annotations"]["seconds"])
                    leaving.append((now + 1 + seconds, name))
            if any(name.startswith(LARGE) for name in bound):
                break
            used, waited = used + len(bound), waited + 1
        else:
            pytest.fail("The gang has not started.")
    of_first_come = sum(min(end, first_come) for end in ends.values()) / (NODES * first_come)
    with capsys.disabled():
        sys.stdout.write(
            f"\nlive: the gang starts after {waited} s, and {used / waited / NODES:.1%} of the GPUs are used until then; "
            f"first come, first served: {first_come:.0f} s, {of_first_come:.1%}\n"
        )
    assert waited <= first_come + _BACK_OFF
    assert used / waited / NODES > of_first_come + 0.2


def _live_gang(name: str, pods: int, level: str, seconds: float, on: str = "") -> list[dict[str, Any]]:
    """A gang that Kubernetes ends after its time."""
    group = pod_group(name, minMember=pods, topologyConstraint=together(level))
    made = [pod(f"{name}-{i}", name, gpus=EACH, on=on) for i in range(pods)]
    for each in made:
        each["metadata"]["annotations"]["seconds"] = str(seconds)
        each["spec"] |= {"activeDeadlineSeconds": ceil(seconds), "terminationGracePeriodSeconds": 0}
    return [group, *made]
