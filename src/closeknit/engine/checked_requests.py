"""Requests that make sense, with the shapes of their pods: checked and keyed once, not at every decision."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

import msgspec

from closeknit.engine.node_fits import PodShape
from closeknit.engine.short_path import single_set
from closeknit.hub.neighbours import Neighbour
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.request import Group, PodSet, Request, problems
from closeknit.hub.sentences import hub as sentences
from closeknit.hub.topology import Topology

_MOST = 4096
"""Requests remembered; the one not asked for the longest goes first."""


class Keyed(msgspec.Struct, frozen=True, gc=False):
    """A request's groups and the shapes of its pods."""

    root: Group
    topology: str | None
    shapes: tuple[PodShape, ...]
    """Each once, in an order that does not depend on how the request lists its members."""
    shape_of: dict[str, int]
    """By pod set, the number of its shape."""
    single: PodSet | None
    """The only pod set, where the short path may do."""
    neighbours: dict[str, Neighbour]
    """By pod set, what others see of its pods."""
    has_rules: bool
    """Whether any pod asks something of the pods around it."""


def keyed(request: Request) -> Keyed:
    """Number the shapes of a request."""
    shape_of = {pods.name: PodShape.of(pods) for pods in request.root.pod_sets()}
    neighbours = {pods.name: pods.neighbour for pods in request.root.pod_sets()}
    shapes = list(dict.fromkeys(shape_of.values()))
    if len(shapes) > 1:
        shapes.sort(key=attrgetter("sort_key"))
    number = {shape: i for i, shape in enumerate(shapes)}
    return Keyed(
        request.root,
        request.topology,
        tuple(shapes),
        {name: number[shape] for name, shape in shape_of.items()},
        single_set(request.root),
        neighbours,
        any(each.rules for each in neighbours.values()),
    )


class CheckedRequests:
    """The requests that an engine was asked for lately.

    A request cannot change, so the same root need not be looked at again. It is told by its
    identity: to compare two roots may take as long as to check one.
    """

    def __init__(self, topologies: Mapping[str, Topology], slot_of: Mapping[str, int]) -> None:
        self._topologies = topologies
        self._slot_of = slot_of
        self._known: dict[int, Keyed] = {}

    def check(self, request: Request) -> Keyed:
        """The request's shapes; raises ``InvalidError`` with every problem of one that makes no sense."""
        known = self._find(request)
        self._known.pop(id(request.root), None)
        found: list[Problem] = []
        if known is None:
            topology = self._topologies.get(request.topology) if request.topology is not None else None
            found.extend(problems(request, topology))
            known = keyed(request)
        # Nodes come and go, so where pods run is asked every time.
        for pods in request.root.pod_sets() if known.single is None else ():
            found.extend(
                sentences.BOUND_TO_UNKNOWN_NODE.at((Verbatim(pods.name), "bound", i), node=node)
                for i, node in enumerate(pods.bound)
                if node not in self._slot_of
            )
        if found:
            raise InvalidError(found)
        if len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        # What is remembered stays alive, so nothing else can have its identity. It goes behind all others.
        self._known[id(request.root)] = known
        return known

    def of(self, request: Request) -> Keyed:
        """The shapes of a request that need not make sense."""
        return self._find(request) or keyed(request)

    def _find(self, request: Request) -> Keyed | None:
        known = self._known.get(id(request.root))
        return known if known is not None and known.topology == request.topology else None
