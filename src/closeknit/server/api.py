"""The REST API: a function for each thing that can be asked, from parameters to a document. No HTTP here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from closeknit.dialects import group_of
from closeknit.hub.nearest import nearest
from closeknit.hub.request import Group, PodSet
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.server.documents import (
    DomainCapacity,
    Explanation,
    GroupRow,
    MapDocument,
    NodeList,
    NodeRow,
    OutcomeDocument,
    PlanDocument,
    PodRow,
    ProblemDocument,
    Timeline,
    TopologyDocument,
    WorkloadDocument,
    WorkloadList,
    WorkloadRow,
)
from closeknit.server.explaining import explain, what_if
from closeknit.server.live_map import LiveMap
from closeknit.server.picture import Tree


class RefusedError(Exception):
    """A request that makes no sense here."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.document = ProblemDocument(type="about:blank", title=title, status=status, detail=detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The parameters of a request, checked by their schemas."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes = b""

    def text(self, name: str) -> str:
        """A parameter of the query; empty where it is missing."""
        return self.query.get(name, "")

    def number(self, name: str, default: int) -> int:
        """A whole number of the query."""
        return int(self.query.get(name, default))


class Api:
    """Answers about one live map."""

    def __init__(self, live: LiveMap) -> None:
        self.live = live

    def map(self, asked: Asked) -> MapDocument:
        """All that the map shows."""
        return self.live.document(self.map_of(asked))

    def map_of(self, asked: Asked) -> str:
        """The name of the topology that is asked for."""
        return self._tree(asked).topology.name

    def timeline(self, asked: Asked) -> Timeline:
        """The last decisions."""
        return self.live.timeline(self.map_of(asked))

    def topology(self, asked: Asked) -> TopologyDocument:
        """A topology with its domains, and what is free in them."""
        shown = self._tree(asked)
        capacity = [
            DomainCapacity(
                topology=each.topology,
                level=each.level,
                resource=each.resource,
                free=each.free,
                largest_free=each.largest_free,
                largest_size=each.largest_size,
                fragmentation=round(each.fragmentation, 4),
            )
            for each in self.live.state.engine.capacity(self.live.usage.resource)
            if each.topology == shown.topology.name
        ]
        return TopologyDocument(
            name=shown.topology.name, levels=shown.levels, domains=shown.domains, capacity=capacity
        )

    def nodes(self, asked: Asked) -> NodeList:
        """Some nodes."""
        shown = self._tree(asked)
        names = shown.nodes.name
        if wanted := asked.text("name"):
            names = [name for name in names if wanted in name]
        start, count = asked.number("offset", 0), asked.number("limit", 100)
        return NodeList(
            total=len(names), items=[self._node(name, shown) for name in names[start : start + count]]
        )

    def _node(self, name: str, shown: Tree) -> NodeRow:
        node = self.live.state.nodes[name]
        held = {workload: share.amount for workload, share in self.live.usage.on(name).items()}
        return NodeRow(
            name=name,
            domain=list(shown.topology.path(node.labels)),
            open=node.ready and not node.unschedulable,
            allocatable=dict(node.allocatable),
            held=held,
        )

    def workloads(self, asked: Asked) -> WorkloadList:
        """Some workloads."""
        state, text, queue = (asked.text(each) for each in ("state", "name", "queue"))
        rows = [
            row
            for row in self.live.rows()
            if (not state or row.state == state)
            and (not queue or row.queue == queue)
            and (not text or text in f"{row.namespace}/{row.name}")
        ]
        start, count = asked.number("offset", 0), asked.number("limit", 100)
        return WorkloadList(total=len(rows), items=rows[start : start + count])

    def queue(self, asked: Asked) -> WorkloadList:
        """What waits, in the order in which it will be tried."""
        waiting = self.live.waiting()
        start, count = asked.number("offset", 0), asked.number("limit", 100)
        rows: list[WorkloadRow] = [self.live.row(unit) for unit in waiting[start : start + count]]
        return WorkloadList(total=len(waiting), items=rows)

    def workload(self, asked: Asked) -> WorkloadDocument:
        """One workload with its tree and its pods."""
        unit = self._unit(asked)
        groups: list[GroupRow] = []
        pods: list[PodRow] = []
        for member, parent in unit.request.root.walk() if isinstance(unit, PlaceableWorkload) else ():
            if isinstance(member, Group):
                groups.append(_group(member, parent))
            else:
                pods.extend(PodRow(name=name, group=group_of(member.name)) for name in member.pods)
        nodes = self.live.nodes_of(unit)
        pods += [PodRow(name=pod.name, group=pod.group, node=nodes.get(pod.name, "")) for pod in unit.running]
        plan = (self.live.said(unit) or {}).get("plan") or {}
        displaced = (self.live.number(each.get("workload", "")) for each in plan.get("displaces", ()))
        return WorkloadDocument(
            workload=self.live.row(unit),
            pods=pods,
            groups=groups,
            displaces=[number for number in displaced if number is not None],
        )

    def outcome(self, asked: Asked) -> OutcomeDocument:
        """What the scheduler has said of a workload."""
        return OutcomeDocument(outcome=self.live.said(self._unit(asked)))

    def explain(self, asked: Asked) -> Explanation:
        """What would become of a workload now, and why."""
        return explain(self.live.state, self._unit(asked))

    def plan(self, asked: Asked) -> PlanDocument:
        """What would become of the manifests of the body."""
        if not asked.body.strip():
            raise RefusedError(400, "Bad Request", "The body must hold a manifest in YAML or JSON.")
        return what_if(self.live.state, asked.body)

    def _tree(self, asked: Asked) -> Tree:
        name = asked.text("topology")
        try:
            return self.live.tree(name)
        except KeyError:
            near = nearest(name, self.live.topologies)
            hint = f" Did you mean {near}?" if near else ""
            detail = f"There is no topology of the name that the parameter topology gives.{hint}"
            raise RefusedError(404, "Not Found", detail) from None

    def _unit(self, asked: Asked) -> Workload:
        kind, namespace, name = (asked.path[each] for each in ("kind", "namespace", "name"))
        unit = self.live.unit(kind, "" if namespace == "-" else namespace, name)
        if unit is None:
            detail = "There is no such workload; /api/v1/workloads lists those that are there."
            raise RefusedError(404, "Not Found", detail)
        return unit


def _group(group: Group, parent: Group | None) -> GroupRow:
    return GroupRow(
        name=group.name,
        parent=parent.name if parent is not None else None,
        required=group.required,
        preferred=group.preferred,
        minimum=group.least,
        pods=sum(member.count for member, _ in group.walk() if isinstance(member, PodSet)),
    )
