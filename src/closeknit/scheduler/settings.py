"""How a scheduler works, as far as whoever runs it may say."""

from __future__ import annotations

from dataclasses import dataclass, field

from closeknit.dialects.family import Family
from closeknit.dialects.lone_pods import SCHEDULERS
from closeknit.scheduler.cluster_state import FAMILIES
from closeknit.scheduler.decide import decision_time
from closeknit.scheduler.preempt.preemptions import Limits
from closeknit.scheduler.preempt.victim_order import DEFAULT_ORDER


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a scheduler works."""

    schedulers: frozenset[str] = SCHEDULERS
    """The values of ``schedulerName`` whose pods are bound."""
    families: tuple[Family, ...] = FAMILIES
    connections: int = 64
    """How many calls are made at once."""
    bind_deadline: float = 4.0
    """Seconds until a call without an answer counts as lost; a lease may leave fewer (``Terms``)."""
    volume_deadline: float = 600.0
    """Seconds that volumes of a gang are waited for; then it is decided again, and says why."""
    gather: float = 0.01
    """Seconds that changes are gathered before they are looked at, so that a gang's pods come together."""
    gather_many: float = 0.1
    """The same while there are many of them; each look at a gang that is not complete is for nothing."""
    turn: float = 0.005
    """Seconds of deciding after which others get a turn, also in the middle of a decision."""
    decision_time: decision_time.Limits = field(default_factory=decision_time.Limits)
    """How long decisions may take while others wait."""
    farewell: float = 10.0
    """Seconds that bindings under way get to settle after ``stop``."""
    reserving: bool = True
    """Whether a place is kept for the first unit that does not fit."""
    displacing: bool = True
    """Whether running units are evicted for units that wait."""
    preemption: Limits = field(default_factory=Limits)
    """Deadlines and backoff of preemption."""
    victim_order: tuple[str, ...] = DEFAULT_ORDER
    """The criteria by which victims are chosen, the most important one first."""
    pod_events: bool = True
    """Whether an event is written for each pod that was bound."""
    dry_run: bool = False
    """Whether to decide and report, and to bind nothing."""
    explaining: bool = True
    """Whether to work out why a unit found no room, which costs far more than to find that it has none."""
