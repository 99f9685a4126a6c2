"""Choose which running pods to evict so that a waiting unit fits.

A victim set helps if the unit fits once its pods are gone, tried on a fork of the engine. Of all sets
that help and are allowed, the best by the victim order is chosen. If the least that is worth placing fits
into what is being freed already, nothing is evicted. Else sets that respect disruption budgets come first,
then sets that must wait for one; for each, first all pods of the unit are asked for, then the least; for
each, first reclaim, then preemption. A unit for which pods were evicted already may use what is being freed
for all its pods.

The search is a branch and bound over *evictions*: whole units, and the smallest sets of surplus pods. Sets
are enumerated in the victim order with a heap, so the first one that helps is the best one. It is cut by

- the lowest priority at which evicting everything helps, which every helping set must reach;
- the domains of the required level: an irredundant set touches one domain with each of its evictions;
- equal pods of a node, of which the cheapest go first;
- the surplus of all units: units are broken only where that helps.

Where that takes more trials than allowed, one domain after the other is emptied, and pods are kept again
as long as the unit still fits, in the reverse of the victim order. ``VictimSet.exact`` records which it was.
The cuts hold because evicting more never hurts; units with rules about other pods break that, so for these
nothing is cut.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.keys import Key
from closeknit.hub.resources import Resources
from closeknit.hub.topology import DomainPath
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.deciding import Verdict
from closeknit.scheduler.metering import least_cost, metered
from closeknit.scheduler.needs import satisfied
from closeknit.scheduler.preempt.budgets import Budget, Budgets
from closeknit.scheduler.preempt.eligibility import Eligible, Kind, eligibility, retry_at
from closeknit.scheduler.preempt.fair_share import FairShares, open_demand
from closeknit.scheduler.preempt.reclaim import Reclaim
from closeknit.scheduler.preempt.running import BoundPod, RunningUnit, Victim
from closeknit.scheduler.preempt.trials import Goal, Trials
from closeknit.scheduler.preempt.victim_order import VICTIM_ORDER, Criterion, VictimCosts, cost_of

if TYPE_CHECKING:
    from closeknit.engine import Engine

TRIALS = 400
"""How many sets are tried on the engine by default, for each of the questions that are asked about a unit."""
STEPS_PER_TRIAL = 50
"""How many sets are enumerated for each set that is tried; most are ruled out without a trial."""


@dataclass(frozen=True, slots=True)
class VictimSet:
    """The pods to evict, and where the unit fits then."""

    kind: Kind
    goal: Goal
    verdict: Verdict
    """Where the unit is placed once they are gone; always ``Placed``."""
    victims: tuple[Victim, ...]
    """By holder; empty if capacity that is being freed already will do."""
    waits_for: tuple[Budget, ...]
    """Disruption budgets that do not let the whole set go now."""
    exact: bool
    """Whether no other set is better by the victim order."""
    trials: int

    @property
    def pods(self) -> tuple[BoundPod, ...]:
        """All pods that are evicted."""
        return tuple(pod for victim in self.victims for pod in victim.pods)


@dataclass(frozen=True, slots=True)
class NoVictims:
    """No set of pods that may be evicted makes the unit placeable."""

    units_tried: int
    """Units of which some pods may be evicted now."""
    protected_by_budget: int
    """Units that cannot be broken because two budgets select one of their pods."""
    retry_at: float
    """When another unit becomes old enough to be evicted; infinity for never."""
    exact: bool
    """Whether that is certain; otherwise the trial limit ended the search."""
    trials: int


def choose_victims(
    engine: Engine,
    cluster: Cluster,
    workload: PlaceableWorkload,
    running: Sequence[RunningUnit],
    *,
    accounts: Accounts,
    now: float,
    budgets: Budgets | None = None,
    shares: FairShares | None = None,
    leaving: Sequence[Holding] = (),
    nominated_for_others: Sequence[Holding] = (),
    in_flight: Sequence[BoundPod] = (),
    resumed: bool = False,
    order: Sequence[Criterion] = VICTIM_ORDER,
    trials: int = TRIALS,
) -> VictimSet | NoVictims:
    """The best set of pods to evict for a unit that does not fit, or that there is none.

    Nothing is applied: the engine and the accounts are as before. The engine holds what runs, and the
    accounts are charged for it and for what is nominated for others.

    ``leaving`` is what pods hold that are being deleted, or that another plan evicts; these must not be among
    the pods of ``running``. ``in_flight`` are pods whose eviction was requested and not answered yet.
    ``resumed``: pods were evicted for this unit before, so all of its pods may use what is being freed;
    without it, what others free is not taken for surplus while others lack their minimum. Without ``shares``
    nothing is reclaimed from other queues.
    """
    # Eligibility does not depend on what is tried, so it is asked once.
    eligible = [
        (unit, since) for unit in running if isinstance(since := eligibility(workload, unit), Eligible)
    ]
    attempt = Trials(engine, cluster, workload, accounts.copy())
    rules = _Rules(budgets or Budgets(), tuple(in_flight), tuple(order), now)
    tried: set[str] = set()
    exact = True
    with attempt.prepared(leaving, nominated_for_others):
        searches: list[_Search] = []
        goals = _goals(workload)
        if not resumed and (freed := _freed(attempt, goals[-1], exact=exact)) is not None:
            return freed
        for goal in goals:
            if resumed and (freed := _freed(attempt, goal, exact=exact)) is not None:
                return freed
            for kind in (Kind.RECLAIM, Kind.PREEMPT):
                units = [(unit, since.whole_from <= now) for unit, since in eligible if since.kind is kind]
                reclaim = None
                if kind is Kind.RECLAIM:
                    if shares is None or not units:
                        continue
                    reclaim = Reclaim(workload, _asked(workload, goal), shares, accounts, now)
                    if not reclaim.is_due():
                        continue
                    units = [(unit, whole) for unit, whole in units if reclaim.may_lose(unit)]
                search = _Search(attempt, goal, kind, rules, reclaim, exhausted=exact)
                search.add(units)
                tried |= {unit.holder for unit in search.units}
                searches.append(search)
                if (chosen := search.best(trials, respecting=True)) is not None:
                    return chosen
                exact = search.exhausted
        for search in searches:
            search.exhausted = exact
            if (chosen := search.best(trials, respecting=False)) is not None:
                return chosen
            exact = search.exhausted
    protected = sum(any(rules.budgets.forbid(pod) for pod in unit.pods) for unit, _ in eligible)
    return NoVictims(len(tried), protected, retry_at(workload, running, now), exact, attempt.count)


def _freed(attempt: Trials, goal: Goal, *, exact: bool) -> VictimSet | None:
    """What is being freed already, if the unit fits into it."""
    verdict = attempt.verdict((), goal)
    if verdict is None:
        return None
    return VictimSet(Kind.FREED, goal, verdict, (), (), exact=exact, trials=attempt.count)


def _goals(workload: PlaceableWorkload) -> tuple[Goal, ...]:
    """What to ask for, in order; one question if the least is all there is."""
    root = workload.request.root
    missing = sum(pods.open for pods in root.pod_sets())
    least = 1 if satisfied(root) else least_cost(workload).pods - metered(workload).pods
    return (Goal.ALL_PODS,) if least >= missing and not workload.options else (Goal.ALL_PODS, Goal.LEAST)


def _asked(workload: PlaceableWorkload, goal: Goal) -> Resources:
    """What the unit would use more than now."""
    if goal is Goal.ALL_PODS:
        return open_demand(workload)
    if satisfied(workload.request.root):
        growing = next((pods for pods in workload.request.root.pod_sets() if pods.open), None)
        return growing.resources if growing is not None else Resources()
    least, has = least_cost(workload), metered(workload)
    return least.charges[0].resources - has.charges[0].resources


@dataclass(frozen=True)
class _Rules:
    """What decides between victim sets, and which are allowed."""

    budgets: Budgets
    in_flight: tuple[BoundPod, ...]
    order: tuple[Criterion, ...]
    now: float

    def costs(self, victims: Sequence[Victim]) -> VictimCosts:
        return VictimCosts(tuple(victims), bool(self.exceeded(victims)), self.now)

    def exceeded(self, victims: Sequence[Victim]) -> tuple[Budget, ...]:
        return self.budgets.exceeded((pod for victim in victims for pod in victim.pods), self.in_flight)

    @cached_property
    def by_level(self) -> tuple[str, ...]:
        """The criteria at the front of the order that are a maximum; the search takes them level by level."""
        names = [criterion.name for criterion in self.order]
        front = next((i for i, name in enumerate(names) if name not in ("budget", "priority")), len(names))
        return tuple(names[:front])

    @property
    def budgets_first(self) -> bool:
        """Whether sets that respect budgets precede all others, whatever else is asked."""
        return self.order[0].name == "budget"

    @cached_property
    def sums(self) -> bool:
        """Whether all other criteria are sums, so that sets can be enumerated by exchanging one eviction."""
        return not {"budget", "priority"} & {criterion.name for criterion in self.order[len(self.by_level) :]}


@dataclass(eq=False)
class _Eviction:
    """A whole unit, or the smallest set of surplus pods: what victim sets are composed of."""

    unit: RunningUnit
    pods: tuple[BoundPod, ...]
    breaks: bool
    cost: tuple[object, ...]
    domains: frozenset[DomainPath | str] | None
    """Where it frees capacity; None if it may help everywhere, because it frees quota."""
    before: _Eviction | None = None
    """One that is interchangeable with it and cheaper, so that it is evicted first."""
    number: int = 0


@dataclass
class _Search:
    """Search for one goal by one right."""

    trials: Trials
    goal: Goal
    kind: Kind
    rules: _Rules
    reclaim: Reclaim | None
    exhausted: bool
    """Whether every set of this search and of those before it was ruled out, as far as none was found."""
    limit: int = 0
    units: list[RunningUnit] = field(default_factory=list)
    whole: list[_Eviction] = field(default_factory=list)
    surplus: list[_Eviction] = field(default_factory=list)
    known: dict[frozenset[int], Verdict | None] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------------ set-up

    def add(self, units: Sequence[tuple[RunningUnit, bool]]) -> None:
        """Take up the evictions that are allowed one by one, cheapest first."""
        # The order in which units are listed must not show.
        for unit, whole in sorted(units, key=lambda pair: pair[0].holder):
            self.units.append(unit)
            forbidden = {pod.key for pod in unit.pods if self.rules.budgets.forbid(pod)}
            if whole and not forbidden:
                self._append(self.whole, unit, unit.pods, breaks=True)
            for pods in unit.shrinkings():
                if len(pods) < len(unit.pods) and not any(pod.key in forbidden for pod in pods):
                    self._append(self.surplus, unit, pods, breaks=False)
        self._keep_useful()
        for evictions in (self.whole, self.surplus):
            evictions.sort(key=lambda eviction: eviction.cost)
            cheaper: dict[object, _Eviction] = {}
            for eviction in evictions:
                key = self._equivalence(eviction)
                eviction.before = cheaper.get(key)
                cheaper[key] = eviction
        for number, eviction in enumerate((*self.whole, *self.surplus)):
            eviction.number = number

    def _append(
        self, evictions: list[_Eviction], unit: RunningUnit, pods: tuple[BoundPod, ...], *, breaks: bool
    ) -> None:
        costs = self.rules.costs([Victim(unit, pods, breaks)])
        rest = self.rules.order[len(self.rules.by_level) :]
        evictions.append(_Eviction(unit, pods, breaks, cost_of(costs, rest), None))

    def _keep_useful(self) -> None:
        """Drop evictions that free nothing the unit could use, and note in which domains the others help."""
        if not self.monotone:
            return
        request, engine = self.trials.workload.request, self.trials.engine
        sets = [pods for pods in request.root.pod_sets() if pods.open]
        charged = _queues(self.trials.workload)
        nodes: dict[str, DomainPath | str | None] = {}
        with engine.fork():
            for unit in self.units:
                for pod in unit.pods:
                    if pod.holding.pods:
                        engine.release_pods(pod.holding)
            for node in {pod.node for unit in self.units for pod in unit.pods if pod.holding.pods}:
                nodes[node] = self._domain(node) if any(engine.fits(pods, node) for pods in sets) else None
        for evictions in (self.whole, self.surplus):
            for eviction in evictions:
                # A workload that is charged as a whole is only compared with others of its own queue.
                if not self.trials.workload.options and not charged & _queues(eviction.unit.workload):
                    found = (nodes.get(pod.node) for pod in eviction.pods)
                    eviction.domains = frozenset(domain for domain in found if domain is not None)
            evictions[:] = [eviction for eviction in evictions if eviction.domains != frozenset()]

    @cached_property
    def _level(self) -> int | None:
        request = self.trials.workload.request
        topology = self.trials.cluster.topology_of(request)
        if topology is None or request.root.required is None:
            return None
        return topology.index(request.root.required)

    def _domain(self, node: str) -> DomainPath | str:
        """The domain that holds all new pods if one uses a node: of the required level, or the node."""
        request = self.trials.workload.request
        if sum(pods.open for pods in request.root.pod_sets()) == 1:
            return node
        if self._level is None:
            return ""
        return self.trials.engine.path(node, request.topology)[: self._level + 1]

    @cached_property
    def monotone(self) -> bool:
        """Whether a unit that fits still fits when more pods are gone."""
        return not any(pods.neighbour.rules for pods in self.trials.workload.request.root.pod_sets())

    def _equivalence(self, eviction: _Eviction) -> object:
        """Equal for evictions that free the same and count the same but for work and names."""
        if not self.monotone or self.trials.engine.keeps_away:
            return eviction
        budgets = self.rules.budgets
        freed = sorted(
            (
                (pod.node, tuple(pod.holding.resources.items()), sorted(map(str, pod.holding.host_ports)))
                for pod in eviction.pods
            ),
        )
        covering = sorted(
            (budget.namespace, budget.name) for pod in eviction.pods for budget in budgets.covering(pod)
        )
        workload = eviction.unit.workload
        group = "" if eviction.breaks else (eviction.unit.holder, *sorted(pod.group for pod in eviction.pods))
        return (
            eviction.breaks,
            str(freed),
            str(covering),
            group,
            len(eviction.pods),
            workload.priority,
            tuple(account.name for account in workload.accounts),
            # Surplus of a unit that can be broken as well is not interchangeable with that of another.
            eviction.unit.holder if eviction.breaks and self._shrinks(eviction.unit) else "",
        )

    @cached_property
    def _elastic(self) -> frozenset[str]:
        return frozenset(eviction.unit.holder for eviction in self.surplus)

    def _shrinks(self, unit: RunningUnit) -> bool:
        return unit.holder in self._elastic

    # ---------------------------------------------------------------------------------------- choosing

    def best(self, trials: int, *, respecting: bool) -> VictimSet | None:
        """The best victim set by the order; None if no set helps, or none was found within the limit.

        Budgets come before all other questions if they are the first criterion. Otherwise sets that must wait
        for one are asked about at once, and nothing is left to ask afterwards.
        """
        whole, surplus, levels = self.whole, self.surplus, self.rules.by_level
        self.limit = self.trials.count + trials
        if not self.rules.budgets_first:
            if not respecting:
                return None
            respecting = False
        elif respecting:
            whole, surplus, levels = self._fine(whole), self._fine(surplus), levels[1:]
        else:
            levels = levels[1:]
            if not self._any_budget(whole, surplus):
                return None
        if not whole and not surplus:
            return None
        return self._by_level(levels, whole, surplus, respecting=respecting)

    def _by_level(
        self,
        levels: Sequence[str],
        whole: Sequence[_Eviction],
        surplus: Sequence[_Eviction],
        *,
        respecting: bool,
    ) -> VictimSet | None:
        """Take the criteria that are a maximum level by level: the lowest that helps is the best."""
        if not self._all_help(whole, surplus):
            return None
        if not levels:
            return self._enumerated(whole, surplus, respecting=respecting) or (
                None if self._last_was_complete else self._emptied(whole, surplus, respecting=respecting)
            )
        if levels[0] == "budget":
            fine = self._fine(whole), self._fine(surplus)
            found = self._by_level(levels[1:], *fine, respecting=True)
            if found is None and self._any_budget(whole, surplus):
                found = self._by_level(levels[1:], whole, surplus, respecting=False)
            return found
        priorities = sorted({eviction.unit.workload.priority for eviction in (*whole, *surplus)})
        first = bisect_left(
            priorities, x=True, key=lambda most: self._all_help(_up_to(whole, most), _up_to(surplus, most))
        )
        for priority in priorities[first:]:
            found = self._by_level(
                levels[1:], _up_to(whole, priority), _up_to(surplus, priority), respecting=respecting
            )
            if found is not None:
                return found
        return None

    def _fine(self, evictions: Sequence[_Eviction]) -> list[_Eviction]:
        """Those that no budget holds back when they are alone."""
        return [
            eviction
            for eviction in evictions
            if not self.rules.budgets.exceeded(eviction.pods, self.rules.in_flight)
        ]

    def _any_budget(self, whole: Sequence[_Eviction], surplus: Sequence[_Eviction]) -> bool:
        covering = self.rules.budgets.covering
        return any(covering(pod) for eviction in (*whole, *surplus) for pod in eviction.pods)

    def _all_help(self, whole: Sequence[_Eviction], surplus: Sequence[_Eviction]) -> bool:
        """Whether the unit fits without all of these, whatever else forbids it."""
        return not self.monotone or self._try((*whole, *surplus)) is not None

    def _try(self, evictions: Collection[_Eviction]) -> Verdict | None:
        key = frozenset(eviction.number for eviction in evictions)
        if key not in self.known:
            self.known[key] = self.trials.verdict(_victims(evictions), self.goal)
        return self.known[key]

    # -------------------------------------------------------------------------------------- enumerating

    _last_was_complete: bool = True

    def _enumerated(
        self, whole: Sequence[_Eviction], surplus: Sequence[_Eviction], *, respecting: bool
    ) -> VictimSet | None:
        """The first set that helps, in the victim order, within half of the trials that are left."""
        limit = self.trials.count + (self.limit - self.trials.count) // 2
        steps = STEPS_PER_TRIAL * (limit - self.trials.count)
        self._last_was_complete = True
        for victims, evictions in self._sets(whole, surplus, respecting=respecting):
            if self.trials.count >= limit or steps <= 0:
                self._last_was_complete = self.exhausted = False
                return None
            steps -= 1
            if not evictions:
                continue
            if self.reclaim is not None and not self.reclaim.allows(victims):
                continue
            if (verdict := self._try(evictions)) is not None:
                return self._chosen(verdict, victims, exact=self.exhausted)
        return None

    def _sets(
        self, whole: Sequence[_Eviction], surplus: Sequence[_Eviction], *, respecting: bool
    ) -> Iterator[tuple[tuple[Victim, ...], tuple[_Eviction, ...]]]:
        """Sets in the victim order; an empty one for each step that yields none.

        A state is some broken units and some surplus, both as ascending positions. Its successors add the
        next position or move the last one on, which never makes a set better; where the order has a maximum
        behind a sum only adding keeps that promise, so every later position is added.
        """
        order = self.rules.order[len(self.rules.by_level) :]
        numbers = count()
        heap: list[tuple[tuple[object, ...], int, tuple[int, ...], tuple[int, ...]]] = []

        def push(broken: tuple[int, ...], shrunk: tuple[int, ...]) -> None:
            evictions = [whole[i] for i in broken] + [surplus[i] for i in shrunk]
            cost = cost_of(self.rules.costs(_victims(evictions)), order)
            heappush(heap, (cost, next(numbers), broken, shrunk))

        def successors(chosen: tuple[int, ...], size: int, *, alive: bool) -> Iterator[tuple[int, ...]]:
            last = chosen[-1] if chosen else -1
            if self.rules.sums:
                if alive and last + 1 < size:
                    yield (*chosen, last + 1)
                if chosen and last + 1 < size:
                    yield (*chosen[:-1], last + 1)
            elif alive:
                yield from ((*chosen, i) for i in range(last + 1, size))

        push((), ())
        while heap:
            _, _, broken, shrunk = heappop(heap)
            evictions = tuple([whole[i] for i in broken] + [surplus[i] for i in shrunk])
            alive, valid = self._check(evictions, respecting=respecting)
            if not shrunk:
                for following in successors(broken, len(whole), alive=alive):
                    push(following, ())
                if alive and surplus and self._surplus_helps(evictions, surplus):
                    for following in successors((), len(surplus), alive=True):
                        push(broken, following)
            else:
                for following in successors(shrunk, len(surplus), alive=alive):
                    push(broken, following)
            yield (_victims(evictions), evictions) if valid else ((), ())

    def _surplus_helps(self, broken: tuple[_Eviction, ...], surplus: Sequence[_Eviction]) -> bool:
        """Whether the unit fits when these units are broken and all surplus of others is gone."""
        if not self.monotone:
            return True
        units = {eviction.unit.holder for eviction in broken}
        others = [eviction for eviction in surplus if eviction.unit.holder not in units]
        return bool(others) and self._try((*broken, *others)) is not None

    def _check(self, evictions: tuple[_Eviction, ...], *, respecting: bool) -> tuple[bool, bool]:
        """Whether sets that hold these evictions and later ones can be valid, and whether this one is."""
        chosen = {eviction.number for eviction in evictions}
        broken = {eviction.unit.holder for eviction in evictions if eviction.breaks}
        domains: frozenset[DomainPath | str] | None = None
        gone: dict[str, set[Key]] = {}
        for eviction in evictions:
            if eviction.before is not None and eviction.before.number not in chosen:
                return False, False
            if eviction.domains is not None:
                domains = eviction.domains if domains is None else domains & eviction.domains
                if not domains:
                    return False, False
            if not eviction.breaks:
                if eviction.unit.holder in broken:
                    return False, False
                mine = gone.setdefault(eviction.unit.holder, set())
                if any(pod.key in mine for pod in eviction.pods):
                    return False, False
                mine.update(pod.key for pod in eviction.pods)
        if respecting and self.rules.budgets.exceeded(
            (pod for eviction in evictions for pod in eviction.pods), self.rules.in_flight
        ):
            return False, False
        units = {eviction.unit.holder: eviction.unit for eviction in evictions}
        return True, all(units[holder].keeps_minimum(keys) for holder, keys in gone.items())

    # ---------------------------------------------------------------------------------------- emptying

    def _emptied(
        self, whole: Sequence[_Eviction], surplus: Sequence[_Eviction], *, respecting: bool
    ) -> VictimSet | None:
        """The best set that is found by emptying one domain after the other; none of its pods could stay."""
        best: VictimSet | None = None
        emptied = self._by_domain(whole, surplus)
        for evictions in emptied:
            # The last one empties all, which helps unless budgets or shares forbid it.
            if self.trials.count >= self.limit and (best is not None or evictions is not emptied[-1]):
                continue
            going = self._allowed(evictions, respecting=respecting)
            if not going or self._try(going) is None:
                continue
            kept = self._kept_again(going, surplus, limited=best is not None)
            if kept is None:
                continue
            verdict = self._try(kept)
            assert verdict is not None
            found = self._chosen(verdict, _victims(kept), exact=False)
            if best is None or self._cost(found) < self._cost(best):
                best = found
        return best

    def _by_domain(self, whole: Sequence[_Eviction], surplus: Sequence[_Eviction]) -> list[list[_Eviction]]:
        """The evictions that empty each domain, cheapest first; last, those that empty all."""
        # Surplus is only needed for units that cannot be broken.
        broken = {eviction.unit.holder for eviction in whole}
        everything = [*whole, *(eviction for eviction in surplus if eviction.unit.holder not in broken)]
        anywhere = [eviction for eviction in everything if eviction.domains is None]
        domains: dict[DomainPath | str, list[_Eviction]] = {}
        for eviction in everything:
            for domain in eviction.domains or ():
                domains.setdefault(domain, []).append(eviction)
        if len(domains) <= 1:
            return [everything]
        emptied = [[*anywhere, *domains[domain]] for domain in sorted(domains, key=str)]
        emptied.sort(key=lambda evictions: cost_of(self.rules.costs(_victims(evictions)), self.rules.order))
        return [*emptied, everything]

    def _allowed(self, evictions: Sequence[_Eviction], *, respecting: bool) -> list[_Eviction]:
        """As many of these as surplus, budgets and shares allow together, the best first.

        Added in halves: what is not allowed together is not allowed with more, so this is as one by one.
        """
        going: list[_Eviction] = []
        pending = [sorted(evictions, key=_place)]
        while pending:
            some = pending.pop()
            if self._is_valid((*going, *some), respecting=respecting):
                going += some
            elif len(some) > 1:
                half = len(some) // 2
                pending += [some[half:], some[:half]]
        return going

    def _is_valid(self, evictions: Sequence[_Eviction], *, respecting: bool) -> bool:
        gone: dict[str, set[Key]] = {}
        for eviction in evictions:
            if not eviction.breaks:
                gone.setdefault(eviction.unit.holder, set()).update(pod.key for pod in eviction.pods)
        units = {eviction.unit.holder: eviction.unit for eviction in evictions}
        if not all(units[holder].keeps_minimum(keys) for holder, keys in gone.items()):
            return False
        victims = _victims(evictions)
        if respecting and self.rules.exceeded(victims):
            return False
        return self.reclaim is None or self.reclaim.allows(victims)

    def _kept_again(
        self, going: list[_Eviction], surplus: Sequence[_Eviction], *, limited: bool
    ) -> list[_Eviction] | None:
        """The evictions that are left when as many as possible are taken back, the worst first.

        A unit that must give up something, and is broken, is shrunk instead if that will do. None if that
        took more trials than are left.
        """
        best_first = sorted(going, key=_place)
        left = self._taken_back(best_first, best_first, limited=limited)
        for eviction in best_first[::-1] if left is not None else ():
            if left is None or not eviction.breaks or eviction not in left:
                continue
            shrinking = self._allowed([one for one in surplus if one.unit is eviction.unit], respecting=False)
            instead = [*(one for one in left if one is not eviction), *shrinking]
            if shrinking and self._is_enough(instead):
                left = self._taken_back(instead, shrinking, limited=limited)
        return left

    def _taken_back(
        self, going: Sequence[_Eviction], candidates: Sequence[_Eviction], *, limited: bool
    ) -> list[_Eviction] | None:
        """Without the candidates that need not go, the worst first; ``candidates`` are listed best first.

        As one by one, in fewer trials: first the longest run of the worst that is not needed, by bisection,
        then the others in halves.
        """
        going, candidates = list(going), list(candidates)
        if self.monotone and self.reclaim is None:
            fixed = {eviction.number for eviction in going} - {one.number for one in candidates}

            def suffices(count: int) -> bool:
                some = fixed | {one.number for one in candidates[:count]}
                rest = [eviction for eviction in going if eviction.number in some]
                return bool(rest) and self._try(rest) is not None

            needed = bisect_left(range(len(candidates)), x=True, key=suffices)
            dropped = {one.number for one in candidates[needed:]}
            going = [eviction for eviction in going if eviction.number not in dropped]
            return self._kept_in_halves(going, candidates[:needed], limited=limited)
        pending = [candidates[::-1]]
        while pending:
            if limited and self.trials.count >= self.limit:
                return None
            some = pending.pop()
            numbers = {eviction.number for eviction in some}
            rest = [eviction for eviction in going if eviction.number not in numbers]
            if rest and self._is_enough(rest):
                going = rest
            elif len(some) > 1:
                half = len(some) // 2
                pending += [some[half:], some[:half]]
        return going

    def _kept_in_halves(
        self, going: list[_Eviction], candidates: Sequence[_Eviction], *, limited: bool
    ) -> list[_Eviction] | None:
        """Without the candidates that need not go, the worst first, where only what fits decides.

        A trial costs as much as it keeps, so that one of few pods costs little however many are evicted.
        """
        pending = [list(candidates[::-1])]
        with self.trials.without(_victims(going)) as kept:
            while pending:
                if limited and self.trials.count >= self.limit:
                    return None
                some = pending.pop()
                if len(some) == len(going):
                    # To evict none is another question, which was asked before.
                    enough = False
                else:
                    enough = kept.verdict(_victims(some), self.goal) is not None
                if enough:
                    kept.keep(_victims(some))
                    numbers = {eviction.number for eviction in some}
                    going = [eviction for eviction in going if eviction.number not in numbers]
                elif len(some) > 1:
                    half = len(some) // 2
                    pending += [some[half:], some[:half]]
        return going

    def _is_enough(self, evictions: Sequence[_Eviction]) -> bool:
        return self._is_valid(evictions, respecting=False) and self._try(evictions) is not None

    def _cost(self, found: VictimSet) -> tuple[object, ...]:
        return cost_of(self.rules.costs(found.victims), self.rules.order)

    def _chosen(self, verdict: Verdict, victims: tuple[Victim, ...], *, exact: bool) -> VictimSet:
        waits_for = self.rules.exceeded(victims)
        return VictimSet(self.kind, self.goal, verdict, victims, waits_for, exact, self.trials.count)


def _queues(workload: Workload) -> set[tuple[str, ...]]:
    """The accounts that a unit is charged to, and those around them; the outermost counts everything."""
    return {queue.name for account in workload.accounts for queue in account.around[:-1]}


def _place(eviction: _Eviction) -> tuple[int, tuple[object, ...]]:
    """A key that sorts evictions, those that the victim order prefers first."""
    return eviction.unit.workload.priority, eviction.cost


def _up_to(evictions: Sequence[_Eviction], priority: int) -> list[_Eviction]:
    return [eviction for eviction in evictions if eviction.unit.workload.priority <= priority]


def _victims(evictions: Collection[_Eviction]) -> tuple[Victim, ...]:
    """The victims that evictions come to, by holder; pods that several of them name count once."""
    units: dict[str, RunningUnit] = {}
    broken: set[str] = set()
    pods: dict[str, dict[Key, BoundPod]] = {}
    for eviction in evictions:
        units[eviction.unit.holder] = eviction.unit
        if eviction.breaks:
            broken.add(eviction.unit.holder)
        pods.setdefault(eviction.unit.holder, {}).update((pod.key, pod) for pod in eviction.pods)
    return tuple(
        Victim(units[holder], tuple(pods[holder][key] for key in sorted(pods[holder])), holder in broken)
        for holder in sorted(units)
    )


__all__ = ["TRIALS", "NoVictims", "VictimSet", "choose_victims"]
