"""A request as pod sets of Kueue: equal groups become slices, a leader and its workers a group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from closeknit.dialects.core.levels import Levels
from closeknit.dialects.kueue.queued_workload import MOST_POD_SETS
from closeknit.dialects.kueue.slices import MOST_LAYERS
from closeknit.hub.copying import replace
from closeknit.hub.problems import Code, Fact, Problem
from closeknit.hub.request import Group, Member, PodSet
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.topology import Topology

_NONE = -1


@dataclass(frozen=True, slots=True)
class Piece:
    """A pod set of Kueue: Jobs of equal pods, and the levels that it can name."""

    name: str
    count: int
    replicas: int
    pods: PodSet
    """What each of the pods asks for."""
    required: str | None = None
    preferred: str | None = None
    layers: tuple[tuple[str, int], ...] = ()
    """Slices, by level and size, coarsest first."""
    group: str = ""
    minimum: int | None = None
    """How many pods will do; None for all."""

    @property
    def is_free(self) -> bool:
        """Whether it names no level and has no slices, so that its pods can be counted with others."""
        return not (self.required or self.preferred or self.layers or self.group)

    def is_like(self, other: Piece) -> bool:
        """Whether two say the same of equal pods, and could be one; sizes of free ones may differ."""
        if self.group or self.minimum is not None or other.minimum is not None:
            return False
        mine, theirs = (
            (
                each.required,
                each.preferred,
                each.layers,
                each.group,
                0 if each.is_free else each.count // each.replicas,
                each.count if each.required or each.preferred else 0,
                each.pods.resources,
                each.pods.filter,
                each.pods.host_ports,
                each.pods.neighbour,
            )
            for each in (self, other)
        )
        return mine == theirs


class ToPodSets:
    """Converts one tree; ``problems`` is what Kueue has no words for, ``left_out`` preferences among it."""

    def __init__(self, topology: Topology | None) -> None:
        self.problems: list[Problem] = []
        self.left_out: list[str] = []
        self._topology = topology
        self._labels = topology.labels if topology is not None else ()

    def convert(self, root: Group) -> list[Piece]:
        """The pod sets of a request, with all that it asks for."""
        pieces = self._pod_sets(simplified(root, self._topology))
        if len(pieces) > 1:
            for piece in pieces:
                if piece.minimum is not None:
                    facts = {"least": piece.minimum, "pods": piece.count, "sets": len(pieces)}
                    self._cannot(sentences.MINIMUM_OF_ONE_JOB, piece.name, **facts)
        return pieces

    def _pod_sets(self, group: Group) -> list[Piece]:
        runs: list[list[Piece]] = []
        others: list[Piece] = []
        # Preferences of equal groups, each by itself, are kept apart where nothing binds them together.
        apart = not (group.required or group.preferred) and len(group.members) <= MOST_POD_SETS
        for member in group.members:
            made = list(self._leaf(member)) if isinstance(member, PodSet) else self._pod_sets(member)
            if len(made) != 1:
                # Only whole members are joined: parts of two groups must not become one.
                others.extend(made)
                continue
            alike = (run for run in runs if run[0].is_like(made[0]) and not (apart and made[0].preferred))
            found = next(alike, None)
            if found is None:
                runs.append(found := [])
            found.append(made[0])
        pieces = [*(self._joined(run) for run in runs), *others]
        if group.minimum is not None:
            pieces = self._with_minimum(group, group.minimum, runs, pieces)
        return self._with_levels(group, pieces)

    def _leaf(self, pods: PodSet) -> Iterator[Piece]:
        if pods.least == 0:
            self._cannot(sentences.NONE_MUST_RUN, pods.name)
        minimum = pods.least if pods.least < pods.count else None
        yield Piece(pods.name, pods.count, 1, pods, minimum=minimum)

    def _joined(self, run: list[Piece]) -> Piece:
        """Pieces that are alike as one: a slice for each where each needs a domain of its own."""
        first = run[0]
        if len(run) < 2:
            return first
        layers = first.layers
        if first.required is not None:
            inner = tuple(layer for layer in layers if layer[0] != first.required)
            layers = ((first.required, first.count), *inner)
        if len(layers) > MOST_LAYERS:
            self._cannot(sentences.SLICES_TOO_DEEP, first.name, most=MOST_LAYERS)
            layers = layers[:MOST_LAYERS]
        whole = replace(
            first,
            count=sum(each.count for each in run),
            replicas=1 if first.is_free else sum(each.replicas for each in run),
            required=None,
            layers=layers,
        )
        return self._in_order(whole)

    def _with_minimum(
        self, group: Group, minimum: int, runs: list[list[Piece]], pieces: list[Piece]
    ) -> list[Piece]:
        """Members of which some will do: single pods, or slices of one pod set."""
        sizes = {piece.count for run in runs for piece in run}
        if len(pieces) == 1 and len(runs) == 1 and len(sizes) == 1 and minimum > 0:
            (size,), (whole,) = sizes, pieces
            single = size == 1 and whole.is_free
            if single or (whole.layers and whole.layers[0][1] == size):
                return [replace(whole, minimum=minimum * size)]
        members = len(group.members)
        self._cannot(sentences.MINIMUM_OF_MEMBERS, group.name, least=minimum, members=members)
        return pieces

    def _with_levels(self, group: Group, pieces: list[Piece]) -> list[Piece]:
        if group.required is None and group.preferred is None:
            return pieces
        if len(pieces) == 1:
            return [self._bound(group, pieces[0])]
        pair = len(pieces) == 2 and any(each.count == 1 for each in pieces)
        if pair and all(
            replace(each, preferred=None).is_free and each.minimum is None and each.replicas == 1
            for each in pieces
        ):
            return self._paired(group, pieces)
        if group.required is not None and pieces:
            sets, level = len(pieces), group.required
            self._cannot(sentences.SETS_SHARE_LEVEL, group.name, sets=sets, level=level)
        elif group.preferred is not None:
            self._leave_out(group.name, group.preferred)
        return pieces

    def _paired(self, group: Group, pieces: list[Piece]) -> list[Piece]:
        """A leader and its workers, who share the level of their group and have none of their own."""
        for piece in pieces:
            if piece.preferred is not None:
                self._leave_out(piece.name, piece.preferred)
        if group.required is not None and group.preferred is not None:
            self._leave_out(group.name, group.preferred)
        preferred = None if group.required is not None else group.preferred
        return [
            replace(each, required=group.required, preferred=preferred, group=group.name) for each in pieces
        ]

    def _bound(self, group: Group, piece: Piece) -> Piece:
        """The only pod set of a group takes its level; the finer of two required ones implies the other."""
        required = self._finer(group.required, piece.required)
        preferred = self._finer(group.preferred, piece.preferred)
        if group.preferred and piece.preferred and group.preferred != preferred:
            self._leave_out(group.name, group.preferred)
        if required is not None and preferred is not None:
            if self._depth(preferred) > self._depth(required):
                self._leave_out(group.name, preferred)
            preferred = None
        return self._in_order(replace(piece, required=required, preferred=preferred))

    def _in_order(self, piece: Piece) -> Piece:
        """Slices lie at or below the level of the whole, so a finer preference cannot stand beside them."""
        if piece.preferred is None or not piece.layers:
            return piece
        if self._depth(piece.preferred) <= self._depth(piece.layers[0][0]):
            return piece
        self._leave_out(piece.name, piece.preferred)
        return replace(piece, preferred=None)

    def _finer(self, one: str | None, other: str | None) -> str | None:
        if one is None or other is None:
            return one or other
        return one if self._depth(one) >= self._depth(other) else other

    def _depth(self, label: str) -> int:
        return self._labels.index(label)

    def _cannot(self, code: Code, name: str, **facts: Fact) -> None:
        self.problems.append(code.at(("JobSet",), name=name, **facts))

    def _leave_out(self, name: str, level: str) -> None:
        self.left_out.append(f"{name} prefers {level}")


def simplified(root: Group, topology: Topology | None) -> Group:
    """The same request with as few groups and levels as will do.

    It means the same on nodes that carry the labels of all levels, and Kueue places pods by topology on no
    others.

    - Members without pods go; they need no place, and count as formed.
    - A level that holds anyway goes: one that is required around it, and any of a single pod.
    - A group of one group is that group, with the finer of the levels.
    - A group without levels, all of which is needed, gives its members to the group around it.
    """
    labels = topology.labels if topology is not None else ()
    made = _member(root, labels, _NONE)
    return made if isinstance(made, Group) else Group(root.name, ())


def _member(member: Member, labels: tuple[str, ...], above: int) -> Member | None:
    if isinstance(member, PodSet):
        return member if member.count > 0 else None
    depth = {label: i for i, label in enumerate(labels)}
    pods = sum(each.count for each in member.pod_sets())
    required = depth.get(member.required or "", _NONE)
    bound = max(above, required)
    preferred = depth.get(member.preferred or "", _NONE)
    levels = Levels(
        member.required if required > above and pods > 1 else None,
        member.preferred if preferred > bound and pods > 1 else None,
    )
    given = [_member(each, labels, bound) for each in member.members]
    members = [each for each in given if each is not None]
    if not members:
        return None
    needed = max(member.least - (len(given) - len(members)), 0)
    minimum = needed if needed < len(members) else None
    return _joined(member.name, members, levels, minimum, depth)


def _joined(
    name: str, members: list[Member], levels: Levels, minimum: int | None, depth: dict[str, int]
) -> Group:
    if minimum is not None:
        return Group(name, tuple(members), levels.required, levels.preferred, minimum)
    inner = members[0]
    if len(members) == 1 and isinstance(inner, Group):
        # What lies inside is equal or finer, so that it implies what is around it.
        required = inner.required or levels.required
        preferred = inner.preferred or levels.preferred
        if required is not None and preferred is not None and depth[preferred] <= depth[required]:
            preferred = None
        return Group(name, inner.members, required, preferred, inner.minimum)
    spread: list[Member] = []
    for each in members:
        bare = isinstance(each, Group) and not (each.required or each.preferred) and each.minimum is None
        spread.extend(each.members if bare and isinstance(each, Group) else (each,))
    return Group(name, tuple(spread), levels.required, levels.preferred)
