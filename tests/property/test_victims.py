"""The chosen victims are the best of all sets of pods, against brute force that is written from the policy page.

Nothing is shared with the scheduler but the values that describe an instance: whether a set helps, what is
allowed, budgets, quotas, fair shares and the order are all computed here once more, slowly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, product
from random import Random

from hypothesis import event, given, note
from hypothesis import strategies as st

from closeknit.hub.drawing import GPU
from closeknit.hub.outcome import Placed
from closeknit.hub.quota import NO_LIMIT, Account
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.preempt.budgets import Budget
from closeknit.scheduler.preempt.eligibility import Kind
from closeknit.scheduler.preempt.running import BoundPod, RunningUnit
from closeknit.scheduler.preempt.trials import Goal
from closeknit.scheduler.preempt.victims import NoVictims, VictimSet
from tests.kit.preemption import NOW, Scene, budget, queue, running, workload
from tests.property.effort import effort

MOST_PODS = 9
"""As many may be evicted in an instance: brute force tries every subset."""


# ------------------------------------------------------------------------------------------ instances


@dataclass
class Instance:
    """Nodes by rack with their GPUs, what runs on them, and what waits."""

    racks: dict[str, dict[str, int]]
    units: list[RunningUnit]
    budgets: list[Budget]
    asked: PlaceableWorkload
    required: bool
    waiting: list[PlaceableWorkload]

    @property
    def drawing(self) -> str:
        return "\n".join(
            f"{rack}\n" + "\n".join(f"  {node}: {gpus}" for node, gpus in nodes.items())
            for rack, nodes in self.racks.items()
        )


def queues_of(rng: Random) -> list[Account | None]:
    if rng.random() < 0.4:
        return [None]

    def any_queue(name: str, **fields: Account) -> Account:
        limit = rng.choice([None, None, 2, 4, 6])
        return queue(
            name,
            rng.choice([0, 1, 2, 3, -1] if limit is None else [0, 1, 2]),
            limit=limit,
            weight=rng.choice([0, 1, 1, 2, 3]),
            priority=rng.choice([100, 100, 200]),
            **fields,
        )

    if rng.random() < 0.5:
        return [any_queue("a"), any_queue("b"), *([any_queue("c")] if rng.random() < 0.5 else [])]
    left, right = any_queue("left"), any_queue("right")
    return [any_queue("a", within=left), any_queue("b", within=right), any_queue("c", within=left)]


def instance(rng: Random) -> Instance:
    racks = {
        f"r{r}": {f"x{r}{n}": rng.randint(1, 4) for n in range(rng.randint(1, 2))}
        for r in range(rng.randint(1, 3))
    }
    free = {node: gpus for nodes in racks.values() for node, gpus in nodes.items()}
    queues = queues_of(rng)
    units: list[RunningUnit] = []
    labels: Sequence[dict[str, str]] = ({}, {}, {"app": "a"}, {"app": "b"}, {"app": "a", "tier": "x"})
    total = 0
    for number in range(rng.randint(1, 6)):
        gpus, size = rng.choice([1, 1, 1, 2]), rng.choice([1, 1, 2, 3, 4])
        nodes: list[str] = []
        for _ in range(size):
            there = [node for node, left in free.items() if left >= gpus]
            if not there or total == MOST_PODS:
                break
            nodes.append(rng.choice(there))
            free[nodes[-1]] -= gpus
            total += 1
        if not nodes:
            continue
        units.append(
            running(
                f"u{number}",
                " ".join(nodes),
                gpus=gpus,
                minimum=rng.choice([None, 1, len(nodes), max(len(nodes) - 1, 1)]),
                started=[float(rng.choice([0, 0, 300, 700, 990])) for _ in nodes],
                priority=rng.randint(0, 3),
                account=rng.choice(queues),
                labels=rng.choice(labels),
                being_bound=rng.random() < 0.05,
                preemptible=rng.random() < 0.9,
            )
        )
    count = rng.choice([1, 2, 2, 3, 4])
    pods = PodSet("p", count, Resources({GPU: rng.choice([1, 1, 2])}), rng.randint(1, count))
    required = rng.random() < 0.5
    request = Request(
        "asked", Group("asked", (pods,), required="rack" if required else None), topology="default"
    )
    asked = workload(
        request,
        priority=rng.randint(1, 4),
        account=rng.choice(queues),
        preemptible=rng.random() < 0.8,
    )
    others = [
        workload(
            Request(f"w{i}", Group(f"w{i}", (PodSet(f"w{i}-p", 2, Resources({GPU: 1})),))),
            account=rng.choice(queues),
        )
        for i in range(rng.randint(0, 2))
    ]
    budgets = [
        budget(rng.randint(0, 2), name=f"b{i}", **rng.choice(({}, {"app": "a"}, {"app": "b"}, {"tier": "x"})))
        for i in range(rng.choice([0, 0, 1, 2]))
    ]
    return Instance(racks, units, budgets, asked, required, others)


# ------------------------------------------------------------------------------ the rules, once more


def path(account: Account | None) -> list[Account]:
    """From the leaf to the top, without the root that stands for the cluster."""
    return list(account.around[:-1]) if account is not None else []


def account_of(unit: RunningUnit | PlaceableWorkload) -> Account | None:
    accounts = unit.workload.accounts if isinstance(unit, RunningUnit) else unit.accounts
    return accounts[0] if accounts else None


class Rules:
    """What the policy page says of one instance."""

    def __init__(self, given: Instance) -> None:
        self.given = given
        self.pods = [(pod, unit) for unit in given.units for pod in unit.pods]
        self.each = self.wanted_set.resources[GPU]
        self.used: Counter[tuple[str, ...]] = Counter()
        self.fixed: Counter[tuple[str, ...]] = Counter()
        self.demand: Counter[tuple[str, ...]] = Counter()
        self.known: dict[tuple[str, ...], Account] = {}
        for pod, unit in self.pods:
            for account in path(account_of(unit)):
                self.used[account.name] += gpus(pod)
                self.fixed[account.name] += 0 if unit.workload.preemptible else gpus(pod)
                self.known[account.name] = account
        self.demand.update(self.used)
        for waits in (given.asked, *given.waiting):
            open_gpus = sum(pods.open * pods.resources[GPU] for pods in waits.request.root.pod_sets())
            for account in path(account_of(waits)):
                self.demand[account.name] += open_gpus
                self.known[account.name] = account
        self.fair: dict[tuple[str, ...], int] = {}
        total = sum(gpus for nodes in given.racks.values() for gpus in nodes.values())
        self._share_out(None, total)

    @property
    def wanted_set(self) -> PodSet:
        (only,) = self.given.asked.request.root.pod_sets()
        return only

    # --- fair shares: the water level of sorted demands, then largest remainders

    def _share_out(self, parent: tuple[str, ...] | None, amount: int) -> None:
        children = [
            account
            for account in self.known.values()
            if account.within is not None
            and (account.within.name == parent if parent else account.within.within is None)
        ]
        deserved = {account.name: self._deserved(account, amount) for account in children}
        left = max(amount - sum(deserved.values()), 0)
        for priority in sorted({account.priority for account in children}, reverse=True):
            left -= self._pour([a for a in children if a.priority == priority], deserved, left)
        for account in children:
            self.fair[account.name] = deserved[account.name]
            self._share_out(account.name, deserved[account.name])

    def _capped(self, account: Account) -> int:
        limit = account.quota.get(GPU, 0) + account.borrowing.get(GPU, NO_LIMIT)
        below = [child for child in self.known.values() if child.within == account]
        demand = sum(map(self._capped, below)) if below else self.demand[account.name]
        return min(demand, limit)

    def _deserved(self, account: Account, amount: int) -> int:
        quota = account.quota.get(GPU, 0)
        return min(amount if quota >= NO_LIMIT else quota, self._capped(account))

    def _pour(self, accounts: list[Account], has: dict[tuple[str, ...], int], left: int) -> int:
        """What is given away of so much."""
        wants = {a.name: self._capped(a) - has[a.name] for a in accounts if a.weights[GPU] > 0}
        weights = {a.name: Fraction(a.weights[GPU]) for a in accounts}
        hungry = sorted(
            (name for name, want in wants.items() if want > 0), key=lambda n: wants[n] / weights[n]
        )
        given = 0
        for i, name in enumerate(hungry):
            level = Fraction(left - given) / sum(weights[n] for n in hungry[i:])
            if wants[name] > level * weights[name]:
                rest = hungry[i:]
                exact = {n: level * weights[n] for n in rest}
                whole = {n: int(exact[n]) for n in rest}
                spare = left - given - sum(whole.values())
                for n in sorted(rest, key=lambda n: (-(exact[n] - whole[n]), n))[:spare]:
                    whole[n] += 1
                for n in rest:
                    has[n] += whole[n]
                return given + sum(whole.values())
            has[name] += wants[name]
            given += wants[name]
        return given

    # --- what is allowed

    def kind(self, unit: RunningUnit) -> Kind | None:
        asked = self.given.asked
        if unit.being_bound or not unit.workload.preemptible:
            return None
        mine, theirs = account_of(asked), account_of(unit)
        if (mine and mine.name) == (theirs and theirs.name):
            return Kind.PREEMPT if unit.workload.priority < asked.priority else None
        return Kind.RECLAIM if mine is not None and theirs is not None else None

    def fits(self, gone: Sequence[tuple[BoundPod, RunningUnit]], count: int) -> bool:
        names = {pod.key for pod, _ in gone}
        free = {node: gpus for nodes in self.given.racks.values() for node, gpus in nodes.items()}
        for pod, _ in self.pods:
            if pod.key not in names:
                free[pod.node] -= gpus(pod)
        by_rack = [sum(free[node] // self.each for node in nodes) for nodes in self.given.racks.values()]
        if (max(by_rack) if self.given.required else sum(by_rack)) < count:
            return False
        freed: Counter[tuple[str, ...]] = Counter()
        for pod, unit in gone:
            for account in path(account_of(unit)):
                freed[account.name] += gpus(pod)
        for account in path(account_of(self.given.asked)):
            after = self.used[account.name] - freed[account.name] + count * self.each
            if after > account.quota.get(GPU, 0) + account.borrowing.get(GPU, NO_LIMIT):
                return False
            fixed = self.fixed[account.name] + count * self.each
            if not self.given.asked.preemptible and fixed > account.quota.get(GPU, 0):
                return False
        return True

    def reclaims(self, gone: Sequence[tuple[BoundPod, RunningUnit]], count: int) -> bool:
        mine_path = path(account_of(self.given.asked))
        need = count * self.each
        if not all(takes_part(account) for account in mine_path):
            return False
        if self.used[mine_path[0].name] + need > self.fair[mine_path[0].name]:
            return False
        left = Counter(self.used)
        involved: set[tuple[str, ...]] = set()
        for unit, pods in self._in_turn(gone):
            theirs = path(account_of(unit))
            a, b = mine_path[::-1], theirs[::-1]
            split = next(i for i in range(min(len(a), len(b))) if a[i].name != b[i].name)
            ours, other = a[split], b[split]
            for step in steps(unit, pods):
                in_quota = self.used[ours.name] + need <= ours.quota.get(GPU, 0)
                over_quota = left[other.name] > other.quota.get(GPU, 0)
                if not (left[other.name] > self.fair[other.name] or (in_quota and over_quota)):
                    return False
                for account in theirs:
                    left[account.name] -= step
                    involved.add(account.name)
        for level in mine_path:
            for name in involved:
                sibling = self.known[name]
                if name == level.name or sibling.within != level.within or level is mine_path[0]:
                    continue
                mine = left[level.name] + need
                if mine > self.fair[level.name] and self._part(level, mine) >= self._part(
                    sibling, left[name]
                ):
                    return False
        return True

    def _part(self, account: Account, used: int) -> float:
        fair = self.fair[account.name]
        return used / fair if fair else float("inf")

    def _in_turn(
        self, gone: Sequence[tuple[BoundPod, RunningUnit]]
    ) -> list[tuple[RunningUnit, list[BoundPod]]]:
        by_unit: dict[str, tuple[RunningUnit, list[BoundPod]]] = {}
        for pod, unit in gone:
            by_unit.setdefault(unit.holder, (unit, []))[1].append(pod)
        return sorted(
            by_unit.values(),
            key=lambda one: (
                one[0].workload.priority,
                sum(NOW - pod.started for pod in one[1]),
                one[0].holder,
            ),
        )

    def covering(self, pod: BoundPod) -> list[Budget]:
        labels = dict(pod.labels)
        return [b for b in self.given.budgets if all(labels.get(r.key) in r.values for r in b.selector or ())]

    def waits(self, gone: Sequence[tuple[BoundPod, RunningUnit]]) -> bool:
        asked = Counter(b.name for pod, _ in gone for b in self.covering(pod))
        return any(asked[b.name] > b.disruptions_allowed for b in self.given.budgets)

    def sets(self, kind: Kind) -> Iterator[list[tuple[BoundPod, RunningUnit]]]:
        pods = [(pod, unit) for pod, unit in self.pods if self.kind(unit) is kind]
        for gone in chain.from_iterable(combinations(pods, size) for size in range(1, len(pods) + 1)):
            lost = Counter(unit.holder for _, unit in gone)
            units = {unit.holder: unit for _, unit in gone}
            if any(len(self.covering(pod)) > 1 for pod, _ in gone):
                continue
            if all(
                n == len(units[h].pods) or len(units[h].pods) - n >= least(units[h]) for h, n in lost.items()
            ):
                yield list(gone)

    def cost(self, gone: Sequence[tuple[BoundPod, RunningUnit]]) -> tuple[object, ...]:
        lost = Counter(unit.holder for _, unit in gone)
        units = {unit.holder: unit for _, unit in gone}
        return (
            self.waits(gone),
            max(unit.workload.priority for unit in units.values()),
            sum(n == len(units[holder].pods) for holder, n in lost.items()),
            sum(NOW - pod.started for pod, _ in gone),
            len(gone),
            sorted(f"team/{pod.key.name}" for pod, _ in gone),
        )

    def best(self) -> tuple[Goal, Kind, list[str], tuple[object, ...]] | None:
        """What is evicted, with its cost; None if nothing helps."""
        pods = self.wanted_set
        goals = ((Goal.ALL_PODS, pods.count), (Goal.LEAST, pods.least))
        if self.fits([], pods.least):
            # Surplus must not take what others free.
            return Goal.LEAST if pods.least < pods.count else Goal.ALL_PODS, Kind.FREED, [], ()
        for waits, (goal, count) in product((False, True), goals):
            for kind in (Kind.RECLAIM, Kind.PREEMPT):
                helping = [
                    gone
                    for gone in self.sets(kind)
                    if self.waits(gone) is waits
                    and self.fits(gone, count)
                    and (kind is Kind.PREEMPT or self.reclaims(gone, count))
                ]
                if helping:
                    gone = min(helping, key=self.cost)
                    return goal, kind, sorted(pod.key.name for pod, _ in gone), self.cost(gone)
        return None


def gpus(pod: BoundPod) -> int:
    return pod.holding.resources[GPU]


def takes_part(account: Account) -> bool:
    return account.quota.get(GPU, 0) > 0 or account.weights[GPU] > 0


def least(unit: RunningUnit) -> int:
    assert isinstance(unit.workload, PlaceableWorkload)
    (pods,) = unit.workload.request.root.pod_sets()
    return pods.least


def steps(unit: RunningUnit, pods: list[BoundPod]) -> list[int]:
    """What becomes free step by step: surplus one by one, youngest first, then the minimum at once."""
    spare = min(len(unit.pods) - least(unit), len(pods))
    youngest = sorted(pods, key=lambda pod: (-pod.started, pod.key))
    rest = youngest[spare:]
    return [*(gpus(pod) for pod in youngest[:spare]), *([sum(map(gpus, rest))] if rest else [])]


# ----------------------------------------------------------------------------------------- the promise


@effort(400)
@given(st.integers(0, 2**32 - 1))
def test_no_other_set_of_pods_is_better(seed: int) -> None:
    note(f"seed {seed}")
    given_instance = instance(Random(seed))
    scene = Scene(
        given_instance.drawing,
        given_instance.units,
        waiting=given_instance.waiting,
        budgets=given_instance.budgets,
    )
    rules = Rules(given_instance)
    want = rules.best()
    chosen = scene.choose(given_instance.asked, trials=100_000)
    assert chosen.exact
    if want is None:
        assert isinstance(chosen, NoVictims)
        event("nothing helps")
        return
    assert isinstance(chosen, VictimSet)
    goal, kind, names, _ = want
    assert (chosen.goal, chosen.kind) == (goal, kind)
    assert sorted(pod.key.name for pod in chosen.pods) == names
    outcome, pods = chosen.verdict.outcome, rules.wanted_set
    assert isinstance(outcome, Placed)
    # The plan's placement is exactly what was asked for.
    assert len(outcome.assignments) == (pods.count if goal is Goal.ALL_PODS else pods.least)
    again = scene.choose(given_instance.asked, trials=100_000)
    assert isinstance(again, VictimSet), "trials leave nothing behind"
    assert again.victims == chosen.victims
    event(f"{kind.value}: {len(names)} pods")


@effort(200)
@given(st.integers(0, 2**32 - 1))
def test_what_is_chosen_beyond_the_trial_limit_helps_and_no_unit_of_it_could_stay(seed: int) -> None:
    note(f"seed {seed}")
    given_instance = instance(Random(seed))
    rules = Rules(given_instance)
    scene = Scene(
        given_instance.drawing,
        given_instance.units,
        waiting=given_instance.waiting,
        budgets=given_instance.budgets,
    )
    chosen = scene.choose(given_instance.asked, trials=1)
    want = rules.best()
    if isinstance(chosen, NoVictims):
        assert want is None or not chosen.exact
        return
    assert want is not None
    if chosen.exact:
        assert sorted(pod.key.name for pod in chosen.pods) == want[2]
        return
    count = rules.wanted_set.count if chosen.goal is Goal.ALL_PODS else rules.wanted_set.least
    if chosen.kind is Kind.FREED:
        assert rules.fits([], count)
        return
    gone = [(pod, victim.unit) for victim in chosen.victims for pod in victim.pods]
    assert rules.fits(gone, count)
    assert any(
        sorted(p.key.name for p, _ in s) == sorted(p.key.name for p in chosen.pods)
        for s in rules.sets(chosen.kind)
    )
    event(f"not exact: {len(gone)} pods")
    if chosen.kind is Kind.RECLAIM:
        assert rules.reclaims(gone, count)
        return
    for victim in chosen.victims:
        rest = [(pod, unit) for pod, unit in gone if unit is not victim.unit]
        assert not rest or not rules.fits(rest, count)
