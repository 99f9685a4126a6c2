"""A model of an API server in which every step of the binding of a gang is a choice, faults included.

The scheduler's own core runs against it. Which call is carried out next, which answer arrives, which change is
told and whether something goes wrong are choices, and ``explore`` tries all of them; states that were seen before
are not followed again. A core cannot be copied, so it is made anew for every sequence of news that a scheduler can
be told, and serves all moments at which it was told just that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.commit import Answered, Bind, Call, Evict, Look, Nominate
from closeknit.scheduler.core import Core
from closeknit.scheduler.preparations import Prepare, Undo
from closeknit.testing.auditor import Cluster, audit
from tests.property.told import News, Told
from tests.unit.scheduler.objects import entry, node, pod, pod_group, together, topology

NODES = {name: node(name, 1, zone="z", rack=f"r{name[0]}") for name in ("a1", "a2", "b1", "b2")}
"""Two racks with room for one pod on each node."""
TREE = topology("zone", "rack")
GANG = pod_group("g", minMember=2, topologyConstraint=together("rack"))
NAMES = ("p1", "p2")
FAULTS = (
    "crash",
    "lost before",
    "lost after",
    "late",
    "refuse",
    "delete pod",
    "lose node",
    "rival takes room",
    "rival binds",
)


@dataclass
class Flight:
    """A call on its way; an answer once it was carried out."""

    call: Call
    answer: Answered | None = None
    forgotten: bool = False
    """Whether whoever sent it no longer waits for it."""

    def state(self) -> object:
        return (self.call, self.answer and (self.answer.answer, self.answer.node), self.forgotten)


@dataclass
class Model:
    """An API server, the network, and a scheduler's core."""

    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    nodes: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(NODES))
    flights: list[Flight] = field(default_factory=list)
    untold: dict[Key, None] = field(default_factory=dict)
    faults: int = 0
    now: float = 0.0
    idle: int = 0
    bindings: list[tuple[str, str]] = field(default_factory=list)
    rivals: bool = False
    arrived: bool = False
    """Whether a pod has come that goes before the gang and takes any room that is given away."""
    core: Core = field(init=False)
    news: tuple[News, ...] = ()
    """What the scheduler was told since it started; the last of it may still be on its way."""
    path: tuple[tuple[str, Any], ...] = ()
    """What has happened."""

    def __post_init__(self) -> None:
        for name in NAMES:
            self.pods[name] = pod(name, "g")
        self.start()

    # ---- the scheduler ----

    def start(self) -> None:
        """A new scheduler that reads the cluster as it is."""
        objects = (TREE, GANG, *self.nodes.values(), *self.pods.values(), *self.others())
        self.news = (News(self.now, everything=[entry(each) for each in objects]),)
        self.untold.clear()

    def others(self) -> Iterable[dict[str, Any]]:
        """Objects beside nodes, pods and their group."""
        return ()

    def tell(self, **what: Any) -> None:
        """Tell the scheduler something."""
        self.news += (News(self.now, **what),)

    def led_by(self, scheduler: Told) -> None:
        """Let a scheduler that was told this news send its calls."""
        self.core = scheduler.core
        self.flights += map(Flight, scheduler.sent)

    def copy(self) -> Self:
        """The same moment, at which something else can happen."""
        made = copy(self)
        made.pods, made.nodes, made.untold = dict(self.pods), dict(self.nodes), dict(self.untold)
        made.flights, made.bindings = [replace(each) for each in self.flights], list(self.bindings)
        return made

    # ---- what can happen next ----

    def choices(self, budget: int, *, arrivals: bool) -> Iterator[tuple[str, Any]]:
        """Everything that can happen next, faults included while some are left."""
        fair = list(self._fair())
        yield from fair
        if not fair and self.idle < 3:
            yield "time", None
        if arrivals and not self.arrived:
            yield "arrive", None
        if self.faults < budget:
            yield from self._unfair()

    def _fair(self) -> Iterator[tuple[str, Any]]:
        for i, flight in enumerate(self.flights):
            if flight.answer is None:
                yield "carry out", i
            elif not flight.forgotten:
                yield "answer", i
        for key in self.untold:
            yield "tell", key

    def _unfair(self) -> Iterator[tuple[str, Any]]:
        yield "crash", None
        for i, flight in enumerate(self.flights):
            if flight.answer is None and not flight.forgotten:
                yield "lost before", i
                yield "late", i
                if isinstance(flight.call, Bind | Prepare):
                    yield "refuse", i
            elif not flight.forgotten:
                yield "lost after", i
        for name, obj in self.pods.items():
            yield "delete pod", name
            if not obj["spec"].get("nodeName") and name in NAMES:
                yield "rival binds", name
        for name in self.nodes:
            yield "lose node", name
        for name in ("a1", "b1"):
            if name in self.nodes and not any(
                each["spec"].get("nodeName") == name for each in self.pods.values()
            ):
                yield "rival takes room", name

    def do(self, what: str, which: Any) -> None:
        """Let something happen, of which the scheduler has not heard yet."""
        self.path += ((what, which),)
        self.faults += what in FAULTS
        self.idle = self.idle + 1 if what == "time" else 0
        getattr(self, "_" + what.replace(" ", "_"))(which)

    def _time(self, _: None) -> None:
        self.now += 61.0
        self.tell()

    def _carry_out(self, i: int) -> None:
        flight = self.flights[i]
        flight.answer = self._carried_out(flight.call)
        if flight.forgotten:
            del self.flights[i]

    def _answer(self, i: int) -> None:
        answer = self.flights.pop(i).answer
        assert answer is not None
        self.tell(answer=answer)

    def _tell(self, key: Key) -> None:
        del self.untold[key]
        self.tell(key=key, obj=self.stored(key))

    def stored(self, key: Key) -> dict[str, Any] | None:
        """An object as it is now; None where it has gone."""
        return (self.pods if key.kind == "Pod" else self.nodes).get(key.name)

    def _crash(self, _: None) -> None:
        # The lease outlasts every call of whoever held it: what was not carried out by now never will be.
        self.flights.clear()
        self.start()

    def _lost_before(self, i: int) -> None:
        self._lost(self.flights.pop(i).call)

    def _lost_after(self, i: int) -> None:
        self._lost(self.flights.pop(i).call)

    def _late(self, i: int) -> None:
        """It is given up, and may still be carried out."""
        self.flights[i].forgotten = True
        self._lost(self.flights[i].call)

    def _lost(self, call: Call) -> None:
        self.tell(answer=Answered(call, Answer.LOST))

    def _refuse(self, i: int) -> None:
        self.flights[i].answer = Answered(self.flights[i].call, Answer.REFUSED, "A webhook refused it.")

    def _delete_pod(self, name: str) -> None:
        del self.pods[name]
        self._changed("Pod", name)

    def _lose_node(self, name: str) -> None:
        del self.nodes[name]
        self.untold[Key("", "Node", "", name)] = None
        for each in [name_ for name_, obj in self.pods.items() if obj["spec"].get("nodeName") == name]:
            self._delete_pod(each)

    def _rival_takes_room(self, name: str) -> None:
        self.rivals = True
        self.pods[f"x{name}"] = pod(f"x{name}", on=name, scheduler="other")
        self._changed("Pod", f"x{name}")

    def _rival_binds(self, name: str) -> None:
        self.rivals = True
        taken = {obj["spec"].get("nodeName") for obj in self.pods.values()}
        free = [each for each in ("b2", "b1", "a2", "a1") if each in self.nodes and each not in taken]
        if free:
            self.pods[name] = _on(self.pods[name], free[0])
            self._changed("Pod", name)

    def _arrive(self, _: None) -> None:
        self.arrived = True
        self.pods["q"] = pod("q", priority=1000)
        self._changed("Pod", "q")

    def _changed(self, kind: str, name: str) -> None:
        self.untold[Key("", kind, "default", name)] = None

    # ---- the server ----

    def _carried_out(self, call: Call) -> Answered:
        assert not isinstance(call, Prepare | Undo)
        found = self.pods.get(call.pod.name)
        if found is None or found["metadata"]["uid"] != call.uid:
            return Answered(call, Answer.GONE)
        has = found["spec"].get("nodeName", "")
        match call:
            case Look():
                return Answered(call, Answer.DONE, "", call.uid, has)
            case Bind(node=name):
                if has:
                    return Answered(call, Answer.CONFLICT)
                self.pods[call.pod.name] = _on(found, name)
                self.bindings.append((call.uid, name))
            case Evict():
                del self.pods[call.pod.name]
            case Nominate():
                return Answered(call, Answer.DONE)
        self._changed("Pod", call.pod.name)
        return Answered(call, Answer.DONE)

    # ---- what must hold ----

    def state(self) -> object:
        """What tells two moments apart, as far as what can follow is concerned."""
        state, acting = self.core.state, self.core.acting
        believed = tuple(
            (
                name,
                stored.content.spec.node_name
                if (stored := state.pod(Key("", "Pod", "default", name)))
                else None,
            )
            for name in NAMES
        )
        return (
            tuple(sorted((name, obj["spec"].get("nodeName", "")) for name, obj in self.pods.items())),
            tuple(sorted(self.nodes)),
            tuple(sorted(map(repr, (flight.state() for flight in self.flights)))),
            tuple(sorted(self.untold)),
            self.faults,
            self.arrived,
            self.idle,
            believed,
            acting.describe(),
            self.core.gangs.describe(self.now),
        )

    def check(self) -> None:
        """Holds at every moment: room that may be in use is believed to be."""
        for flight in self.flights:
            call = flight.call
            if (
                isinstance(call, Bind)
                and not flight.forgotten
                and flight.answer is None
                and call.pod.name in self.pods
            ):
                stored = self.core.state.pod(call.pod)
                told = call.pod not in self.untold
                if told and stored is not None and call.node in self.nodes:
                    assert stored.content.spec.node_name, flight
        if not self.rivals:
            wrong = [each for each in self.wrong() if "to offer" in each]
            assert wrong == [], wrong
        by_uid: dict[str, int] = {}
        for uid, _ in self.bindings:
            by_uid[uid] = by_uid.get(uid, 0) + 1
        assert all(number == 1 for number in by_uid.values()), self.bindings

    def wrong(self) -> list[str]:
        """What an auditor says who sees the cluster at this moment."""
        return audit(Cluster(list(self.nodes.values()), list(self.pods.values()), [GANG], [TREE]))

    def check_end(self) -> None:
        """Holds when nothing more happens."""
        wrong = self.wrong()
        if self.rivals:
            # Who binds pods of others may break their constraints, and take room that is in use.
            wrong = [each for each in wrong if "partial" in each]
        assert wrong == [], wrong
        assert not self.core.acting, self.core.acting.describe()


def _on(obj: dict[str, Any], name: str) -> dict[str, Any]:
    return {**obj, "spec": {**obj["spec"], "nodeName": name}}


def explore(budget: int, *, arrivals: bool = False, made: Callable[[], Model] = Model) -> tuple[int, int]:
    """Try everything with so many faults; how many states there are, and how many ends."""
    seen: set[object] = set()
    ends = 0
    pending = [[made()]]
    scheduler = Told(())
    while pending:
        moments = pending.pop()
        scheduler = scheduler.told(moments[0].news)
        for each in moments:
            each.led_by(scheduler)
        told: dict[str, list[Model]] = {}
        while moments:
            model = moments.pop()
            state = model.state()
            if state in seen:
                continue
            seen.add(state)
            try:
                model.check()
                choices = list(model.choices(budget, arrivals=arrivals))
                if all(what in FAULTS or what == "arrive" for what, _ in choices):
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
                    told.setdefault(repr(following.news[-1]), []).append(following)
        pending.extend(told.values())
    return len(seen), ends
