"""What is held and paid for each Workload: places in the engine, and quota in the accounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from closeknit.apis import core_v1
from closeknit.controllers.kueue import daemons
from closeknit.controllers.kueue.reservations import Reservation, pod_holding
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.node_amounts import node_of
from closeknit.dialects.store.view import View
from closeknit.engine import UNPACED, Pace
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.quota import Charge
from closeknit.scheduler.changes import Change, QuotaChanged
from closeknit.scheduler.deciding import Verdict, charge
from closeknit.scheduler.tracked_engine import TrackedEngine


class Bookings:
    """Engine and accounts, kept in step with what each Workload has; nothing here decides."""

    def __init__(self, pace: Pace = UNPACED) -> None:
        """``pace`` interrupts the searches of the engine."""
        self.tracked = TrackedEngine(pace)
        self.accounts = Accounts()
        self._held: dict[Key, dict[Key, Holding]] = {}
        """By Workload, what is held for it, under keys that are made up."""
        self._paid: dict[Key, Sequence[Charge]] = {}
        self._changes: list[Change] = []
        self.leaving: dict[Key, Holding] = {}
        """What pods hold that are going."""
        self._taken: dict[str, None] = {}
        """Nodes on which others have taken something, until they are found to have enough."""

    def held(self, key: Key) -> Mapping[Key, Holding]:
        """What is held for a Workload."""
        return self._held.get(key, {})

    def changes(self) -> list[Change]:
        """What may help somebody who waits, since the last call."""
        found, self._changes = [*self.tracked.changes(), *self._changes], []
        return found

    def overfull(self) -> list[str]:
        """Nodes that hold more than they offer since others have taken some of it."""
        self._taken = {name: None for name in self._taken if self.tracked.is_overfull(name)}
        return list(self._taken)

    def follow(self, view: View, changed: Mapping[Key, type[Any]]) -> None:
        """Take in what has changed about nodes, and what pods and DaemonSets hold on them."""
        pods: dict[Key, None] = {key: None for key, shape in changed.items() if shape is core_v1.Pod}
        pods.update((key, None) for (key,) in view.stale(pod_holding))
        nodes: dict[str, None] = {}
        seen = dict.fromkeys(key for key, shape in changed.items() if shape is core_v1.Node)
        for key in (*seen, *(key for (key,) in view.stale(node_of) if key not in seen)):
            self.tracked.set_node(key.name, view.derive(node_of, key))
            nodes[key.name] = None
        nodes.update((name, None) for (name,) in view.stale(daemons.owed))
        for name in nodes:
            owed = view.derive(daemons.owed, name)
            self.hold(
                Key("", "Node", "", name), {made_up("daemons", name, i): held for i, held in enumerate(owed)}
            )
        for key in pods:
            held = view.derive(pod_holding, key)
            if held is not None and held != self.tracked.holding(key):
                self._taken[held.node] = None
            self.tracked.set_pod(key, held)
            stored = view.get(key)
            self.leaving.pop(key, None)
            if held is not None and stored is not None and stored.content.metadata.deletion_timestamp:
                self.leaving[key] = held

    def admit(self, key: Key, verdict: Verdict) -> None:
        """Hold and pay what was decided for a Workload."""
        charge(self.accounts, verdict)
        self._paid[key] = verdict.option.charges if verdict.option is not None else ()
        self.hold_placed(key, verdict)

    def book(self, key: Key, reservation: Reservation) -> None:
        """Hold and pay what a Workload has by its status."""
        self._pay(key, reservation.name, reservation.option.charges)
        self.accounts.charge(reservation.option)
        held = reservation.holdings
        self.hold(key, {made_up(key.namespace, key.name, i): each for i, each in enumerate(held)})

    def _pay(self, key: Key, name: str, charges: Sequence[Charge]) -> None:
        """Forget what a Workload was charged; where it will be charged otherwise, others may have quota."""
        self.accounts.forget(name)
        before = self._paid.pop(key, ())
        if before and before != charges:
            names = frozenset(each.name for charge in before for each in charge.account.around)
            self._changes.append(QuotaChanged(names))
        if charges:
            self._paid[key] = charges

    def give_back(self, key: Key) -> None:
        """Nothing is held or paid for a Workload any more."""
        self._pay(key, workload_name(key.namespace, key.name), ())
        self.hold(key, {})

    def hold(self, key: Key, held: dict[Key, Holding]) -> None:
        """What is held for a Workload from now on, and nothing else."""
        for gone in self._held.get(key, {}).keys() - held.keys():
            self.tracked.set_pod(gone, None)
        for name, each in held.items():
            self.tracked.set_pod(name, each)
        if held:
            self._held[key] = held
        else:
            self._held.pop(key, None)

    def hold_placed(self, key: Key, verdict: Verdict, besides: Mapping[Key, Holding] | None = None) -> None:
        """Keep the place of every pod that was placed."""
        assert isinstance(verdict.outcome, Placed)
        sets = {each.name: each for each in verdict.workload.request.root.pod_sets()}
        held = dict(besides or {})
        for i, each in enumerate(verdict.outcome.assignments):
            pods = sets[each.pod_set]
            name = verdict.workload.request.name
            held[made_up(key.namespace, key.name, f"placed {i}")] = Holding(
                name, each.node, pods.resources, 1, pods.host_ports, pods.neighbour
            )
        self.hold(key, held)


def made_up(namespace: str, name: str, part: object) -> Key:
    """A key under which something is held that is no pod."""
    return Key("closeknit.dev", "Held", namespace, f"{name} {part}")
