"""How long a gang of 64 nodes waits behind a full cluster and before a stream of small gangs, rule by rule.

``python -m bench.large_gang [SEED ...]`` prints when it starts, and how much is used until then.
"""

from __future__ import annotations

import sys
from random import Random

from closeknit.hub.cluster import Cluster
from closeknit.hub.drawing import GPU
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse
from closeknit.testing.queue_simulation import Arrival, Rule, Simulation

BLOCKS, RACKS, HOSTS, EACH = 2, 4, 16, 8
NODES = BLOCKS * RACKS * HOSTS
GPUS = NODES * EACH
LARGE = "large"


def cluster() -> Cluster:
    """Two blocks of four racks of sixteen nodes of eight GPUs."""
    lines = []
    for block in range(BLOCKS):
        lines.append(f"b{block}")
        for rack in range(RACKS):
            lines.append(f"  r{block}{rack}")
            lines += [f"    n{block}-{rack}-{host}: {EACH}" for host in range(HOSTS)]
    return parse("\n".join(lines))


def stream(seed: int, small: int = 400) -> list[Arrival]:
    """Every node runs something, then the gang comes, then small ones of one to eight nodes of a rack."""
    rng = Random(seed)
    made = [
        Arrival(request(f"old-{i:03}", pods("p", 1, gpus=EACH)), 0.0, rng.uniform(60, 900))
        for i in range(NODES)
    ]
    now = 0.0
    for i in range(small):
        now += rng.expovariate(1 / 6)
        nodes = rng.choice([1, 1, 2, 2, 4, 4, 8])
        asked = request(f"small-{i:03}", pods("p", nodes, gpus=EACH), required="rack")
        made.append(Arrival(asked, 1.0 + now, rng.uniform(60, 900)))
    made.append(Arrival(request(LARGE, pods("p", 64, gpus=EACH), required="block"), 1.0, 600.0))
    return made


def main(seeds: list[int]) -> None:
    """Print a table for each seed."""
    for seed in seeds:
        arrivals = stream(seed)
        histories = {rule: Simulation(cluster(), rule, GPU).run(arrivals) for rule in Rule}
        start = histories[Rule.FIRST_COME].started[LARGE]
        print(f"seed {seed}")
        for rule, history in histories.items():
            waits = [
                history.started[each.request.name] - each.at
                for each in arrivals
                if each.request.name != LARGE
            ]
            print(
                f"  {rule.value:28} the gang starts after {history.started[LARGE] - 1:5.0f} s,"
                f" {history.usage(0, start, GPUS):6.1%} of the GPUs are used until {start:.0f} s,"
                f" the others wait {sum(waits) / len(waits):5.0f} s on average"
            )


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]] or [1])
