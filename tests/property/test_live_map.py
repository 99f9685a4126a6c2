"""A browser that follows the map by its updates sees what one sees that reads it anew."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from closeknit.scheduler.cluster_state import ClusterState
from closeknit.server.documents import MapDocument
from closeknit.server.live_map import LiveMap
from tests.property.effort import effort
from tests.property.test_cluster_state import anything
from tests.unit.scheduler import objects
from tests.unit.scheduler.objects import entry


class Browser:
    """What a page keeps of the map."""

    def __init__(self, document: MapDocument) -> None:
        self.generation, self.version = document.generation, document.version
        self.names = document.nodes.name
        held = document.holdings
        self.held: dict[int, dict[int, tuple[int, int]]] = {}
        for node, workload, amount, pods in zip(
            held.node, held.workload, held.amount, held.pods, strict=True
        ):
            self.held.setdefault(node, {})[workload] = (amount, pods)
        self.rows = {row.id: row for row in document.workloads}

    def follow(self, live: LiveMap) -> None:
        if live.generation != self.generation:
            self.__init__(live.document())  # type: ignore[misc]
            return
        update = live.update(self.version)
        self.version = update.version
        for node, held in update.nodes:
            self.held[node] = {workload: (amount, pods) for workload, amount, pods in held}
        self.rows.update({row.id: row for row in update.workloads})
        for number in update.gone:
            self.rows.pop(number, None)

    def shown(self) -> Any:
        """The same without numbers that differ from process to process."""
        names = {number: (row.kind, row.namespace, row.name) for number, row in self.rows.items()}
        held = {
            (self.names[node], names[workload]): share
            for node, shares in self.held.items()
            for workload, share in shares.items()
        }
        rows = [
            (row.kind, row.namespace, row.name, row.state, row.pods, row.open) for row in self.rows.values()
        ]
        return held, sorted(rows)


@effort(60)
@given(st.integers(0, 2**32))
def test_updates_lead_to_what_a_new_reader_sees(seed: int) -> None:
    dice = Random(seed)
    state = ClusterState()
    live = LiveMap(state, time=lambda: 0.0)
    live.refresh()
    swift, slow = Browser(live.document()), Browser(live.document())
    for _ in range(dice.randrange(1, 80)):
        if dice.random() < 0.15 and (known := [each.key for each in state.entries()]):
            state.remove(dice.choice(known))
        else:
            state.put(entry(anything(dice)))
        if dice.random() < 0.3:
            live.refresh()
            swift.follow(live)
        if dice.random() < 0.05:
            live.refresh()
            slow.follow(live)
    live.refresh()
    swift.follow(live)
    slow.follow(live)
    anew = ClusterState()
    for each in state.entries():
        anew.put(each)
    other = LiveMap(anew, time=lambda: 0.0)
    other.refresh()
    assert swift.shown() == Browser(live.document()).shown()
    assert slow.shown() == swift.shown()
    assert swift.shown() == Browser(other.document()).shown()


@effort(60)
@given(st.integers(0, 2**32))
def test_going_back_undoes_what_steps_say(seed: int) -> None:
    dice = Random(seed)
    state = ClusterState()
    live = LiveMap(state, time=lambda: 0.0)
    for number in range(4):
        state.put(entry(anything_of(dice, "Node", number)))
    live.refresh()
    moments: list[tuple[int, dict[str, dict[str, int]]]] = []
    for _ in range(30):
        state.put(entry(anything_of(dice, "Pod", dice.randrange(6))))
        live.refresh()
        moments.append((live.version, _amounts(live)))
    for version, then in moments:
        now = _amounts(live)
        for step in live.usage.steps(version):
            for node, amount in step.moved.items():
                there = now.setdefault(node, {})
                there[step.workload] = there.get(step.workload, 0) - amount
        shown = {node: {name: held for name, held in on.items() if held} for node, on in now.items()}
        assert {node: on for node, on in shown.items() if on} == {node: on for node, on in then.items() if on}


def _amounts(live: LiveMap) -> dict[str, dict[str, int]]:
    return {
        node: {name: held.amount for name, held in live.usage.on(node).items() if held.amount}
        for node in live.usage.nodes()
    }


def anything_of(dice: Random, kind: str, number: int) -> dict[str, Any]:
    """A node or a pod that is read without a problem."""
    if kind == "Node":
        return objects.node(f"n{number}", rack=f"r{number % 2}")
    where = dice.choice(["", "n0", "n1", "n2", "n3"])
    return objects.pod(
        f"p{number}", gpus=dice.choice([1, 2]), on=where, phase=dice.choice(["Running", "Succeeded"])
    )
