"""A topology's domains as a tree for people, with equal siblings folded into one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from closeknit.cli.display import Branch, Tone, branch
from closeknit.cli.occupancy import Domain, Host
from closeknit.hub.topology import Level, Topology
from closeknit.scheduler.wording import counted, listed, printable, quantity

LINES = 100
"""A tree that nobody gave a depth is cut to about this many lines."""


def drawn(root: Domain, topology: Topology | None, resources: Sequence[str], depth: int | None) -> Branch:
    """The tree down to a depth; None goes as deep as stays readable."""
    folding = _Folding(resources)
    if depth is None:
        # Nodes hang one step below the finest level, unless that level is the host name.
        deepest = 1 + (len(topology.levels) if topology is not None else 0)
        depth = next((d for d in range(deepest, 0, -1) if folding.lines(root, d) <= LINES), 0)
    if topology is None:
        name = "no topology"
    else:
        name = f"{printable(topology.name)}: {' > '.join(_label(level) for level in topology.levels)}"
    inside = branch(("cluster: ", Tone.TITLE), *folding.load(root), below=folding.below(root, depth))
    return branch((name, Tone.TITLE), below=[inside])


def _label(level: Level) -> str:
    """A level's label, and what people call it where that is another word: manifests may name either."""
    label = printable(level.label)
    return f"{printable(level.name)} ({label})" if level.name and level.name != level.label else label


class _Folding:
    """Finds runs of siblings that differ in nothing but their names."""

    def __init__(self, resources: Sequence[str]) -> None:
        self._resources = resources
        self._shapes: dict[tuple[object, ...], int] = {}
        self._known: dict[tuple[int, int], int] = {}

    def lines(self, domain: Domain, depth: int) -> int:
        """How many lines the domain takes, its own included."""
        inside = sum(self.lines(run[0], depth - 1) for run in self._runs(domain, depth))
        return 1 + inside + len(self._hosts(domain, depth))

    def below(self, domain: Domain, depth: int) -> Iterator[Branch]:
        """The lines inside a domain."""
        for run in self._runs(domain, depth):
            first = run[0]
            hosts = [host for each in run if (host := _only_host(each)) is not None]
            if len(hosts) == len(run):
                yield self._host_line(hosts)
                continue
            yield branch(
                (_names([each.name for each in run]), Tone.TITLE),
                ": ",
                *([(f"{len(run)} alike, each ", Tone.QUIET)] if len(run) > 1 else []),
                *self.load(first),
                below=self.below(first, depth - 1),
            )
        for hosts in self._hosts(domain, depth):
            yield self._host_line(hosts)

    def load(self, domain: Domain) -> Iterator[str | tuple[str, Tone]]:
        """How many nodes a domain has, and what of their resources is in use."""
        yield counted(domain.nodes, "node")
        for resource in self._resources:
            if total := domain.capacity[resource]:
                yield ", "
                yield _part(resource, domain.used[resource], total)

    def _host_line(self, hosts: Sequence[Host]) -> Branch:
        first = hosts[0]
        words: list[str | tuple[str, Tone]] = [(_names([host.node.name for host in hosts]), Tone.TITLE), ": "]
        if len(hosts) > 1:
            words.append((f"{len(hosts)} alike, each ", Tone.QUIET))
        offered = [resource for resource in self._resources if first.node.allocatable.get(resource)]
        for i, resource in enumerate(offered):
            words += [", "] * bool(i) + [
                _part(resource, first.used(resource), first.node.allocatable[resource])
            ]
        words += ["none of these resources"] * (not offered)
        words += [(f", {remark}", Tone.DOUBTFUL) for remark in _remarks(first)]
        if len(hosts) == 1 and first.uses:
            by = listed(sorted({printable(use.workload) for use in first.uses}), 3)
            words.append((f" (by {by})", Tone.QUIET))
        return branch(*words)

    def _runs(self, domain: Domain, depth: int) -> list[list[Domain]]:
        if depth <= 0:
            return []
        runs = groupby(domain.domains, key=lambda inner: self._shape(inner, depth - 1))
        return [list(run) for _, run in runs]

    def _hosts(self, domain: Domain, depth: int) -> list[list[Host]]:
        # The only node of a domain of hosts is the domain itself, which is already a line.
        if depth <= 0 or _only_host(domain) is not None:
            return []
        return [list(run) for _, run in groupby(domain.hosts, key=self._host_shape)]

    def _shape(self, domain: Domain, depth: int) -> int:
        """A number that equal domains share, as far as they are shown."""
        known = self._known.get((id(domain), depth))
        if known is not None:
            return known
        inside: tuple[object, ...] = ()
        if depth > 0:
            inside = (
                tuple(self._shape(inner, depth - 1) for inner in domain.domains),
                tuple(self._host_shape(host) for host in domain.hosts),
            )
        elif (host := _only_host(domain)) is not None:
            inside = (self._host_shape(host),)
        load = tuple((domain.used[resource], domain.capacity[resource]) for resource in self._resources)
        shape = self._shapes.setdefault((domain.nodes, load, inside), len(self._shapes))
        self._known[id(domain), depth] = shape
        return shape

    def _host_shape(self, host: Host) -> tuple[object, ...]:
        load = tuple(
            (host.used(resource), host.node.allocatable.get(resource, 0)) for resource in self._resources
        )
        return load, tuple(_remarks(host))


def _only_host(domain: Domain) -> Host | None:
    """The node of a domain that is a host by itself, as where the finest level is the host name."""
    if len(domain.hosts) == 1 and not domain.domains and domain.hosts[0].node.name == domain.name:
        return domain.hosts[0]
    return None


def _names(names: Sequence[str]) -> str:
    if len(names) == 1:
        return printable(names[0])
    joiner = ", " if len(names) == 2 else " to "
    return f"{printable(names[0])}{joiner}{printable(names[-1])}"


def _part(resource: str, used: int, total: int) -> tuple[str, Tone]:
    tone = Tone.GOOD if not used else Tone.PLAIN
    if used >= total:
        tone = Tone.BAD if used > total else Tone.DOUBTFUL
    return f"{quantity(resource, used)} of {quantity(resource, total)} {printable(resource)} used", tone


def _remarks(host: Host) -> Iterator[str]:
    if host.node.unschedulable:
        yield "cordoned"
    if not host.node.ready:
        yield "not ready"
    yield from (f"taint {printable(str(taint))}" for taint in host.node.taints)
