"""A browser and a cluster that it looks at, both in this process' event loop."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random

import pytest
import structlog
from playwright.async_api import Page, async_playwright

from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.standins import run_standins
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.server.instance import MapInstance

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Everything is on loopback, and a test machine runs it as root."""


def chromium() -> str:
    """The browser of the machine; the test is skipped, with a reason, where there is none."""
    found = (
        os.environ.get("CLOSEKNIT_BROWSER") or shutil.which("chromium") or shutil.which("chromium-browser")
    )
    if not found:
        pytest.skip("There is no chromium on the PATH: install the package, or set CLOSEKNIT_BROWSER.")
    return found


@dataclass
class Shown:
    """A cluster that schedules, and its map."""

    cluster: EmbeddedCluster
    map: MapInstance
    complaints: list[str] = field(default_factory=list)
    """What the page wrote to the console as an error."""


@pytest.fixture
async def shown() -> AsyncIterator[Shown]:
    cluster = EmbeddedCluster([one.written() for family in FAMILIES.values() for one in family])
    log = structlog.wrap_logger(structlog.ReturnLogger())
    instance = Instance(cluster, Settings(), identity="browser", log=log, random=Random(1))
    served = MapInstance(cluster, random=Random(2))
    await served.server.start()
    work = [asyncio.create_task(each) for each in (run_standins(cluster), instance.run(), served.run())]
    try:
        yield Shown(cluster, served)
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await served.server.stop()
        await cluster.close()


@pytest.fixture
async def page(shown: Shown) -> AsyncIterator[Page]:
    """A page that is not open yet; whatever it complains about fails the test."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        page = await browser.new_page(viewport={"width": 1200, "height": 760})
        page.on("console", lambda said: shown.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        yield page
        await browser.close()
    assert shown.complaints == []
