"""Short constructors for tests: ``request("train", group("g", pods("w", 4), required="rack"))``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from closeknit.hub.drawing import GPU
from closeknit.hub.nodes import NodeFilter, Term, Toleration
from closeknit.hub.request import Group, HostPort, Member, PodSet, Request
from closeknit.hub.resources import Resources


def pods(
    name: str,
    count: int,
    gpus: int = 1,
    *,
    cpu: str | int | None = None,
    memory: str | None = None,
    resources: Mapping[str, str | int] | None = None,
    minimum: int | None = None,
    selector: Mapping[str, str] | None = None,
    affinity: tuple[Term, ...] | None = None,
    tolerations: Iterable[Toleration] = (),
    ports: Iterable[int] = (),
    bound: Iterable[str] = (),
    names: Iterable[str] = (),
) -> PodSet:
    """Equal pods, one GPU each unless told otherwise."""
    asked: dict[str, str | int | float] = {GPU: gpus, **(resources or {})}
    if cpu is not None:
        asked["cpu"] = cpu
    if memory is not None:
        asked["memory"] = memory
    return PodSet(
        name=name,
        count=count,
        resources=Resources.parse(asked),
        minimum=minimum,
        filter=NodeFilter(
            selector=tuple(sorted((selector or {}).items())),
            affinity=affinity,
            tolerations=tuple(tolerations),
        ),
        host_ports=frozenset(HostPort(port) for port in ports),
        bound=tuple(bound),
        pods=tuple(names),
    )


def group(
    name: str,
    *members: Member,
    required: str | None = None,
    preferred: str | None = None,
    minimum: int | None = None,
) -> Group:
    """Members that stay together."""
    return Group(name=name, members=members, required=required, preferred=preferred, minimum=minimum)


def request(
    name: str,
    *members: Member,
    required: str | None = None,
    preferred: str | None = None,
    minimum: int | None = None,
    topology: str | None = "default",
) -> Request:
    """A workload whose root group, named ``root``, has these members and levels."""
    root = group("root", *members, required=required, preferred=preferred, minimum=minimum)
    return Request(name, root, topology)
