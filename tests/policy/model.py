"""The page of scheduling policy as a slow program: one function per rule, brute force over victim sets.

Written from ``docs/reference/scheduling-policy.md`` alone. A ``World`` is the cluster and what its users asked for;
``settle`` carries out the policy until nothing more happens. What takes time in a live cluster (binding, evicting,
ending of pods) is one step here, so that the result is what a live scheduler must reach once it is idle.
Placements are those of ``closeknit.engine``; all else is counted here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import floor, inf

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.nodes import Node
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology

GPU = "nvidia.com/gpu"
RACK = "rack"
TREE = Topology("tree", (Level(RACK),))
UNLIMITED = -1
PREEMPTIBLE_BELOW = 100
QUEUE_PRIORITY = 100
MOST_STEPS = 200
"""More decisions at one moment than any small instance needs: beyond it the policy goes round in circles."""
MOST_SETS = 1 << 14
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds until a unit for which no victim set helped is considered again, at first and at most."""
BACKOFF = 10.0
"""Seconds until a unit of which a plan was given up makes the next one."""
MADE_AGAIN_AFTER = 2.0
"""Seconds until a controller makes a pod again, unless it is prompt."""
LONGEST_RETRY = 10.0
"""Seconds within which a unit that was tried and not placed may be passed by one behind it."""
CLOSE = 90.0
"""Seconds by which lost work of two sets must differ, as a live scheduler decides some seconds later."""


class AmbiguousError(Exception):
    """The outcome depends on seconds, which a model without them cannot foresee."""


class CircleError(Exception):
    """The policy evicts and places for ever."""


# --------------------------------------------------------------------------------------------- terms


@dataclass
class Machine:
    """A node."""

    name: str
    gpus: int
    rack: str
    cordoned: bool = False


@dataclass
class Pod:
    """A pod that is neither terminal nor being deleted."""

    name: str
    node: str = ""
    """Empty while it has none."""
    start: float = 0.0


@dataclass
class Unit:
    """What is placed as one."""

    name: str
    created: float
    minimum: int = 1
    gpus: int = 1
    """Per pod."""
    alone: bool = False
    """Whether it is a single pod without a group."""
    rack: bool = False
    """Whether all its pods must be in one rack."""
    queue: str = ""
    priority: int = 0
    preemptible: bool | None = None
    never: bool = False
    """Whether its ``preemptionPolicy`` is ``Never``."""
    delay: float = 0.0
    grace: float = 60.0
    app: str = ""
    """The label that budgets select."""
    pods: dict[str, Pod] = field(default_factory=dict)
    succeeded: int = 0
    remade: bool = True
    """Whether its controller makes a pod again that was evicted."""
    over: bool = False
    """Whether it ended or was deleted."""
    ran: bool = False
    """Whether its minimum ran since it last had no running pod."""
    stale_since: float | None = None
    evicted: float | None = None
    """When it was evicted whole for another unit, if ever."""
    changed: float = -inf
    """When its pods or its object changed last."""
    consider_after: float = -inf
    wait: float = FIRST_WAIT
    considered: int = -1
    """The change of the world after which it was considered last."""

    @property
    def may_be_evicted(self) -> bool:
        """Section "Terms": what is preemptible."""
        if self.alone or self.preemptible is not None:
            return self.alone or bool(self.preemptible)
        return self.priority < PREEMPTIBLE_BELOW

    @property
    def running(self) -> list[Pod]:
        """Its pods that hold a node, by name."""
        return sorted((pod for pod in self.pods.values() if pod.node), key=lambda pod: pod.name)

    @property
    def pending(self) -> list[Pod]:
        """Its pods without a node, by name."""
        return sorted((pod for pod in self.pods.values() if not pod.node), key=lambda pod: pod.name)

    @property
    def lacking(self) -> int:
        """How many pods its minimum still needs."""
        return max(self.minimum - self.succeeded - len(self.running), 0)

    @property
    def waiting(self) -> bool:
        """Whether it has pods without a node that could be placed."""
        return bool(self.pending) and len(self.pending) >= self.lacking

    @property
    def least(self) -> int:
        """The fewest pods that are worth placing: its minimum, or one more if that runs."""
        return self.lacking or 1


@dataclass
class Queue:
    """A queue; amounts are GPUs, and -1 is no limit."""

    name: str
    parent: str = ""
    quota: int = UNLIMITED
    limit: int = UNLIMITED
    weight: int = 1
    priority: int = QUEUE_PRIORITY
    preempt_after: float | None = None
    reclaim_after: float | None = None


@dataclass
class Budget:
    """A PodDisruptionBudget."""

    name: str
    app: str
    keep: int
    """``minAvailable``."""


@dataclass
class World:
    """A cluster at one moment."""

    now: float = 0.0
    stamp: float = 0.0
    """What clocks of the API server and of kubelets show: the time of the last event."""
    nodes: dict[str, Machine] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    budgets: dict[str, Budget] = field(default_factory=dict)
    version: int = 0
    """Number of changes so far."""
    prompt: bool = False
    """Whether controllers make pods again at once."""
    to_make: list[tuple[float, Unit, str]] = field(default_factory=list)
    """Pods that controllers make again, with the time."""
    nominations: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By unit, the nodes of the pods of its plan, once the victims are gone and until it is bound."""
    just_bound: set[str] = field(default_factory=set)
    """Units of which pods were bound since the last event or timer; a live scheduler may still be binding them."""
    plan_victims: set[str] = field(default_factory=set)
    """Units that lost pods to a plan since the last event or timer; a live scheduler may still be evicting them."""
    not_placed: dict[str, float] = field(default_factory=dict)
    """By unit, when it was last tried and not placed."""
    doubt: str = ""
    """Why seconds may decide what runs since the last event, empty if they do not."""
    log: list[str] = field(default_factory=list)
    """What was decided, for people."""

    def unit_of(self, pod: str) -> Unit:
        """The unit that a pod belongs to."""
        return next(unit for unit in self.units.values() if pod in unit.pods)


def changed(world: World, unit: Unit) -> None:
    """A unit is not what it was."""
    unit.changed = world.now
    world.version += 1


def path(world: World, queue: str) -> list[Queue]:
    """A queue and those above it, outermost first; empty for no queue."""
    found: list[Queue] = []
    while queue:
        found.insert(0, world.queues[queue])
        queue = world.queues[queue].parent
    return found


# --------------------------------------------------------------------------------------- queue order


def queue_order(world: World, units: Iterable[Unit] | None = None) -> list[Unit]:
    """Section "Queue order": all waiting units, or some of them, the next one first."""
    waiting = [unit for unit in (world.units.values() if units is None else units) if unit.waiting]
    ordered: list[Unit] = []
    # Minimum before surplus is compared first, across all queues.
    for group in ([u for u in waiting if u.lacking], [u for u in waiting if not u.lacking]):
        remaining = list(group)
        while remaining:
            best = first(world, remaining, 0)
            ordered.append(best)
            remaining.remove(best)
    return ordered


def first(world: World, units: Sequence[Unit], depth: int) -> Unit:
    """Section "Queue order": the best of units that share their queues down to this depth."""
    branches: dict[str, list[Unit]] = {}
    for unit in units:
        queues = path(world, unit.queue)
        branches.setdefault(queues[depth].name if depth < len(queues) else "", []).append(unit)
    if len(branches) == 1:
        ((name, members),) = branches.items()
        return first(world, members, depth + 1) if name else min(members, key=unit_key)
    champions = [
        first(world, members, depth + 1) if name else min(members, key=unit_key)
        for name, members in branches.items()
    ]
    levels = max(len(path(world, unit.queue)) for unit in champions)
    return min(champions, key=lambda unit: (queue_key(world, unit, depth, levels), unit_key(unit)))


def unit_key(unit: Unit) -> tuple[object, ...]:
    """Section "Queue order": satisfaction (surplus only), priority, age, name."""
    satisfied = Fraction(0) if unit.lacking else Fraction(len(unit.running), len(unit.pods))
    return satisfied, -unit.priority, unit.created, unit.name


def queue_key(world: World, unit: Unit, depth: int, levels: int) -> tuple[object, ...]:
    """Section "Queue order": quota, priority and share of each level from ``depth`` on."""
    asked = unit.least * unit.gpus
    key: list[tuple[bool, int, float]] = []
    for queue in path(world, unit.queue)[depth:]:
        beyond = 0 if queue.quota == UNLIMITED else max(usage(world, queue.name) + asked - queue.quota, 0)
        share = (beyond / queue.weight if queue.weight else inf) if beyond else 0.0
        key.append((beyond > 0, -queue.priority, share))
    key += [(False, -QUEUE_PRIORITY, 0.0)] * (levels - depth - len(key))
    return tuple(key)


# --------------------------------------------------------------------------------------- nomination


def kept_from(world: World, unit: Unit) -> Iterator[tuple[Unit, tuple[str, ...]]]:
    """Section "Nomination": what is nominated for others and may not be taken by this unit."""
    for name, nodes in world.nominations.items():
        other = world.units[name]
        overrules = (
            other.queue == unit.queue
            and unit.priority > other.priority
            and bool(unit.lacking or not other.lacking)
        )
        if other is not unit and not overrules:
            yield other, nodes


# --------------------------------------------------------------------------------------------- quota


def usage(
    world: World, queue: str, *, only_guaranteed: bool = False, gone: frozenset[str] = frozenset()
) -> int:
    """Section "Quota": the GPUs of running pods of a queue and those below it, without pods that are ``gone``."""
    return sum(
        unit.gpus
        for unit in world.units.values()
        if any(above.name == queue for above in path(world, unit.queue))
        and not (only_guaranteed and unit.may_be_evicted)
        for pod in unit.running
        if pod.name not in gone
    )


def affordable(world: World, unit: Unit, gone: frozenset[str] = frozenset()) -> int:
    """Section "Quota": how many more of its pods a unit may have by the limits and quotas of its queues."""
    most = len(unit.pending)
    for queue in path(world, unit.queue):
        nominated = {
            other.name: other.gpus * len(nodes)
            for other, nodes in kept_from(world, unit)
            if queue in path(world, other.queue)
        }
        if queue.limit != UNLIMITED:
            used = usage(world, queue.name, gone=gone) + sum(nominated.values())
            most = min(most, (queue.limit - used) // unit.gpus)
        if queue.quota != UNLIMITED and not unit.may_be_evicted:
            used = usage(world, queue.name, only_guaranteed=True, gone=gone)
            used += sum(gpus for name, gpus in nominated.items() if not world.units[name].may_be_evicted)
            most = min(most, (queue.quota - used) // unit.gpus)
    return max(most, 0)


# ----------------------------------------------------------------------------------------- placements


def placement(
    world: World, unit: Unit, pods: int, least: int, gone: frozenset[str] = frozenset()
) -> list[str] | None:
    """Nodes for at most so many more pods of a unit, in rank order, at least ``least``; None if impossible."""
    held: dict[str, int] = dict.fromkeys(world.nodes, 0)
    for other in world.units.values():
        for pod in other.running:
            if pod.name not in gone:
                held[pod.node] += other.gpus
    for other, nominated in kept_from(world, unit):
        for name in nominated:
            if name in held:
                held[name] += other.gpus
    shapes = tuple(
        (node.name, node.rack, node.gpus, held[node.name], node.cordoned)
        for node in sorted(world.nodes.values(), key=lambda node: node.name)
    )
    room = sum(max(gpus - used, 0) // unit.gpus for _, _, gpus, used, cordoned in shapes if not cordoned)
    if room < least:
        return None
    bound = tuple(pod.node for pod in unit.running)
    return _solved(shapes, unit.gpus, unit.rack, bound, pods, least)


@lru_cache(maxsize=200_000)
def _solved(  # noqa: PLR0917 (a key of the cache)
    shapes: tuple[tuple[str, str, int, int, bool], ...],
    gpus: int,
    rack: bool,
    bound: tuple[str, ...],
    pods: int,
    least: int,
) -> list[str] | None:
    nodes = tuple(
        Node(name, {RACK: rack_name}, Resources({GPU: size}), unschedulable=cordoned)
        for name, rack_name, size, _, cordoned in shapes
    )
    holdings = tuple(Holding("held", name, Resources({GPU: held})) for name, _, _, held, _ in shapes if held)
    pod_set = PodSet("pods", len(bound) + pods, Resources({GPU: gpus}), len(bound) + least, bound=bound)
    group = Group("unit", (pod_set,), required=RACK if rack else None)
    request = Request("unit", group, TREE.name if rack else None)
    outcome = Engine(Cluster((TREE,), nodes, holdings)).decide(request)
    if not isinstance(outcome, Placed):
        return None
    return [assignment.node for assignment in outcome.assignments]


def try_unit(world: World, unit: Unit) -> bool:
    """Section "Queue order": bind the minimum of a unit, or one more pod; whether that was possible.

    Section "Nomination": a unit for which something is nominated gets as many pods as its plan has, or the plan is
    dropped.
    """
    nominated = world.nominations.pop(unit.name, None)
    least = unit.least if nominated is None else len(nominated)
    nodes = None
    if (pods := affordable(world, unit)) >= least:
        nodes = placement(world, unit, pods, least)
    if nodes is None and nominated is not None:
        # A unit of higher priority took what was nominated, and the plan is given up.
        unit.consider_after = world.now + BACKOFF
        return try_unit(world, unit)
    if nodes is None:
        return False
    bind(world, unit, nodes[:least])
    return True


def could_be_placed(world: World, unit: Unit) -> bool:
    """Section "Queue order": whether a unit could be placed if it were tried now, without evicting others."""
    pods = affordable(world, unit)
    return pods >= unit.least and placement(world, unit, pods, unit.least) is not None


def bind(world: World, unit: Unit, nodes: Sequence[str]) -> None:
    """Give the first pending pods of a unit their nodes."""
    for pod, node in zip(unit.pending, nodes, strict=False):
        pod.node, pod.start = node, world.stamp
    world.just_bound.add(unit.name)
    changed(world, unit)
    unit.wait = FIRST_WAIT
    world.log.append(f"{world.now:.0f} bind {unit.name}: {' '.join(nodes)}")
    look_at_minimum(world, unit)


# ----------------------------------------------------------------------------------------- preemption


def may_preempt(world: World, unit: Unit) -> bool:
    """Section "Preemption": whether a waiting unit may evict others now."""
    return not unit.never and world.now >= may_preempt_from(unit)


def may_preempt_from(unit: Unit) -> float:
    """Section "Preemption": when a unit may be considered, as far as is known now."""
    since = unit.created if unit.evicted is None else unit.evicted
    return max(since + unit.delay, unit.consider_after)


def considered(world: World, unit: Unit) -> Plan | None:
    """Section "Preemption": a plan for a unit that was just tried and not placed.

    One for which no victim set helped is considered again when something changed, but not at once.
    """
    if unit.considered == world.version or not may_preempt(world, unit):
        return None
    unit.considered = world.version
    plan = plan_for(world, unit)
    if plan is None:
        unit.consider_after = world.now + unit.wait
        unit.wait = min(2 * unit.wait, LONGEST_WAIT)
    return plan


def runs_since(unit: Unit) -> float | None:
    """Section "Which pods may be evicted": when the minimum had started; None if it does not run."""
    if unit.lacking:
        return None
    starts = sorted(pod.start for pod in unit.running)
    needed = unit.minimum - unit.succeeded
    return starts[needed - 1] if needed > 0 else -inf


def minimum_run_time(world: World, victim: Unit, by: Unit) -> float:
    """Section "Which pods may be evicted": how long a victim must have run before it is broken."""
    queues = path(world, victim.queue)
    if victim.queue == by.queue:
        own = [queue.preempt_after for queue in reversed(queues) if queue.preempt_after is not None]
    else:
        depth = common_depth(world, victim, by)
        above = reversed(queues[: depth + 1])
        own = [queue.reclaim_after for queue in above if queue.reclaim_after is not None]
    return own[0] if own else 0.0


def common_depth(world: World, one: Unit, other: Unit) -> int:
    """How many queues two units of different lanes share from the top."""
    pairs = zip(path(world, one.queue), path(world, other.queue), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] is pair[1], pairs))


def old_enough(world: World, victim: Unit, by: Unit) -> bool:
    """Section "Which pods may be evicted": whether a victim has run for its minimum run time."""
    since = runs_since(victim)
    return since is None or world.now >= since + minimum_run_time(world, victim, by)


def eligible(world: World, by: Unit, *, reclaim: bool) -> list[Unit]:
    """Section "Which pods may be evicted": units that could be victims."""
    return [
        unit
        for unit in world.units.values()
        if unit is not by
        and unit.running
        and unit.may_be_evicted
        and (
            (unit.queue != by.queue and bool(unit.queue) and bool(by.queue))
            if reclaim
            else (unit.queue == by.queue and unit.priority < by.priority)
        )
    ]


@dataclass(frozen=True)
class VictimSet:
    """Section "Victim sets": pods to evict, with what the victim order compares."""

    pods: tuple[tuple[str, tuple[str, ...]], ...]
    """By unit, its pods that are evicted."""
    priority: int
    gangs: int
    lost_work: float
    number: int
    names: tuple[str, ...]

    @property
    def order(self) -> tuple[int, int, float, int, tuple[str, ...]]:
        """Section "Victim sets": the victim order after ``budget``."""
        return self.priority, self.gangs, self.lost_work, self.number, self.names

    @property
    def gone(self) -> frozenset[str]:
        """The names of all pods."""
        return frozenset(self.names)


def choices(world: World, victim: Unit, by: Unit) -> list[tuple[str, ...]]:
    """Section "Victim sets": sets of pods of one unit that may go: none, some of its surplus, or all."""
    names = [pod.name for pod in victim.running]
    surplus = len(names) + victim.succeeded - victim.minimum
    found: list[tuple[str, ...]] = [()]
    for number in range(1, min(surplus, len(names) - 1) + 1):
        found.extend(itertools.combinations(names, number))
    if old_enough(world, victim, by):
        found.append(tuple(names))
    return found


def victim_sets(world: World, by: Unit, victims: Sequence[Unit]) -> list[VictimSet]:
    """Section "Victim sets": every set of pods of these units, best first by the victim order."""
    options = [choices(world, victim, by) for victim in victims]
    total = 1
    for option in options:
        total *= len(option)
    if total > MOST_SETS:
        raise AmbiguousError("too many victim sets for brute force")
    found: list[VictimSet] = []
    for combination in itertools.product(*options):
        affected = [(unit, pods) for unit, pods in zip(victims, combination, strict=True) if pods]
        if not affected:
            continue
        names = tuple(sorted(name for _, pods in affected for name in pods))
        found.append(
            VictimSet(
                tuple((unit.name, pods) for unit, pods in affected),
                max(unit.priority for unit, _ in affected),
                sum(len(pods) == len(unit.running) for unit, pods in affected),
                sum(world.now - unit.pods[name].start for unit, pods in affected for name in pods),
                len(names),
                names,
            )
        )
    return sorted(found, key=lambda each: each.order)


def allowed(world: World, budget: Budget) -> int:
    """How many more pods a budget lets go: ``status.disruptionsAllowed``."""
    healthy = sum(len(unit.running) for unit in world.units.values() if unit.app == budget.app)
    return max(healthy - budget.keep, 0)


def respects_budgets(world: World, pods: Iterable[str]) -> bool:
    """Section "Victim sets": whether budgets let all these pods go now."""
    selected: dict[str, int] = {}
    for name in pods:
        budgets = [each for each in world.budgets.values() if each.app == world.unit_of(name).app]
        if len(budgets) > 1:
            return False
        for budget in budgets:
            selected[budget.name] = selected.get(budget.name, 0) + 1
    return all(number <= allowed(world, world.budgets[name]) for name, number in selected.items())


def helps(world: World, unit: Unit, pods: int, gone: frozenset[str]) -> list[str] | None:
    """Section "Victim sets": where so many pods of a unit fit once others are gone; None if they do not."""
    if (most := affordable(world, unit, gone)) < pods:
        return None
    nodes = placement(world, unit, most, pods, gone)
    return nodes[:pods] if nodes is not None else None


@dataclass(frozen=True)
class Plan:
    """Section "The plan": who is evicted, and where the unit goes."""

    victims: VictimSet
    nodes: tuple[str, ...]


def plan_for(world: World, unit: Unit) -> Plan | None:
    """Section "Victim sets": the questions in order, for sets that respect budgets.

    A set that must wait for a budget evicts nothing until something else changes, and then it is a set that respects
    them, so such plans leave no trace in which units run.
    """
    plan = _answered(world, unit, frozenset())
    # Units that are being bound are no victims, and when that ends depends on how fast the scheduler is.
    if plan is not None and any(name in world.just_bound for name, _ in plan.victims.pods):
        without = _answered(world, unit, frozenset(world.just_bound))
        if without is not None:
            raise AmbiguousError("a victim was only just bound")
        world.doubt = "a victim was only just bound, and is found after a rest"
    if plan is not None and any(name in world.plan_victims for name, _ in plan.victims.pods):
        world.doubt = "a victim still loses pods to another plan"
    return plan


def _answered(world: World, unit: Unit, binding: frozenset[str]) -> Plan | None:
    for pods in dict.fromkeys((len(unit.pending), unit.least)):
        for reclaim in (True, False):
            plan = best_plan(world, unit, pods, binding, reclaim=reclaim)
            if plan is not None:
                return plan
    return None


def best_plan(
    world: World, unit: Unit, pods: int, binding: frozenset[str] = frozenset(), *, reclaim: bool
) -> Plan | None:
    """Section "Victim sets": the best set for one question, without units that are being bound."""
    victims = [each for each in eligible(world, unit, reclaim=reclaim) if each.name not in binding]
    everyone = frozenset(pod.name for victim in victims for pod in victim.running)
    # More room and more quota never hurt, so this only saves time.
    if not everyone or helps(world, unit, pods, everyone) is None:
        return None
    best: Plan | None = None
    for victim_set in victim_sets(world, unit, victims):
        if best is not None and not _is_close(best.victims, victim_set):
            if victim_set.order[:2] != best.victims.order[:2]:
                break
            continue
        if not respects_budgets(world, victim_set.names):
            continue
        if reclaim and not may_reclaim(world, unit, pods, victim_set):
            continue
        nodes = helps(world, unit, pods, victim_set.gone)
        if nodes is not None and best is not None:
            raise AmbiguousError("lost work of two victim sets is almost equal")
        if nodes is not None:
            best = Plan(victim_set, tuple(nodes))
    return best


def _is_close(one: VictimSet, other: VictimSet) -> bool:
    """Whether which set lost less work may change within the seconds that a live scheduler takes."""
    return (
        one.order[:2] == other.order[:2]
        and one.number != other.number
        and abs(one.lost_work - other.lost_work) < CLOSE
    )


def carry_out(world: World, unit: Unit, plan: Plan) -> None:
    """Section "The plan": evict, and bind what was nominated."""
    world.log.append(f"{world.now:.0f} evict {' '.join(plan.victims.names)} for {unit.name}")
    others = [other for other in queue_order(world) if other is not unit]
    world.nominations[unit.name] = plan.nodes
    _doubt_nodes(world, others, plan)
    for other in others:
        # A live scheduler tries others before it evicts; those that do not fit yet back off.
        if not could_be_placed(world, other):
            world.not_placed[other.name] = world.now
    evict(world, plan.victims.names, by_unit=True)
    world.plan_victims |= {name for name, _ in plan.victims.pods}
    if len(plan.nodes) < len(unit.pending) and any(not other.lacking for other in others):
        world.doubt = "surplus of others is planned while a plan for the minimum is under way"
    # A live scheduler tries others before it evicts, and usage is released only then.
    reordered = [other for other in queue_order(world) if other in others]
    if reordered != [other for other in others if other in reordered] and any(
        could_be_placed(world, other) for other in reordered
    ):
        raise AmbiguousError("an eviction changes the order of other units")


def _doubt_nodes(world: World, others: Iterable[Unit], plan: Plan) -> None:
    """Section "Quota": victims that leave hold their nodes, and how long they do depends on the kubelet."""
    for other in others:
        pods = affordable(world, other)
        meanwhile = placement(world, other, pods, other.least) if pods >= other.least else None
        if meanwhile is not None and meanwhile != placement(
            world, other, pods, other.least, plan.victims.gone
        ):
            world.doubt = "another unit gets other nodes while victims still hold theirs"


def evict(world: World, names: Iterable[str], *, by_unit: bool = False) -> None:
    """Pods go, for another unit or because they are stale, and their controllers make new ones if they do."""
    affected: dict[str, Unit] = {}
    for name in names:
        unit = world.unit_of(name)
        affected[unit.name] = unit
        lose(world, unit, name)
    for unit in affected.values():
        if by_unit and not unit.running:
            unit.evicted = world.now
        look_at_minimum(world, unit)


def lose(world: World, unit: Unit, name: str) -> None:
    """A pod is gone, and its controller makes a new one if it does."""
    remove(world, unit, name)
    if unit.remade and world.prompt:
        make_again(world, unit, name)
    elif unit.remade:
        world.to_make.append((world.now + MADE_AGAIN_AFTER, unit, name))


def remove(world: World, unit: Unit, name: str) -> None:
    """A pod is gone."""
    del unit.pods[name]
    if unit.alone:
        del world.units[unit.name]
    changed(world, unit)


def make_again(world: World, unit: Unit, name: str) -> None:
    """A controller makes a pod of the same name; a single pod is a new unit."""
    unit.pods[name] = Pod(name)
    if unit.alone:
        unit.created, unit.evicted, unit.ran = world.stamp, None, False
        unit.consider_after, unit.wait = -inf, FIRST_WAIT
        world.units[unit.name] = unit
    changed(world, unit)


# -------------------------------------------------------------------------------------------- reclaim


def fair_shares(world: World, parent: str, amount: int) -> dict[str, int]:
    """Section "Reclaim": the GPUs that each queue below ``parent`` should have of an amount."""
    queues = sorted((q for q in world.queues.values() if q.parent == parent), key=lambda queue: queue.name)
    demands = {queue.name: demand(world, queue) for queue in queues}
    shares = {
        queue.name: min(amount if queue.quota == UNLIMITED else queue.quota, demands[queue.name])
        for queue in queues
    }
    remaining = max(amount - sum(shares.values()), 0)
    for priority in sorted({queue.priority for queue in queues}, reverse=True):
        group = [queue for queue in queues if queue.priority == priority]
        lacks = {queue.name: demands[queue.name] - shares[queue.name] for queue in group}
        parts = divided(remaining, lacks, {queue.name: queue.weight for queue in group})
        for name, part in parts.items():
            shares[name] += part
            remaining -= part
    return shares


def divided(amount: int, lacks: dict[str, int], weights: dict[str, int]) -> dict[str, int]:
    """Section "Reclaim", 2 and 3: divide by weight up to what is lacked, then round."""
    exact = dict.fromkeys(lacks, Fraction(0))
    remaining = Fraction(amount)
    while remaining > 0:
        unsaturated = [name for name in lacks if exact[name] < lacks[name] and weights[name]]
        if not unsaturated:
            break
        total = sum(weights[name] for name in unsaturated)
        parts = {
            name: min(remaining * weights[name] / total, lacks[name] - exact[name]) for name in unsaturated
        }
        for name, part in parts.items():
            exact[name] += part
        remaining -= sum(parts.values())
    whole = {name: floor(part) for name, part in exact.items()}
    over = floor(sum(exact.values()) - sum(whole.values()))
    by_remainder = sorted(lacks, key=lambda name: (whole[name] - exact[name], name))
    for name in by_remainder[:over]:
        whole[name] += 1
    return whole


def demand(world: World, queue: Queue) -> int:
    """Section "Reclaim": what the units of a queue use and ask for, at most its limit."""
    below = [each for each in world.queues.values() if each.parent == queue.name]
    asked = sum(demand(world, each) for each in below) + sum(
        unit.gpus * (len(unit.running) + (len(unit.pending) if unit.waiting else 0))
        for unit in world.units.values()
        if unit.queue == queue.name
    )
    return asked if queue.limit == UNLIMITED else min(asked, queue.limit)


def all_fair_shares(world: World) -> dict[str, int]:
    """Section "Reclaim": the fair share of every queue."""
    shares: dict[str, int] = {}
    pending = [("", sum(node.gpus for node in world.nodes.values() if not node.cordoned))]
    while pending:
        parent, amount = pending.pop()
        below = fair_shares(world, parent, amount)
        shares |= below
        pending.extend(below.items())
    return shares


def may_reclaim(world: World, unit: Unit, pods: int, victims: VictimSet) -> bool:
    """Section "Reclaim": the three conditions."""
    if any(queue.quota == 0 and queue.weight == 0 for queue in path(world, unit.queue)):
        # GPUs are not compared for this unit, and the other resources have no limits here.
        return False
    shares = all_fair_shares(world)
    asked = pods * unit.gpus
    if usage(world, unit.queue) + asked > shares[unit.queue]:
        return False
    in_turn = sorted(
        victims.pods,
        key=lambda each: (
            world.units[each[0]].priority,
            sum(world.now - world.units[each[0]].pods[name].start for name in each[1]),
            sorted(each[1]),
        ),
    )
    gone: set[str] = set()
    for name, evicted in in_turn:
        victim = world.units[name]
        depth = common_depth(world, victim, unit)
        side, own = path(world, victim.queue)[depth], path(world, unit.queue)[depth]
        for part in _parts(victim, evicted):
            used = usage(world, side.name, gone=frozenset(gone))
            over_share = used > shares[side.name]
            over_quota = side.quota != UNLIMITED and used > side.quota
            own_used = usage(world, own.name, gone=frozenset(gone)) + asked
            within_quota = own.quota == UNLIMITED or own_used <= own.quota
            if not over_share and not (over_quota and within_quota):
                return False
            gone |= set(part)
    return _stays_fairer(world, unit, asked, victims, shares)


def _parts(victim: Unit, evicted: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Section "Reclaim": the surplus of a victim pod by pod, the youngest first, and then the rest at once."""
    surplus = max(len(victim.running) + victim.succeeded - victim.minimum, 0)
    youngest = sorted(evicted, key=lambda name: (-victim.pods[name].start, name))
    yield from ((name,) for name in youngest[:surplus])
    if youngest[surplus:]:
        yield tuple(youngest[surplus:])


def _stays_fairer(world: World, unit: Unit, asked: int, victims: VictimSet, shares: dict[str, int]) -> bool:
    """Section "Reclaim", third condition: queues above the unit's own beside those of victims."""
    for depth, own in enumerate(path(world, unit.queue)[:-1]):
        siblings = {
            queues[depth].name
            for name, _ in victims.pods
            if len(queues := path(world, world.units[name].queue)) > depth
            and queues[depth].name != own.name
            and queues[depth].parent == own.parent
        }
        used = usage(world, own.name, gone=victims.gone) + asked
        for sibling in siblings:
            theirs = usage(world, sibling, gone=victims.gone)
            if used > shares[own.name] and not (
                _part(used, shares[own.name]) < _part(theirs, shares[sibling])
            ):
                return False
    return True


def _part(used: int, share: int) -> float | Fraction:
    return Fraction(used, share) if share else inf


# -------------------------------------------------------------------------------- gangs that lose pods


def look_at_minimum(world: World, unit: Unit) -> None:
    """Section "Gangs that lose pods": whether a gang is stale, and since when."""
    if not unit.running:
        unit.ran, unit.stale_since = False, None
    elif not unit.lacking:
        unit.ran, unit.stale_since = True, None
    elif unit.ran and unit.stale_since is None:
        unit.stale_since = world.now


def evict_stale(world: World) -> bool:
    """Section "Gangs that lose pods": evict what is stale for its grace period; whether anything was.

    What a budget does not allow stays until it does.
    """
    for unit in sorted(world.units.values(), key=lambda each: each.name):
        if unit.stale_since is None or unit.grace < 0 or world.now < unit.stale_since + unit.grace:
            continue
        names: list[str] = []
        for pod in unit.running:
            if respects_budgets(world, [*names, pod.name]):
                names.append(pod.name)
        if names:
            world.log.append(f"{world.now:.0f} evict {' '.join(names)}: {unit.name} is stale")
            evict(world, names)
            return True
    return False


# --------------------------------------------------------------------------------------------- settle


def settle(world: World) -> None:
    """Carry out the policy at this moment until nothing more happens.

    Raises ``CircleError`` if it never ends.
    """
    world.just_bound.clear()
    world.plan_victims.clear()
    for _ in range(MOST_STEPS):
        if not (evict_stale(world) or step(world)):
            return
    raise CircleError("\n".join(world.log[-20:]))


def step(world: World) -> bool:
    """Section "Queue order": the first unit that can be placed or can evict others; whether there was one."""
    order = queue_order(world)
    placeable = [unit for unit in order if could_be_placed(world, unit)]
    if placeable and queue_order(world, placeable)[0] is not placeable[0]:
        raise AmbiguousError("a unit that cannot be placed represents its queue, or does not")
    _doubt_backoff(world, placeable)
    for unit in order:
        if try_unit(world, unit):
            return True
        world.not_placed[unit.name] = world.now
        if (plan := considered(world, unit)) is not None:
            carry_out(world, unit, plan)
            return True
    return False


def _doubt_backoff(world: World, placeable: Sequence[Unit]) -> None:
    """Section "Queue order": a unit that has just failed is tried again later, and others meanwhile.

    That matters if the first one that can be placed is such a unit, and takes what others need.
    """
    if len(placeable) < 2:
        return
    if world.now - world.not_placed.get(placeable[0].name, -inf) >= LONGEST_RETRY:
        return
    if not _all_fit(world, placeable):
        world.doubt = "a unit that backs off may be passed by others"


def _all_fit(world: World, units: Iterable[Unit]) -> bool:
    """Whether these units could be placed one after the other, none at the expense of another."""
    taken: list[Pod] = []
    all_fit = True
    for unit in units:
        pods = affordable(world, unit)
        nodes = placement(world, unit, pods, unit.least) if pods >= unit.least else None
        if nodes is None:
            all_fit = False
            break
        for pod, node in zip(unit.pending[: unit.least], nodes, strict=False):
            pod.node = node
            taken.append(pod)
    for pod in taken:
        pod.node = ""
    return all_fit


def moments(world: World) -> Iterator[float]:
    """When something may happen although nothing changes."""
    for unit in world.units.values():
        if unit.waiting and unit.delay:
            yield (unit.created if unit.evicted is None else unit.evicted) + unit.delay
        if unit.stale_since is not None and unit.grace >= 0:
            yield unit.stale_since + unit.grace
        since = runs_since(unit) if unit.running else None
        if since is not None and unit.queue:
            for queue in path(world, unit.queue):
                yield from (
                    since + seconds
                    for seconds in (queue.preempt_after, queue.reclaim_after)
                    if seconds is not None
                )


def soon(world: World) -> Iterator[float]:
    """When units are considered that were not at the last change, and when controllers make pods again."""
    for unit in world.units.values():
        if unit.waiting and not unit.never and unit.considered != world.version:
            yield may_preempt_from(unit)
    for at, _, _ in world.to_make:
        yield at


def settle_until(world: World, end: float) -> None:
    """Carry out the policy until a moment."""
    settle(world)
    while True:
        due = sorted({moment for moment in moments(world) if world.now < moment <= end})
        near = [moment for moment in soon(world) if world.now < moment <= end]
        if not due and not near:
            break
        if due and (any(0 < later - due[0] < CLOSE / 3 for later in due) or end - due[0] < CLOSE):
            raise AmbiguousError("two moments are almost the same")
        world.now = min(due[:1] + near)
        if due and world.now == due[0]:
            world.version += 1
        _controllers(world)
        settle(world)
    world.now = end


def _controllers(world: World) -> None:
    """Make the pods again for which it is time."""
    late, world.to_make = (
        [each for each in world.to_make if each[0] <= world.now],
        [each for each in world.to_make if each[0] > world.now],
    )
    for _, unit, name in late:
        if world.units.get(unit.name) in (unit, None) and not unit.over:
            make_again(world, unit, name)
            look_at_minimum(world, unit)
