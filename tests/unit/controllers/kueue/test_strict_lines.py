"""Only the first of a line may be tried, and a long line costs no more a Workload than a short one."""

from __future__ import annotations

from random import Random

from closeknit.controllers.kueue.strict_lines import StrictLines
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.waiting import WaitingQueue, order
from closeknit.testing.builders import pods, request


class Counting(WaitingQueue):
    """Knows who is in it, and how often it was asked."""

    def __init__(self) -> None:
        super().__init__(Random(1))
        self.there: set[Key] = set()
        self.calls = 0

    def put(self, workload: PlaceableWorkload, *, by_labels: bool = False) -> None:
        self.calls += 1
        self.there.add(workload.object.key)
        super().put(workload, by_labels=by_labels)

    def remove(self, key: Key) -> None:
        self.calls += 1
        self.there.discard(key)
        super().remove(key)


def workload(number: int, priority: int) -> PlaceableWorkload:
    name = ObjectName("kueue.x-k8s.io/v1beta2", "Workload", "default", f"w{number}")
    return PlaceableWorkload(name, "Kueue", request(f"w{number}", pods("p", 1)), priority=priority)


def test_the_first_of_every_line_may_be_tried_and_nobody_else() -> None:
    dice, queue, standing = Random(7), Counting(), dict[Key, tuple[str, PlaceableWorkload]]()
    lines = StrictLines(queue)
    for _ in range(2_000):
        one = workload(dice.randrange(30), dice.randrange(5))
        key = one.object.key
        if dice.random() < 0.3:
            queue.remove(key)
            lines.leave(key)
            standing.pop(key, None)
        else:
            name = dice.choice("ab")
            lines.line_up(name, one)
            standing[key] = (name, one)
        firsts = {
            min((each for line, each in standing.values() if line == name), key=order).object.key
            for name in {line for line, _ in standing.values()}
        }
        assert queue.there == firsts


def test_a_workload_more_in_a_long_line_takes_a_few_calls() -> None:
    queue = Counting()
    lines = StrictLines(queue)
    for number in range(500):
        lines.line_up("a", workload(number, priority=number % 7))
    lines.line_up("a", replace(workload(3, priority=3), priority=9))
    assert queue.calls < 4 * 500
