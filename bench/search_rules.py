"""``python -m bench.search_rules``: what each rule of the search saves, in steps, on instances made for it.

A family is a workload that people run on a cluster that makes it hard. Steps are the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from random import Random

from closeknit.engine import Budget, Engine
from closeknit.engine.compiled_request import Goal
from closeknit.engine.rules import ALL, Rules
from closeknit.engine.search import Found, find
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.drawing import GPU
from closeknit.hub.nodes import Node
from closeknit.hub.request import Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.testing.builders import group, pods, request

INSTANCES = 5
"""Of each family."""
BUDGET = Budget(find=4_000)
"""Enough for every family with all rules."""
TOPOLOGY = Topology("default", (Level("block"), Level("rack")))

Instance = tuple[Cluster, Request]


def cluster(blocks: list[list[list[Resources]]]) -> Cluster:
    """A cluster from what each node offers, by block and rack."""
    nodes = []
    for b, racks in enumerate(blocks):
        for r, rack in enumerate(racks):
            for n, offer in enumerate(rack):
                labels = {"block": f"b{b}", "rack": f"r{b}-{r}"}
                nodes.append(Node(f"n{b}-{r}-{n}", labels, offer))
    return Cluster((TOPOLOGY,), tuple(nodes))


def offer(gpus: int, cpu: int = 64) -> Resources:
    """What a node offers."""
    return Resources.parse({GPU: gpus, "cpu": str(cpu)})


def partly_held(blocks: int, racks: int, nodes: int, rng: Random) -> Cluster:
    """A cluster on every node of which others hold some of the 8 GPUs."""
    return cluster(
        [[[offer(rng.randint(1, 8)) for _ in range(nodes)] for _ in range(racks)] for _ in range(blocks)]
    )


# ---- families ----


def a_server_on_every_node(rng: Random) -> Instance:
    """Servers take most of every node, so that no other pod of the request finds room anywhere."""
    sizes = iter(rng.sample(range(60, 90), 6))
    found = cluster([[[offer(8, cpu)] * 2 for cpu in (next(sizes), next(sizes), next(sizes))] for _ in "ab"])
    workers = [group(f"g{i}", pods(f"w{i}", 1, 4, cpu=1 + i), preferred="rack") for i in range(4)]
    return found, request("w", pods("server", 12, 5), *workers)


def gangs_that_prefer_a_rack(rng: Random) -> Instance:
    """Five gangs prefer a rack each on a cluster that others use too."""
    gangs = [group(f"g{i}", pods(f"w{i}", rng.randint(3, 6), 2), preferred="rack") for i in range(5)]
    return partly_held(6, 3, 3, rng), request("w", *gangs)


def gangs_that_require_a_rack(rng: Random) -> Instance:
    """Five gangs require a rack each and share racks, on a cluster that others use too."""
    gangs = [group(f"g{i}", pods(f"w{i}", 3 + i % 4, 2), required="rack") for i in range(5)]
    return partly_held(4, 4, 4, rng), request("w", *gangs)


def a_small_group_that_no_rack_takes(rng: Random) -> Instance:
    """The smallest group is the one that fits nowhere: five pods of most of a node, four nodes a rack."""
    large = [group(f"g{i}", pods(f"w{i}", 6 + i, cpu=1), required="rack") for i in range(3)]
    small = group("z", pods("leader", 1, cpu=45), pods("worker", 4, cpu=40), required="rack")
    return partly_held(2, 3, 4, rng), request("w", *large, small)


def equal_groups_one_a_rack(rng: Random) -> Instance:
    """Equal groups, each of which takes more than half of the nodes of a rack, and one group too many."""
    others = rng.sample(range(1, 9), 4)
    found = cluster([[[*[offer(8)] * 3, offer(gpus)] for gpus in others]])
    groups = [
        group(f"g{i}", pods(f"l{i}", 1, cpu=45), pods(f"w{i}", 2, cpu=33), required="rack") for i in range(5)
    ]
    return found, request("w", *groups)


def equal_racks_none_of_which_will_do(rng: Random) -> Instance:
    """A new cluster of equal racks, and a group with one pod more than a rack has nodes."""
    group_size = rng.randint(3, 5)
    found = cluster([[[offer(8)] * group_size] * 6] * 2)
    asked = group("g", pods("leader", 1, cpu=45), pods("worker", group_size, cpu=40), required="rack")
    return found, request("w", asked)


def one_rack_too_few(rng: Random) -> Instance:
    """Thirteen groups that fill most of a rack each, and twelve racks whose rests would add up to one."""
    found = cluster([[[offer(7), offer(rng.randint(3, 6))] for _ in range(4)] for _ in range(3)])
    groups = [group(f"g{i}", pods(f"w{i}", 7 + i // 4), required="rack") for i in range(13)]
    return found, request("w", *groups)


def two_shapes_for_the_same_gpus(rng: Random) -> Instance:
    """Four groups of two shapes for three large blocks, where either shape leaves room for a group more."""
    found = cluster([[[offer(8, rng.randint(64, 80))] * 24 for _ in range(3)] for _ in range(3)])
    groups = [
        group(f"g{i}", pods(f"a{i}", 120 + i, 2, cpu=4), pods(f"b{i}", 240 - i, cpu=8), required="block")
        for i in range(4)
    ]
    return found, request("w", *groups)


def leaders_beside_workers(rng: Random) -> Instance:
    """Groups of workers with leaders of nearly the same shape, which together fill nearly all blocks."""
    found = cluster([[[offer(8, rng.randint(64, 80))] * 3 for _ in range(2)] for _ in range(3)])
    groups = [
        group(f"g{i}", pods(f"w{i}", 24 - 2 * i, cpu=1), pods(f"l{i}", 2, cpu=20 + i), required="block")
        for i in range(4)
    ]
    return found, request("w", *groups)


def leaders_and_workers_on_few_nodes(rng: Random) -> Instance:
    """The same with groups that prefer a rack of one node each, so that the number of nodes counts."""
    found = cluster([[[offer(8, rng.randint(64, 80))] for _ in range(6)] for _ in range(3)])
    groups = [
        group(
            f"g{i}",
            pods(f"w{i}", 24 - 2 * i, cpu=1),
            pods(f"l{i}", 2, cpu=20 + i),
            required="block",
            preferred="rack",
        )
        for i in range(4)
    ]
    return found, request("w", *groups)


FAMILIES: dict[str, Callable[[Random], Instance]] = {
    "constraints_first": a_server_on_every_node,
    "floor": leaders_beside_workers,
    "hopeless_domains": gangs_that_prefer_a_rack,
    "guide": gangs_that_require_a_rack,
    "failures_first": a_small_group_that_no_rack_takes,
    "twins": equal_groups_one_a_rack,
    "symmetry": equal_racks_none_of_which_will_do,
    "whole_groups": one_rack_too_few,
    "resource_sums": two_shapes_for_the_same_gpus,
    "mixed_bound": leaders_and_workers_on_few_nodes,
    "early_layout": a_small_group_that_no_rack_takes,
}
"""By rule, the family on which it at least halves the steps."""


@dataclass(frozen=True, slots=True)
class Saving:
    """The steps that a family takes with all rules, and without one of them."""

    rule: str
    family: str
    steps: int
    without: int

    @property
    def ratio(self) -> float:
        """How many times the steps the search takes without the rule; at least, where it was stopped."""
        return self.without / max(self.steps, 1)


def saving(rule: str, instances: int = INSTANCES) -> Saving:
    """Search every instance of a rule's family with and without the rule."""
    family = FAMILIES[rule]
    given = [family(Random(seed)) for seed in range(instances)]
    steps = sum(searched(instance, ALL).steps for instance in given)
    without = sum(searched(instance, replace(ALL, **{rule: False})).steps for instance in given)
    return Saving(rule, family.__name__, steps, without)


def searched(instance: Instance, rules: Rules) -> Found:
    """Search as the engine does, with some rules only."""
    found, asked = instance
    engine = Engine(found)
    # Rules are none of an engine's settings: only a measurement goes without one.
    compiled = partial(engine._compile, asked)  # noqa: SLF001
    return find(
        compiled(Goal.WISHES),
        compiled,
        engine._ledger.free,  # noqa: SLF001
        BUDGET,
        rules=rules,
    )


def table() -> Iterator[str]:
    """One line a rule."""
    yield f"{'rule':<18} {'steps':>7} {'without':>8} {'ratio':>7}  family"
    for rule in fields(Rules):
        found = saving(rule.name)
        yield f"{found.rule:<18} {found.steps:>7} {found.without:>8} {found.ratio:>7.1f}  {found.family}"


def main() -> int:
    """Print the table."""
    for line in table():
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
