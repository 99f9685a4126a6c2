"""Measures the live map: its first picture, its payloads, and how many pictures a second a browser draws.

``python -m bench.map [NODES] [PODS]``; 100,000 nodes and 50,000 pods where nothing is said.
"""

from __future__ import annotations

import asyncio
import gzip
import sys
import time
from pathlib import Path

import msgspec
from playwright.async_api import Page, async_playwright

from closeknit.scheduler.cluster_state import ClusterState
from closeknit.server.app import MapServer
from closeknit.server.live_map import LiveMap
from tests.browser.conftest import FLAGS, chromium
from tests.unit.scheduler.objects import entry, node, pod, pod_group, topology

_GANG = 4
_PANS = """
async () => {
  const began = performance.now(), first = closeknit.frames;
  for (let i = 0; i < 120; i++) {
    if (i % 40 === 0) closeknit.camera.zoom(1.6);
    closeknit.camera.pan(i % 2 ? 9 : -7, 5);
    await new Promise(requestAnimationFrame);
  }
  return (closeknit.frames - first) / (performance.now() - began) * 1000;
}
"""


def filled(nodes: int, pods: int) -> ClusterState:
    """A cluster of racks of 16 nodes, blocks of 16 racks and zones of 16 blocks, with gangs of four."""
    state = ClusterState()
    state.put(entry(topology("zone", "block", "rack")))
    for i in range(nodes):
        state.put(entry(node(f"node-{i:06}", zone=f"z{i // 4096}", block=f"b{i // 256}", rack=f"r{i // 16}")))
    for i in range(pods):
        if i % _GANG == 0:
            state.put(entry(pod_group(f"gang-{i // _GANG}", minMember=_GANG)))
        where = f"node-{i * nodes // pods:06}"
        state.put(entry(pod(f"pod-{i}", f"gang-{i // _GANG}", gpus=4, on=where, phase="Running")))
    return state


async def main(nodes: int, pods: int) -> None:
    """Measure and print."""
    began = time.perf_counter()
    state = filled(nodes, pods)
    live = LiveMap(state, time=time.time, generation=1)
    live.refresh()
    _say("filled and read once", f"{time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    body = msgspec.json.encode(live.document())
    packed = gzip.compress(body, compresslevel=3)
    _say("map made, encoded and compressed", f"{time.perf_counter() - began:.2f} s")
    _say("first payload", f"{len(packed) / 1e6:.2f} MB compressed, {len(body) / 1e6:.1f} MB plain")
    version = live.version
    for i in range(1_000):
        state.put(
            entry(
                pod(f"pod-{i}", f"gang-{i // _GANG}", gpus=4, on=f"node-{nodes - 1 - i:06}", phase="Running")
            )
        )
    live.refresh()
    _say("update of 1,000 pods", f"{len(msgspec.json.encode(live.update(version))) / 1e3:.0f} KB")
    server = MapServer(live)
    await server.start()
    telling = asyncio.create_task(server.tell())
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            page = await browser.new_page(viewport={"width": 1280, "height": 800})
            await _browse(page, server.address)
            await browser.close()
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        await server.stop()


async def _browse(page: Page, address: str) -> None:
    began = time.perf_counter()
    await page.goto(address)
    await page.wait_for_function("() => globalThis.closeknit?.frames > 0")
    _say("first picture in the browser", f"{time.perf_counter() - began:.2f} s")
    _say("pictures a second while panning and zooming", f"{await page.evaluate(_PANS):.0f}")
    if len(sys.argv) > 3:
        await page.evaluate("() => closeknit.camera.fit()")
        await page.wait_for_timeout(300)
        await page.screenshot(path=str(Path(sys.argv[3])))


def _say(what: str, figure: str) -> None:
    sys.stdout.write(f"{what:<46} {figure}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sizes = [int(each) for each in sys.argv[1:3]]
    asyncio.run(main(*(sizes or (100_000, 50_000))))
