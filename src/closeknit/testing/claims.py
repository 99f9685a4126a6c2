"""What claims to devices and volumes mean, the slow and plain way: devices are handed out one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from closeknit.hub.nodes import Node
from closeknit.hub.request import Request
from closeknit.testing.scene import Spread


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a node."""

    model: str
    memory: int
    """In GiB."""
    tainted: bool = False
    held: bool = False
    """Whether the claim of another pod has it."""


@dataclass(frozen=True, slots=True)
class Need:
    """So many devices for each pod, any that are like this."""

    count: int
    model: str | None = None
    memory: int = 0
    """The least that will do."""
    tolerates: bool = False
    or_else: tuple[Need, ...] = ()
    """What will do as well."""

    def accepts(self, device: Device) -> bool:
        """Whether a device will do."""
        return (
            not device.held
            and (self.tolerates or not device.tainted)
            and self.model in (None, device.model)
            and device.memory >= self.memory
        )


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume that is reached from nodes with one of these values of a label; a label of None: from all."""

    label: str | None = None
    values: tuple[str, ...] = ()
    attached: bool = False
    """Whether each pod has one of its own, of the driver that limits them."""

    def reached_from(self, node: Node) -> bool:
        """Whether pods on a node can use it."""
        return self.label is None or node.labels.get(self.label) in self.values


@dataclass(frozen=True, slots=True)
class Claims:
    """All that the pods of a request claim, and what nodes have of it."""

    devices: Mapping[str, tuple[Device, ...]] = field(default_factory=dict)
    """By node."""
    needs: Mapping[str, tuple[Need, ...]] = field(default_factory=dict)
    """By pod set, for each pod."""
    volumes: Mapping[str, tuple[Volume, ...]] = field(default_factory=dict)
    """By pod set."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """By node, how many volumes can be attached; any number where it is not listed."""

    def reached(self, pod_set: str, node: Node) -> bool:
        """Whether all volumes of a pod set can be used on a node."""
        return all(each.reached_from(node) for each in self.volumes.get(pod_set, ()))

    def attached(self, pod_set: str) -> int:
        """How many volumes are attached for each pod of a set."""
        return sum(each.attached for each in self.volumes.get(pod_set, ()))


NOTHING = Claims()


def broken_claims(
    claims: Claims, nodes: Mapping[str, Node], request: Request, spread: Spread
) -> Iterator[str]:
    """Every claim that a spread breaks, in a sentence each."""
    for name, node in nodes.items():
        wanted: list[Need] = []
        volumes = 0
        for pods in request.root.pod_sets():
            count = spread.get(pods.name, {}).get(name, 0)
            if count and not claims.reached(pods.name, node):
                yield f"pods of {pods.name} do not reach their volumes from {name}"
            wanted += claims.needs.get(pods.name, ()) * count
            volumes += claims.attached(pods.name) * count
        if not handed_out(claims.devices.get(name, ()), wanted):
            yield f"node {name} does not have the devices that its pods claim"
        if name in claims.limits and volumes > claims.limits[name]:
            yield f"node {name} takes {claims.limits[name]} volumes, but {volumes} are attached"


def handed_out(devices: Sequence[Device], needs: Sequence[Need]) -> bool:
    """Whether every need can be given devices of its own: every way is tried."""
    wanted = sorted(needs, key=repr)
    dead_ends: set[tuple[int, Need | None, int, tuple[Device, ...]]] = set()

    def rest(at: int, need: Need | None, missing: int, left: tuple[Device, ...]) -> bool:
        if not missing:
            return at == len(wanted) or any(
                rest(at + 1, each, each.count, left) for each in (wanted[at], *wanted[at].or_else)
            )
        if need is None or (at, need, missing, left) in dead_ends or len(left) < missing:
            return False
        for device in dict.fromkeys(each for each in left if need.accepts(each)):
            i = left.index(device)
            if rest(at, need, missing - 1, (*left[:i], *left[i + 1 :])):
                return True
        dead_ends.add((at, need, missing, left))
        return False

    return rest(0, None, 0, tuple(sorted(devices, key=repr)))
