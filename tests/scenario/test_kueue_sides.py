"""What Kueue makes of 28 manifests, and what our operator makes of the same: equal but for what is listed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from closeknit.controllers.kueue.operator import KUEUE
from closeknit.testing.controlling import Controlled, controlling
from tests.scenario import kueue_sides
from tests.scenario.kueue_sides import Told

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "kueue-compared.md"


async def ours(case: str) -> Told:
    """What our operator comes to on an embedded cluster."""
    async with controlling([KUEUE], standins=True) as cluster:
        await kueue_sides.submit(cluster.cluster, case, lambda holds: _until(cluster, holds))
        await cluster.quiet()
        return await kueue_sides.told(cluster.cluster)


async def _until(cluster: Controlled, holds: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(200):
        if await holds():
            return
        await cluster.settle(0.25)
    raise AssertionError("It does not come to that.")


@pytest.mark.slow
@pytest.mark.parametrize("case", kueue_sides.cases())
def test_the_status_is_that_of_kueue(case: str) -> None:
    found = asyncio.run(ours(case))
    differing = [field for field, *_ in kueue_sides.differences(kueue_sides.recorded()[case], found)]
    assert differing == list(kueue_sides.DIFFERENT.get(case, ()))


def test_the_page_of_the_docs_lists_all_cases_and_differences() -> None:
    """Write it with ``python -c 'from tests.scenario.kueue_sides import page; print(page(), end="")'``."""
    assert PAGE.read_text(encoding="utf-8") == kueue_sides.page()
