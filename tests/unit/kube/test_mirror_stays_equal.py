"""A mirror never goes back in time, notices that a watch is silent, and compares itself with the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from closeknit.kube.errors import ForbiddenError, GoneError, UnavailableError
from closeknit.kube.mirror import COMPARISON_INTERVAL, SILENCE, Difference, Key
from closeknit.kube.port import Bookmark, Change, ChangeType, Object
from closeknit.testing.clock import HandClock
from tests.unit.kube.scripted import (
    END,
    HANG,
    Scripted,
    Step,
    added,
    deleted,
    identities,
    modified,
    names,
    page,
    pod,
    running,
)

BOUND = pod("a", "n1")
WAITING = pod("a")


@pytest.mark.parametrize(
    ("events", "left"),
    [
        pytest.param([modified(BOUND, 7), modified(WAITING, 6)], [BOUND], id="an old change of an object"),
        pytest.param([modified(BOUND, 7), added(WAITING, 6)], [BOUND], id="an old addition of an object"),
        pytest.param([modified(BOUND, 7), modified(WAITING, 7)], [BOUND], id="a second event of one version"),
        pytest.param([modified(BOUND, 7), added(WAITING, 5)], [BOUND], id="what the list has shown"),
        pytest.param(
            [deleted(WAITING, 6), added(BOUND, 8), deleted(WAITING, 6)],
            [BOUND],
            id="the deletion of an earlier object of the same name",
        ),
        pytest.param(
            [deleted(WAITING, 6), modified(WAITING, 4)], [], id="an old change of an object that was deleted"
        ),
        pytest.param(
            [added(pod("b"), 6), deleted(pod("b"), 8), added(pod("b"), 6)],
            [WAITING],
            id="an old addition of an object that was deleted",
        ),
        pytest.param(
            [deleted(pod("b"), 8), added(pod("b"), 6)],
            [WAITING],
            id="an addition that comes after the deletion of its object",
        ),
        pytest.param([added(pod("b"), 4)], [WAITING], id="an addition that the list did not have any more"),
        pytest.param(
            [added(pod("b"), 6), deleted(pod("b"), 7), Bookmark("9"), added(pod("b"), 6)],
            [WAITING],
            id="an old addition after a bookmark",
        ),
        pytest.param(
            [deleted(pod("b"), 8), Bookmark("7"), added(pod("b"), 6)],
            [WAITING],
            id="an old addition after an old bookmark",
        ),
    ],
)
async def test_an_old_event_changes_nothing(events: list[Any], left: list[Object]) -> None:
    script = Scripted([page(WAITING, version=5)], [[*events, HANG]])
    async with running(script, HandClock()) as mirror:
        assert list(mirror) == left
        assert mirror.repairs.old_events >= 1
        newest = max(5, *(int(each.resource_version) for each in events))
        assert mirror.freshness().resource_version == str(newest)


@pytest.mark.parametrize(
    ("events", "left"),
    [
        pytest.param(
            [modified(BOUND, 6), deleted(BOUND, 6)], [], id="a deletion in the last version of its object"
        ),
        pytest.param([deleted(WAITING, 6), added(BOUND, 7)], [BOUND], id="an object that is created again"),
        pytest.param(
            [modified(BOUND, 9), added(pod("b"), 8)],
            [BOUND, pod("b")],
            id="events of two objects in the wrong order",
        ),
        pytest.param([Bookmark("9"), added(pod("b"), 10)], [pod("b"), WAITING], id="what follows a bookmark"),
    ],
)
async def test_an_event_that_is_not_old_is_taken(events: list[Any], left: list[Object]) -> None:
    script = Scripted([page(WAITING, version=5)], [[*events, HANG]])
    async with running(script, HandClock()) as mirror:
        assert sorted(mirror, key=str) == sorted(left, key=str)
        assert mirror.repairs.old_events == 0


async def test_an_event_of_an_opaque_version_is_taken_as_it_comes() -> None:
    events = [Change(ChangeType.MODIFIED, BOUND, "b-2"), Change(ChangeType.MODIFIED, WAITING, "a-1")]
    script = Scripted([page(WAITING, version=5)], [[*events, HANG]])
    async with running(script, HandClock()) as mirror:
        assert list(mirror) == [WAITING]
        assert mirror.freshness().resource_version == "a-1"
        assert mirror.repairs.old_events == 0


async def test_the_mirror_of_a_server_without_bookmarks_forgets_old_deletions_and_ignores_old_events() -> (
    None
):
    many = 10_050
    came_and_went: list[Any] = [
        event
        for number in range(many)
        for event in (added(pod(f"p{number}"), 10 + 2 * number), deleted(pod(f"p{number}"), 11 + 2 * number))
    ]
    script = Scripted([page(version=5)], [[*came_and_went, added(pod("p0"), 10), HANG]])
    async with running(script, HandClock()) as mirror:
        assert len(mirror) == 0
        assert mirror.repairs.old_events == 1
        assert len(mirror._versions._tombstones) == 10_000


# ------------------------------------------------------------------------------------------------ old lists


async def test_a_list_older_than_the_last_event_is_refused_and_asked_for_again() -> None:
    clock = HandClock()
    script = Scripted(
        [page(WAITING, version=5), page(WAITING, version=6), page(BOUND, version=8)],
        [[modified(BOUND, 7), GoneError("too old")]],
        clock=clock,
    )
    async with running(script, clock) as mirror:
        await clock.advance(0.3)
        assert script.asked == ["list 500", "watch 5", "list 500"]
        assert list(mirror) == [BOUND]
        assert mirror.is_behind()

        await clock.advance(1)
        assert script.asked[3:] == ["list 500", "watch 8"]
        assert list(mirror) == [BOUND]
        assert not mirror.is_behind()
        assert mirror.repairs.old_lists == 1


async def test_a_later_page_that_is_older_refuses_the_whole_list() -> None:
    clock = HandClock()
    script = Scripted(
        [
            page(WAITING, version=5),
            page(BOUND, version=8, token="t"),
            page(version=6),
            page(BOUND, pod("b"), version=9),
        ],
        [[modified(BOUND, 7), GoneError("too old")]],
        clock=clock,
    )
    async with running(script, clock, page_size=1) as mirror:
        await clock.advance(5)
        assert script.asked == ["list 1", "watch 5", "list 1", "list 1 t", "list 1", "watch 9"]
        assert names(mirror) == ["a", "b"]


async def test_a_server_whose_lists_stay_older_was_restored_and_is_followed() -> None:
    clock = HandClock()
    script = Scripted(
        [page(WAITING, version=500), *[page(BOUND, version=20)] * 40],
        [[GoneError("too old")], [modified(WAITING, 21), HANG]],
        clock=clock,
    )
    async with running(script, clock) as mirror:
        await clock.advance(59)
        assert list(mirror) == [WAITING]
        assert mirror.is_behind()

        await clock.advance(60)
        assert script.asked[-1] == "watch 20"
        assert mirror.repairs.restored == 1
        assert mirror.repairs.old_events == 0
        assert not mirror.is_behind()
        assert list(mirror) == [WAITING]


async def test_two_lists_that_were_older_an_hour_apart_do_not_make_a_restored_server() -> None:
    clock = HandClock()
    script = Scripted(
        [page(WAITING, version=500), page(version=400), page(BOUND, version=600), page(version=400)],
        [[GoneError("too old")], [3600.0, GoneError("too old")]],
        clock=clock,
    )
    script.lists.append(page(BOUND, version=700))
    async with running(script, clock, silence=inf, comparison_interval=inf) as mirror:
        await clock.advance(3605)
        assert script.asked[-1] == "watch 700"
        assert list(mirror) == [BOUND]
        assert (mirror.repairs.old_lists, mirror.repairs.restored) == (2, 0)


# ------------------------------------------------------------------------------------------------- silence


async def test_a_silent_watch_is_opened_again_at_the_last_version() -> None:
    clock = HandClock()
    script = Scripted([page(version=5)], [[Bookmark("9"), HANG], [added(WAITING, 10), HANG]], clock=clock)
    async with running(script, clock) as mirror:
        await clock.advance(0.84 * SILENCE)
        assert script.asked == ["list 500", "watch 5"]

        await clock.advance(0.17 * SILENCE)
        assert script.asked == ["list 500", "watch 5", "watch 9"]
        assert list(mirror) == [WAITING]
        assert mirror.repairs.silent_watches == 1


async def test_the_mirror_is_behind_from_the_silence_until_a_watch_is_open() -> None:
    clock = HandClock()
    script = Scripted(
        [page(version=5)],
        [[Bookmark("9"), HANG], [UnavailableError("down")], [Bookmark("9"), HANG]],
        clock=clock,
    )
    async with running(script, clock, silence=10) as mirror:
        await clock.advance(8.4)
        assert not mirror.is_behind()
        await until(clock, lambda: len(script.asked) == 3, step=0.1)
        assert mirror.is_behind()
        await clock.advance(1)
        assert not mirror.is_behind()


async def test_a_watch_with_bookmarks_once_a_minute_is_not_silent() -> None:
    clock = HandClock()
    bookmarks = [each for number in range(30) for each in (60.0, Bookmark(str(6 + number)))]
    script = Scripted([page(version=5)], [[*bookmarks, HANG]], clock=clock)
    async with running(script, clock, comparison_interval=inf) as mirror:
        await clock.advance(30 * 60)
        assert script.asked == ["list 500", "watch 5"]
        assert mirror.repairs.silent_watches == 0


async def test_an_event_shortly_before_the_limit_ends_the_silence() -> None:
    clock = HandClock()
    script = Scripted([page(version=5)], [[86.0, Bookmark("9"), HANG]], clock=clock)
    async with running(script, clock, silence=100, comparison_interval=inf) as mirror:
        await clock.advance(86 + 84)
        assert script.asked == ["list 500", "watch 5"]
        await clock.advance(16)
        assert script.asked == ["list 500", "watch 5", "watch 9"]
        assert mirror.repairs.silent_watches == 1


async def test_a_watch_that_the_server_never_takes_is_given_up() -> None:
    clock = HandClock()
    script = Scripted([page(version=5)], [[HANG], [HANG]], clock=clock)
    async with running(script, clock, silence=10) as mirror:
        await clock.advance(11)
        assert script.asked == ["list 500", "watch 5", "watch 5"]
        # Nothing shows that the second one is taken.
        assert mirror.is_behind()


async def test_a_watch_that_is_taken_and_silent_is_not_behind_until_the_limit() -> None:
    clock = HandClock()
    script = Scripted([page(version=5)], opens=True, clock=clock)
    async with running(script, clock, silence=10, comparison_interval=inf) as mirror:
        await clock.advance(35)
        assert not mirror.is_behind()
        assert mirror.repairs.silent_watches == 3


# --------------------------------------------------------------------------------------------- comparisons

ONE = pod("a", version=4, uid="1")
TWO = pod("b", version=5, uid="2")


@pytest.mark.parametrize(
    ("server", "difference"),
    [
        pytest.param([ONE], Difference((), (Key("ns", "b"),), ()), id="has an object less"),
        pytest.param(
            [ONE, TWO, pod("c", version=3)], Difference((Key("ns", "c"),), (), ()), id="has one more"
        ),
        pytest.param(
            [pod("a", version=3, uid="1"), TWO],
            Difference((), (), (Key("ns", "a"),)),
            id="has another version",
        ),
        pytest.param(
            [pod("a", version=4, uid="9"), TWO],
            Difference((), (), (Key("ns", "a"),)),
            id="has another object of the same name",
        ),
    ],
)
async def test_a_difference_is_counted_and_named_and_everything_listed(
    server: list[Object], difference: Difference
) -> None:
    clock = HandClock()
    differences: list[Difference] = []
    script = Scripted(
        [listed(ONE, TWO, version=5), listed(ONE, version=9)],
        compared=[identities(*server, version=5)],
        clock=clock,
    )
    async with running(script, clock, silence=inf, on_difference=differences.append) as mirror:
        await clock.advance(0.5 * COMPARISON_INTERVAL - 1)
        assert script.asked == ["list 500", "watch 5"]

        await clock.advance(COMPARISON_INTERVAL)
        assert script.asked == ["list 500", "watch 5", "identities 500 5", "list 500", "watch 9"]
        assert list(mirror) == [ONE]
        assert differences == [difference]
        assert mirror.repairs.differences == 1


async def test_an_equal_server_is_compared_again_and_again_and_never_listed() -> None:
    clock = HandClock()
    script = Scripted(
        [listed(ONE, TWO, version=5)],
        compared=[
            identities(ONE, version=5, token="t"),
            identities(TWO, version=5),
            identities(ONE, TWO, version=5),
        ],
        clock=clock,
    )
    async with running(script, clock, silence=inf, page_size=1) as mirror:
        await until(clock, lambda: not script.compared)
        assert script.asked == ["list 1", "watch 5", "identities 1 5", "identities 1 t", "identities 1 5"]
        assert 2 * 0.5 * COMPARISON_INTERVAL <= clock.monotonic() <= 2 * 1.6 * COMPARISON_INTERVAL
        assert (mirror.repairs.comparisons, mirror.repairs.differences) == (2, 0)
        assert not mirror.is_behind()


async def test_a_watch_that_ends_every_minute_does_not_put_off_the_comparison() -> None:
    clock = HandClock()
    ending: list[list[Step]] = [[55.0, Bookmark("5"), END] for _ in range(40)]
    script = Scripted(
        [listed(ONE, version=5)], ending, compared=[identities(ONE, version=5)] * 2, clock=clock
    )
    async with running(script, clock) as mirror:
        await clock.advance(2 * 1.6 * COMPARISON_INTERVAL)
        assert mirror.repairs.comparisons == 2


async def test_what_changes_during_a_comparison_is_no_difference() -> None:
    clock = HandClock()
    script = Scripted([listed(ONE, TWO, version=5)], clock=clock)
    answered = asyncio.Event()

    async def slowly(*_: Any, **__: Any) -> Any:
        script.asked.append("identities")
        await answered.wait()
        return identities(ONE, TWO, version=5)

    script.identities = slowly  # type: ignore[method-assign]
    async with running(script, clock, silence=inf) as mirror:
        await until(clock, lambda: script.asked[-1] == "identities")
        mirror._take(deleted(TWO, 6))
        mirror._take(modified(pod("a", "n1", version=7), 7))
        answered.set()
        await clock.advance(1)
        assert (mirror.repairs.comparisons, mirror.repairs.differences) == (1, 0)


@pytest.mark.parametrize(
    "error",
    [GoneError("forgotten"), ForbiddenError("not yours"), UnavailableError("down")],
    ids=["forgot the version", "forbids it", "cannot be reached"],
)
async def test_a_comparison_that_the_server_cannot_answer_changes_nothing(error: Exception) -> None:
    clock = HandClock()
    script = Scripted([listed(ONE, version=5)], compared=[error, identities(ONE, version=5)], clock=clock)  # type: ignore[list-item]
    async with running(script, clock, silence=inf) as mirror:
        await until(clock, lambda: not script.compared)
        assert script.asked == ["list 500", "watch 5", "identities 500 5", "identities 500 5"]
        assert not mirror.is_behind()


async def test_an_old_event_brings_a_comparison_forward_once_a_minute() -> None:
    clock = HandClock()
    replays: list[Any] = [each for _ in range(240) for each in (1.0, added(TWO, 5))]
    script = Scripted(
        [listed(ONE, TWO, version=5)],
        [[*replays, HANG]],
        compared=[identities(ONE, TWO, version=5) for _ in range(10)],
        clock=clock,
    )
    async with running(script, clock) as mirror:
        await clock.advance(241)
        assert mirror.repairs.old_events == 240
        assert 1 <= mirror.repairs.comparisons <= 4
        assert mirror.repairs.differences == 0


async def test_the_doubt_of_an_old_event_ends_with_the_comparison() -> None:
    clock = HandClock()
    script = Scripted(
        [listed(ONE, version=5)],
        [[1.0, added(ONE, 4), HANG]],
        compared=[identities(ONE, version=5), UnavailableError("down")],
        clock=clock,
    )
    async with running(script, clock, silence=inf):
        await until(clock, lambda: not script.compared)
        await clock.advance(60)
        assert script.asked == ["list 500", "watch 5", "identities 500 5", "identities 500 5"]


async def test_a_server_that_counts_from_an_older_version_is_followed() -> None:
    """As one does that was restored: it does not know the version of the copy, and its events are old."""
    clock = HandClock()
    script = Scripted(
        [listed(ONE, version=500), *[listed(TWO, version=8)] * 40],
        [[1.0, added(TWO, 7), HANG]],
        compared=[UnavailableError("too large resource version")],
        clock=clock,
    )
    async with running(script, clock) as mirror:
        await clock.advance(300)
        assert list(mirror) == [TWO]
        assert script.asked[-1] == "watch 8"
        assert mirror.repairs.restored == 1


async def test_a_copy_of_an_opaque_version_is_not_compared() -> None:
    clock = HandClock()
    script = Scripted([page(ONE, version=5)], [[Bookmark("opaque"), HANG]], clock=clock)
    async with running(script, clock, silence=inf) as mirror:
        await clock.advance(3 * COMPARISON_INTERVAL)
        assert script.asked == ["list 500", "watch 5"]
        assert not mirror.is_behind()


async def until(clock: HandClock, done: Callable[[], bool], *, step: float = 60.0) -> None:
    for _ in range(100):
        if done():
            return
        await clock.advance(step)
    raise AssertionError


def listed(*objects: Object, version: int) -> Any:
    """A page that states the version of each object, as a server does."""
    made = page(*objects, version=version)
    versions = [each["metadata"]["resourceVersion"] for each in objects]
    return type(made)(made.items, made.resource_version, versions=versions)
