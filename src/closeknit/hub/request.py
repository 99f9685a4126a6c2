"""What a workload asks for: a tree of groups that keep their members together.

A group may carry a required level, a preferred level, or both, and says how
many of its members must be placed at once. Its members are groups or pod sets.
Leader and workers are a group of two pod sets; slices and replicas are
repeated groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from closeknit.hub.copying import replace
from closeknit.hub.neighbours import Neighbour, Spread
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem, Range
from closeknit.hub.resources import Resources, amount_problems
from closeknit.hub.sentences import hub as sentences
from closeknit.hub.topology import Topology

DEEPEST = 64
"""How deep groups may be nested: deeper than anyone needs, and shallow enough to walk by recursion."""


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    """A port of the node itself; two pods that ask for the same never share a node."""

    port: int
    protocol: str = "TCP"
    address: str = ""
    """The one address of the node at which it is taken; empty for all of them."""

    def meets(self, other: HostPort) -> bool:
        """Whether both would take the same port of the same address."""
        alike = (self.port, self.protocol) == (other.port, other.protocol)
        return alike and (not self.address or not other.address or self.address == other.address)

    def __str__(self) -> str:
        at = f" at {self.address}" if self.address else ""
        return f"{self.port}/{self.protocol}{at}"


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """An object that pods name, and that says more about where they can run."""

    kind: str
    name: str
    """Empty for one that is made when its pod is."""
    template: str = ""
    """What one that is made for a pod alone is made from, as JSON; empty for one that pods name."""
    owner: str = ""
    """The uid of the pod for which it is made, or its name where it has none."""


class PodSet(msgspec.Struct, frozen=True, gc=False):
    """Equal pods. At least ``minimum`` of ``count`` must run at once, or none is placed."""

    name: str
    count: int
    resources: Resources = Resources()
    """Per pod; the ``pods`` resource is counted by itself and need not be listed."""
    minimum: int | None = None
    """None stands for all of them."""
    filter: NodeFilter = NodeFilter()
    host_ports: frozenset[HostPort] = frozenset()
    bound: tuple[str, ...] = ()
    """The nodes of pods of this set that already run: one entry a pod, counted within ``count``.

    They pin the domains of the groups above, and what they use is a holding of the cluster.
    """
    pods: tuple[str, ...] = ()
    """Names of the pods still to place, in rank order; empty for made-up names."""
    claims: tuple[Reference, ...] = ()
    """Claims by name. What they come to is counted in ``resources`` and ``filter`` by whoever knows them."""
    neighbour: Neighbour = Neighbour()
    """What other pods see of each of them, and what each asks of the pods around it."""

    @property
    def least(self) -> int:
        """How many pods must run at once."""
        return self.count if self.minimum is None else self.minimum

    @property
    def open(self) -> int:
        """How many pods are still to place, those above the minimum included."""
        return max(self.count - len(self.bound), 0)

    def pod_names(self) -> tuple[str, ...]:
        """The names of the pods still to place, in rank order."""
        return self.pods or tuple(f"{self.name}-{i}" for i in range(len(self.bound), self.count))


class Group(msgspec.Struct, frozen=True, gc=False):
    """Members that stay together. Levels are named by node label."""

    name: str
    members: tuple[Member, ...]
    required: str | None = None
    """All pods of the group in one domain of this level, or nothing is placed."""
    preferred: str | None = None
    """One domain of this level if possible, else as close to it as possible."""
    minimum: int | None = None
    """How many members must be placed at once; None stands for all of them."""

    @property
    def least(self) -> int:
        """How many members must be placed at once."""
        return len(self.members) if self.minimum is None else self.minimum

    def walk(self) -> Iterator[tuple[Member, Group | None]]:
        """Every group and pod set of this subtree with its parent, parents first."""
        pending: list[tuple[Member, Group | None]] = [(self, None)]
        while pending:
            member, parent = pending.pop()
            yield member, parent
            if isinstance(member, Group):
                pending.extend((inner, member) for inner in reversed(member.members))

    def pod_sets(self) -> Iterator[PodSet]:
        """Every pod set of this subtree, in the order of the members."""
        return (member for member, _ in self.walk() if isinstance(member, PodSet))

    def mapped(
        self,
        pods: Callable[[PodSet], PodSet] = lambda same: same,
        groups: Callable[[Group], Group] = lambda same: same,
    ) -> Group:
        """The same tree with every pod set and every group replaced, inner ones first."""
        members = tuple(
            member.mapped(pods, groups) if isinstance(member, Group) else pods(member)
            for member in self.members
        )
        return groups(replace(self, members=members))


Member: TypeAlias = Group | PodSet


def satisfied(member: Member) -> bool:
    """Whether all that must run at once runs already."""
    if isinstance(member, PodSet):
        return len(member.bound) >= member.least
    return sum(satisfied(inner) for inner in member.members) >= member.least


class Request(msgspec.Struct, frozen=True, gc=False):
    """One workload's tree, and the topology whose levels it speaks of."""

    name: str
    """Who will hold what is placed; unique among the workloads of a cluster."""
    root: Group
    topology: str | None = None
    """May be left out where no group names a level."""


def problems(request: Request, topology: Topology | None) -> tuple[Problem, ...]:
    """Everything about a request that can never be satisfied as written, whatever the cluster.

    Paths are those of the hub's own tree; a dialect checks its fields first and
    reports them under the names its users know.
    """
    found: list[Problem] = []
    if request.topology is not None and topology is None:
        found.append(sentences.NO_SUCH_TOPOLOGY.at(("topology",), topology=request.topology))
    names: set[str] = set()
    pending: list[tuple[Path, Member, int | None]] = [(("root",), request.root, None)]
    while pending:
        path, member, above = pending.pop()
        if member.name in names:
            found.append(sentences.NAME_USED_TWICE.at((*path, "name"), name=member.name))
        names.add(member.name)
        size = member.count if isinstance(member, PodSet) else len(member.members)
        if isinstance(member, PodSet):
            found.extend(_pod_set_problems(path, member))
        if not 0 <= member.least <= max(size, 0):
            remedy = Range(0, max(size, 0))
            found.append(
                sentences.IMPOSSIBLE_MINIMUM.at((*path, "minimum"), value=member.least, remedy=remedy)
            )
        if isinstance(member, PodSet):
            continue
        required = _depth((*path, "required"), member.required, topology, found)
        _depth((*path, "preferred"), member.preferred, topology, found)
        if topology is not None and required is not None and above is not None and required < above:
            coarser, finer = topology.labels[required], topology.labels[above]
            found.append(sentences.COARSER_THAN_ABOVE.at((*path, "required"), level=coarser, bound=finer))
        # Each level of nesting adds two steps: "members" and an index.
        if len(path) > 2 * DEEPEST:
            found.append(sentences.NESTED_TOO_DEEP.at((*path, "members"), most=DEEPEST))
            continue
        for i, inner in reversed(list(enumerate(member.members))):
            pending.append(((*path, "members", i), inner, required if required is not None else above))
    return tuple(found)


def _pod_set_problems(path: Path, pods: PodSet) -> Iterator[Problem]:
    if pods.count < 0:
        yield sentences.NEGATIVE.at((*path, "count"), value=pods.count)
    if len(pods.bound) > max(pods.count, 0):
        yield sentences.MORE_BOUND_THAN_COUNT.at((*path, "bound"), bound=len(pods.bound), count=pods.count)
    if pods.pods and len(pods.pods) != pods.open:
        yield sentences.NAMES_DO_NOT_MATCH.at((*path, "pods"), names=len(pods.pods), pods=pods.open)
    yield from amount_problems((*path, "resources"), pods.resources)
    for i, rule in enumerate(pods.neighbour.rules):
        if isinstance(rule, Spread) and rule.skew < 1:
            yield sentences.NEGATIVE.at((*path, "neighbour", "rules", i, "skew"), value=rule.skew)


def _depth(path: Path, label: str | None, topology: Topology | None, found: list[Problem]) -> int | None:
    if label is None:
        return None
    if topology is None:
        found.append(sentences.LEVEL_WITHOUT_TOPOLOGY.at(path, level=label))
        return None
    depth = topology.index(label)
    if depth is None:
        remedy = OneOf.among(label, topology.labels)
        found.append(sentences.UNKNOWN_LEVEL.at(path, topology=topology.name, level=label, remedy=remedy))
    return depth
