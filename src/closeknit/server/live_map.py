"""The map of a cluster that is followed: what it shows now, and what has changed since a version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from closeknit.dialects.core.owner_references import controller_reference, owner_named
from closeknit.dialects.core.priority import queue_order
from closeknit.dialects.kueue.family import KUEUE
from closeknit.dialects.store.objects import Stored
from closeknit.hub import failures
from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.topology import Topology
from closeknit.hub.workload import IncompleteWorkload, PlaceableWorkload, Workload
from closeknit.live.supervision import blame
from closeknit.scheduler.cluster_state import FAMILIES, ClusterState
from closeknit.scheduler.promised_places import ADMITTED
from closeknit.server.announced import Announced
from closeknit.server.documents import (
    Holdings,
    MapDocument,
    StepRow,
    Timeline,
    Update,
    WorkloadRow,
)
from closeknit.server.picture import Tree, shown_resource, tree
from closeknit.server.usage import Step, Usage

SHOWN_FAMILIES = (*(each for each in FAMILIES if each is not ADMITTED), KUEUE)
"""Whose workloads are shown: those that are scheduled, and those that queue in Kueue.

What other families ask for shows as the PodGroups that are made of it.
"""
NO_TOPOLOGY = Topology("", ())
"""Shown where the cluster describes none: all nodes beside each other."""


class LiveMap:
    """What a cluster looks like. ``refresh`` takes in what the state was told since."""

    def __init__(self, state: ClusterState, *, time: Callable[[], float], generation: int = 0) -> None:
        """``generation``: where to begin, so that a reader can tell one process from the next."""
        self.state = state
        self.announced = Announced(state)
        """Whoever follows the cluster tells this one, which tells the state."""
        self._time = time
        self.generation = generation
        self.usage = Usage("cpu")
        self._trees: dict[str, Tree] = {}
        self._ids: dict[str, int] = {}
        """By name of a holder, the number that stands for it."""
        self._rows: dict[int, WorkloadRow] = {}
        self._row_versions: dict[int, int] = {}
        """By number, the version in which a row last changed; the latest come last."""
        self._units: dict[str, Workload] = {}
        self._names: dict[Key, str] = {}
        """By unit, the name under which it holds something."""
        self._touched: set[str] = set()
        self._holders: dict[str, int] = {}
        """By name, how many pods hold something."""
        self._moved = True
        for holding in state.all_holdings():
            self._pod_changed(None, holding)
        for key, unit in state.units.items():
            self._unit_changed(key, unit)
        state.listen(self._pod_changed, self._nodes_changed)

    @property
    def version(self) -> int:
        """The newest version that can be asked for."""
        return self.usage.version

    # --------------------------------------------------------------------------------------- following

    def _pod_changed(self, before: Holding | None, after: Holding | None) -> None:
        self.usage.change(before, after)
        for holding, sign in ((before, -1), (after, 1)):
            if holding is not None:
                self._touched.add(holding.workload)
                self._ids.setdefault(holding.workload, len(self._ids))
                self._holders[holding.workload] = self._holders.get(holding.workload, 0) + sign * holding.pods

    def _nodes_changed(self) -> None:
        self._moved = True

    def refresh(self) -> None:
        """Take in what has changed, as a new version or generation."""
        self.state.containment.now = self._time()
        try:
            units = self.state.news().units
        except Exception as error:  # noqa: BLE001 (the map shows what it has, and takes in the rest the next time)
            key = blame(error) or Key("", "Map", "", "")
            self.state.containment.note(key, failures.Step.SHOW, error, withhold=True)
            units = {}
        for key, unit in units.items():
            with self.state.containment.at(key, failures.Step.SHOW):
                self._unit_changed(key, unit)
        if self._moved:
            self._begin()
        elif self._touched:
            self.usage.close(self._time())
            self._renew(self._touched)
            self._touched = set()

    def _unit_changed(self, key: Key, unit: Workload | None) -> None:
        if (before := self._names.pop(key, None)) is not None:
            del self._units[before]
            self._touched.add(before)
        if unit is not None:
            name = self._names[key] = self.state.holder(unit)
            self._units[name] = unit
            self._touched.add(name)

    def _begin(self) -> None:
        """Make a new generation, since nodes, topologies or the resource that is shown are others."""
        self._moved = False
        self._trees = {}
        self.generation += 1
        resource = shown_resource(self.state.nodes.values())
        if resource != self.usage.resource:
            usage = Usage(resource)
            usage.version = self.usage.version
            for holding in self.state.all_holdings():
                usage.change(None, holding)
            self.usage = usage
        self.usage.close(self._time())
        self._renew({*self._touched, *self._units, *self._holders})
        self._touched = set()

    def _renew(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            number = self._ids.setdefault(name, len(self._ids))
            row = self._contained_row(number, name)
            if row == self._rows.get(number):
                continue
            self._row_versions.pop(number, None)
            self._row_versions[number] = self.version
            if row is None:
                self._rows.pop(number, None)
                self._holders.pop(name, None)
            else:
                self._rows[number] = row

    def _contained_row(self, number: int, name: str) -> WorkloadRow | None:
        """The row of a workload; one that cannot be made shows its name alone, and keeps no other away."""
        unit = self._units.get(name)
        key = unit.key if unit is not None else Key("", "", "", name)
        with self.state.containment.at(key, failures.Step.SHOW):
            return self._row(number, name)
        return WorkloadRow(
            id=number,
            name=key.name,
            namespace=key.namespace,
            kind=key.kind,
            state="invalid",
            pods=self._holders.get(name, 0),
        )

    def _row(self, number: int, name: str) -> WorkloadRow | None:
        unit, pods = self._units.get(name), self._holders.get(name, 0)
        if unit is None:
            if pods <= 0:
                return None
            # A holder that no family knows has its kind in front of its name.
            whose, _, own = name.rpartition("/")
            kind, _, namespace = whose.rpartition(" ")
            return WorkloadRow(id=number, name=own, namespace=namespace, kind=kind, foreign=True, pods=pods)
        still_open = 0
        if isinstance(unit, PlaceableWorkload):
            still_open = sum(pod_set.open for pod_set in unit.request.root.pod_sets())
            state = "pending" if still_open else "running"
        else:
            state = "incomplete" if isinstance(unit, IncompleteWorkload) else "invalid"
        return WorkloadRow(
            id=number,
            name=unit.object.name,
            namespace=unit.object.namespace,
            kind=unit.object.kind,
            dialect=unit.dialect,
            queue=unit.accounts[0].name[-1].rpartition(" ")[2] if unit.accounts else "",
            priority=unit.priority,
            state=state,
            pods=pods,
            open=still_open,
            made_for=list(self._makers(unit)),
        )

    def _makers(self, unit: Workload) -> Iterator[str]:
        """The objects that a unit was made for, as far as they can be seen, nearest first."""
        entry = self.state.view.entry(unit.key)
        for _ in range(8):
            if not isinstance(entry, Stored):
                return
            owner = controller_reference(entry.content.metadata)
            if owner is None:
                return
            yield f"{owner.kind} {owner.name}"
            entry = owner_named(self.state.view, owner, entry.key.namespace)

    # ------------------------------------------------------------------------------------------- asked

    @property
    def topologies(self) -> list[str]:
        """The names of all topologies."""
        return [each.name for each in self.state.topologies.topologies]

    def tree(self, topology: str = "") -> Tree:
        """The tree of a topology; of the first one where none is named. KeyError where it does not exist."""
        known = {each.name: each for each in self.state.topologies.topologies}
        name = topology or next(iter(known), "")
        if name not in self._trees:
            found = known[name] if name else NO_TOPOLOGY
            self._trees[name] = tree(found, self.state.nodes.values(), self.usage.resource)
        return self._trees[name]

    def document(self, topology: str = "") -> MapDocument:
        """All of it."""
        shown = self.tree(topology)
        held = Holdings(node=[], workload=[], amount=[], pods=[])
        for name in self.usage.nodes():
            if (place := shown.place.get(name)) is None:
                continue
            for workload, share in self.usage.on(name).items():
                held.node.append(place)
                held.workload.append(self._ids[workload])
                held.amount.append(share.amount)
                held.pods.append(share.pods)
        return MapDocument(
            generation=self.generation,
            version=self.version,
            time=self._time(),
            topologies=self.topologies,
            topology=shown.topology.name,
            levels=shown.levels,
            resource=self.usage.resource,
            domains=shown.domains,
            nodes=shown.nodes,
            holdings=held,
            workloads=list(self._rows.values()),
        )

    def update(self, since: int, topology: str = "") -> Update:
        """What is different from a version of this generation."""
        shown = self.tree(topology)
        nodes = [
            (
                shown.place[name],
                [
                    (self._ids[workload], share.amount, share.pods)
                    for workload, share in self.usage.on(name).items()
                ],
            )
            for name in self.usage.since(since)
            if name in shown.place
        ]
        rows, gone = [], []
        for number in reversed(self._row_versions):
            if self._row_versions[number] <= since:
                break
            if number in self._rows:
                rows.append(self._rows[number])
            else:
                gone.append(number)
        return Update(
            generation=self.generation,
            version=self.version,
            time=self._time(),
            nodes=nodes,
            workloads=rows,
            gone=gone,
            steps=[self._step(each, shown) for each in self.usage.steps(since)],
        )

    def timeline(self, topology: str = "") -> Timeline:
        """What happened lately."""
        shown = self.tree(topology)
        steps = [self._step(each, shown) for each in self.usage.steps()]
        return Timeline(generation=self.generation, steps=steps)

    def _step(self, step: Step, shown: Tree) -> StepRow:
        moved = [(shown.place[node], amount) for node, amount in step.moved.items() if node in shown.place]
        return StepRow(
            version=step.version,
            time=step.time,
            workload=self._ids[step.workload],
            pods=step.pods,
            moved=moved,
        )

    def rows(self) -> list[WorkloadRow]:
        """Every workload, by namespace and name."""
        return sorted(self._rows.values(), key=lambda row: (row.namespace, row.name, row.kind))

    def row(self, unit: Workload) -> WorkloadRow:
        """The row of a unit."""
        return self._rows[self._ids[self._names[unit.object.key]]]

    def waiting(self) -> list[Workload]:
        """The units that wait, in the order in which they will be tried."""
        found = [
            unit
            for unit in self._units.values()
            if isinstance(unit, PlaceableWorkload) and any(pods.open for pods in unit.request.root.pod_sets())
        ]
        return sorted(found, key=queue_order)

    def unit(self, kind: str, namespace: str, name: str) -> Workload | None:
        """The unit of this name."""
        for unit in self.state.units.values():
            if (unit.object.kind, unit.object.namespace, unit.object.name) == (kind, namespace, name):
                return unit
        return None

    def said(self, unit: Workload) -> dict[str, Any] | None:
        """What the scheduler has said of a unit; None where that is nothing."""
        return self.announced.outcome(unit.key)

    def number(self, holder: str) -> int | None:
        """The number that stands for a holder, if it is there."""
        number = self._ids.get(holder)
        return number if number in self._rows else None

    def nodes_of(self, unit: Workload) -> dict[str, str]:
        """By pod of a unit that has one, its node."""
        found: dict[str, str] = {}
        for running in unit.running:
            pod = self.state.pod(Key("", "Pod", unit.object.namespace, running.name))
            if pod is not None:
                found[running.name] = pod.content.spec.node_name
        return found
