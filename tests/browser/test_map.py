"""The map in a real browser, on an embedded cluster that schedules."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from closeknit.hub.sentences import kai
from closeknit.kube.port import DeleteOptions
from closeknit.kube.resources import NODES, PODS
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.server.access import Access
from closeknit.server.app import MapServer
from tests.browser.conftest import Shown
from tests.kit.problems import text
from tests.scenario.bound import BY_KIND
from tests.unit.scheduler.objects import entry, node, pod, pod_group, together, topology
from tests.unit.server.shown import served

pytestmark = pytest.mark.browser
EVIL = "<img src=x onerror=alert(1)>"
READY = "() => globalThis.closeknit?.frames > 0"
GANG = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: new}
spec: {minMember: 2, topologyConstraint: {topology: tree, requiredTopologyLevel: rack}}
"""


async def fill(shown: Shown, *more: dict[str, Any]) -> None:
    """Two zones of two racks of four nodes, a gang that fits and one that does not."""
    objects = [
        topology("zone", "rack"),
        *(node(f"n{i}", zone=f"z{i // 8}", rack=f"r{i // 4}") for i in range(16)),
        *gang("fits", 4, 8),
        *gang("waits", 5, 8),
        *more,
    ]
    for each in objects:
        await shown.cluster.create(BY_KIND[each["kind"]], each)


def gang(name: str, pods: int, gpus: int) -> list[dict[str, Any]]:
    return [
        pod_group(name, minMember=pods, topologyConstraint=together("rack")),
        *(pod(f"{name}-{i}", name, gpus=gpus) for i in range(pods)),
    ]


async def opened(page: Page, shown: Shown, link: str = "") -> None:
    await page.goto(shown.map.server.address + link)
    await page.wait_for_function(READY)


async def until_held(page: Page, gpus: int) -> None:
    """Wait until the map shows that so many are in use."""
    await page.wait_for_function(
        f"() => closeknit.model.held.flat().reduce((sum, [, amount]) => sum + amount, 0) === {gpus}"
    )


async def test_a_workload_is_found_and_told(page: Page, shown: Shown) -> None:
    await fill(shown)
    await opened(page, shown)
    await until_held(page, 32)
    await page.get_by_role("searchbox").fill("fits")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="default/fits")).to_be_visible()
    await expect(page.locator("#content")).to_contain_text("requires one rack")
    await expect(page.locator("#content")).to_contain_text("fits-0 on n")
    assert "workload=PodGroup" in page.url


async def test_a_pending_workload_leads_to_its_reason(page: Page, shown: Shown) -> None:
    await fill(shown)
    await opened(page, shown)
    await page.get_by_role("button", name="Queue").click()
    await page.get_by_role("button", name="default/waits").click()
    await expect(page.locator("#content")).to_contain_text(
        re.compile(r"default/waits [^.]*\b5\b[^.]*\brack\b")
    )


async def test_a_link_leads_to_a_workload(page: Page, shown: Shown) -> None:
    await fill(shown)
    await opened(page, shown)
    await until_held(page, 32)
    await opened(page, shown, "#workload=PodGroup%2Fdefault%2Fwaits&color=use&theme=dark")
    await page.reload()
    await expect(page.get_by_role("heading", name="default/waits")).to_be_visible()
    await expect(page.get_by_label("Color by")).to_have_value("use")


async def test_what_if_shows_where_it_would_go(page: Page, shown: Shown) -> None:
    await fill(shown)
    await opened(page, shown)
    await page.get_by_role("button", name="What if").click()
    await page.get_by_label("A manifest").fill(GANG)
    await page.get_by_role("button", name="Where would it go?").click()
    await expect(page.locator("#content")).to_contain_text("PodGroup default/new: ")
    await page.get_by_label("A manifest").fill(GANG.replace("tree", "bush"))
    await page.get_by_role("button", name="Where would it go?").click()
    await expect(page.locator("#content")).to_contain_text(
        text(kai.TOPOLOGY_NOT_THERE, topology="bush", allowed=()).rstrip()
    )


async def test_a_binding_shows_without_reading_again(page: Page, shown: Shown) -> None:
    await fill(shown)
    await opened(page, shown)
    await until_held(page, 32)
    for each in gang("later", 2, 4):
        await shown.cluster.create(BY_KIND[each["kind"]], each)
    await until_held(page, 40)


async def test_the_slider_goes_back_and_forth(page: Page, shown: Shown) -> None:
    await fill(shown)
    await opened(page, shown)
    await until_held(page, 32)
    used = "() => Array.from(closeknit.model.held, (_, node) => closeknit.model.used(node)).reduce((a, b) => a + b)"
    await page.locator("#moment").focus()
    await page.keyboard.press("Home")
    assert await page.evaluate(used) == 0
    await page.get_by_role("button", name="Back to now").click()
    assert await page.evaluate(used) == 32


async def test_the_page_asks_for_the_token_and_keeps_it(page: Page, shown: Shown) -> None:
    await fill(shown)
    guarded = MapServer(shown.map.live, access=Access("127.0.0.1", "right; word"))
    await guarded.start()
    try:
        await page.goto(guarded.address)
        for token in ("wrong", "right; word"):
            await page.get_by_label("Token").fill(token)
            await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_function(READY)
        await page.reload()
        await page.wait_for_function(READY)
        # A page that still listens complains about a server that stops.
        await page.goto("about:blank")
    finally:
        await guarded.stop()
    assert {"401" in said for said in shown.complaints} == {True}
    shown.complaints.clear()


async def test_a_lost_node_leaves_the_map(page: Page, shown: Shown) -> None:
    await fill(shown)
    await opened(page, shown)
    await shown.cluster.delete(NODES, "n15")
    await page.wait_for_function("() => closeknit.model.held.length === 15")


async def test_it_works_on_a_narrow_screen(page: Page, shown: Shown) -> None:
    await fill(shown)
    await page.set_viewport_size({"width": 360, "height": 640})
    await opened(page, shown)
    await page.get_by_role("button", name="Workloads").click()
    await expect(page.get_by_role("heading", name="Workloads")).to_be_visible()
    assert await page.evaluate("() => document.documentElement.scrollWidth") <= 360


async def test_names_with_markup_are_text(page: Page) -> None:
    """An API server refuses such names; the page does not rely on it."""
    state = ClusterState()
    odd = pod_group(EVIL, minMember=1, queue=EVIL, priorityClassName=EVIL)
    held = pod(f"held{EVIL}", on=f"n{EVIL}", phase="Running")
    for each in (topology("zone", "rack", name=EVIL), node(f"n{EVIL}", zone=EVIL, rack=EVIL), odd, held):
        state.put(entry(each))
    async with served(state) as server:
        await page.goto(server.address)
        await page.wait_for_function(READY)
        for name in ("Workloads", "Queue"):
            await page.get_by_role("button", name=name, exact=True).click()
        await page.get_by_role("searchbox").fill("<img")
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name=f"default/{EVIL}").first.click()
        await expect(page.locator("#content")).to_contain_text(EVIL)
        await page.mouse.move(400, 400)
        assert await page.locator("img").count() == 0
        # A stream that ends under an open page would be a complaint of its own.
        await page.goto("about:blank")


async def test_nothing_serious_keeps_people_out(page: Page, shown: Shown) -> None:
    await fill(shown)
    await opened(page, shown)
    for view in ("Workloads", "Queue", "What if"):
        await page.get_by_role("button", name=view).click()
        found = await Axe().run(page)
        serious = [
            each["id"] for each in found.response["violations"] if each["impact"] in ("serious", "critical")
        ]
        assert serious == []


async def test_pods_that_end_give_their_place_back(page: Page, shown: Shown) -> None:
    await fill(shown)
    await opened(page, shown)
    await until_held(page, 32)
    for number in range(4):
        await shown.cluster.delete(
            PODS, f"fits-{number}", namespace="default", options=DeleteOptions(grace_period=0)
        )
    await until_held(page, 0)
