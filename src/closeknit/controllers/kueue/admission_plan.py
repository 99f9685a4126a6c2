"""What is known and wanted of all Workloads, which those who admit, preempt and replace share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from closeknit.controllers.kueue.bookings import Bookings
from closeknit.controllers.kueue.reservations import Reservation
from closeknit.controllers.kueue.workload_status import Evict, Intent
from closeknit.dialects.kueue.compile import Nominated
from closeknit.hub.keys import Key
from closeknit.hub.sentences import scheduler as sentences
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.deciding import Failed, Verdict, decide

Unit: TypeAlias = Reservation | Nominated


@dataclass(slots=True)
class AdmissionPlan:
    """Workloads that have quota or wait for it, what is held for each, and what is to be written next."""

    books: Bookings = field(default_factory=Bookings)
    units: dict[Key, Unit] = field(default_factory=dict)
    intents: dict[Key, Intent] = field(default_factory=dict)
    changed: dict[Key, None] = field(default_factory=dict)
    """Workloads about which something was decided at this look."""

    def reservations(self) -> Iterator[tuple[Key, Reservation]]:
        """All Workloads that have quota."""
        return ((key, each) for key, each in self.units.items() if isinstance(each, Reservation))

    def waiting(self, key: Key) -> Nominated | None:
        """A Workload that waits for quota; None for any other."""
        found = self.units.get(key)
        return found if isinstance(found, Nominated) else None

    def is_leaving(self, key: Key, reservation: Reservation) -> bool:
        """Whether a Workload was told to give back its quota."""
        return reservation.evicted or isinstance(self.intents.get(key), Evict)

    def want(self, key: Key, intent: Intent) -> None:
        """What is to be written for a Workload."""
        self.intents[key] = intent
        self.changed[key] = None

    def decide(self, workload: PlaceableWorkload) -> Verdict:
        """Quota and places for a Workload with what is free now; nothing is booked."""
        tracked = self.books.tracked
        try:
            return decide(tracked.engine, tracked.topologies, workload, self.books.accounts)
        except Exception as error:  # noqa: BLE001 (one Workload that breaks a rule of ours must not stop the others)
            said = f"{type(error).__name__}: {error}"
            problem = sentences.NOT_UNDERSTOOD.at((), kind="Workload", error=said)
            return Verdict(workload, Failed((problem,)))
