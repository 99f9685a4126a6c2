from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
import structlog

from closeknit.kube.errors import LeaseExpiredError, UnavailableError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import LEASES, PODS
from closeknit.live.leader_metrics import leadership_metrics
from closeknit.live.leadership import Leadership, LeaseName, Role
from closeknit.testing.clock import HandClock
from tests.unit.kube.toy import Toy

KEY = (LEASES.plural, "ns", "l")
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}}


class Served(Toy):
    """With all methods of the port, of which the tests call these."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: pytest.fail(f"{name} is called")


def leadership(toy: Toy, clock: HandClock, name: str) -> Leadership:
    return Leadership(
        toy.api,
        LeaseName(namespace="ns", name="l"),
        identity=name,
        log=structlog.wrap_logger(structlog.ReturnLogger()),
        random=Random(name),
        clock=clock,
    )


async def for_ever(_: KubernetesApi) -> None:
    await asyncio.Event().wait()


async def end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def shown(made: Leadership) -> dict[str, float]:
    lines = leadership_metrics([made]).decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line[0] != "#")
    return {name.removesuffix('{lease="l"}'): float(value) for name, value in pairs}


async def test_a_standby_becomes_the_leader_by_way_of_settling() -> None:
    toy, clock = Served(), HandClock()
    first, second = leadership(toy, clock, "a"), leadership(toy, clock, "b")
    leading = asyncio.create_task(first.lead(for_ever))
    await clock.advance(1)
    waiting = asyncio.create_task(second.lead(for_ever))
    await clock.advance(1)
    assert (first.role, second.role, second.waiting) == (Role.LEADING, Role.STANDBY, True)

    # As if it was killed: it renews no more, and releases nothing.
    toy.refused["replace leases"] = UnavailableError("gone")
    await clock.advance(2.5)
    await end(leading)
    toy.refused.clear()
    while second.role is Role.STANDBY:
        await clock.advance(0.1)
    assert (second.role, second.waiting) == (Role.SETTLING, True)
    await clock.advance(2.4)
    assert second.role is Role.SETTLING
    await clock.advance(0.2)
    assert (second.role, second.waiting) == (Role.LEADING, False)
    await end(waiting)


async def test_what_leaders_do_is_counted() -> None:
    toy, clock = Served(), HandClock()
    made = leadership(toy, clock, "a")
    wake = asyncio.Event()

    async def write(api: KubernetesApi) -> None:
        await wake.wait()
        await api.create(PODS, POD)

    zero = {"closeknit_leader": 0, "closeknit_lease_transitions_total": 0, "closeknit_fenced_writes_total": 0}
    assert shown(made) == zero
    leading = asyncio.create_task(made.lead(write))
    await clock.advance(1)
    assert shown(made) == zero | {"closeknit_leader": 1, "closeknit_lease_transitions_total": 1}

    clock.skip(20)
    wake.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    made.stopping = True
    await clock.advance()
    await leading
    assert shown(made) == {
        "closeknit_leader": 0,
        "closeknit_lease_transitions_total": 2,
        "closeknit_fenced_writes_total": 1,
    }
    assert "create pods" not in toy.calls


async def test_the_next_term_of_the_same_instance_can_write_and_the_last_one_cannot() -> None:
    toy, clock = Served(), HandClock()
    made = leadership(toy, clock, "a")
    terms: list[KubernetesApi] = []

    async def work(api: KubernetesApi) -> None:
        terms.append(api)
        await asyncio.Event().wait()

    leading = asyncio.create_task(made.lead(work))
    await clock.advance(1)
    clock.skip(20)
    await clock.advance(10)
    first, second = terms
    with pytest.raises(LeaseExpiredError):
        await first.create(PODS, POD)
    assert "create pods" not in toy.calls
    await second.create(PODS, POD)
    assert "create pods" in toy.calls
    await end(leading)


async def test_one_that_is_stopped_while_it_settles_does_no_work_and_leaves_its_successor_the_wait() -> None:
    toy, clock = Served(), HandClock()
    dead = asyncio.create_task(leadership(toy, clock, "a").lead(for_ever))
    await clock.advance(1)
    toy.refused["replace leases"] = UnavailableError("gone")
    await end(dead)
    toy.refused.clear()
    worked: list[KubernetesApi] = []

    async def work(api: KubernetesApi) -> None:
        worked.append(api)

    made = leadership(toy, clock, "b")
    waiting = asyncio.create_task(made.lead(work))
    while made.role is not Role.SETTLING:
        await clock.advance(0.1)
    made.stop()
    await waiting
    assert (len(worked), made.role) == (0, Role.STOPPED)
    assert toy.objects[KEY]["spec"]["holderIdentity"] == "b"


async def test_an_instance_without_a_lease_works_at_once_and_shows_no_lease() -> None:
    toy, clock = Served(), HandClock()
    made = Leadership(
        toy.api,
        None,
        identity="a",
        log=structlog.wrap_logger(structlog.ReturnLogger()),
        random=Random(1),
        clock=clock,
    )
    apis: list[KubernetesApi] = []

    async def work(api: KubernetesApi) -> None:
        apis.append(api)
        made.stop()

    await made.lead(work)
    assert (apis, made.name, toy.calls) == ([toy.api], "", [])
