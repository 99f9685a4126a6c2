"""What ``closeknit simulate`` notes about the policies that it leaves out, and how it fails on a mistake of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.simulator.room import Room
from tests.scenario.commands import run
from tests.unit.simulator.sites import ask, site

TRACE = """
workloads:
- name: one
  at: 0
  runs: 60
  manifest:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: train}
    spec: {template: {spec: {schedulerName: kai-scheduler, restartPolicy: Never, containers: [{name: main, image: a}]}}}
"""


def test_the_note_on_manifests(tmp_path: Path) -> None:
    trace = tmp_path / "trace.yaml"
    trace.write_text(TRACE)

    result = run("simulate", "--trace", trace, "--nodes", "rack=1,host=1", "--into", tmp_path / "out")

    assert result.stderr == "note: The trace holds manifests, so only the policy closeknit is run.\n"


def test_a_device_that_is_allocated_twice() -> None:
    room = Room(site())
    room.take(ask(1), ((0, 1),))

    with pytest.raises(AssertionError) as failure:
        room.take(ask(1), ((0, 1),))
    assert str(failure.value) == "nvidia.com/gpu of node x1 is given out twice."
