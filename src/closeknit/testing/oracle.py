"""An exact oracle: whether a request can be placed, and how well, by OR-Tools CP-SAT.

It knows hub types only and states ``docs/reference/semantics.md`` as one model:
whole numbers of pods for each pod set and node, and truth values for what is
formed, which nodes and domains a group uses, and which levels it shares.
A single worker and a fixed seed make every answer repeatable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ortools.sat.python import cp_model

from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Wishes
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.testing.claims import NOTHING, Claims
from closeknit.testing.drawings import free
from closeknit.testing.meaning import meet, order, ports_held, room, wishes_of
from closeknit.testing.oracle_rules import Linear, Literal, NeighbourRules, PodCounts, add_claims
from closeknit.testing.scene import Place, Scene, Spread, accepts


def feasible(cluster: Cluster, request: Request, claims: Claims = NOTHING) -> bool:
    """Whether any placement exists."""
    return placement(cluster, request, claims) is not None


def placement(cluster: Cluster, request: Request, claims: Claims = NOTHING) -> Spread | None:
    """Some placement, not a particularly good one, or None where there is none."""
    model = _Model(Scene.of(cluster, request), claims)
    return model.solution()


def better(cluster: Cluster, request: Request, wishes: Wishes, claims: Claims = NOTHING) -> Wishes | None:
    """The wishes of some placement that is strictly better than these, or None where there is none."""
    scene = Scene.of(cluster, request)
    model = _Model(scene, claims)
    if not model.demand_better_than(order(wishes)):
        return None
    found = model.solution()
    if found is None:
        return None
    improved = wishes_of(scene, found)
    if order(improved) >= order(wishes):
        raise RuntimeError(f"The oracle contradicts itself: {improved} is not better than {wishes}.")
    return improved


def tighter(cluster: Cluster, request: Request, wishes: Wishes) -> Wishes | None:
    """The wishes of some placement equal by criteria 1 to 4 and better by criterion 5, or None if none is."""
    scene = Scene.of(cluster, request)
    model = _Model(scene, NOTHING)
    model.demand_less_room(wishes)
    found = model.solution()
    return None if found is None else wishes_of(scene, found)


def best(cluster: Cluster, request: Request) -> Wishes | None:
    """The wishes of the best placement, or None where there is no placement."""
    found = placement(cluster, request)
    if found is None:
        return None
    reached = wishes_of(Scene.of(cluster, request), found)
    while (improved := better(cluster, request, reached)) is not None:
        reached = improved
    return reached


class _Model:
    """The rules of one request on one cluster, in CP-SAT's terms."""

    def __init__(self, scene: Scene, claims: Claims) -> None:
        self._scene = scene
        self._request = scene.request
        self._model = cp_model.CpModel()
        self._true: Literal = self._model.new_constant(1)
        self._counts: dict[str, dict[str, Linear]] = {}
        """Pods by pod set and node; nodes that can never hold such a pod are left out."""
        self._add_pods()
        self._uses: dict[str, dict[str, Literal]] = {}
        """By member and node: true where the member has a pod there. May be true without one."""
        self._add_uses(self._request.root)
        self._add_capacity()
        self._formed(self._request.root, self._true)
        self._domain_uses: dict[tuple[str, int], dict[Place, Literal]] = {}
        self._add_required()
        pods = PodCounts(scene, self._model, self._true, self._counts)
        self._neighbours = NeighbourRules(pods)
        self._neighbours.add()
        add_claims(pods, claims)

    def solution(self) -> Spread | None:
        """A spread that satisfies all that was demanded, or None where none does."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.cp_model_probing_level = 0
        solver.parameters.symmetry_level = 1
        solver.parameters.linearization_level = 2
        status = solver.solve(self._model)
        if status == cp_model.INFEASIBLE:
            return None
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            raise RuntimeError(
                f"The oracle could not decide {self._request.name}: {solver.status_name(status)}."
            )
        return {
            pods: {node: solver.value(count) for node, count in counts.items()}
            for pods, counts in self._counts.items()
        }

    def _add_pods(self) -> None:
        left = free(self._scene.cluster)
        for pods in self._request.root.pod_sets():
            counts = self._counts[pods.name] = {}
            for name, node in self._scene.nodes.items():
                most = pods.open if accepts(node, pods) else 0
                for resource, units in pods.resources.items():
                    most = min(most, max(left[name].get(resource, 0), 0) // units)
                if pods.host_ports:
                    most = min(most, 1)
                if most:
                    counts[name] = self._model.new_int_var(0, most, "")

    def _add_capacity(self) -> None:
        """No node gives more than it has, and no port twice."""
        left = free(self._scene.cluster)
        pod_sets = list(self._request.root.pod_sets())
        for name, node in self._scene.nodes.items():
            counts = ((pods, self._counts[pods.name].get(name)) for pods in pod_sets)
            here = [(pods, count) for pods, count in counts if count is not None]
            if "pods" in node.allocatable or node.no_pods:
                self._at_most(name, [(1, count) for _, count in here], left[name].get("pods", 0))
            for resource in sorted({resource for pods, _ in here for resource in pods.resources}):
                asked = [
                    (pods.resources[resource], count) for pods, count in here if resource in pods.resources
                ]
                self._at_most(name, asked, left[name].get(resource, 0))
            held = ports_held(self._scene.cluster, name)
            for i, (pods, count) in enumerate(here):
                if meet(pods.host_ports, held):
                    self._at_most(name, [(1, count)], 0)
                for other, others in here[:i]:
                    if meet(pods.host_ports, other.host_ports):
                        self._at_most(name, [(1, count), (1, others)], 1)

    def _at_most(self, node: str, terms: Sequence[tuple[int, Linear]], limit: int) -> None:
        if terms:
            # Amounts are bytes and billionths of a core; the solver prefers small numbers.
            unit = math.gcd(*(factor for factor, _ in terms))
            total = sum(factor // unit * count for factor, count in terms)
            # Tying the limit to the node's use says nothing new, but lets sums bound the number of nodes.
            self._model.add(total <= max(limit, 0) // unit * self._uses[self._request.root.name][node])

    def _placed(self, pods: PodSet) -> Linear:
        return sum(self._counts[pods.name].values())

    def _formed(self, member: Member, allowed: Literal) -> Literal:
        """A truth value that implies that the member is formed; only where ``allowed`` it gets new pods."""
        if isinstance(member, PodSet):
            return self._pods_formed(member, allowed)
        formed = self._true if member is self._request.root else self._model.new_bool_var("")
        inner = self._model.new_bool_var("")
        self._model.add_implication(inner, formed)
        self._model.add_implication(inner, allowed)
        counted = sum(self._formed(each, inner) for each in member.members)
        if isinstance(counted, int):
            if counted < member.least:
                self._model.add_bool_or([formed.negated()])
        else:
            self._model.add(counted >= member.least).only_enforce_if(formed)
        return formed

    def _pods_formed(self, pods: PodSet, allowed: Literal) -> Literal:
        counts, total = self._counts[pods.name].values(), self._placed(pods)
        missing = pods.least - len(pods.bound)
        if counts:
            self._model.add(total <= pods.open)
        if missing <= 0:
            for count in counts:
                self._model.add(count == 0).only_enforce_if(allowed.negated())
            return self._true
        formed = self._model.new_bool_var("")
        self._model.add_implication(formed, allowed)
        if not counts:
            self._model.add_bool_or([formed.negated()])
            return formed
        self._model.add(total >= missing).only_enforce_if(formed)
        for count in counts:
            self._model.add(count == 0).only_enforce_if(formed.negated())
        return formed

    def _add_uses(self, member: Member) -> dict[str, Literal]:
        uses: dict[str, Literal] = {}
        if isinstance(member, PodSet):
            for node, count in self._counts[member.name].items():
                uses[node] = self._model.new_bool_var("")
                self._model.add(count == 0).only_enforce_if(uses[node].negated())
            uses.update(dict.fromkeys(member.bound, self._true))
        else:
            parts: dict[str, list[Literal]] = {}
            for inner in member.members:
                for node, used in self._add_uses(inner).items():
                    parts.setdefault(node, []).append(used)
            uses = {node: self._any(used) for node, used in parts.items()}
        self._uses[member.name] = uses
        return uses

    def _any(self, literals: Sequence[Literal]) -> Literal:
        """A truth value that is true where any of these is."""
        if len(literals) == 1:
            return literals[0]
        if any(literal is self._true for literal in literals):
            return self._true
        either = self._model.new_bool_var("")
        for literal in literals:
            self._model.add_implication(literal, either)
        return either

    def _domains(self, group: Group, level: int) -> dict[Place, Literal]:
        """By domain of a level: true where the group has a pod there; lone nodes count for themselves."""
        key = (group.name, level)
        if key not in self._domain_uses:
            parts: dict[Place, list[Literal]] = {}
            for node, used in self._uses[group.name].items():
                parts.setdefault(self._scene.place(node, level), []).append(used)
            self._domain_uses[key] = {place: self._any(used) for place, used in parts.items()}
        return self._domain_uses[key]

    def _lone(self, group: Group, level: int) -> list[Literal]:
        """Uses of nodes that are in no domain of a level."""
        uses = self._uses[group.name]
        return [used for node, used in uses.items() if self._scene.domain(node, level) is None]

    def _add_required(self) -> None:
        for group in self._groups():
            if group.required is not None:
                level = self._scene.labels.index(group.required)
                self._share(group, level, ())

    def _share(self, group: Group, level: int, where: Sequence[Literal]) -> None:
        """All pods of a group in one domain of a level, where these hold."""
        domains = list(self._domains(group, level).values())
        if len(domains) > 1:
            if where:
                self._model.add(sum(domains) <= 1).only_enforce_if(where)
            else:
                self._model.add_at_most_one(domains)
        for used in self._lone(group, level):
            self._model.add_bool_or([used.negated(), *(literal.negated() for literal in where)])

    def _groups(self) -> Iterable[Group]:
        return (member for member, _ in self._request.root.walk() if isinstance(member, Group))

    def demand_better_than(self, reached: tuple[int, ...]) -> bool:
        """Ask for strictly better wishes; False where none can be, by their least possible values alone."""
        wishes, least = self._wishes()
        choices: list[Literal] = []
        for place, (wish, bound) in enumerate(zip(wishes, least, strict=True)):
            if reached[place] <= bound:
                continue
            here = self._model.new_bool_var("")
            choices.append(here)
            self._model.add(wish <= reached[place] - 1).only_enforce_if(here)
            for earlier in range(place):
                self._model.add(wishes[earlier] <= reached[earlier]).only_enforce_if(here)
        if choices:
            self._model.add_exactly_one(choices)
        return bool(choices)

    def demand_less_room(self, reached: Wishes) -> None:
        """Ask for a placement that is no worse by criteria 1 to 4 and better by criterion 5."""
        wishes, _ = self._wishes()
        for wish, most in zip(wishes, order(reached), strict=True):
            self._model.add(wish <= most)
        root, scene = self._request.root, self._scene
        assert reached.room is not None
        if scene.named < len(scene.labels):
            used = self._domains(root, scene.named)
        else:
            used = {(node,): uses for node, uses in self._uses[root.name].items()}
        one = {scene.named_place(node): node for node in scene.nodes}
        self._model.add(sum(room(scene, [one[place]]) * uses for place, uses in used.items()) < reached.room)

    def _wishes(self) -> tuple[list[Linear], list[int]]:
        """Criteria 1 to 4 in the order of ``meaning.order``, each with a value it cannot go below.

        The solver may count more than there is, never less, so that asking for
        less than some value finds a placement exactly where there is one.
        """
        pod_sets = list(self._request.root.pod_sets())
        open_pods = sum(pods.open for pods in pod_sets)
        wishes: list[Linear] = [open_pods - sum(self._placed(pods) for pods in pod_sets)]
        least = [0]
        distances: dict[int, list[Linear]] = {level: [] for level in range(len(self._scene.labels))}
        for group in self._groups():
            if group.preferred is not None:
                level = self._scene.labels.index(group.preferred)
                distances[level].append(self._distance(group, level))
        wishes.extend(sum(distances[level]) for level in range(len(self._scene.labels)))
        least.extend(0 for _ in self._scene.labels)
        wishes.append(self._neighbours.preferred())
        least.append(0)
        root = self._request.root
        running = {node for pods in pod_sets for node in pods.bound}
        must = bool(running) or self._needs_pod(root)
        for level in range(min(self._scene.named + 1, len(self._scene.labels))):
            wishes.append(sum(self._domains(root, level).values()))
            least.append(max(len({self._scene.place(node, level) for node in running}), int(must)))
        if self._scene.named == len(self._scene.labels):
            wishes.append(sum(self._uses[root.name].values()))
            least.append(max(len(running), int(must)))
        return wishes, least

    def _needs_pod(self, member: Member) -> bool:
        """Whether the member cannot be formed without a new pod."""
        if isinstance(member, PodSet):
            return member.least > len(member.bound)
        free_of_charge = sum(not self._needs_pod(inner) for inner in member.members)
        return free_of_charge < member.least

    def _distance(self, group: Group, preferred: int) -> Linear:
        """How far a group is from its preferred level.

        One more for each level, up to the preferred one, at which it does not share a
        domain; where it shares none at all, the domains of the preferred level as well.
        """
        if not self._uses[group.name]:
            return 0
        shares = [self._model.new_bool_var("") for _ in range(preferred + 1)]
        for level, shared in enumerate(shares):
            self._share(group, level, [shared])
            if level:
                self._model.add_implication(shared, shares[level - 1])
        domains = list(self._domains(group, preferred).values())
        scattered = self._model.new_int_var(0, len(domains), "")
        self._model.add(scattered >= sum(domains)).only_enforce_if(shares[0].negated())
        return preferred + 1 - sum(shares) + scattered
