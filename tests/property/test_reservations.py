"""Whoever passes the first in the queue does not delay it, on clusters and streams that nobody drew."""

from __future__ import annotations

from random import Random

from hypothesis import event, given
from hypothesis import strategies as st

from closeknit.hub.drawing import GPU
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse
from closeknit.testing.queue_simulation import Arrival, Rule, Simulation
from tests.property.effort import effort


def stream(rng: Random) -> tuple[str, list[Arrival]]:
    """A cluster, what runs on it, a gang of one rack, and small units behind it."""
    racks = [[rng.randint(1, 4) for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(1, 3))]
    drawing = "\n".join(
        line
        for r, hosts in enumerate(racks)
        for line in (f"r{r}", *(f"  x{r}-{h}: {gpus}" for h, gpus in enumerate(hosts)))
    )
    made = [
        Arrival(request(f"old-{i}", pods("p", 1, gpus=rng.randint(1, 2))), 0.0, float(rng.randint(1, 30)))
        for i in range(rng.randint(1, 12))
    ]
    large = max(sum(hosts) for hosts in racks)
    made.append(
        Arrival(request("large", pods("p", rng.randint(max(large - 2, 1), large)), required="rack"), 1.0, 5.0)
    )
    for i in range(rng.randint(1, 15)):
        level = rng.choice([None, "rack"])
        asked = request(f"small-{i:02}", pods("p", rng.randint(1, 3), gpus=rng.randint(1, 2)), required=level)
        made.append(Arrival(asked, 1.0 + i * rng.random(), float(rng.randint(1, 40))))
    return drawing, made


@effort(80)
@given(st.integers(0, 2**32 - 1))
def test_the_first_starts_no_later_than_if_nobody_passed_it(seed: int) -> None:
    drawing, arrivals = stream(Random(seed))
    cluster = parse(drawing)
    before = [each for each in arrivals if each.request.name.startswith("old")]
    if len(Simulation(cluster, Rule.FIRST_COME, GPU).run(before, until=1.0).started) < len(before):
        # Somebody else is the first in the queue.
        return
    alone = Simulation(cluster, Rule.FIRST_COME, GPU).run(arrivals)
    passed = Simulation(cluster, Rule.RESERVATION, GPU).run(arrivals)
    assert passed.started["large"] <= alone.started["large"]
    event(f"it had to wait: {alone.started['large'] > 1.0}")
