"""Compiles what the pods of a request ask of the pods around them into numbers.

What follows from running pods closes nodes to a role. That pods of some roles never share a node is an
exclusive row of the ledger. What is left are rules among the pods of the request itself, for a
layout to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from closeknit.engine import eligibility
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.ledger import Ledger
from closeknit.engine.neighbour_rules import Balance, Company, Conflict, NeighbourRules
from closeknit.engine.node_fits import WELCOME
from closeknit.engine.preferred_rules import Preference
from closeknit.engine.roles import Role
from closeknit.engine.rows import WHOLE
from closeknit.engine.ruled_fits import Closing, RuledFits
from closeknit.engine.tree import Flags, Ints, Tree
from closeknit.hub.neighbours import Apart, Near, Neighbour, PodRule, PodSelector, Spread, binding
from closeknit.hub.outcome import ExclusionReason


class RuleCompiler:
    """Turns the rules of a request into closed nodes, resources and rules for layouts."""

    def __init__(
        self,
        ledger: Ledger,
        tree: Tree,
        roles: Sequence[Role],
        tables: Sequence[FitTable],
        *,
        pods: Sequence[int] = (),
        settle: bool = True,
        single: bool = True,
        strict: bool = False,
    ) -> None:
        """``pods`` are those to be placed by role; of none, no preferred rule is about other such pods.

        ``settle`` puts into tables whatever they can say about pods of the same request. Where ``single``,
        one node may stand for all of a domain that takes only one pod. Where ``strict``, preferred rules
        among the pods of the request must be kept.
        """
        self._single = single
        self._strict = strict
        self._pods = pods or [0] * len(roles)
        self._ledger = ledger
        self._tree = tree
        self._roles = roles
        self._running = ledger.holdings.neighbours
        self._columns: dict[str, Ints] = {}
        size = len(tree)
        self._open = [np.ones(size, dtype=np.bool_) for _ in roles]
        """By role and position, whether rules leave the node open."""
        self._closings: list[list[Closing]] = [[] for _ in roles]
        self._welcome: list[Ints | None] = [None] * len(roles)
        self._conflicts: dict[str, Conflict] = {}
        self._company: dict[tuple[Near, str], Company] = {}
        self._balances: list[Balance] = []
        self.preferred: list[Preference] = []
        """Rules among the pods of the request that had better be kept."""
        for number in range(len(roles)):
            self._read(number)
        demands, self._alone = self._rows(tables)
        self.tables = [self._table(number, table, demands[number]) for number, table in enumerate(tables)]
        if settle:
            self._settle()
        self.rules = NeighbourRules(
            [each for each in self._conflicts.values() if each.foes],
            list(self._company.values()),
            self._balances,
        )

    # ---- reading ----

    def _read(self, number: int) -> None:
        role = self._roles[number].neighbour
        for kept, slots in self._running.against(role) if self._running.keep_away else ():
            column = self._ledger.labels.column(kept.key).codes[slots]
            closed = np.unique(column[column >= 0]).astype(np.int64)
            stays_open = ~np.isin(self._domains(kept.key), closed)
            self._close(
                number, ExclusionReason.EXISTING_ANTI_AFFINITY, kept.key, partial(_has, kept), stays_open
            )
        spreads = [rule for rule in role.rules if isinstance(rule, Spread) and binding(rule)]
        for rule in dict.fromkeys(role.rules):
            among = not binding(rule) and self._among(number, rule)
            if among and not self._strict:
                self.preferred.append(self._preference(number, rule, spreads))
            if not binding(rule) and not (among and self._strict):
                self._wish(number, rule)
            elif isinstance(rule, Apart):
                domains = self._domains(rule.key)
                closed = np.flatnonzero(self._by_domain(rule.selector, domains, rule.key))
                meant = partial(_is_meant, rule.selector)
                self._close(number, ExclusionReason.ANTI_AFFINITY, rule.key, meant, ~np.isin(domains, closed))
                foes = [i for i, each in enumerate(self._roles) if each.neighbour.selected(rule.selector)]
                if foes:
                    conflict = self._conflicts.setdefault(rule.key, Conflict(domains))
                    for foe in foes:
                        conflict.foes.setdefault(number, set()).add(foe)
                        conflict.foes.setdefault(foe, set()).add(number)
            elif isinstance(rule, Near):
                self._read_near(number, rule)
            else:
                self._read_spread(number, rule, spreads)

    def _among(self, number: int, rule: PodRule) -> bool:
        """Whether a rule of a role selects other pods that are to be placed."""
        meant = [i for i, each in enumerate(self._roles) if each.neighbour.selected(rule.selector)]
        return sum(self._pods[i] for i in meant) > (number in meant)

    def _preference(self, number: int, rule: PodRule, spreads: Sequence[Spread]) -> Preference:
        if isinstance(rule, Spread):
            balance = self._balance(number, rule, spreads)
            return Preference(
                rule, number, balance.counted, balance.domains, balance.running, balance.real, balance.few
            )
        key = rule.keys[0] if isinstance(rule, Near) else rule.key
        domains = self._domains(key)
        running = self._by_domain(rule.selector, domains, key)
        counted = frozenset(i for i, each in enumerate(self._roles) if each.neighbour.selected(rule.selector))
        return Preference(rule, number, counted, domains, running, np.ones(len(running), dtype=np.bool_))

    def _read_near(self, number: int, rule: Near) -> None:
        meant = [i for i, each in enumerate(self._roles) if each.neighbour.selected(rule.selector)]
        subjects = frozenset(i for i, each in enumerate(self._roles) if rule in each.neighbour.rules)
        hosts = frozenset(meant) - subjects
        running = {key: self._by_domain(rule.selector, self._domains(key), key) > 0 for key in rule.keys}
        nobody = not any(hosted.any() for hosted in running.values())
        leaders = subjects & frozenset(meant) if nobody else frozenset[int]()
        for key, hosted in running.items():
            domains = self._domains(key)
            self._close(number, ExclusionReason.TOPOLOGY_KEY, key, _nobody, domains >= 0)
            if hosts or leaders:
                self._company.setdefault((rule, key), Company(domains, subjects, hosts, hosted, leaders))
            else:
                nowhere = np.zeros(len(domains), dtype=np.bool_)
                self._close(
                    number,
                    ExclusionReason.POD_AFFINITY,
                    key,
                    _nobody,
                    hosted[domains] if len(hosted) else nowhere,
                )

    def _read_spread(self, number: int, rule: Spread, spreads: Sequence[Spread]) -> None:
        made = self._balance(number, rule, spreads)
        # Nodes that do not count for another reason are closed by the filter, taints or another rule's label.
        self._close(number, ExclusionReason.TOPOLOGY_KEY, rule.key, _nobody, self._domains(rule.key) >= 0)
        if made.counted:
            self._balances.append(made)
        elif len(made.running):
            even = made.running - made.least(made.running) <= rule.skew
            meant = partial(_is_meant, rule.selector)
            self._close(number, ExclusionReason.SPREAD, rule.key, meant, even[made.domains])

    def _balance(self, number: int, rule: Spread, spreads: Sequence[Spread]) -> Balance:
        """How pods of a role spread by one rule; ``spreads`` are all those of its rules that must be kept."""
        ledger, slots, accepts = self._ledger, self._tree.slots, self._roles[number].shape.filter
        counts = np.all([self._domains(each.key) >= 0 for each in (rule, *spreads)], axis=0)
        if rule.heeds_filter:
            counts &= eligibility.selected(ledger, accepts, slots)
        if rule.heeds_taints:
            counts &= eligibility.tolerated(ledger, accepts, slots) & ledger.ready[slots]
        domains = np.where(counts, self._domains(rule.key), -1)
        running = self._by_domain(rule.selector, domains, rule.key)
        real = np.zeros(len(running), dtype=np.bool_)
        real[domains[domains >= 0]] = True
        few = rule.min_domains is not None and int(real.sum()) < rule.min_domains
        counted = frozenset(i for i, each in enumerate(self._roles) if each.neighbour.selected(rule.selector))
        return Balance(domains, number, counted, running, real, rule.skew, few)

    def _wish(self, number: int, rule: PodRule) -> None:
        """Make nodes more or less welcome by the pods that run around them."""
        key = rule.keys[0] if isinstance(rule, Near) else rule.key
        domains = self._domains(key)
        running = self._by_domain(rule.selector, domains, key)
        if not running.any():
            return
        around = np.where(domains >= 0, running[domains], 0)
        if isinstance(rule, Spread):
            score = -np.where(domains >= 0, around * 100 // max(int(running.max()), 1), 100)
        else:
            assert rule.weight is not None
            score = np.minimum(around, 1) * (rule.weight if isinstance(rule, Near) else -rule.weight)
        before = self._welcome[number]
        self._welcome[number] = score if before is None else before + score

    def _domains(self, key: str) -> Ints:
        """By position, the number of a label's value; -1 where the node lacks it."""
        known = self._columns.get(key)
        if known is None:
            codes = self._ledger.labels.column(key).codes
            known = self._columns[key] = codes[self._tree.slots].astype(np.int64)
        return known

    def _by_domain(self, selector: PodSelector, domains: Ints, key: str) -> Ints:
        """By domain, how many running pods are meant."""
        counts = self._running.counts(selector, len(self._ledger.nodes))[self._tree.slots]
        inside = domains >= 0
        size = len(self._ledger.labels.column(key).values)
        return np.bincount(domains[inside], weights=counts[inside], minlength=size).astype(np.int64)

    def _close(
        self,
        number: int,
        reason: ExclusionReason,
        key: str,
        in_the_way: Callable[[Neighbour], bool],
        stays_open: Flags,
    ) -> None:
        """Close all nodes to a role but these."""
        if not stays_open.all():
            self._open[number] &= stays_open
            by_slot = np.ones(len(self._ledger.nodes), dtype=np.bool_)
            by_slot[self._tree.slots] = stays_open
            self._closings[number].append(Closing(reason, key, in_the_way, by_slot))

    # ---- never two on a node ----

    def _rows(self, tables: Sequence[FitTable]) -> tuple[list[dict[int, int]], list[set[int]]]:
        """By role, what its pods take of rows that say who never shares a node; and whom that bars.

        Of roles that all bar one another and themselves, a pod takes the whole of a node's row. Beside a role
        that bars itself and others that do not, each of the others takes so much that they fill no row alone.
        """
        foes: list[set[int]] = [set() for _ in self._roles]
        for conflict in self._conflicts.values():
            if bool((conflict.domains >= 0).all()):
                for role, others in conflict.foes.items():
                    foes[role] |= others
        rows: list[dict[int, int]] = [{} for _ in self._roles]
        barred: list[set[int]] = [set() for _ in self._roles]
        number = 0
        for role, others in enumerate(foes):
            for other in sorted(others):
                if role not in others or other not in foes[other] or other in barred[role]:
                    continue
                together = [role] if other == role else [role, other]
                for third in sorted(others):
                    if third not in together and foes[third] >= {third, *together}:
                        together.append(third)
                row = self._ledger.exclusive_row(number)
                number += 1
                for each in together:
                    rows[each][row] = WHOLE
                    barred[each].update(together)
        for role, others in enumerate(foes):
            guests = sorted(others - barred[role]) if role in others else []
            if guests:
                row = self._ledger.exclusive_row(number)
                number += 1
                rows[role][row] = WHOLE
                barred[role].update(guests)
                share = WHOLE // max(self._most_together([tables[guest] for guest in guests]), 1)
                for guest in guests:
                    rows[guest][row] = share
                    barred[guest].add(role)
        return rows, barred

    def _most_together(self, tables: Sequence[FitTable]) -> int:
        """The most pods of several roles that any node takes."""
        most: Ints = np.sum([table.fit for table in tables], axis=0)
        demands = [dict(table.fits.demand) for table in tables]
        for row in set(demands[0]).intersection(*demands[1:]):
            free = self._ledger.free[row, self._tree.slots].clip(0)
            most = np.minimum(most, free // min(demand[row] for demand in demands))
        return min(int(most.max(initial=0)), WHOLE)

    def _table(self, number: int, table: FitTable, rows: dict[int, int]) -> FitTable:
        """What each node takes of a role."""
        open_nodes, welcome = self._open[number], self._welcome[number]
        fit = np.where(open_nodes, table.fit, 0)
        for conflict in self._conflicts.values():
            if number in conflict.foes.get(number, ()):
                fit = np.where(conflict.domains >= 0, np.minimum(fit, 1), fit)
        price = table.price
        if welcome is not None:
            price = -welcome * WELCOME if price is None else price - welcome * WELCOME
        slots = self._tree.slots
        size = int(slots.max(initial=-1)) + 1
        by_slot = np.zeros(size, dtype=np.int64)
        by_slot[slots] = fit
        prices = None
        if price is not None:
            prices = np.zeros(size, dtype=np.int64)
            prices[slots] = price
        demand = tuple(sorted((*table.fits.demand, *rows.items())))
        fits = RuledFits(table.fits, by_slot, prices, demand)
        fits.closings = self._closings[number]
        return FitTable.made(fits, self._tree)

    def _settle(self) -> None:
        """Drop what the tables say already."""
        nowhere = {role for role, table in enumerate(self.tables) if not table.total}
        for conflict in self._conflicts.values():
            there = conflict.domains[conflict.domains >= 0]
            single = len(np.unique(there)) == len(there)
            left = {
                # Whoever takes the same row as another never shares a node with it.
                role: others - nowhere - (self._alone[role] if single else set())
                for role, others in conflict.foes.items()
                if role not in nowhere
            }
            conflict.foes = {role: others for role, others in left.items() if others}
        live = [each for each in self._conflicts.values() if each.foes]
        alone = self._single and len(self._roles) == 1 and not self._company and not self._balances
        if alone and len(live) == 1 and self._one_node_each(live[0]):
            live[0].foes = {}

    def _one_node_each(self, conflict: Conflict) -> bool:
        """Let one node stand for each domain that takes only one pod; False where that may lose a way.

        Nothing is lost where all pods are equal, and every domain lies inside one domain of each level
        or the other way round: then it does not matter which of its nodes is used. The other way round it
        does where nodes without the label are beside some of them.
        """
        table, tree = self.tables[0], self._tree
        able = np.flatnonzero((table.fit > 0) & (conflict.domains >= 0))
        beside = np.flatnonzero((table.fit > 0) & (conflict.domains < 0))
        domains = conflict.domains[able]
        for level in range(tree.depth):
            there = tree.dom[level][able]
            pairs = len(np.unique(domains * len(tree) + there))
            if pairs == len(np.unique(domains)):
                continue
            if pairs != len(np.unique(there)) or np.isin(tree.dom[level][beside], there).any():
                return False
        prices = table.price[able] if table.price is not None else np.zeros(len(able), dtype=np.int64)
        ordered = able[np.argsort(prices, kind="stable")]
        _, chosen = np.unique(conflict.domains[ordered], return_index=True)
        fits = table.fits
        fits.fit = fits.fit.copy()
        fits.fit[tree.slots[able]] = 0
        fits.fit[tree.slots[ordered[chosen]]] = 1
        self.tables[0] = FitTable.made(fits, tree)
        return True


def _has(rule: Apart, neighbour: Neighbour) -> bool:
    return rule in neighbour.rules


def _is_meant(selector: PodSelector, neighbour: Neighbour) -> bool:
    return neighbour.selected(selector)


def _nobody(_: Neighbour) -> bool:
    return False
