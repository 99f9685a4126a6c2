"""Trees of groups grown at random: levels that respect each other, copies of one template, several shapes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.drawing import GPU
from closeknit.hub.nodes import NodeFilter, Operator, Preference, Requirement, Term, Toleration
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.testing.random_clusters import (
    DEDICATED,
    GENERATION,
    HALF_CORE,
    POOL,
    POOLS,
    TOPOLOGY,
    Size,
    some_port,
)


@dataclass(slots=True)
class Draft:
    """A member of the tree while it is being made; without a shape it is a group."""

    name: str
    shape: PodSet | None = None
    """What each pod of a set asks for; its name and count do not matter."""
    inner: list[Draft] = field(default_factory=list)
    count: int = 0
    minimum: int | None = None
    required: str | None = None
    preferred: str | None = None
    twin: int = 0
    """Drafts with the same twin number are copies of one template."""
    named: bool = False

    def walk(self) -> Iterator[Draft]:
        """The draft itself and all inside it, parents first."""
        yield self
        for each in self.inner:
            yield from each.walk()

    def groups(self) -> Iterator[Draft]:
        """The groups of this subtree."""
        return (each for each in self.walk() if each.shape is None)

    def leaves(self) -> Iterator[Draft]:
        """The pod sets of this subtree."""
        return (each for each in self.walk() if each.shape is not None)

    def prune(self, planted: Mapping[str, Collection[str]]) -> None:
        """Drop pod sets that found no room at all, and the groups that this leaves empty."""
        for each in self.inner:
            each.prune(planted)
        self.inner = [each for each in self.inner if each.inner or planted.get(each.name)]

    def member(self, running: Mapping[str, Sequence[str]]) -> Member:
        """The finished group or pod set, given the nodes on which pods run."""
        if self.shape is None:
            members = tuple(each.member(running) for each in self.inner)
            return Group(self.name, members, self.required, self.preferred, self.minimum)
        bound = tuple(running.get(self.name, ()))
        names = tuple(f"pod-{self.name}-{number}" for number in range(self.count - len(bound)))
        return replace(
            self.shape,
            name=self.name,
            count=self.count,
            minimum=self.minimum,
            bound=bound,
            pods=names if self.named else (),
        )


def request(workload: str, root: Draft, running: Mapping[str, Sequence[str]]) -> Request:
    """The finished request."""
    group = root.member(running)
    assert isinstance(group, Group)
    return Request(workload, group, TOPOLOGY)


class Grower:
    """Grows the tree: its groups, their levels, and the shapes of its pod sets."""

    def __init__(self, rng: Random, cluster: Cluster, size: Size) -> None:
        topology = cluster.topology(TOPOLOGY)
        assert topology is not None
        self._rng = rng
        self._labels = topology.labels
        self._cluster = cluster
        self._names = [f"m{number}" for number in range(10, 99)]
        rng.shuffle(self._names)
        self._groups_left = rng.randint(1, size.groups) if rng.random() < 0.3 else size.groups
        self._sets_left = min(size.pods, 10)
        self._twins = 0
        self._constrained = rng.random() < 0.9
        self._shapes = [self._shape() for _ in range(rng.choice((1, 1, 2, 3)))]

    def grow(self) -> Draft:
        """A tree whose pod sets have no pods yet."""
        return self._group(1, None, None)

    def _group(self, depth: int, above_required: int | None, above_preferred: int | None) -> Draft:
        rng = self._rng
        self._groups_left -= 1
        self._twins += 1
        group = Draft(self._names.pop(), twin=self._twins)
        required, preferred = above_required, above_preferred
        if self._constrained and rng.random() < (0.35 if depth == 1 else 0.65):
            required = rng.randint(above_required or 0, len(self._labels) - 1)
            group.required = self._labels[required]
        if self._constrained and rng.random() < 0.35:
            # A preference may be coarser than what is around it, though few people write it so.
            least = max(required or 0, above_preferred or 0) if rng.random() < 0.8 else 0
            preferred = rng.randint(least, len(self._labels) - 1)
            group.preferred = self._labels[preferred]
        while (
            depth < 3
            and self._groups_left > 0
            and self._sets_left > 0
            and rng.random() < (0.85 if depth == 1 else 0.5)
        ):
            inner = self._group(depth + 1, required, preferred)
            group.inner.append(inner)
            size = sum(1 for _ in inner.groups())
            while self._groups_left >= size and self._sets_left > 0 and rng.random() < 0.65:
                self._groups_left -= size
                group.inner.append(self._copy(inner))
        while self._sets_left > 0 and rng.random() < (0.25 if group.inner else 0.9):
            self._twins += 1
            self._sets_left -= 1
            group.inner.append(Draft(self._names.pop(), rng.choice(self._shapes), twin=self._twins))
            if rng.random() < 0.4:
                break
        rng.shuffle(group.inner)
        return group

    def _copy(self, draft: Draft) -> Draft:
        self._sets_left -= draft.shape is not None
        return replace(draft, name=self._names.pop(), inner=[self._copy(each) for each in draft.inner])

    def _shape(self) -> PodSet:
        rng = self._rng
        offered = rng.choice(self._cluster.nodes).allocatable
        asked: dict[str, int] = {}
        if GPU in offered and rng.random() < 0.85:
            asked[GPU] = rng.choice((1, 1, 1, 1, 1, 2, max(offered[GPU] // 2, 1), offered[GPU]))
        if not asked or rng.random() < 0.4:
            asked["cpu"] = rng.choice((1, 1, 2, 2, 3, max(offered.get("cpu", 0) // HALF_CORE, 1))) * HALF_CORE
        if "memory" in offered and rng.random() < 0.5:
            asked["memory"] = rng.choice((1, 2, 3)) * 2**29
        if rng.random() < 0.03:
            asked = {}
        ports = some_port(rng.random(), 0.08)
        return PodSet("", 1, Resources(asked), filter=self._filter(), host_ports=ports)

    def _filter(self) -> NodeFilter:
        rng = self._rng
        selector = ((POOL, rng.choice(POOLS)),) if rng.random() < 0.12 else ()
        affinity: tuple[Term, ...] | None = None
        if rng.random() < 0.12:
            affinity = tuple(Term(self._requirements()) for _ in range(rng.choice((1, 1, 2))))
        tolerations: tuple[Toleration, ...] = ()
        if rng.random() < 0.3:
            tolerations = (Toleration(DEDICATED, rng.choice((None, *POOLS))),)
        preferences = (Preference(10, Term(self._requirements())),) if rng.random() < 0.1 else ()
        return NodeFilter(selector, affinity, preferences, tolerations)

    def _requirements(self) -> tuple[Requirement, ...]:
        rng = self._rng
        choices = (
            Requirement(POOL, Operator.IN, POOLS[: rng.randint(1, 2)]),
            Requirement(POOL, Operator.NOT_IN, POOLS[:1]),
            Requirement(POOL, Operator.EXISTS),
            Requirement(GENERATION, Operator.DOES_NOT_EXIST),
            Requirement(GENERATION, Operator.GT, ("1",)),
            Requirement(GENERATION, Operator.LT, ("3",)),
        )
        return tuple(rng.sample(choices, rng.choice((0, 1, 1, 1, 2))))
