"""Answers that many browsers ask for at once are made once, and never those of another version or second."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import msgspec
import pytest

from closeknit.server.answers import Shared
from closeknit.server.documents import Document, Reset
from closeknit.server.live_map import LiveMap
from tests.unit.scheduler.objects import entry, pod
from tests.unit.server.shown import cluster_state


class _Asked:
    """Browsers that ask, at a time that is set, and how many documents were made for them."""

    def __init__(self) -> None:
        self.live = LiveMap(cluster_state(), time=lambda: 0.0)
        self.live.refresh()
        self.now = 10.0
        self.made = 0
        self._shared = Shared(self.live, lambda: self.now)

    def get(self, path: str = "/map", topology: str = "tree") -> bytes:
        return self._shared.get(path, topology, self._make).compressed

    def _make(self) -> Document:
        self.made += 1
        return Reset(generation=self.made)


def _a_pod_comes(asked: _Asked) -> None:
    asked.live.state.put(
        entry(pod("another", gpus=1, on="n1", phase="Running", scheduler="default-scheduler"))
    )
    asked.live.refresh()


def _a_second_passes(asked: _Asked) -> None:
    asked.now += 1.0


def test_all_who_ask_within_a_second_get_the_same_bytes() -> None:
    asked = _Asked()
    first = asked.get()
    asked.now += 0.9
    assert all(asked.get() is first for _ in range(200))
    assert asked.made == 1
    assert msgspec.json.decode(gzip.decompress(first), type=Reset) == Reset(generation=1)


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(_a_pod_comes, id="after a new version"),
        pytest.param(_a_second_passes, id="after a second, since it tells the time"),
    ],
)
def test_it_is_made_anew(happens: Callable[[_Asked], None]) -> None:
    asked = _Asked()
    first = asked.get()
    happens(asked)
    assert asked.get() != first
    assert asked.made == 2


def test_answers_of_other_paths_and_topologies_are_others() -> None:
    asked = _Asked()
    found = {asked.get(), asked.get("/timeline"), asked.get(topology="other")}
    assert len(found) == asked.made == 3
