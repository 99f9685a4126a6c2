"""Clusters drawn as text: one line a domain, indented under the one that holds it.

::

    z1
      b1
        r1
          x1: 8
          x2: 8 used=3 cpu=64 memory=512Gi label:gpu=h100 taint:dedicated=ml:NoSchedule

A line with a colon is a host, followed by its GPUs and by words in any order:

- ``cpu=64``, ``memory=512Gi``, ``pods=110``, ``example.com/nic=2``: what it offers besides; only what is written
- ``used=3``, ``used=3:train``, ``used=2:train:cpu=4,nvidia.com/gpu=1,port=80/TCP``: pods that hold part of it,
  one GPU each unless the resources are written
- ``label:gpu=h100``, ``no-hostname``: labels besides those of its domains and ``kubernetes.io/hostname``
- ``taint:dedicated=ml:NoSchedule``, ``unschedulable``, ``not-ready``

A host drawn at a shallower depth lacks the labels of the finer levels. Blank
lines and lines that start with ``#`` say nothing.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from closeknit.hub import quantities
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.problems import InvalidError, Problem, shown, suggestion
from closeknit.hub.quantities import Rounding
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology

GPU = "nvidia.com/gpu"
HOSTNAME = "kubernetes.io/hostname"
USUAL_LEVELS = ("region", "zone", "block", "rack")
"""The labels of the levels of a drawing that does not name its own; the finest is always a rack."""

_NATIVE = ("cpu", "memory", "pods", "ephemeral-storage")
_FLAGS = ("unschedulable", "not-ready", "no-hostname")
_WORDS = (*_NATIVE, *_FLAGS, "used", "label", "taint")


def parse(
    text: str, *, topology: str = "default", levels: Sequence[str] | None = None, host_level: bool = False
) -> Cluster:
    """Read a drawing.

    ``levels`` are the node labels of the drawn domains, coarsest first; left out,
    they are the last ones of region, zone, block and rack. ``host_level`` adds the
    host itself as the finest level.
    Raises ``InvalidError`` with every problem of the drawing, each at its line.
    """
    found: list[Problem] = []
    lines = list(_lines(text, found))
    depth = max((len(line.path) for line in lines), default=0)
    allowed = len(USUAL_LEVELS) if levels is None else len(levels)
    if levels is None:
        labels = USUAL_LEVELS[max(len(USUAL_LEVELS) - depth, 0) :]
    else:
        labels = tuple(levels)
    nodes: dict[str, Node] = {}
    holdings: list[Holding] = []
    drawn: dict[tuple[str, ...], int] = {}
    hosts: dict[str, int] = {}
    for line in lines:
        if len(line.path) > allowed:
            found.append(
                Problem(
                    line.where, f"{shown(line.path[-1])} lies {len(line.path)} levels deep. {_depths(levels)}"
                )
            )
        if line.host is None:
            if (first := drawn.setdefault(line.path, line.number)) != line.number:
                found.append(
                    Problem(
                        line.where,
                        f"Domain {shown('/'.join(line.path))} is already drawn on line {first}. "
                        "Draw all of it in one place, or give this one its own name.",
                    )
                )
            continue
        if (first := hosts.setdefault(line.host, line.number)) != line.number:
            found.append(
                Problem(
                    line.where,
                    f"Host {shown(line.host)} is already drawn on line {first}. "
                    "Give each host of the cluster its own name.",
                )
            )
        nodes[line.host], held = _host(line, labels, found)
        holdings.extend(held)
    if found:
        raise InvalidError(sorted(found, key=lambda problem: int(problem.path.removeprefix("line "))))
    named = tuple(Level(label, label) for label in labels)
    if host_level:
        named += (Level(HOSTNAME, "host"),)
    return Cluster((Topology(topology, named),), tuple(nodes.values()), tuple(holdings))


def draw(cluster: Cluster, topology: str | None = None) -> str:
    """Draw a cluster by one of its topologies, the first unless named, in the order of paths and names.

    ``parse`` reads it back; what a drawing has no words for is left out: domains without
    hosts, and the labels of levels that no host reaches.
    """
    chosen = cluster.topologies[0] if topology is None else cluster.topology(topology)
    if chosen is None:
        names = [each.name for each in cluster.topologies]
        raise InvalidError(
            [
                Problem(
                    "topology", f"There is no topology {shown(topology)}. {suggestion(topology or '', names)}"
                )
            ]
        )
    labels = tuple(label for label in chosen.labels if label != HOSTNAME)
    above = Topology(chosen.name, tuple(Level(label) for label in labels))
    held: dict[str, list[Holding]] = {}
    for holding in cluster.holdings:
        held.setdefault(holding.node, []).append(holding)
    lines: list[str] = []
    open_path: tuple[str, ...] = ()
    for path, node in sorted(((above.path(node.labels), node) for node in cluster.nodes), key=_by_path):
        shared = 0
        while shared < min(len(path), len(open_path)) and path[shared] == open_path[shared]:
            shared += 1
        lines.extend("  " * i + path[i] for i in range(shared, len(path)))
        open_path = path
        words = " ".join(_words(node, labels[: len(path)], held.get(node.name, [])))
        lines.append("  " * len(path) + f"{node.name}:" + (f" {words}" if words else ""))
    return "".join(f"{line}\n" for line in lines)


@dataclass(slots=True)
class _Line:
    number: int
    path: tuple[str, ...]
    """The domain drawn, or the one that holds the host."""
    host: str | None = None
    words: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        return f"line {self.number}"


def _depths(levels: Sequence[str] | None) -> str:
    if levels is None:
        return f"Without levels named, at most {len(USUAL_LEVELS)} are drawn: {', '.join(USUAL_LEVELS)}."
    return f"The levels are {', '.join(levels)}." if levels else "There are no levels."


def _lines(text: str, found: list[Problem]) -> Iterator[_Line]:
    """Cut a drawing into lines, each with the path that its indentation gives it."""
    above: list[tuple[int, str, bool]] = []
    base: int | None = None
    for number, raw in enumerate(textwrap.dedent(text).splitlines(), start=1):
        stripped = raw.strip()
        if not stripped or stripped.startswith("#"):
            continue
        where = f"line {number}"
        if "\t" in raw[: len(raw) - len(raw.lstrip())]:
            found.append(Problem(where, "The line is indented with a tab. Indent with spaces."))
            continue
        column = len(raw) - len(raw.lstrip())
        base = column if base is None else base
        closed: list[int] = []
        while above and above[-1][0] >= column:
            closed.append(above.pop()[0])
        if (closed and closed[-1] != column) or (not above and column != base):
            allowed = [str(at) for at, _, _ in above] + [str(at) for at in reversed(closed)]
            found.append(
                Problem(
                    where,
                    f"The line is indented by {column}, which matches no line above it. "
                    f"Indent by {' or '.join(allowed)}.",
                )
            )
        if above and above[-1][2]:
            found.append(
                Problem(
                    where,
                    f"Host {shown(above[-1][1])} holds nothing further. "
                    f"Indent by {above[-1][0]}, or drop the colon to make it a domain.",
                )
            )
            above.pop()
        name, colon, rest = stripped.partition(":")
        words = rest.split()
        if not name.strip():
            found.append(Problem(where, f"{shown(stripped)} has no name. Write a name before the colon."))
            continue
        if len(name.split()) > 1:
            found.append(
                Problem(
                    where,
                    f"{shown(name)} is more than one word. Write a domain as one name,"
                    " or a host as a name, a colon and its GPUs.",
                )
            )
            name = name.split()[0]
        path = tuple(word for _, word, _ in above)
        above.append((column, name, bool(colon)))
        yield _Line(number, path, name, words) if colon else _Line(number, (*path, name))


def _host(line: _Line, levels: Sequence[str], found: list[Problem]) -> tuple[Node, list[Holding]]:
    """Read the words of one host."""
    assert line.host is not None
    labels = {**dict(zip(levels, line.path, strict=False)), HOSTNAME: line.host}
    offered: dict[str, int] = {}
    taints: list[Taint] = []
    held: list[Holding] = []
    flags: set[str] = set()
    words = line.words
    if words and "=" not in words[0] and words[0] not in _FLAGS and not words[0].startswith("taint:"):
        _offer(line, GPU, words[0], offered, found)
        words = words[1:]
    for word in words:
        key, equals, value = word.partition("=")
        if word in _FLAGS:
            flags.add(word)
        elif key.startswith("label:") and equals and len(key) > len("label:"):
            labels[key.removeprefix("label:")] = value
        elif word.startswith("taint:"):
            if (taint := _taint(line, word, found)) is not None:
                taints.append(taint)
        elif key == "used" and equals:
            if (holding := _holding(line, value, found)) is not None:
                held.append(holding)
        elif equals and (key in _NATIVE or "/" in key) and ":" not in key:
            _offer(line, key, value, offered, found)
        else:
            found.append(
                Problem(
                    line.where,
                    f"Host {shown(line.host)}: {shown(word)} is not understood. "
                    f"{suggestion(key.partition(':')[0], _WORDS)} A resource of another name needs a slash in it.",
                )
            )
    if "no-hostname" in flags:
        del labels[HOSTNAME]
    used: Counter[str] = Counter()
    for holding in held:
        used.update({**(holding.resources * holding.pods), "pods": holding.pods})
    for resource, total in sorted(used.items()):
        limit = offered.get(resource, 0)
        # A host that lists no pods takes any number of them.
        if total > limit and (resource != "pods" or "pods" in offered):
            found.append(
                Problem(
                    line.where,
                    f"Host {shown(line.host)}: {quantities.written(resource, total)} of {resource} are used,"
                    f" but it has {quantities.written(resource, limit)}.",
                )
            )
    node = Node(
        name=line.host,
        labels=labels,
        allocatable=Resources(offered),
        taints=tuple(taints),
        unschedulable="unschedulable" in flags,
        ready="not-ready" not in flags,
    )
    return node, held


def _offer(line: _Line, resource: str, text: str, offered: dict[str, int], found: list[Problem]) -> None:
    if resource in offered:
        found.append(
            Problem(line.where, f"Host {shown(line.host)}: {resource} is written twice. Write it once.")
        )
    if (units := _units(line, resource, text, Rounding.DOWN, found)) is not None:
        offered[resource] = units
        if resource == "pods" and not units:
            found.append(
                Problem(
                    line.where, f"Host {shown(line.host)}: pods=0 takes no pod. Write unschedulable instead."
                )
            )


def _units(line: _Line, resource: str, text: str, rounding: Rounding, found: list[Problem]) -> int | None:
    try:
        return quantities.amount(resource, text, rounding)
    except ValueError as error:
        found.append(Problem(line.where, f"Host {shown(line.host)}, {resource}: {error}"))
        return None


def _taint(line: _Line, word: str, found: list[Problem]) -> Taint | None:
    rest, _, effect = word.removeprefix("taint:").rpartition(":")
    key, _, value = rest.partition("=")
    effects = {each.value: each for each in Effect}
    if not key:
        found.append(
            Problem(
                line.where,
                f"Host {shown(line.host)}: {shown(word)} is not a taint. "
                "Write taint:KEY=VALUE:EFFECT or taint:KEY:EFFECT.",
            )
        )
        return None
    if effect not in effects:
        found.append(
            Problem(
                line.where,
                f"Host {shown(line.host)}: {shown(effect)} is not a taint's effect. {suggestion(effect, effects)}",
            )
        )
        return None
    return Taint(key, effects[effect], value)


def _holding(line: _Line, text: str, found: list[Problem]) -> Holding | None:
    count, _, rest = text.partition(":")
    workload, _, asked = rest.partition(":")
    if not (count.isascii() and count.isdigit() and 0 < len(count) <= 9):
        found.append(
            Problem(
                line.where,
                f"Host {shown(line.host)}: {shown('used=' + text)} does not start with a number of pods. "
                "Write used=3, used=3:train or used=3:train:cpu=4,port=80/TCP.",
            )
        )
        return None
    resources: dict[str, int] = {} if asked else {GPU: 1}
    ports: set[HostPort] = set()
    for part in asked.split(",") if asked not in ("", "none") else ():
        key, _, value = part.partition("=")
        if key == "port":
            number, _, protocol = value.partition("/")
            if not (number.isascii() and number.isdigit() and len(number) <= 5):
                found.append(
                    Problem(
                        line.where,
                        f"Host {shown(line.host)}: {shown(part)} is not a port. Write port=80 or port=80/UDP.",
                    )
                )
                continue
            ports.add(HostPort(int(number), protocol or "TCP"))
        elif (units := _units(line, key, value, Rounding.UP, found)) is not None:
            resources[key] = units
    assert line.host is not None
    return Holding(workload or "used", line.host, Resources(resources), int(count), frozenset(ports))


def _by_path(placed: tuple[tuple[str, ...], Node]) -> tuple[list[tuple[int, str]], int, str]:
    """Order hosts so that those without finer labels follow the domains beside them."""
    path, node = placed
    return [(0, value) for value in path] + [(1, "")], len(path), node.name


def _words(node: Node, levels: Sequence[str], held: Sequence[Holding]) -> Iterator[str]:
    """The words that stand for one host, in the order of the module's example."""
    if GPU in node.allocatable:
        yield str(node.allocatable[GPU])
    for holding in sorted(held, key=lambda each: (each.workload, sorted(each.resources.items()), each.pods)):
        yield _used(holding)
    resources = [
        name
        for name in (*_NATIVE, *sorted({*node.allocatable} - {*_NATIVE, GPU}))
        if name in node.allocatable
    ]
    yield from (f"{name}={quantities.written(name, node.allocatable[name])}" for name in resources)
    if HOSTNAME not in node.labels:
        yield "no-hostname"
    for key, value in sorted(node.labels.items()):
        if key not in levels and (key, value) != (HOSTNAME, node.name):
            yield f"label:{key}={value}"
    yield from (f"taint:{taint}" for taint in node.taints)
    if node.unschedulable:
        yield "unschedulable"
    if not node.ready:
        yield "not-ready"


def _used(holding: Holding) -> str:
    asked = [f"{name}={quantities.written(name, units)}" for name, units in holding.resources.items()]
    asked += [f"port={port.port}/{port.protocol}" for port in sorted(holding.host_ports)]
    if asked == [f"{GPU}=1"]:
        return (
            f"used={holding.pods}"
            if holding.workload == "used"
            else f"used={holding.pods}:{holding.workload}"
        )
    return f"used={holding.pods}:{holding.workload}:{','.join(asked) or 'none'}"
