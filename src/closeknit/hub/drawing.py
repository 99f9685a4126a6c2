"""Clusters drawn as text: one line a domain, indented under the one that holds it.

::

    z1
      b1
        r1
          x1: 8
          x2: 8 used=3 cpu=64 memory=512Gi label:gpu=h100 taint:dedicated=ml:NoSchedule

A line with a colon is a host, followed by its GPUs and by words in any order:

- ``cpu=64``, ``memory=512Gi``, ``pods=110``, ``example.com/nic=2``: what else it offers
- ``used=3``, ``used=3:train``, ``used=2:train:cpu=4,nvidia.com/gpu=1,port=80/TCP``: pods
  that hold part of it, one GPU each unless the resources are written
- ``label:gpu=h100``, ``no-hostname``: labels besides those of its domains and ``kubernetes.io/hostname``
- ``taint:dedicated=ml:NoSchedule``, ``unschedulable``, ``not-ready``

A host drawn at a shallower depth lacks the labels of the finer levels. Blank
lines and lines that start with ``#`` say nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.drawn_host import GPU, HostReader, host_words
from closeknit.hub.nodes import Node
from closeknit.hub.paths import Path, Verbatim
from closeknit.hub.problems import InvalidError, OneOf, Problem
from closeknit.hub.sentences import hub as sentences
from closeknit.hub.topology import HOSTNAME, DomainPath, Level, Topology

__all__ = ["GPU", "HOSTNAME", "USUAL_LEVELS", "draw", "parse"]

USUAL_LEVELS = ("region", "zone", "block", "rack")
"""The labels of the levels of a drawing that does not name its own; the finest is always a rack."""


def parse(
    text: str, *, topology: str = "default", levels: Sequence[str] | None = None, host_level: bool = False
) -> Cluster:
    """Read a drawing.

    ``levels`` are the node labels of the drawn domains, coarsest first; left out,
    they are the last ones of region, zone, block and rack. ``host_level`` adds the
    host itself as the finest level.
    Raises ``InvalidError`` with every problem of the drawing, each at its line.
    """
    found: list[tuple[int, Problem]] = []
    """Problems, with the numbers of their lines."""
    lines = list(_lines(text, found))
    deepest = max((len(line.path) for line in lines), default=0)
    labels = USUAL_LEVELS[max(len(USUAL_LEVELS) - deepest, 0) :] if levels is None else tuple(levels)
    nodes: list[Node] = []
    holdings: list[Holding] = []
    drawn: dict[DomainPath | str, int] = {}
    for line in lines:
        found.extend((line.number, problem) for problem in _line_problems(line, levels, drawn))
        if line.host is not None:
            reader = HostReader(line.where, line.host, dict(zip(labels, line.path, strict=False)))
            nodes.append(reader.read(line.words))
            found.extend((line.number, problem) for problem in reader.problems)
            holdings.extend(reader.holdings)
    if found:
        raise InvalidError([problem for _, problem in sorted(found, key=lambda at_line: at_line[0])])
    named = tuple(Level(label, label) for label in labels)
    if host_level:
        named += (Level(HOSTNAME, "host"),)
    return Cluster((Topology(topology, named),), tuple(nodes), tuple(holdings))


def draw(cluster: Cluster, topology: str | None = None) -> str:
    """Draw a cluster by one of its topologies, the first unless named, in the order of paths and names.

    ``parse`` reads it back, given the same levels; what a drawing has no words for is
    left out: domains without hosts, and labels with blanks in them.
    """
    chosen = cluster.topologies[0] if topology is None else cluster.topology(topology)
    if chosen is None:
        assert topology is not None
        remedy = OneOf.among(topology, [each.name for each in cluster.topologies])
        raise InvalidError([sentences.UNKNOWN_TOPOLOGY.at(("topology",), topology=topology, remedy=remedy)])
    labels = tuple(label for label in chosen.labels if label != HOSTNAME)
    above = Topology(chosen.name, tuple(Level(label) for label in labels))
    held: dict[str, list[Holding]] = {}
    for holding in cluster.holdings:
        held.setdefault(holding.node, []).append(holding)
    lines: list[str] = []
    before: DomainPath = ()
    for path, node in sorted(((above.path(node.labels), node) for node in cluster.nodes), key=_by_path):
        shared = 0
        while shared < min(len(path), len(before)) and path[shared] == before[shared]:
            shared += 1
        lines.extend("  " * depth + path[depth] for depth in range(shared, len(path)))
        words = host_words(node, labels[: len(path)], held.get(node.name, ()))
        lines.append("  " * len(path) + " ".join((f"{node.name}:", *words)))
        before = path
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    path: DomainPath
    """The domain drawn, or the one that holds the host."""
    host: str | None = None
    words: tuple[str, ...] = ()

    @property
    def where(self) -> Path:
        return (Verbatim(f"line {self.number}"),)


@dataclass(frozen=True, slots=True)
class _Above:
    """A line that a later one may be indented under."""

    column: int
    name: str
    is_host: bool


def _lines(text: str, found: list[tuple[int, Problem]]) -> Iterator[_Line]:
    """Cut a drawing into lines, each with the path that its indentation gives it."""
    above: list[_Above] = []
    for number, raw in enumerate(textwrap.dedent(text).splitlines(), start=1):
        stripped = raw.strip()
        if not stripped or stripped.startswith("#"):
            continue
        where: Path = (Verbatim(f"line {number}"),)
        column = len(raw) - len(raw.lstrip())
        if "\t" in raw[:column]:
            found.append((number, sentences.INDENTED_WITH_TAB.at(where)))
            continue
        closed: list[int] = []
        while above and above[-1].column >= column:
            closed.append(above.pop().column)
        if closed and closed[-1] != column:
            columns = (*(line.column for line in above), *reversed(closed))
            allowed = " or ".join(map(str, columns))
            found.append((number, sentences.INDENTED_BETWEEN.at(where, column=column, allowed=allowed)))
        if above and above[-1].is_host:
            host = above.pop()
            found.append((number, sentences.INSIDE_A_HOST.at(where, host=host.name, column=host.column)))
        name, colon, rest = stripped.partition(":")
        if len(name.split()) != 1:
            found.append((number, sentences.NOT_ONE_NAME.at(where, line=stripped)))
            name = (*name.split(), f"line-{number}")[0]
        path = tuple(domain.name for domain in above)
        above.append(_Above(column, name, is_host=bool(colon)))
        yield _Line(number, path, name, tuple(rest.split())) if colon else _Line(number, (*path, name))


def _line_problems(
    line: _Line, levels: Sequence[str] | None, drawn: dict[DomainPath | str, int]
) -> Iterator[Problem]:
    """Whether a line lies too deep, or draws what was drawn before."""
    allowed = USUAL_LEVELS if levels is None else tuple(levels)
    if line.host is None and len(line.path) > len(allowed):
        known = f"The levels are {', '.join(allowed)}." if allowed else "There are no levels."
        remedy = f"{known} Name as many as are drawn." if levels is None else known
        yield sentences.DRAWN_TOO_DEEP.at(
            line.where, domain=line.path[-1], depth=len(line.path), remedy=remedy
        )
    first = drawn.setdefault(line.host or line.path, line.number)
    if first == line.number:
        return
    if line.host is None:
        yield sentences.DOMAIN_DRAWN_TWICE.at(line.where, domain="/".join(line.path), line=first)
    else:
        yield sentences.HOST_DRAWN_TWICE.at(line.where, host=line.host, line=first)


def _by_path(placed: tuple[DomainPath, Node]) -> tuple[list[tuple[int, str]], str]:
    """Order hosts so that those without finer labels follow the domains beside them."""
    path, node = placed
    return [(0, value) for value in path] + [(1, "")], node.name
