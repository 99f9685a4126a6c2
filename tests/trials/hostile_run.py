"""Hostile objects of one tenant while the gangs of another arrive, on an embedded cluster in real time.

All gangs must be bound and the process alive; printed is how long gangs wait with hostile objects and without.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import statistics
import sys
import time
from collections.abc import Sequence
from random import Random
from typing import Any

from closeknit.admission.embedded import admit
from closeknit.admission.instance import following_for
from closeknit.admission.reviewer import Reviewer
from closeknit.controllers.instance import Controllers
from closeknit.controllers.operators import managed
from closeknit.dialects import DIALECTS
from closeknit.dialects.definitions import FAMILIES
from closeknit.hub.failures import ObjectFailure
from closeknit.hub.workload import Workload
from closeknit.kube.clock import SYSTEM_CLOCK
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.loading import load
from closeknit.kube.resources import PODS
from closeknit.kube.standins import run_standins
from closeknit.live.following import Following, kinds_read
from closeknit.live.log import UNLOGGED
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.server.api import Api, Asked
from closeknit.server.instance import MapInstance
from tests.kit.hostile import hostile_objects
from tests.kit.poisoned import RACK, USER, infrastructure, node_of_rack, pod_group_of, pod_of

Json = dict[str, Any]


class Outcome:
    """What became of a run."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.decisions: list[float] = []
        self.unbound: list[str] = []
        self.ended: list[str] = []
        self.refused = 0
        self.failures: list[ObjectFailure] = []
        self.map_seconds = 0.0

    @property
    def fine(self) -> bool:
        return not self.unbound and not self.ended

    def failed(self, component: str, failure: ObjectFailure, error: BaseException, *, known: bool) -> None:  # noqa: ARG002
        self.failures.append(failure)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


async def run(hostile: Sequence[Json], gangs: int, every: float, patience: float) -> Outcome:
    """Create hostile objects and gangs beside each other, and wait until all gangs are bound."""
    outcome, rng = Outcome(), Random(5)
    definitions = [one.written() for family in FAMILIES.values() for one in family]
    cluster = EmbeddedCluster(definitions, gang_api=True)
    own = cluster.acting_as(USER)
    kinds = kinds_read((*Settings().families, *DIALECTS), (kind for each in managed() for kind in each.kinds))
    following = Following(own, kinds, clock=SYSTEM_CLOCK, random=rng, record=outcome)
    more: dict[str, Any] = {"random": rng, "log": UNLOGGED, "following": following, "record": outcome}
    scheduler = Instance(own, Settings(), identity="s", **more)
    observer = scheduler._observer
    decided = observer.decided

    def timed(verdict: Any, seconds: float) -> None:
        if verdict.workload.object.namespace == "good":
            outcome.decisions.append(seconds)
        decided(verdict, seconds)

    created: dict[str, float] = {}
    scheduled = observer.scheduled

    def seen(workload: Workload, seconds: float) -> None:
        if workload.object.name in created:
            outcome.waits.append(time.monotonic() - created[workload.object.name])
        scheduled(workload, seconds)

    observer.decided, observer.scheduled = timed, seen  # type: ignore[method-assign]
    shown = MapInstance(own, random=rng, following=following)
    reviewer = Reviewer(cluster, operators={USER}, record=outcome)
    async with following_for(reviewer, cluster, SYSTEM_CLOCK, rng) as synced:
        await synced
        await load(
            cluster, [*infrastructure(), *(node_of_rack(f"m{i}", f"s{i // 8}") for i in range(gangs // 2))]
        )
        admit(cluster, reviewer)
        named = {
            "informer": following.run(),
            "scheduler": scheduler.run(),
            "controllers": Controllers(own, managed(), identity="c", **more).run(),
            "map": shown.run(),
            "others": run_standins(own, random=rng, leases=False),
        }
        tasks = {name: asyncio.create_task(work) for name, work in named.items()}

        async def attack() -> None:
            for each in hostile:
                outcome.refused += bool(await load(cluster, [each]))
                await asyncio.sleep(every * gangs / max(len(hostile), 1) / 2)

        attacking = asyncio.create_task(attack())
        try:
            await asyncio.sleep(1)
            for number in range(gangs):
                name = f"gang-{number}"
                created[name] = time.monotonic()
                level = {"topology": "tree", "requiredTopologyLevel": RACK}
                await load(cluster, [pod_group_of(name, "good", 4, topologyConstraint=level)])
                for i in range(4):
                    await load(cluster, [pod_of(f"{name}-{i}", "good", name)])
                await asyncio.sleep(every)
            until = time.monotonic() + patience
            while len(outcome.waits) < gangs and time.monotonic() < until:  # noqa: ASYNC110 (asked from outside)
                await asyncio.sleep(0.1)
            await attacking
            await asyncio.sleep(2)
            outcome.unbound = [
                pod["metadata"]["name"]
                for pod in (await cluster.list(PODS)).items
                if pod["metadata"]["namespace"] == "good" and not pod["spec"].get("nodeName")
            ]
            began = time.monotonic()
            shown.live.refresh()
            Api(shown.live).workloads(Asked(path={}, query={}))
            outcome.map_seconds = time.monotonic() - began
        finally:
            outcome.ended = [f"{name}: {task!r}" for name, task in tasks.items() if task.done()]
            attacking.cancel()
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), attacking, return_exceptions=True)
            await cluster.close()
    return outcome


def main() -> int:
    """Run with hostile objects and without, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hostile", type=int, default=1_000)
    parser.add_argument("--gangs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=float, default=0.4, help="seconds between two gangs")
    parser.add_argument("--patience", type=float, default=300.0)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    objects = hostile_objects(options.hostile, options.seed)
    found: dict[str, Outcome] = {}
    for name, given in (("without", []), ("with", objects)):
        outcome = found[name] = asyncio.run(run(given, options.gangs, options.every, options.patience))
        waits, decisions = outcome.waits, outcome.decisions
        failures = {(each.step.value, each.error.partition(":")[0]) for each in outcome.failures}
        sys.stdout.write(
            f"{name} {len(given)} hostile objects ({outcome.refused} refused): {len(waits)} of {options.gangs} gangs"
            f" bound, {len(outcome.unbound)} pods not, {len(outcome.ended)} components ended;"
            f" wait median {statistics.median(waits or [0]):.3f} s, p99 {percentile(waits, 0.99):.3f} s;"
            f" decision p99 {percentile(decisions, 0.99) * 1000:.1f} ms; map {outcome.map_seconds:.2f} s;"
            f" {len(outcome.failures)} failures contained {sorted(failures)}\n"
        )
        sys.stdout.write("".join(f"  {each}\n" for each in (*outcome.ended, *outcome.unbound[:5])))
        sys.stdout.flush()
    ratios = [
        percentile(getattr(found["with"], each), 0.99)
        / (percentile(getattr(found["without"], each), 0.99) or 1)
        for each in ("waits", "decisions")
    ]
    sys.stdout.write(f"p99 with over p99 without: wait {ratios[0]:.2f}, decision {ratios[1]:.2f}\n")
    return int(not all(each.fine for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
