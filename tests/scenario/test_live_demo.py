"""``closeknit demo --live`` shows every dialect at work, and ends by itself."""

from __future__ import annotations

import pytest

from tests.scenario.commands import run


@pytest.mark.slow
def test_the_live_demo_runs_every_dialect_scales_one_and_replaces_a_lost_node() -> None:
    result = run("demo", "--live")

    assert result.exit_code == 0
    _, first, waiting, scaled, mended = result.stdout.split("\n\n")[:5]
    lines = [line.split() for line in first.splitlines()[2:]]
    assert {line[0] for line in lines} == {"KAI", "Grove", "Dynamo", "OSMO", "Kueue"}
    pods = sum(int(word) for line in first.splitlines()[2:] for word in line.split() if word.isdigit())
    assert pods == 9 + 4 + 2 + 2 + 5, "all pods of all workloads but one"
    assert "PodGroup research/too-tight: trainers needs room for 4 pods in one topology/rack" in waiting
    before, after = (text.splitlines()[-1].split("   ")[-1].split() for text in (scaled, mended))
    assert before[0] == after[0] == "4"
    assert before[-1] != after[-1], "another node than the one that was lost"
