"""What the map and its REST API send, as types: the OpenAPI document is made from them.

Large lists are columns, one list for each field, because a browser takes them in several times faster.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A JSON object."""


class Level(Document, frozen=True, kw_only=True):
    """A level of a topology."""

    label: str
    name: str
    """What people call it; the label where nobody gave it a name."""


class Domains(Document, frozen=True, kw_only=True):
    """Every domain of a topology, parents before their children; columns."""

    parent: list[int]
    """The place of the domain around it in these columns; -1 for none."""
    level: list[int]
    name: list[str]


class Nodes(Document, frozen=True, kw_only=True):
    """Every node, in the order of the topology's tree; columns."""

    name: list[str]
    domain: list[int]
    """The finest domain that it lies in; -1 where it lacks the label of the first level."""
    size: list[int]
    """How much of the map's resource it offers."""
    closed: list[int]
    """The places, in these columns, of nodes that take no pods now."""


class Holdings(Document, frozen=True, kw_only=True):
    """Who holds what; columns."""

    node: list[int]
    workload: list[int]
    amount: list[int]
    pods: list[int]


class WorkloadRow(Document, frozen=True, kw_only=True, omit_defaults=True):
    """A workload in a list."""

    id: int
    """Stands for it in other documents of this process."""
    name: str
    namespace: str = ""
    kind: str = ""
    dialect: str = ""
    queue: str = ""
    priority: int = 0
    foreign: bool = False
    """Whether it only holds resources, and others schedule it."""
    state: str = "running"
    """``running``, ``pending``, ``incomplete`` (pods that must run do not exist yet) or ``invalid``."""
    pods: int = 0
    """How many it has on nodes."""
    open: int = 0
    """How many more are to be placed."""
    made_for: list[str] = []
    """The objects that it was made for, nearest first, such as ``PodCliqueSet inference``."""


class MapDocument(Document, frozen=True, kw_only=True):
    """All that a browser needs for its first picture."""

    generation: int
    """Changes when nodes or topologies do; places in the columns mean something within one of them."""
    version: int
    """Where updates go on from."""
    time: float
    topologies: list[str]
    topology: str
    levels: list[Level]
    resource: str
    domains: Domains
    nodes: Nodes
    holdings: Holdings
    workloads: list[WorkloadRow]


class StepRow(Document, frozen=True, kw_only=True):
    """What one workload took or gave back at one moment."""

    version: int
    time: float
    workload: int
    pods: int
    moved: list[tuple[int, int]]
    """Nodes, and how much more is held on each."""


class Update(Document, frozen=True, kw_only=True):
    """What has changed since a version."""

    generation: int
    version: int
    time: float
    nodes: list[tuple[int, list[tuple[int, int, int]]]]
    """Nodes that changed, each with workload, amount and pods of all that is held there now."""
    workloads: list[WorkloadRow]
    gone: list[int]
    """Workloads that are there no longer."""
    steps: list[StepRow]


class Reset(Document, frozen=True, kw_only=True):
    """The map has another generation and must be read again."""

    generation: int


class Timeline(Document, frozen=True, kw_only=True):
    """The last decisions, oldest first."""

    generation: int
    steps: list[StepRow]


class DomainCapacity(Document, frozen=True, kw_only=True):
    """What is free in the domains of one level."""

    topology: str
    level: str
    resource: str
    free: int
    largest_free: int
    largest_size: int
    fragmentation: float


class TopologyDocument(Document, frozen=True, kw_only=True):
    """One topology, its domains and what is free in them."""

    name: str
    levels: list[Level]
    domains: Domains
    capacity: list[DomainCapacity]


class NodeRow(Document, frozen=True, kw_only=True):
    """One node."""

    name: str
    domain: list[str]
    """The names of the domains that it lies in, coarsest first."""
    open: bool
    """Whether it takes pods."""
    allocatable: dict[str, int]
    held: dict[str, int]
    """How much of the map's resource each workload holds."""


class NodeList(Document, frozen=True, kw_only=True):
    """Some of the nodes, in the order of the tree."""

    total: int
    items: list[NodeRow]


class WorkloadList(Document, frozen=True, kw_only=True):
    """Some of the workloads."""

    total: int
    items: list[WorkloadRow]


class PodRow(Document, frozen=True, kw_only=True):
    """A pod of a workload."""

    name: str
    group: str
    node: str = ""


class WorkloadDocument(Document, frozen=True, kw_only=True):
    """One workload with its pods."""

    workload: WorkloadRow
    pods: list[PodRow]
    groups: list[GroupRow]
    displaces: list[int] = []
    """The workloads that are about to go for it, as the scheduler has announced."""


class GroupRow(Document, frozen=True, kw_only=True):
    """A group of a workload's tree."""

    name: str
    parent: str | None
    required: str | None
    preferred: str | None
    minimum: int
    pods: int


class Explanation(Document, frozen=True, kw_only=True):
    """What would become of a workload on the cluster as it is."""

    outcome: dict[str, Any]
    """As ``closeknit plan -o json`` has it."""
    sentences: list[str]


class OutcomeDocument(Document, frozen=True, kw_only=True):
    """What the scheduler has said of a workload."""

    outcome: dict[str, Any] | None = None
    """As its SchedulingOutcome or the annotation ``closeknit.dev/outcome`` has it; null before it has one."""


class PlanDocument(Document, frozen=True, kw_only=True):
    """What would become of manifests that were sent, in the order in which they would be decided."""

    outcomes: list[Explanation]
    problems: list[ProblemRow]


class ProblemRow(Document, frozen=True, kw_only=True):
    """Something that is wrong with what was sent, as the command line tells it."""

    path: str
    code: str
    message: str


class ProblemDocument(Document, frozen=True, kw_only=True):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    problems: list[ProblemRow] = []
