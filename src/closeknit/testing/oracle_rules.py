"""The oracle's constraints for rules among pods and for claims to devices and volumes.

Both are stated over the pods that each node gets of each pod set, and over nothing else of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ortools.sat.python import cp_model

from closeknit.hub.neighbours import Apart, Near, PodRule, Spread, binding
from closeknit.hub.request import PodSet
from closeknit.testing.claims import Claims
from closeknit.testing.neighbour_meaning import (
    company,
    counted_nodes,
    domains_of,
    preferred_rules,
    running_pods,
    weight,
)
from closeknit.testing.scene import Scene

# OR-Tools ships no types: a truth value, a whole number, or a sum of them.
Literal: TypeAlias = Any
Linear: TypeAlias = Any


@dataclass(frozen=True)
class PodCounts:
    """The new pods of a request in a model."""

    scene: Scene
    model: cp_model.CpModel
    true: Literal
    counts: Mapping[str, Mapping[str, Linear]]
    """Pods by pod set and node; nodes that can never hold such a pod are left out."""

    @property
    def pod_sets(self) -> list[PodSet]:
        """All pod sets of the request."""
        return list(self.scene.request.root.pod_sets())

    def inside(self, pod_sets: Iterable[PodSet], nodes: Iterable[str]) -> Linear:
        """New pods of these sets on these nodes."""
        there = list(nodes)
        each = (self.counts[pods.name] for pods in pod_sets)
        return self.total(counts[node] for counts in each for node in there if node in counts)

    def total(self, terms: Iterable[Linear]) -> Linear:
        """A sum that can be compared in the model even where there is nothing to add up."""
        return sum(terms) + 0 * self.true


def add_claims(pods: PodCounts, claims: Claims) -> None:
    """Every device goes to one pod at most, and volumes are used where they are reached."""
    model = pods.model
    for name, node in pods.scene.nodes.items():
        given: list[list[Literal]] = [[] for _ in claims.devices.get(name, ())]
        attached: list[Linear] = []
        for pod_set in pods.pod_sets:
            count = pods.counts[pod_set.name].get(name)
            if count is None:
                continue
            if not claims.reached(pod_set.name, node):
                model.add(count == 0)
            attached.append(claims.attached(pod_set.name) * count)
            for need in claims.needs.get(pod_set.name, ()):
                taken = []
                for device, takers in zip(claims.devices.get(name, ()), given, strict=True):
                    if need.accepts(device):
                        taken.append(model.new_bool_var(""))
                        takers.append(taken[-1])
                model.add(pods.total(taken) == need.count * count)
        for takers in given:
            model.add_at_most_one(takers)
        if name in claims.limits:
            model.add(pods.total(attached) <= claims.limits[name])


class NeighbourRules:
    """The rules among pods of one request."""

    def __init__(self, pods: PodCounts) -> None:
        self._pods = pods
        self._scene = pods.scene
        self._model = pods.model
        self._pod_sets = pods.pod_sets

    def add(self) -> None:
        """State every rule that has to be kept, those of running pods included."""
        rules = {rule for pods in self._pod_sets for rule in pods.neighbour.rules if binding(rule)}
        for pods in self._pod_sets:
            for rule in pods.neighbour.rules:
                if isinstance(rule, Apart) and binding(rule):
                    self._add_apart(pods, rule)
                elif isinstance(rule, Spread) and rule.required:
                    self._add_spread(pods, rule)
        for held in self._scene.cluster.holdings:
            for rule in held.neighbour.rules:
                if isinstance(rule, Apart) and binding(rule) and held.pods:
                    kept_away = [p for p in self._pod_sets if p.neighbour.selected(rule.selector)]
                    for nodes in domains_of(self._scene, rule.key).values():
                        if held.node in nodes:
                            self._bar(kept_away, nodes)
        for near in rules:
            if isinstance(near, Near):
                self._add_near(near)

    def _bar(self, pod_sets: Iterable[PodSet], nodes: Iterable[str]) -> None:
        barred = list(nodes)
        for pods in pod_sets:
            self._model.add(self._pods.inside([pods], barred) == 0)

    def _add_apart(self, pods: PodSet, rule: Apart) -> None:
        running = running_pods(self._scene.cluster, rule.selector)
        others = [p for p in self._pod_sets if p.neighbour.selected(rule.selector)]
        for nodes in domains_of(self._scene, rule.key).values():
            if any(running.get(node) for node in nodes):
                self._bar([pods], nodes)
            there = self._there(pods, nodes)
            for other in others:
                most = 1 if other is pods else 0
                self._model.add(self._pods.inside([other], nodes) <= most).only_enforce_if(there)

    def _add_near(self, rule: Near) -> None:
        subjects, hosts, running, leaders = company(self._scene, rule)
        for key in rule.keys:
            domains = domains_of(self._scene, key)
            self._bar(
                subjects, set(self._scene.nodes) - {node for nodes in domains.values() for node in nodes}
            )
            alone = []
            for nodes in domains.values():
                if any(running.get(node) for node in nodes):
                    continue
                # True where the domain may hold subjects although nobody gives them company.
                alone.append(self._model.new_bool_var(""))
                hosted = self._model.new_bool_var("")
                self._model.add(self._pods.inside(leaders, nodes) >= 1).only_enforce_if(alone[-1])
                self._model.add(self._pods.inside(hosts, nodes) >= 1).only_enforce_if(hosted)
                for pods in subjects:
                    self._model.add(self._pods.inside([pods], nodes) == 0).only_enforce_if(
                        [alone[-1].negated(), hosted.negated()]
                    )
            self._model.add(self._pods.total(alone) <= 1)

    def _add_spread(self, pods: PodSet, rule: Spread) -> None:
        counted = counted_nodes(self._scene, pods, rule)
        running = running_pods(self._scene.cluster, rule.selector)
        self._bar([pods], set(self._scene.nodes) - counted)
        others = [p for p in self._pod_sets if p.neighbour.selected(rule.selector)]
        domains = [
            inside
            for nodes in domains_of(self._scene, rule.key).values()
            if (inside := [node for node in nodes if node in counted])
        ]
        totals = [
            sum(running.get(node, 0) for node in nodes) + self._pods.inside(others, nodes)
            for nodes in domains
        ]
        few = rule.min_domains is not None and len(domains) < rule.min_domains
        least: Linear = 0
        if not few and totals:
            least = self._model.new_int_var(0, 1 << 30, "")
            for total in totals:
                self._model.add(least <= total)
        for nodes, total in zip(domains, totals, strict=True):
            there = self._there(pods, nodes)
            self._model.add(total - least <= rule.skew).only_enforce_if(there)

    def preferred(self) -> Linear:
        """How far new pods are from preferred rules among them, by weight; never less than it is."""
        alike: dict[tuple[PodRule, bool, frozenset[str]], list[PodSet]] = {}
        for pods, rule in preferred_rules(self._scene):
            nodes = counted_nodes(self._scene, pods, rule) if isinstance(rule, Spread) else self._scene.nodes
            alike.setdefault((rule, pods.neighbour.selected(rule.selector), frozenset(nodes)), []).append(
                pods
            )
        return self._pods.total(
            weight(rule) * distance
            for (rule, mutual, nodes), sets in alike.items()
            for distance in self._distances(sets, rule, nodes, mutual=mutual)
        )

    def _distances(
        self, sets: list[PodSet], rule: PodRule, counted: frozenset[str], *, mutual: bool
    ) -> Iterator[Linear]:
        """Parts of how far new pods of sets with one preferred rule are from keeping it, all together.

        ``counted`` are the nodes that count for it; ``mutual`` says whether it selects these pods themselves.
        """
        running = running_pods(self._scene.cluster, rule.selector)
        others = [each for each in self._pod_sets if each.neighbour.selected(rule.selector)]
        by_value = domains_of(self._scene, rule.keys[0] if isinstance(rule, Near) else rule.key).values()
        domains = [inside for nodes in by_value if (inside := [node for node in nodes if node in counted])]
        most, asked = sum(running.values()) + sum(p.open for p in others), sum(p.open for p in sets)
        totals = [
            sum(running.get(node, 0) for node in nodes) + self._pods.inside(others, nodes)
            for nodes in domains
        ]
        least: Linear = 0
        if isinstance(rule, Spread) and (rule.min_domains is None or len(domains) >= rule.min_domains):
            least = self._model.new_int_var(0, most, "")
            for total in totals:
                self._model.add(least <= total)
        for nodes, total in zip(domains, totals, strict=True):
            mine = self._pods.inside(sets, nodes)
            if isinstance(rule, Near):
                lonely = self._model.new_int_var(0, asked, "")
                hosted = self._model.new_bool_var("")
                self._model.add(total >= 1 + mutual).only_enforce_if(hosted)
                self._model.add(lonely >= mine).only_enforce_if(hosted.negated())
                yield lonely
                continue
            if isinstance(rule, Apart) and mutual and len(sets) == len(others):
                # The square of a number lies above all its tangents, and is on one at each whole number.
                square = self._model.new_int_var(0, asked * asked, "")
                for number in range(asked):
                    self._model.add(square >= (2 * number + 1) * mine - number * (number + 1))
                yield square + (sum(running.get(node, 0) for node in nodes) - 1) * mine
                continue
            excess = self._model.new_int_var(0, most, "")
            self._model.add(
                excess >= total - (least + rule.skew if isinstance(rule, Spread) else int(mutual))
            )
            # With so many pods of the sets or more, each of them pays at least the excess.
            for number in range(1, asked + 1):
                as_many = self._model.new_bool_var("")
                paid = self._model.new_int_var(0, most, "")
                self._model.add(mine <= number - 1).only_enforce_if(as_many.negated())
                self._model.add(paid >= excess).only_enforce_if(as_many)
                yield paid
        if not isinstance(rule, Apart):
            within = {node for nodes in domains for node in nodes}
            yield self._pods.inside(sets, set(self._scene.nodes) - within)

    def _there(self, pods: PodSet, nodes: Iterable[str]) -> Literal:
        """A truth value that is true where a pod set has new pods on these nodes."""
        there = self._model.new_bool_var("")
        self._model.add(self._pods.inside([pods], nodes) == 0).only_enforce_if(there.negated())
        return there
