"""Random sequences of events on small clusters, as data that can be written, read and shrunk."""

from __future__ import annotations

from random import Random
from typing import Any, TypeAlias

import msgspec
import yaml

PRIORITIES = {"low": 10, "mid": 50, "high": 90, "top": 120}
"""Priority classes by name; pod groups of the last are not preemptible unless they say so."""
HORIZON = 1500
"""Seconds after an event at which both sides are compared: more than every backoff."""


class Frozen(msgspec.Struct, frozen=True, omit_defaults=True):
    """Data without defaults when written."""


class NodeSpec(Frozen, frozen=True):
    """A node."""

    name: str
    gpus: int
    rack: str


class QueueSpec(Frozen, frozen=True):
    """A KAI queue; -1 is no limit."""

    name: str
    parent: str = ""
    quota: int = -1
    limit: int = -1
    weight: int = 1
    priority: int = 100
    preempt_after: int | None = None
    reclaim_after: int | None = None


class UnitSpec(Frozen, frozen=True):
    """A pod group, or a single pod (``alone``)."""

    name: str
    pods: int = 1
    minimum: int = 1
    gpus: int = 1
    alone: bool = False
    rack: bool = False
    queue: str = ""
    priority: str = "mid"
    preemptible: bool | None = None
    never: bool = False
    delay: int = 0
    grace: int = 60
    app: str = ""
    remade: bool = True
    """Whether its controller makes a pod again that was deleted or evicted."""
    early: int | None = None
    """How many pods come with the group, the others by ``ArrivePod``; None stands for all."""


class Arrive(Frozen, frozen=True, tag=True):
    """Units come."""

    units: tuple[UnitSpec, ...]


class ArrivePod(Frozen, frozen=True, tag=True):
    """The next pod of a unit that lacks some comes."""

    unit: str


class End(Frozen, frozen=True, tag=True):
    """All running pods of a unit succeed, and what waits of it is deleted."""

    unit: str


class EndPod(Frozen, frozen=True, tag=True):
    """A running pod succeeds."""

    pod: str


class DeletePod(Frozen, frozen=True, tag=True):
    """A pod is deleted."""

    pod: str


class DeleteUnit(Frozen, frozen=True, tag=True):
    """A unit and its pods are deleted."""

    unit: str


class ChangePriority(Frozen, frozen=True, tag=True):
    """A pod group gets another priority class."""

    unit: str
    priority: str


class SetBudget(Frozen, frozen=True, tag=True):
    """A PodDisruptionBudget is created or changed; a negative number deletes it."""

    name: str
    app: str
    keep: int


class AddNode(Frozen, frozen=True, tag=True):
    """A node comes."""

    node: NodeSpec


class LoseNode(Frozen, frozen=True, tag=True):
    """A node goes with its pods, which their controllers make again."""

    node: str


class Cordon(Frozen, frozen=True, tag=True):
    """A node is cordoned or uncordoned."""

    node: str
    cordoned: bool


class SetQueue(Frozen, frozen=True, tag=True):
    """A queue changes its quota, limit, weight or priority."""

    queue: QueueSpec


Event: TypeAlias = (
    Arrive
    | ArrivePod
    | End
    | EndPod
    | DeletePod
    | DeleteUnit
    | ChangePriority
    | SetBudget
    | AddNode
    | LoseNode
    | Cordon
    | SetQueue
)


class Sequence(Frozen, frozen=True):
    """A cluster and what happens to it; each event after the given seconds."""

    nodes: tuple[NodeSpec, ...]
    queues: tuple[QueueSpec, ...] = ()
    events: tuple[tuple[int, Event], ...] = ()
    prompt: bool = False
    """Whether controllers make pods again at the moment at which they are gone."""


def written(sequence: Sequence) -> str:
    """A sequence as YAML."""
    return yaml.safe_dump(msgspec.to_builtins(sequence), sort_keys=False, default_flow_style=None)


def read(text: str) -> Sequence:
    """A sequence from YAML."""
    return msgspec.convert(yaml.safe_load(text), Sequence)


class Flavour(Frozen, frozen=True):
    """What a random sequence may contain."""

    priorities: bool = True
    queues: bool = True
    reclaim: bool = True
    """Whether queues may have quotas, so that they reclaim from each other."""
    budgets: bool = True
    runtimes: bool = True
    events: int = 10


FLAVOURS = {
    "all": Flavour(),
    "calm": Flavour(priorities=False, queues=False, budgets=False, runtimes=False),
    "limits": Flavour(priorities=False, reclaim=False, budgets=False, runtimes=False),
    "plain": Flavour(queues=False, budgets=False, runtimes=False),
    "budgets": Flavour(queues=False, runtimes=False),
    "lanes": Flavour(reclaim=False, budgets=False, runtimes=False),
    "quota": Flavour(budgets=False, runtimes=False),
}
"""By name: everything, and with less of it, of which nobody is evicted in ``calm`` and ``limits``."""


def draw(seed: int, flavour: Flavour) -> Sequence:
    """A random sequence."""
    return _Drawing(Random(seed), flavour).sequence()


class _Drawing:
    def __init__(self, rng: Random, flavour: Flavour) -> None:
        self.rng = rng
        self.flavour = flavour
        self.units: list[UnitSpec] = []
        self.apps = rng.choice(((), ("x",), ("x", "y"))) if flavour.budgets else ()
        self.nodes: list[NodeSpec] = []
        self.queues: list[QueueSpec] = []
        self.elastic = rng.random() < 0.6
        self.later = False

    def sequence(self) -> Sequence:
        """Draw everything."""
        rng = self.rng
        racks = rng.randint(1, 3)
        largest = rng.choice((1, 2, 2, 3, 4, 8))
        for _ in range(rng.choice((2, 2, 3, 3, 4, 5))):
            self.nodes.append(self.node(racks, largest))
        nodes = tuple(self.nodes)
        if self.flavour.queues and rng.random() < 0.7:
            self.queues = self.some_queues()
        queues = tuple(self.queues)
        events: list[tuple[int, Event]] = []
        for index in range(rng.randint(4, self.flavour.events)):
            self.later = index > 1
            event = self.arrival() if index < 2 else self.event()
            if event is not None:
                events.append((HORIZON + rng.randint(0, 900), event))
        return Sequence(nodes, queues, tuple(events))

    def node(self, racks: int, largest: int) -> NodeSpec:
        gpus = self.rng.choice((largest, largest, self.rng.randint(1, largest)))
        return NodeSpec(f"n{len(self.nodes)}", gpus, f"r{self.rng.randrange(racks)}")

    def some_queues(self) -> list[QueueSpec]:
        rng = self.rng
        leaves = rng.randint(1, 3)
        if leaves > 1 and rng.random() < 0.4:
            parents = [self.queue("p")]
            if rng.random() < 0.5:
                parents.append(self.queue("q"))
            below = [self.queue(f"k{i}", rng.choice(parents).name) for i in range(leaves)]
            childless = {parent.name for parent in parents} - {queue.parent for queue in below}
            return [each for each in parents if each.name not in childless] + below
        return [self.queue(f"k{i}") for i in range(leaves)]

    def queue(self, name: str, parent: str = "") -> QueueSpec:
        rng = self.rng
        gpus = sum(node.gpus for node in self.nodes)
        quota = (
            rng.choice((-1, 0, gpus // 2, gpus // 3, rng.randint(0, gpus))) if self.flavour.reclaim else -1
        )
        limit = rng.choice((-1, -1, -1, rng.randint(1, gpus)))
        runtimes = (None, None, None, 0, 400, 4000) if self.flavour.runtimes else (None,)
        return QueueSpec(
            name,
            parent,
            quota,
            max(limit, quota) if limit >= 0 else limit,
            rng.choice((1, 1, 1, 2, 3, 0)),
            rng.choice((100, 100, 100, 50, 150)),
            rng.choice(runtimes),
            rng.choice(runtimes),
        )

    def unit(self) -> UnitSpec:
        rng, flavour = self.rng, self.flavour
        name = "abcdefghijklmnopqrstuvwxyz"[len(self.units) % 26] + (
            str(len(self.units) // 26) if len(self.units) >= 26 else ""
        )
        leaves = [q.name for q in self.queues if q.name not in {each.parent for each in self.queues}]
        alone = rng.random() < (0.15 if leaves else 0.25)
        pods = 1 if alone else rng.choice((1, 1, 2, 2, 3, 4))
        minimum = rng.randint(1, pods) if self.elastic and rng.random() < 0.5 else pods
        largest = max(node.gpus for node in self.nodes)
        # Later units tend to matter more, so that there is something to evict.
        classes = (
            ("low", "low", "mid", "mid", "high", "high", "top")
            if self.later
            else ("low", "low", "mid", "high")
        )
        priority = rng.choice(classes) if flavour.priorities else "mid"
        unit = UnitSpec(
            name,
            pods,
            minimum,
            rng.choice((1, 1, 2, largest, rng.randint(1, largest))),
            alone,
            not alone and rng.random() < 0.4,
            "" if alone or not leaves else rng.choice(leaves),
            priority,
            rng.choice((None, None, None, None, True, False)) if not alone and flavour.priorities else None,
            flavour.priorities and alone and rng.random() < 0.15,
            rng.choice((0, 0, 0, 0, 200, 2500)) if flavour.runtimes and not alone else 0,
            rng.choice((60, 60, 60, 700, -1)) if not alone else 60,
            rng.choice(("", *self.apps)) if self.apps else "",
            rng.random() < 0.8,
            rng.randint(0, pods) if pods > 1 and rng.random() < 0.2 else None,
        )
        self.units.append(unit)
        return unit

    def arrival(self) -> Arrive:
        return Arrive(tuple(self.unit() for _ in range(self.rng.choice((1, 1, 1, 2, 3)))))

    def event(self) -> Event | None:
        rng = self.rng
        unit = rng.choice(self.units)
        pod = f"{unit.name}-{rng.randrange(unit.pods)}"
        node = rng.choice(self.nodes)
        late = [each for each in self.units if each.early is not None]
        kinds: list[tuple[int, Any]] = [
            (14, self.arrival),
            (3, lambda: End(unit.name)),
            (4, lambda: DeletePod(pod)),
            (2, lambda: DeleteUnit(unit.name)),
            (1, self.new_node),
            (1, lambda: LoseNode(node.name)),
            (2, lambda: Cordon(node.name, cordoned=rng.random() < 0.5)),
        ]
        if late:
            kinds.append((8, lambda: ArrivePod(rng.choice(late).name)))
        if self.flavour.priorities:
            kinds.append((3, lambda: ChangePriority(unit.name, rng.choice(list(PRIORITIES)))))
        if self.apps:
            kinds.append((5, self.budget))
        if self.queues:
            kinds.append((3, self.changed_queue))
        ((_, make),) = rng.choices(kinds, [weight for weight, _ in kinds])
        event: Event | None = make()
        return event

    def new_node(self) -> AddNode:
        node = self.node(3, max(node.gpus for node in self.nodes))
        self.nodes.append(node)
        return AddNode(node)

    def budget(self) -> SetBudget:
        rng = self.rng
        return SetBudget(f"b{rng.randrange(2)}", rng.choice(self.apps), rng.choice((0, 1, 1, 2, 3, -1)))

    def changed_queue(self) -> SetQueue:
        before = self.rng.choice(self.queues)
        changed = self.queue(before.name, before.parent)
        return SetQueue(changed)
