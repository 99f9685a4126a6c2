from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from closeknit.kube.errors import (
    ApiError,
    ConflictError,
    DeadlineExceededError,
    ForbiddenError,
    InternalServerError,
    LeaseExpiredError,
    Status,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
)
from closeknit.kube.fencing import Fence, fenced
from closeknit.kube.rest import transport as transport_module
from closeknit.kube.rest.access import Connection, FixedAccess
from closeknit.kube.rest.api import RestApi
from closeknit.kube.rest.transport import Request, Transport
from closeknit.testing.clock import HandClock
from tests.unit.kube.rest.serving import Handler, Script, answer, broken, serving, silent, stream, text

READ = Request(method="GET", path="/api/v1/nodes", query={})
WRITE = Request(method="POST", path="/api/v1/nodes", query={}, body={"kind": "Node"})


@dataclass
class CountingClock:
    """Waits for nothing, and remembers how long it should have waited."""

    waits: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return sum(self.waits)

    def boottime(self) -> float:
        return sum(self.waits)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def status(code: int, reason: str = "", message: str = "no") -> dict[str, object]:
    return {"kind": "Status", "code": code, "reason": reason, "message": message}


@asynccontextmanager
async def transport(
    *answers: Handler, deadline: float = 10.0, clock: CountingClock | None = None, authorization: str = ""
) -> AsyncIterator[tuple[Transport, Script]]:
    script = Script(list(answers))
    async with serving(script) as address:
        made = Transport(
            FixedAccess(Connection(address, authorization=authorization)),
            user_agent="closeknit-test/1",
            connections=4,
            deadline=deadline,
            clock=clock or CountingClock(),
            random=Random(1),
        )
        try:
            yield made, script
        finally:
            await made.close()


async def test_requests_say_who_asks_and_what_they_send() -> None:
    async with transport(answer({"ok": True}), authorization="Bearer secret") as (made, script):
        assert await made.send(WRITE) == b'{"ok": true}'

    assert script.bodies == [b'{"kind":"Node"}']
    headers = script.headers[0]
    assert headers["User-Agent"] == "closeknit-test/1"
    assert headers["Authorization"] == "Bearer secret"
    assert headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("handler", "kind", "message"),
    [
        pytest.param(
            answer(status(409, "Conflict", "changed"), 409),
            ConflictError,
            "changed",
            id="a Status becomes its error",
        ),
        pytest.param(text("not yours", 403), ForbiddenError, "not yours", id="a plain text is its message"),
        pytest.param(text("", 500), InternalServerError, Status.read(None, code=500).message, id="nothing"),
        pytest.param(text("moved", 302), ApiError, "moved", id="a redirect is not followed"),
    ],
)
async def test_a_refusal_is_raised_as_what_it_says(
    handler: Handler, kind: type[ApiError], message: str
) -> None:
    async with transport(handler) as (made, script):
        with pytest.raises(kind) as raised:
            await made.send(READ)

    assert str(raised.value) == message
    assert len(script.asked) == 1


@pytest.mark.parametrize("request_", [READ, WRITE], ids=["a read", "a write"])
async def test_a_server_that_names_a_time_is_asked_again_after_it(request_: Request) -> None:
    clock = CountingClock()
    busy = answer(status(429, "TooManyRequests"), 429, Retry_After="2")
    async with transport(busy, busy, answer({}), clock=clock) as (made, script):
        assert await made.send(request_) == b"{}"

    assert len(script.asked) == 3
    assert [2 <= wait <= 2.5 for wait in clock.waits] == [True, True]


async def test_waits_of_clients_that_were_refused_together_differ() -> None:
    clock = CountingClock()
    busy = answer(status(429), 429, Retry_After="1")
    async with transport(busy, busy, busy, answer({}), clock=clock) as (made, _):
        await made.send(READ)

    assert len(set(clock.waits)) == 3


async def test_a_server_that_names_more_time_than_there_is_is_not_waited_for() -> None:
    clock = CountingClock()
    async with transport(answer(status(429), 429, Retry_After="60"), clock=clock) as (made, script):
        with pytest.raises(TooManyRequestsError) as raised:
            await made.send(READ)

    assert raised.value.retry_after == 60
    assert (clock.waits, len(script.asked)) == ([], 1)


async def test_a_budget_that_names_a_time_is_the_callers_to_wait_for() -> None:
    evict = Request(method="POST", path="/evict", query={}, body={}, waits=False)
    async with transport(answer(status(429), 429, Retry_After="1")) as (made, script):
        with pytest.raises(TooManyRequestsError):
            await made.send(evict)

    assert len(script.asked) == 1


async def test_a_read_whose_connection_broke_is_sent_again() -> None:
    async with transport(stream(b"{", cut=True), broken(), answer({})) as (made, _):
        assert await made.send(READ) == b"{}"


async def test_a_write_whose_connection_broke_is_not_sent_again() -> None:
    async with transport(broken()) as (made, script):
        with pytest.raises(UnavailableError, match="POST /api/v1/nodes"):
            await made.send(WRITE)

    assert len(script.asked) == 1


async def test_reads_are_not_sent_for_ever() -> None:
    async with transport(broken()) as (made, script):
        with pytest.raises(UnavailableError, match="GET /api/v1/nodes"):
            await made.send(READ)

    # The library below sends a read once more by itself when a kept connection breaks.
    assert 3 <= len(script.asked) <= 6


async def test_a_server_that_is_not_there_is_unavailable_and_named() -> None:
    async with transport(answer({})) as (made, _):
        made._access = FixedAccess(Connection("http://127.0.0.1:1"))
        with pytest.raises(UnavailableError, match=r"http://127\.0\.0\.1:1 "):
            await made.send(WRITE)


async def test_every_call_has_a_deadline() -> None:
    async with transport(silent(), deadline=0.05) as (made, _):
        with pytest.raises(DeadlineExceededError, match=r"\b0\.05 s\b"):
            await made.send(READ)
        with pytest.raises(DeadlineExceededError):
            async with aclosing(made.lines(READ, seconds=100)) as lines:
                await anext(lines)


async def test_a_refused_client_gets_new_credentials_once() -> None:
    class Renewing:
        namespace = "default"
        renewals = 0

        def __init__(self, address: str) -> None:
            self.address = address

        async def connection(self) -> Connection:
            return Connection(self.address, authorization="Bearer old")

        async def renew(self) -> Connection:
            self.renewals += 1
            return Connection(self.address, authorization="Bearer new")

    async with transport(answer(status(401), 401), answer({}), answer(status(401), 401)) as (made, script):
        access = Renewing((await made._access.connection()).address)
        made._access = access
        assert await made.send(READ) == b"{}"
        with pytest.raises(UnauthorizedError):
            await made.send(READ)

    assert [headers["Authorization"] for headers in script.headers] == [
        "Bearer old",
        "Bearer new",
        "Bearer old",
        "Bearer new",
    ]


async def test_lines_are_put_together_from_whatever_comes() -> None:
    pieces = stream(b'{"a', b'":1}\n{"b":2}\n\n{"c"', b":3}\n")
    async with transport(pieces) as (made, _), aclosing(made.lines(READ, seconds=5)) as lines:
        assert [line async for line in lines] == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


async def test_a_stream_that_says_much_is_read_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    readings, read = 0, transport_module._chunk

    async def counted(*arguments: Any) -> bytes:
        nonlocal readings
        readings += 1
        return await read(*arguments)

    monkeypatch.setattr(transport_module, "_chunk", counted)

    async def talkative(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(500):
            await response.write(b"%d\n" % number)
            # Whoever waits for more gets a turn.
            await asyncio.sleep(0)
        return response

    async with transport(talkative) as (made, _), aclosing(made.lines(READ, seconds=60)) as lines:
        assert [int(line) async for line in lines] == list(range(500))

    assert readings < 100


async def test_a_stream_that_breaks_is_unavailable_after_what_was_complete() -> None:
    seen: list[bytes] = []

    async def read(lines: AsyncIterator[bytes]) -> None:
        async for line in lines:
            seen.append(line)  # noqa: PERF401 - what was seen before the end is the point

    async with transport(stream(b"1\n", b"2\n3", cut=True)) as (made, _):
        with pytest.raises(UnavailableError):
            await read(made.lines(READ, seconds=5))

    assert seen[:1] == [b"1"]
    assert b"3" not in seen


async def test_a_stream_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"1\n")
        await asyncio.Event().wait()
        return response

    async with transport(endless) as (made, _), aclosing(made.lines(READ, seconds=600)) as lines:
        assert await anext(lines) == b"1"
        loop = asyncio.get_running_loop()
        now = loop.time
        monkeypatch.setattr(loop, "time", lambda: now() + 600)
        assert [line async for line in lines] == []


async def test_a_reader_that_is_slow_is_not_cancelled_when_the_time_is_over() -> None:
    async with transport(stream(b"1\n")) as (made, _), aclosing(made.lines(READ, seconds=0.05)) as lines:
        async for _line in lines:
            await asyncio.sleep(0.1)


async def test_a_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("closeknit.kube.rest.transport._LINE_LIMIT", 1000)
    async with transport(stream(*[b"x" * 500] * 10)) as (made, _):
        with pytest.raises(UnavailableError, match=r"\b1000\b"):
            async with aclosing(made.lines(READ, seconds=5)) as lines:
                await anext(lines)


async def test_a_write_is_not_sent_whose_lease_expires_while_it_waits_for_a_connection() -> None:
    release, full, clock = asyncio.Event(), asyncio.Event(), HandClock()

    async def slow(_: web.Request) -> web.StreamResponse:
        if len(script.asked) == 4:
            full.set()
        await release.wait()
        return web.json_response({})

    async with transport(*[slow] * 4, answer({})) as (made, script):
        fence = Fence(clock)
        fence.extend(10)
        api = fenced(RestApi(made, random=Random(1)), fence)
        binds = [asyncio.create_task(api.bind(f"p{number}", "n", namespace="ns")) for number in range(6)]
        await full.wait()
        clock.skip(11)
        release.set()
        outcomes = await asyncio.gather(*binds, return_exceptions=True)

        assert [type(each) for each in outcomes] == [type(None)] * 4 + [LeaseExpiredError] * 2
        assert len(script.asked) == 4
        assert await made.send(READ) == b"{}"


async def test_a_write_is_not_sent_whose_lease_expires_while_its_bytes_wait_for_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = HandClock()
    send = aiohttp.ClientRequest.send

    async def stopped(self: aiohttp.ClientRequest, conn: Any) -> aiohttp.ClientResponse:
        # As when the process is stopped with the connection in hand, before the body is written.
        clock.skip(11)
        return await send(self, conn)

    async with transport(answer({})) as (made, script):
        fence = Fence(clock)
        fence.extend(10)
        monkeypatch.setattr(aiohttp.ClientRequest, "send", stopped)
        with pytest.raises(LeaseExpiredError):
            await fenced(RestApi(made, random=Random(1)), fence).bind("p", "n", namespace="ns")
        monkeypatch.undo()
        assert await made.send(READ) == b"{}"
        assert script.asked == [("GET", READ.path)]


async def test_a_write_that_the_server_asked_to_repeat_later_is_not_repeated_without_the_lease() -> None:
    clock, hand = CountingClock(), HandClock()

    async def busy(_: web.Request) -> web.StreamResponse:
        hand.skip(11)
        return web.json_response(status(429), status=429, headers={"Retry-After": "1"})

    async with transport(busy, answer({}), clock=clock) as (made, script):
        fence = Fence(hand)
        fence.extend(10)
        with pytest.raises(LeaseExpiredError):
            await fenced(RestApi(made, random=Random(1)), fence).bind("p", "n", namespace="ns")
        assert len(script.asked) == 1
