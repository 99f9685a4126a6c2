from __future__ import annotations

import asyncio
import re
from random import Random
from typing import Any

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import MergePatch
from closeknit.kube.resources import PODS
from closeknit.kube.start_order import Earlier, missing, parse
from closeknit.live.waiting import wait
from closeknit.testing.clock import HandClock


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", (), id="nothing to wait for"),
        pytest.param("a:1", (Earlier(("a",), 1),), id="one pod"),
        pytest.param("a,b:2 c:1", (Earlier(("a", "b"), 2), Earlier(("c",), 1)), id="several groups of pods"),
    ],
)
def test_an_order_is_read_and_written(text: str, found: tuple[Earlier, ...]) -> None:
    assert parse(text) == found
    assert " ".join(map(str, found)) == text


@pytest.mark.parametrize("text", ["a", ":1", "a:", "a:x", "a,:1", "a:1 b"])
def test_what_is_no_order_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"a-0,a-1:2"):
        parse(text)


@pytest.mark.parametrize(
    ("ready", "numbers"),
    [
        pytest.param({"a", "b"}, [], id="all ready"),
        pytest.param({"a"}, [["1", "2"]], id="one missing"),
        pytest.param(set(), [["0", "2"]], id="none there"),
    ],
)
def test_too_few_ready_pods_are_told(ready: set[str], numbers: list[list[str]]) -> None:
    pods = {name: {"status": {"conditions": [{"type": "Ready", "status": "True"}]}} for name in ready}
    lacking = missing(parse("a,b:2"), pods.get)
    assert [re.findall(r"\d+", text) for text in lacking] == numbers
    assert all("a, b" in text for text in lacking)


async def test_the_program_of_an_init_container_ends_when_pods_are_ready(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = HandClock()
    cluster = EmbeddedCluster([], clock=clock, dice=Random(1))
    waiting = asyncio.create_task(wait(cluster, "default", parse("a:1"), clock=clock))
    await clock.advance(5)
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": "one"}]},
    }
    await cluster.create(PODS, pod)
    await clock.advance(5)
    assert not waiting.done()
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await cluster.patch(PODS, "a", MergePatch(ready), namespace="default", subresource="status")
    await clock.advance(3)
    await waiting
    # It says once what it waits for.
    (waits,) = capsys.readouterr().err.splitlines()
    assert re.findall(r"\d+", waits) == ["0", "1"]
    await cluster.close()
