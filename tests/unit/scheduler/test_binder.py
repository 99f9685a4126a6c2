"""Calls over a few connections: what hangs is given up, and the connection serves the next call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any, cast

import pytest

from closeknit.hub.keys import Key
from closeknit.kube.port import KubernetesApi
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.binder import Binder
from closeknit.scheduler.commit import Answered, Bind
from closeknit.testing.clock import HandClock


class SlowApi:
    """A server that answers a binding only where the pod's name allows it."""

    async def bind(self, pod: str, _node: str, **_: Any) -> None:
        if pod.startswith("hanging"):
            await asyncio.Event().wait()
        if pod.startswith("stubborn"):
            # The answer arrives in the moment in which the call is given up.
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return


@asynccontextmanager
async def binder(clock: HandClock, answers: list[Answered]) -> AsyncIterator[Binder]:
    made = Binder(
        cast(KubernetesApi, SlowApi()),
        answers.append,
        clock=clock,
        random=Random(1),
        connections=1,
        deadline=4.0,
    )
    running = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        running.cancel()
        await asyncio.wait_for(asyncio.gather(running, return_exceptions=True), 30)


def bind(name: str) -> Bind:
    return Bind(Key("", "Pod", "default", name), "uid", "n1")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(
            ["hanging-1", "quick"],
            [("hanging-1", Answer.LOST), ("quick", Answer.DONE)],
            id="a call that hangs counts as lost, and its connection serves the next one",
        ),
        pytest.param(
            ["hanging-1", "hanging-2", "quick"],
            [("hanging-1", Answer.LOST), ("hanging-2", Answer.LOST), ("quick", Answer.DONE)],
            id="every call has a deadline of its own",
        ),
        pytest.param(
            ["stubborn", "hanging", "quick"],
            [("stubborn", Answer.DONE), ("hanging", Answer.LOST), ("quick", Answer.DONE)],
            id="an answer that comes just as the call is given up counts, and the next call has a deadline too",
        ),
    ],
)
async def test_a_call_that_is_not_answered_in_time(
    names: list[str], expected: list[tuple[str, Answer]]
) -> None:
    clock, answers = HandClock(), list[Answered]()
    async with binder(clock, answers) as made:
        for name in names:
            made.send(bind(name))
        for _ in names:
            await clock.advance(5.0)

    calls = [(each.call, each.answer) for each in answers]
    assert [(call.pod.name, answer) for call, answer in calls if isinstance(call, Bind)] == expected


async def test_it_ends_when_it_is_cancelled_after_an_answer_came_late() -> None:
    clock, answers = HandClock(), list[Answered]()
    async with binder(clock, answers) as made:
        made.send(bind("stubborn"))
        await clock.advance(5.0)

    assert [each.answer for each in answers] == [Answer.DONE]
