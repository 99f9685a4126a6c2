"""Compare many random sequences: ``python -m tests.policy.run -n 10000 --seed 1``."""

import argparse
import time
from collections import Counter

from tests.policy import sequences
from tests.policy.harness import running_bed
from tests.policy.shrinking import drawn, shrunk
from tests.policy.sequences import CALM, Flavour

FLAVOURS = {
    "all": Flavour(),
    "calm": CALM,
    "plain": Flavour(queues=False, budgets=False, runtimes=False),
    "budgets": Flavour(queues=False, runtimes=False),
    "limits": Flavour(priorities=False, reclaim=False, budgets=False, runtimes=False),
    "lanes": Flavour(reclaim=False, budgets=False, runtimes=False),
    "quota": Flavour(budgets=False, runtimes=False),
}

p = argparse.ArgumentParser()
p.add_argument("-n", type=int, default=100)
p.add_argument("--seed", type=int, default=1)
p.add_argument("--flavour", default="all")
p.add_argument("--show", type=int, default=0)
a = p.parse_args()
t = time.process_time()
kinds = Counter()
with running_bed() as run:
    for seed in range(a.seed, a.seed + a.n):
        s = sequences.draw(seed, FLAVOURS[a.flavour])
        r = run(s)
        if r.ambiguous:
            kinds["ambiguous: " + r.ambiguous] += 1
        kinds["compared"] += r.compared
        kinds["moved"] += r.moved
        kinds["evictions"] += r.evictions
        if r.difference:
            kinds["difference: " + r.difference.what] += 1
            if a.show:
                a.show -= 1
                d = r.difference
                s = shrunk(s, run)
                print(f"------------ seed {seed}", drawn(s, run(s).difference), sep="\n", flush=True)
print(kinds, f"{(time.process_time() - t) / a.n * 1000:.0f} ms each")
