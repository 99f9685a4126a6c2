"""Pictures of the map for the documentation. ``make screenshots`` writes them into docs/images."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Shown
from tests.browser.test_map import opened, until_held
from tests.scenario.bound import BY_KIND
from tests.unit.scheduler.objects import node, pod, pod_group, together, topology

pytestmark = pytest.mark.browser
_LARGEST = 200_000
"""Bytes of a picture: whoever clones the project gets all of them."""
_PENDING = "#workload=PodGroup%2Fdefault%2Fpretrain"
_REASON = re.compile(r"default/pretrain [^.]*\b8\b[^.]*\brack\b")
"""Its eight pods need one rack."""
_SIZES = (*(5,) * 12, *(3,) * 5, *(2,) * 4)
"""Nodes of gangs: two of the first do not share a rack, so none is left whole."""
_WHAT_IF = """apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata:
  name: finetune
  annotations:
    closeknit.dev/pod-resources: '{"nvidia.com/gpu": "8"}'
spec:
  minMember: 3
  topologyConstraint:
    topology: tree
    requiredTopologyLevel: rack
"""


def _objects() -> Iterator[dict[str, Any]]:
    """Two zones of six racks of eight nodes, mostly in use, and a gang that no rack has room for."""
    yield topology("zone", "rack")
    for number in range(96):
        zone, rack = number // 48, number // 8 % 6
        yield node(f"node-{number:02}", zone=f"zone-{'ab'[zone]}", rack=f"rack-{rack + 1}")
    for number, pods in enumerate(_SIZES):
        yield from _gang(f"llama-{number:02}", pods, 8)
    for number in range(6):
        yield from _gang(f"notebook-{number}", 1, 2)
    yield from _gang("pretrain", 8, 8)


def _gang(name: str, pods: int, gpus: int) -> Iterator[dict[str, Any]]:
    yield pod_group(name, minMember=pods, topologyConstraint=together("rack"))
    for number in range(pods):
        yield pod(f"{name}-{number}", name, gpus=gpus)


@pytest.fixture
async def cluster(page: Page, shown: Shown) -> Page:
    """A page that shows what the pictures show."""
    for each in _objects():
        await shown.cluster.create(BY_KIND[each["kind"]], each)
    await opened(page, shown)
    await until_held(page, sum(_SIZES) * 8 + 6 * 2)
    return page


async def _taken(page: Page, folder: Path, name: str) -> None:
    chosen = Path(os.environ.get("CLOSEKNIT_SCREENSHOTS") or folder)
    # Frames around domains are drawn with the next frame.
    await page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    file = chosen / f"{name}.png"
    await page.screenshot(path=file)
    assert file.stat().st_size < _LARGEST


async def test_a_pending_workload_and_its_reason(cluster: Page, shown: Shown, tmp_path: Path) -> None:
    await opened(cluster, shown, _PENDING)
    await cluster.reload()
    await expect(cluster.locator("#content")).to_contain_text(_REASON)
    await _taken(cluster, tmp_path, "map-pending")


async def test_what_if(cluster: Page, tmp_path: Path) -> None:
    await cluster.get_by_role("button", name="What if").click()
    await cluster.get_by_label("A manifest").fill(_WHAT_IF)
    await cluster.get_by_role("button", name="Where would it go?").click()
    await expect(cluster.locator("#content")).to_contain_text("PodGroup default/finetune: ")
    await _taken(cluster, tmp_path, "map-what-if")


async def test_dark_colors(cluster: Page, shown: Shown, tmp_path: Path) -> None:
    await opened(cluster, shown, "#theme=dark")
    await cluster.reload()
    await cluster.get_by_role("button", name="Queue").click()
    await expect(cluster.get_by_role("button", name="default/pretrain")).to_be_visible()
    await _taken(cluster, tmp_path, "map-dark")


async def test_a_narrow_screen(cluster: Page, shown: Shown, tmp_path: Path) -> None:
    await cluster.set_viewport_size({"width": 360, "height": 640})
    await opened(cluster, shown, _PENDING)
    await cluster.reload()
    await expect(cluster.locator("#content")).to_contain_text(_REASON)
    await _taken(cluster, tmp_path, "map-narrow")
