"""A model of an API server in which every step of a preemption is a choice, faults included.

A gang ``v`` of two pods runs on two nodes, behind a disruption budget. A gang ``g`` of a higher priority
arrives pod by pod and needs both nodes. Victims leave slowly, and their controller makes them again. Which
call is carried out next, which answer arrives, which change is seen, and whether something goes wrong are
choices; ``explore`` tries all of them and follows no state twice. The scheduler's own core runs against it,
made anew for every sequence of news, as in ``commit_model``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from math import inf
from typing import Any, Self

from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.live.entries import entry_of
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.commit import Answered, Bind, Call, Evict, Look, Nominate
from closeknit.scheduler.core import Core
from closeknit.scheduler.preempt.disruption_budgets import DISRUPTION_BUDGETS
from closeknit.scheduler.preparations import Prepare, Undo
from tests.property.commit_model import Flight
from tests.property.told import News, Told
from tests.unit.scheduler.objects import entry, node, pod, pod_group

NODES = {name: node(name, 1) for name in ("a1", "a2")}
CLASSES = tuple(
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
    for name, value in (("low", 10), ("high", 90))
)
PREEMPTOR, VICTIMS = ("p1", "p2"), ("v1", "v2")
BUDGET = Key("policy", "PodDisruptionBudget", "default", "b")
QUEUE = Key("scheduling.run.ai", "Queue", "", "q")
FAULTS = frozenset(
    ("crash", "lost before", "lost after", "refuse", "leave", "end", "tighten", "loosen", "limit", "steal")
)
_MOST_IDLE = 30
"""So often nothing happens but that time passes, before that counts as the end."""


@dataclass(frozen=True)
class Setting:
    """What does not change during one exploration."""

    minimum: int = 2
    """Of the preemptor."""
    queued: bool = False
    """Whether both gangs are in a queue whose limit is two GPUs."""
    faults: frozenset[str] = FAULTS
    """Those that may happen."""
    budget: int = 2
    """How many pods the disruption budget allows to be evicted at first."""


@dataclass
class Model:
    """An API server, the network, and a scheduler's core."""

    setting: Setting
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    flights: list[Flight] = field(default_factory=list)
    untold: dict[Key, None] = field(default_factory=dict)
    faults: int = 0
    now: float = 0.0
    idle: int = 0
    allowed: int = 2
    """How many of the victim's pods may be evicted at a time."""
    limit: int = 2
    generation: dict[str, int] = field(default_factory=dict)
    evicted: tuple[str, ...] = ()
    """The uids of pods that were evicted, in order."""
    crashed: bool = False
    core: Core = field(init=False)
    news: tuple[News, ...] = ()
    path: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        self.allowed = self.setting.budget
        for name, on in zip(VICTIMS, NODES, strict=True):
            self.pods[name] = self._made(name, on)
        self.pods["p1"] = self._made("p1")
        self.start()

    def _made(self, name: str, on: str = "") -> dict[str, Any]:
        number = self.generation[name] = self.generation.get(name, 0) + 1
        group = "g" if name in PREEMPTOR else "v"
        metadata = {"uid": f"{name}-{number}", "labels": {"app": group}}
        return pod(name, group, on=on, phase="Running" if on else "Pending", metadata=metadata)

    # ---- the scheduler ----

    def start(self) -> None:
        """A new scheduler that reads the cluster as it is."""
        everything = [entry(obj) for obj in self.objects()]
        (kind,) = DISRUPTION_BUDGETS.kinds
        everything.append(entry_of(kind, "policy/v1", self.budget()))
        self.news = (News(self.now, everything=everything),)
        self.untold.clear()

    def objects(self) -> Iterator[dict[str, Any]]:
        queue = {"queue": "q"} if self.setting.queued else {}
        yield from CLASSES
        yield from NODES.values()
        yield pod_group("v", minMember=2, priorityClassName="low", **queue)
        yield pod_group("g", minMember=self.setting.minimum, priorityClassName="high", **queue)
        if queue:
            yield self.queue()
        yield from self.pods.values()

    def budget(self) -> dict[str, Any]:
        leaving = sum(
            "deletionTimestamp" in self.pods[name]["metadata"] for name in VICTIMS if name in self.pods
        )
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "v"}}},
            "status": {"disruptionsAllowed": max(self.allowed - leaving, 0)},
        }

    def queue(self) -> dict[str, Any]:
        free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        gpu = {"quota": self.limit, "limit": self.limit, "overQuotaWeight": 1}
        spec = {"resources": {"gpu": gpu, "cpu": free, "memory": free}}
        return {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": "q"},
            "spec": spec,
        }

    def led_by(self, scheduler: Told) -> None:
        """Let a scheduler that was told this news send its calls."""
        self.core = scheduler.core
        self.flights += map(Flight, scheduler.sent)

    def copy(self) -> Self:
        """The same moment, at which something else can happen."""
        made = copy(self)
        made.pods, made.untold, made.generation = dict(self.pods), dict(self.untold), dict(self.generation)
        made.flights = [replace(flight) for flight in self.flights]
        return made

    # ---- what can happen next ----

    def choices(self, budget: int) -> Iterator[tuple[str, Any]]:
        """Everything that can happen next, faults included while some are left."""
        if prompt := next(self._prompt(), None):
            yield prompt
            return
        fair = list(self._fair())
        yield from fair
        if "p2" not in self.pods and self.generation.get("p2", 0) < 2:
            yield "arrive", None
        if not fair and self.idle < _MOST_IDLE and self.core.next_time(self.now) is not None:
            yield "time", None
        if self.faults < budget:
            yield from (choice for choice in self._unfair() if choice[0] in self.setting.faults)

    def _prompt(self) -> Iterator[tuple[str, Any]]:
        """What happens at once, because nothing follows from when it does."""
        for number, flight in enumerate(self.flights):
            if isinstance(flight.call, Nominate):
                yield ("carry out" if flight.answer is None else "answer"), number
        if BUDGET in self.untold:
            yield "tell", BUDGET
        for name in VICTIMS:
            if name not in self.pods and self.generation[name] < 2:
                yield "again", name

    def _fair(self) -> Iterator[tuple[str, Any]]:
        for number, flight in enumerate(self.flights):
            yield ("carry out" if flight.answer is None else "answer"), number
        for key in self.untold:
            yield "tell", key
        for name, obj in self.pods.items():
            if "deletionTimestamp" in obj["metadata"]:
                yield "gone", name

    def _unfair(self) -> Iterator[tuple[str, Any]]:
        yield "crash", None
        for number, flight in enumerate(self.flights):
            if flight.answer is not None:
                yield "lost after", number
            else:
                yield "lost before", number
                if isinstance(flight.call, Evict):
                    yield "refuse", number
        if "p2" in self.pods and self.generation["p2"] < 2:
            yield "leave", "p2"
        for name in VICTIMS:
            if name in self.pods and self.generation[name] < 2:
                yield "end", name
        if self.allowed:
            yield "tighten", None
        else:
            yield "loosen", None
        if self.setting.queued:
            yield "limit", 3 - self.limit
        taken = {obj["spec"].get("nodeName") for obj in self.pods.values()}
        for name in NODES:
            if name not in taken:
                yield "steal", name

    def do(self, what: str, which: Any) -> None:
        """Let something happen, of which the scheduler has not heard yet."""
        self.path += ((what, which),)
        self.faults += what in FAULTS
        self.idle = self.idle + 1 if what == "time" else 0
        getattr(self, "_" + what.replace(" ", "_"))(which)

    def tell(self, **what: Any) -> None:
        """Tell the scheduler something."""
        self.news += (News(self.now, **what),)

    def _time(self, _: None) -> None:
        following = self.core.next_time(self.now)
        assert following is not None
        self.now = max(following, self.now + 0.01)
        self.tell()

    def _carry_out(self, number: int) -> None:
        self.flights[number].answer = self._carried_out(self.flights[number].call)

    def _answer(self, number: int) -> None:
        self.tell(answer=self.flights.pop(number).answer)

    def _tell(self, key: Key) -> None:
        del self.untold[key]
        self.tell(key=key, obj=self._stored(key))

    def _stored(self, key: Key) -> dict[str, Any] | None:
        if key == BUDGET:
            return self.budget()
        return self.queue() if key == QUEUE else self.pods.get(key.name)

    def _arrive(self, _: None) -> None:
        self.pods["p2"] = self._made("p2")
        self._changed("p2")

    def _again(self, name: str) -> None:
        self.pods[name] = self._made(name)
        self._changed(name)

    def _gone(self, name: str) -> None:
        del self.pods[name]
        self._changed(name)

    def _leave(self, name: str) -> None:
        self._gone(name)

    def _end(self, name: str) -> None:
        self._gone(name)

    def _tighten(self, _: None) -> None:
        self.allowed = 0
        self.untold[BUDGET] = None

    def _loosen(self, _: None) -> None:
        self.allowed = 2
        self.untold[BUDGET] = None

    def _limit(self, limit: int) -> None:
        self.limit = limit
        self.untold[QUEUE] = None

    def _steal(self, name: str) -> None:
        self.pods[f"x{name}"] = pod(f"x{name}", on=name, scheduler="other", phase="Running")
        self._changed(f"x{name}")

    def _crash(self, _: None) -> None:
        self.flights.clear()
        self.crashed = True
        self.start()

    def _lost_before(self, number: int) -> None:
        self.tell(answer=Answered(self.flights.pop(number).call, Answer.LOST))

    def _lost_after(self, number: int) -> None:
        self.tell(answer=Answered(self.flights.pop(number).call, Answer.LOST))

    def _refuse(self, number: int) -> None:
        self.flights[number].answer = Answered(self.flights[number].call, Answer.LATER)

    def _changed(self, name: str) -> None:
        self.untold[Key("", "Pod", "default", name)] = None
        if name in VICTIMS:
            self.untold[BUDGET] = None

    # ---- the server ----

    def _carried_out(self, call: Call) -> Answered:
        assert not isinstance(call, Prepare | Undo)
        name = call.pod.name
        found = self.pods.get(name)
        if found is None or found["metadata"]["uid"] != call.uid:
            return Answered(call, Answer.GONE)
        has = found["spec"].get("nodeName", "")
        match call:
            case Look():
                return Answered(call, Answer.DONE, "", call.uid, has)
            case Bind(node=node_name):
                if has or "deletionTimestamp" in found["metadata"]:
                    return Answered(call, Answer.CONFLICT)
                self.pods[name] = {**found, "spec": {**found["spec"], "nodeName": node_name}}
            case Nominate(node=node_name):
                status = {**found["status"], "nominatedNodeName": node_name}
                self.pods[name] = {**found, "status": status}
                return Answered(call, Answer.DONE)
            case Evict():
                if "deletionTimestamp" not in found["metadata"]:
                    if name in VICTIMS and not self.budget()["status"]["disruptionsAllowed"]:
                        return Answered(call, Answer.LATER)
                    metadata = {**found["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
                    self.pods[name] = {**found, "metadata": metadata}
                    self.evicted += (call.uid,)
        self._changed(name)
        return Answered(call, Answer.DONE)

    # ---- what must hold ----

    def state(self) -> object:
        """What tells two moments apart, as far as what can follow is concerned."""
        core = self.core
        pods = (
            (
                name,
                obj["metadata"]["uid"],
                obj["spec"].get("nodeName", ""),
                obj["status"].get("nominatedNodeName", ""),
                "deletionTimestamp" in obj["metadata"],
                core.state.node_of(Key("", "Pod", "default", name)),
            )
            for name, obj in sorted(self.pods.items())
        )
        return (
            tuple(pods),
            tuple(sorted(map(repr, (flight.state() for flight in self.flights)))),
            tuple(sorted(self.untold)),
            (self.faults, self.idle, self.allowed, self.limit, tuple(sorted(self.generation.items()))),
            core.acting.describe(),
            core.gangs.describe(self.now),
            core.preemptions.describe(self.now),
            core.queue.describe(),
        )

    def check(self) -> None:
        """Holds at every moment."""
        preemptions = self.core.preemptions
        planned: set[Key] = set()
        for preemption in preemptions.under_way():
            assert self.now <= preemption.deadline < inf, preemption
            pods = {pod.key for pod in preemption.pods_to_evict}
            assert not planned & pods, "a pod is evicted for two units"
            planned |= pods
            assert preemptions.is_kept(preemption.plan.key), "a nomination exceeds what its plan frees"
        on: dict[str, int] = {}
        for obj in self.pods.values():
            if where := obj["spec"].get("nodeName"):
                on[where] = on.get(where, 0) + 1
        stolen = any(name.startswith("x") for name in self.pods)
        assert stolen or max(on.values(), default=0) <= 1, on
        assert len(set(self.evicted)) == len(self.evicted), self.evicted

    def check_end(self) -> None:
        """Holds when nothing more happens."""
        bound = {name for name, obj in self.pods.items() if obj["spec"].get("nodeName")}
        if any(name.startswith("x") for name in self.pods):
            return
        gang = [name for name in PREEMPTOR if name in self.pods]
        free = self.allowed or not bound & set(VICTIMS)
        if len(gang) >= self.setting.minimum and free and (not self.setting.queued or self.limit == 2):
            assert set(gang) <= bound, "the preemptor is not bound"
        victims = bound & set(VICTIMS)
        assert len(victims) in (0, 2) or self.faults, "a gang was left in part"
        assert not self.core.acting, self.core.acting.describe()

    def is_settled(self, choices: Iterable[tuple[str, Any]]) -> bool:
        """Whether nothing but faults can happen."""
        return all(what in FAULTS for what, _ in choices)


def explore(budget: int, setting: Setting) -> tuple[int, int]:
    """Try everything with so many faults; how many states there are, and how many ends."""
    seen: set[object] = set()
    ends = 0
    pending = [[Model(setting)]]
    scheduler = Told(())
    while pending:
        moments = pending.pop()
        scheduler = scheduler.told(moments[0].news)
        for model in moments:
            model.led_by(scheduler)
        following_news: dict[str, list[Model]] = {}
        while moments:
            model = moments.pop()
            state = model.state()
            if state in seen:
                continue
            seen.add(state)
            try:
                model.check()
                choices = list(model.choices(budget))
                if model.is_settled(choices):
                    ends += 1
                    model.check_end()
            except AssertionError as error:
                raise AssertionError(f"{error}\nafter {model.path}") from error
            for choice in choices:
                following = model.copy()
                following.do(*choice)
                if following.news is model.news:
                    moments.append(following)
                else:
                    del following.core
                    following_news.setdefault(repr(following.news[-1]), []).append(following)
        pending.extend(following_news.values())
    return len(seen), ends
