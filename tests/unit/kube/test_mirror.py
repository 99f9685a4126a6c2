from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any, cast

import pytest

from closeknit.kube.errors import ApiError, ForbiddenError, GoneError, UnavailableError
from closeknit.kube.mirror import Key, Mirror, Notice
from closeknit.kube.port import Bookmark, KubernetesApi, Object
from closeknit.kube.resources import PODS
from closeknit.testing.clock import HandClock
from tests.unit.kube.scripted import (
    END,
    HANG,
    Scripted,
    Step,
    added,
    deleted,
    modified,
    names,
    page,
    pod,
    running,
)


async def test_a_list_is_followed_by_a_watch_from_its_version() -> None:
    script = Scripted([page(pod("a"), version=5)], [[added(pod("b"), 6), deleted(pod("a"), 7)]])
    async with running(script, HandClock()) as mirror:
        await mirror.synced()

        assert script.asked == ["list 500", "watch 5"]
        assert names(mirror) == ["b"]
        assert mirror.freshness().resource_version == "7"
        assert mirror.get("b", "ns") == pod("b")
        assert mirror.get("a", "ns") is None


async def test_pages_are_put_together() -> None:
    script = Scripted([page(pod("a"), version=5, token="t"), page(pod("b"), version=5)])
    async with running(script, HandClock(), page_size=1) as mirror:
        assert script.asked == ["list 1", "list 1 t", "watch 5"]
        assert names(mirror) == ["a", "b"]


async def test_pages_that_the_server_forgot_are_asked_for_at_once() -> None:
    script = Scripted(
        [page(pod("old"), version=5, token="t"), GoneError("too old"), page(pod("a"), version=9)]
    )
    async with running(script, HandClock(), page_size=1) as mirror:
        assert script.asked == ["list 1", "list 1 t", "list 0", "watch 9"]
        assert names(mirror) == ["a"]


@pytest.mark.parametrize(
    "end", [END, UnavailableError("cut")], ids=["the server ends it", "the connection breaks"]
)
async def test_a_watch_that_ends_goes_on_where_it_was(end: str | ApiError) -> None:
    clock = HandClock()
    script = Scripted([page(version=5)], [[added(pod("a"), 6), end], [added(pod("b"), 7)]])
    async with running(script, clock) as mirror:
        await clock.advance(5)

        assert script.asked == ["list 500", "watch 5", "watch 6"]
        assert names(mirror) == ["a", "b"]


async def test_a_bookmark_moves_the_place_to_go_on_from() -> None:
    script = Scripted([page(version=5)], [[Bookmark("90"), END]])
    async with running(script, HandClock()):
        assert script.asked == ["list 500", "watch 5", "watch 90"]


@pytest.mark.parametrize(
    "before", [[], [added(pod("c"), 6), END]], ids=["at the first watch", "in the middle of a resume"]
)
async def test_a_version_that_is_too_old_is_listed_again(before: list[Any]) -> None:
    clock = HandClock()
    script = Scripted(
        [page(pod("a"), pod("b"), version=5), page(pod("b", "n1"), version=20)],
        [*([before] if before else []), [GoneError("too old")]],
    )
    async with running(script, clock) as mirror:
        await clock.advance(5)

        assert script.asked[-2:] == ["list 500", "watch 20"]
        assert list(mirror) == [pod("b", "n1")]


async def test_waits_grow_with_each_failure_and_start_over_after_a_word() -> None:
    clock = HandClock()
    down: list[Step] = [UnavailableError("down")]
    script = Scripted([page(version=5)], [down, down, down, [Bookmark("6"), END], down, [HANG]], clock=clock)
    async with running(script, clock):
        await clock.advance(60)

    waits = [later - earlier for earlier, later in pairwise(script.watched_at)]
    first, second, third, after_end, again = waits
    assert 0.125 <= first <= 0.25 <= second <= 0.5 <= third <= 1.0
    assert after_end == 0
    assert 0.125 <= again <= 0.25


async def test_a_server_that_ends_every_watch_at_once_is_not_asked_all_the_time() -> None:
    clock = HandClock()
    script = Scripted([page(version=5)], [[END] for _ in range(50)])
    async with running(script, clock) as mirror:
        await clock.advance(30)

        assert len(script.asked) < 12
        assert mirror.freshness().problem == "The server ends watches at once."


async def test_a_list_that_is_refused_is_asked_for_again() -> None:
    clock = HandClock()
    script = Scripted([ForbiddenError("not yet yours"), page(pod("a"), version=1)])
    async with running(script, clock) as mirror:
        assert mirror.freshness().problem == "not yet yours"
        assert not mirror.freshness().synced
        await clock.advance(1)
        assert mirror.freshness().problem == ""
        assert names(mirror) == ["a"]


async def test_how_far_behind_counts_from_the_break() -> None:
    clock = HandClock()
    script = Scripted([page(version=5)], [[Bookmark("6"), UnavailableError("down")], [HANG]])
    async with running(script, clock) as mirror:
        assert mirror.freshness().problem == "down"
        clock._seconds += 7
        assert mirror.freshness().behind == 7
        assert mirror.freshness().silent == 7


async def test_readers_get_what_is_there_and_then_what_changes() -> None:
    clock = HandClock()
    script = Scripted([page(pod("a"), version=5)], [[modified(pod("a", "n1"), 6), HANG]])
    mirror: Mirror[Object] = Mirror(cast("KubernetesApi", script), PODS, random=Random(1), clock=clock)
    await mirror._list()
    with mirror.changes() as changes:
        key = Key("ns", "a")
        assert await changes.take() == [Notice(key, None, pod("a"))]
        mirror._take(modified(pod("a", "n1"), 6))
        mirror._take(modified(pod("a", "n2"), 7))
        assert len(changes) == 1
        assert await changes.take() == [Notice(key, pod("a"), pod("a", "n2"))]
        mirror._take(deleted(pod("a", "n2"), 8))
        assert await changes.take() == [Notice(key, pod("a", "n2"), None)]


async def test_what_came_and_went_unseen_is_no_notice() -> None:
    mirror: Mirror[Object] = Mirror(cast("KubernetesApi", Scripted()), PODS, random=Random(1))
    with mirror.changes() as changes:
        mirror._take(added(pod("a"), 1))
        mirror._take(deleted(pod("a"), 2))
        mirror._take(added(pod("b"), 3))
        assert [each.key.name for each in await changes.take()] == ["b"]


async def test_a_second_list_tells_only_what_differs() -> None:
    clock = HandClock()
    script = Scripted(
        [page(pod("a"), pod("b"), pod("c"), version=5), page(pod("a"), pod("b", "n1"), pod("d"), version=9)],
        [[GoneError("too old")]],
    )
    async with running(script, clock) as mirror:
        with mirror.changes() as changes:
            await changes.take()
            kept = mirror.get("a", "ns")
            await clock.advance(5)
            notices = {each.key.name: (each.before, each.after) for each in await changes.take()}

        assert notices == {
            "b": (pod("b"), pod("b", "n1")),
            "c": (pod("c"), None),
            "d": (None, pod("d")),
        }
        assert mirror.get("a", "ns") is kept


async def test_a_reader_that_left_is_told_nothing() -> None:
    mirror: Mirror[Object] = Mirror(cast("KubernetesApi", Scripted()), PODS, random=Random(1))
    with mirror.changes() as changes:
        pass
    mirror._take(added(pod("a"), 1))
    assert len(changes) == 0


async def test_who_wants_to_be_told_is_told_of_what_is_there_and_of_every_change() -> None:
    mirror: Mirror[Object] = Mirror(cast("KubernetesApi", Scripted()), PODS, random=Random(1))
    mirror._take(added(pod("a"), 1))
    told: list[tuple[Object | None, Object | None]] = []
    with mirror.telling(lambda before, after: told.append((before, after))):
        mirror._take(modified(pod("a", "n1"), 2))
        mirror._take(modified(pod("a", "n1"), 3))
        mirror._take(deleted(pod("a", "n1"), 4))
    mirror._take(added(pod("b"), 5))

    assert told == [(None, pod("a")), (pod("a"), pod("a", "n1")), (pod("a", "n1"), None)]


async def test_an_index_follows_its_objects() -> None:
    by_node: Callable[[Object], list[str]] = lambda each: [each["node"]] if each["node"] else []  # noqa: E731
    mirror: Mirror[Object] = Mirror(
        cast("KubernetesApi", Scripted()), PODS, random=Random(1), indexes={"node": by_node}
    )
    for step in (
        added(pod("b", "n1"), 1),
        added(pod("a", "n1"), 2),
        added(pod("c"), 3),
        modified(pod("b", "n2"), 4),
    ):
        mirror._take(step)

    assert [each["metadata"]["name"] for each in mirror.by("node", "n1")] == ["a"]
    assert mirror.by("node", "n2") == [pod("b", "n2")]
    mirror._take(deleted(pod("b", "n2"), 5))
    assert mirror.by("node", "n2") == []
    assert mirror._found["node"].keys() == {"n1"}


async def test_a_writer_can_wait_until_its_write_is_in_the_copy() -> None:
    mirror: Mirror[Object] = Mirror(
        cast("KubernetesApi", Scripted([page(version=5)])), PODS, random=Random(1)
    )
    waiting = asyncio.create_task(mirror.reached("8"))
    await mirror._list()
    await asyncio.sleep(0)
    assert not waiting.done()
    mirror._take(added(pod("a"), 8))
    await asyncio.wait_for(waiting, 60)


async def test_an_object_that_an_index_cannot_read_keeps_no_other_from_being_followed() -> None:
    def node_of(obj: Object) -> list[str]:
        if obj["metadata"]["name"] == "bad":
            raise KeyError("node")
        return [obj["node"]]

    passed_over: list[tuple[str, str]] = []
    server = Scripted(
        lists=[page(pod("a", "n"), pod("bad"), {}, pod("b", "n"), version=5)],
        watches=[[modified(pod("bad", "n"), 6), added(pod("c", "n"), 7), HANG]],
    )
    mirror: Mirror[Object] = Mirror(
        cast("KubernetesApi", server),
        PODS,
        random=Random(1),
        indexes={"node": node_of},
        clock=server.clock,
        failed=lambda namespace, name, _: passed_over.append((namespace, name)),
    )
    running = asyncio.create_task(mirror.run())
    await server.clock.advance(1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert [obj["metadata"]["name"] for obj in mirror.by("node", "n")] == ["a", "b", "c"]
    assert mirror.get("bad", "ns") is None
    assert mirror.freshness().resource_version == "7"
    assert passed_over == [("", ""), ("ns", "bad"), ("ns", "bad")]
    assert mirror.passed_over == 3
