"""The victim order: what makes one set of evicted pods better than another.

Criteria are compared in order, the lower cost wins. ``pods`` and ``name`` always come last, so that the
choice never depends on the order in which units are listed. An administrator may drop or reorder the others
(``Settings.victim_order``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from closeknit.scheduler.preempt.running import BoundPod, Victim


@dataclass(frozen=True, slots=True)
class VictimCosts:
    """The facts about a set of victims that the criteria compare."""

    victims: tuple[Victim, ...]
    waits_for_budget: bool
    """Whether a disruption budget does not let all of its pods go now."""
    now: float

    @property
    def pods(self) -> tuple[BoundPod, ...]:
        """All pods that are evicted."""
        return tuple(pod for victim in self.victims for pod in victim.pods)


@dataclass(frozen=True, slots=True)
class Criterion:
    """One reason to prefer one victim set over another: the lower cost wins."""

    name: str
    """As written in the settings."""
    description: str
    """Shown in the reference documentation."""
    cost: Callable[[VictimCosts], float | tuple[str, ...]]
    """Never falls when a pod is added to a set, except for ``name``."""


def _budget(costs: VictimCosts) -> float:
    return costs.waits_for_budget


def _priority(costs: VictimCosts) -> float:
    return max((victim.unit.workload.priority for victim in costs.victims), default=float("-inf"))


def _gangs(costs: VictimCosts) -> float:
    return sum(victim.is_broken for victim in costs.victims)


def _lost_work(costs: VictimCosts) -> float:
    return sum(pod.seconds_run(costs.now) for pod in costs.pods)


def _pods(costs: VictimCosts) -> float:
    return len(costs.pods)


def _name(costs: VictimCosts) -> tuple[str, ...]:
    return tuple(sorted(f"{pod.key.namespace}/{pod.key.name}" for pod in costs.pods))


VICTIM_ORDER: tuple[Criterion, ...] = (
    # kube-scheduler compares budget violations first, too, and then evicts; here such a set waits.
    Criterion("budget", "Sets that respect disruption budgets before sets that must wait for one.", _budget),
    Criterion("priority", "The highest priority among the affected units.", _priority),
    Criterion("gangs", "The number of units evicted whole; shrinking a unit breaks none.", _gangs),
    Criterion("lostWork", "Pod-seconds lost: for each evicted pod, the time since it started.", _lost_work),
    Criterion("pods", "The number of evicted pods.", _pods),
    Criterion("name", "The sorted names of the evicted pods.", _name),
)

_ALWAYS_LAST = ("pods", "name")
DEFAULT_ORDER: tuple[str, ...] = tuple(criterion.name for criterion in VICTIM_ORDER)
"""The names of the criteria in the default order."""


def ordered(names: Sequence[str]) -> tuple[Criterion, ...]:
    """The criteria of these names in this order, with ``pods`` and ``name`` last.

    Raises ``ValueError`` for a name that is unknown or occurs twice, and where ``name`` is not last.
    """
    known = {criterion.name: criterion for criterion in VICTIM_ORDER}
    for name in names:
        if name not in known:
            raise ValueError(f"Unknown victim criterion {name!r}; known are {', '.join(known)}.")
    if len(set(names)) < len(names):
        raise ValueError(f"A victim criterion occurs twice in {', '.join(names)}.")
    if "name" in names[:-1]:
        raise ValueError("The victim criterion 'name' decides everything after it, so it must be last.")
    chosen = [name for name in names if name != "name"]
    chosen += [name for name in _ALWAYS_LAST if name not in chosen]
    return tuple(known[name] for name in chosen)


def cost_of(costs: VictimCosts, order: Sequence[Criterion] = VICTIM_ORDER) -> tuple[object, ...]:
    """A key that sorts victim sets, the best first."""
    return tuple(criterion.cost(costs) for criterion in order)
