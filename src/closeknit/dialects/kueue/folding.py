"""The hub's tree as pod sets of Kueue: equal groups folded into slices, pairs into groups of pod sets."""

from __future__ import annotations

from dataclasses import dataclass, replace

from closeknit.dialects.kueue.wishes import MOST_LAYERS
from closeknit.hub.problems import Problem, shown
from closeknit.hub.request import Group, PodSet
from closeknit.hub.topology import Topology


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

    def is_like(self, other: Piece) -> bool:
        """Whether two say the same of equal pods, and could be one."""
        mine, theirs = (
            (each.count, each.replicas, each.required, each.preferred, each.layers, each.group)
            for each in (self, other)
        )
        same_pods = (
            self.pods.resources == other.pods.resources
            and self.pods.filter == other.pods.filter
            and self.pods.host_ports == other.pods.host_ports
        )
        return mine == theirs and same_pods and not self.group


class Folding:
    """Folds one tree; ``problems`` is what Kueue has no words for, ``left_out`` the wishes among it."""

    def __init__(self, topology: Topology | None) -> None:
        self.problems: list[Problem] = []
        self.left_out: list[str] = []
        self._labels = topology.labels if topology is not None else ()

    def fold(self, group: Group) -> list[Piece]:
        """The pod sets of a group, with all that it asks for."""
        if group.least != len(group.members):
            message = (
                f"{group.least} of its {len(group.members)} members are needed; Kueue admits all or none."
            )
            self._cannot(group.name, message)
        pieces: list[Piece] = []
        run = 0
        for member in group.members:
            made = [self._leaf(member)] if isinstance(member, PodSet) else self.fold(member)
            for piece in made:
                if piece.count == 0:
                    continue
                # Only whole members are folded: parts of two groups must not become one.
                whole = len(made) == 1 and isinstance(member, Group)
                if whole and run and pieces[-1].is_like(piece):
                    pieces.append(piece)
                    run += 1
                else:
                    pieces = self._folded(pieces, run)
                    pieces.append(piece)
                    run = 1 if whole else 0
        return self._with_levels(group, self._folded(pieces, run))

    def _leaf(self, pods: PodSet) -> Piece:
        if pods.least != pods.count:
            message = f"{pods.least} of its {pods.count} pods must run at once; Kueue admits all or none."
            self._cannot(pods.name, message)
        return Piece(pods.name, pods.count, 1, pods)

    def _folded(self, pieces: list[Piece], run: int) -> list[Piece]:
        """The last pieces, which are alike, as one: a slice for each where each needs a domain of its own."""
        if run < 2:
            return pieces
        first = pieces[-run]
        layers = first.layers
        if first.required is not None:
            inner = tuple(layer for layer in layers if layer[0] != first.required)
            layers = ((first.required, first.count), *inner)
        if len(layers) > MOST_LAYERS:
            self._cannot(first.name, f"Slices are nested more than {MOST_LAYERS} deep.")
            layers = layers[:MOST_LAYERS]
        whole = replace(
            first,
            count=first.count * run,
            replicas=first.replicas * run,
            required=None,
            preferred=first.preferred,
            layers=layers,
        )
        return [*pieces[:-run], self._heeding_order(whole)]

    def _with_levels(self, group: Group, pieces: list[Piece]) -> list[Piece]:
        if group.required is None and group.preferred is None:
            return pieces
        if len(pieces) == 1:
            return [self._bound(group, pieces[0])]
        free = all(
            not (each.required or each.preferred or each.layers or each.group) and each.replicas == 1
            for each in pieces
        )
        if len(pieces) == 2 and free and any(each.count == 1 for each in pieces):
            if group.required is not None and group.preferred is not None:
                self._leave_out(group.name, group.preferred)
            preferred = None if group.required is not None else group.preferred
            return [
                replace(each, required=group.required, preferred=preferred, group=group.name)
                for each in pieces
            ]
        if group.required is not None and pieces:
            message = (
                f"{len(pieces)} different pod sets must share one {group.required}; Kueue can say that"
                " of one pod set, or of a leader and its workers."
            )
            self._cannot(group.name, message)
        elif group.preferred is not None:
            self._leave_out(group.name, group.preferred)
        return pieces

    def _bound(self, group: Group, piece: Piece) -> Piece:
        """The only pod set of a group takes its level; the finer of two required ones implies the other."""
        required = self._finer(group.required, piece.required)
        preferred = self._finer(group.preferred, piece.preferred)
        if required is not None and preferred is not None:
            if self._depth(preferred) > self._depth(required):
                self._leave_out(group.name, preferred)
            preferred = None
        return self._heeding_order(replace(piece, required=required, preferred=preferred))

    def _heeding_order(self, piece: Piece) -> Piece:
        """Slices lie at or below the level of the whole, so a finer wish cannot stand beside them."""
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

    def _cannot(self, name: str, message: str) -> None:
        self.problems.append(Problem("JobSet", f"{shown(name)}: {message}"))

    def _leave_out(self, name: str, level: str) -> None:
        self.left_out.append(f"{name} prefers {level}")
