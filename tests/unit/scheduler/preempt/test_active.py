"""What a scheduler asks for while several preemptions are under way, given what it was told by then."""

from __future__ import annotations

from typing import Any

from closeknit.hub.keys import Key
from closeknit.live.entries import entry_of
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.commit import Answered, Bind, Evict
from closeknit.scheduler.preempt.disruption_budgets import DISRUPTION_BUDGETS
from tests.property.preemption_model import BUDGET, CLASSES
from tests.property.told import News, Told
from tests.unit.scheduler.objects import entry, node, pod, pod_group


def budget(allowed: int) -> dict[str, Any]:
    """The budget of all pods that run, as its controller wrote it last."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "low"}}},
        "status": {"disruptionsAllowed": allowed},
    }


def full(*more: dict[str, Any], allowed: int) -> Told:
    """A scheduler that has seen two nodes, a single pod on each, and a budget that covers both."""
    objects = [*CLASSES, *more]
    for name in ("a", "b"):
        low = {"labels": {"app": "low"}}
        objects += [
            node(f"on-{name}", 1),
            pod(name, on=f"on-{name}", phase="Running", priorityClassName="low", metadata=low),
        ]
    (kind,) = DISRUPTION_BUDGETS.kinds
    budgets = entry_of(kind, "policy/v1", budget(allowed))
    return Told([News(0.0, everything=[*map(entry, objects), budgets])])


def evictions(scheduler: Told, *news: News) -> list[Evict]:
    """What is asked to be evicted when all of this was heard."""
    asked: list[Evict] = []
    for each in news:
        scheduler.tell(each)
        asked += [call for call in scheduler.sent if isinstance(call, Evict)]
    return asked


def arrives(name: str, now: float, group: str = "") -> list[News]:
    """A pod that precedes others, and enough time to see that it stays as it is."""
    key = Key("", "Pod", "default", name)
    return [News(now, key=key, obj=pod(name, group, priorityClassName="high")), News(now + 0.6)]


def test_an_accepted_eviction_is_counted_until_the_budget_is_heard_of_again() -> None:
    scheduler = full(allowed=1)
    (first,) = evictions(scheduler, *arrives("first", 1.0))

    assert evictions(scheduler, News(2.0, answer=Answered(first, Answer.DONE))) == []
    assert evictions(scheduler, *arrives("second", 3.0)) == []
    assert evictions(scheduler, News(5.0, key=BUDGET, obj=budget(0))) == []
    (second,) = evictions(scheduler, News(6.0, key=BUDGET, obj=budget(1)), News(7.0))
    assert {first.pod.name, second.pod.name} == {"a", "b"}


def test_a_plan_that_is_extended_asks_for_no_eviction_twice() -> None:
    # The first one was accepted, and the server has not told yet that the pod is being deleted.
    scheduler = full(pod_group("g", minMember=1, priorityClassName="high"), allowed=2)
    (first,) = evictions(scheduler, *arrives("g-0", 1.0, "g"))
    assert evictions(scheduler, News(2.0, answer=Answered(first, Answer.DONE))) == []

    (second,) = evictions(scheduler, *arrives("g-1", 3.0, "g"))
    assert {first.pod.name, second.pod.name} == {"a", "b"}


def test_an_eviction_that_is_refused_for_now_is_asked_for_again_after_growing_pauses() -> None:
    scheduler = full(allowed=1)
    (first,) = evictions(scheduler, *arrives("first", 1.0))

    now = 2.0
    for pause in (0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0):
        refused = News(now, answer=Answered(first, Answer.LATER))
        assert evictions(scheduler, refused, News(now + 0.9 * pause)) == []
        now += pause
        assert evictions(scheduler, News(now)) == [first]


def test_a_unit_is_considered_again_once_another_one_was_bound_of_which_pods_may_be_evicted() -> None:
    scheduler = Told([News(0.0, everything=[entry(each) for each in (*CLASSES, node("n", 1))])])
    low = pod("low", priorityClassName="low")
    scheduler.tell(News(1.0, key=Key("", "Pod", "default", "low"), obj=low))
    (bind,) = scheduler.sent
    assert isinstance(bind, Bind)
    assert evictions(scheduler, *arrives("first", 2.0), News(9.0)) == []

    (eviction,) = evictions(scheduler, News(10.0, answer=Answered(bind, Answer.DONE)), News(11.0), News(12.0))
    assert eviction.pod == bind.pod
