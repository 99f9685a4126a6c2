"""``closeknit demo --live`` shows every dialect at work, and ends by itself."""

from __future__ import annotations

from pathlib import Path

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
    assert "PodGroup research/too-tight: trainers " in waiting
    assert "topology/rack" in waiting
    before, after = (text.splitlines()[-1].split("   ")[-1].split() for text in (scaled, mended))
    assert before[0] == after[0] == "4"
    assert before[-1] != after[-1], "another node than the one that was lost"


def test_what_the_live_demo_submits_can_be_written_to_files_that_hold_every_pod(tmp_path: Path) -> None:
    written = run("demo", "--live", "--write", tmp_path / "demo")
    assert written.exit_code == 0
    assert written.stdout.endswith(f"closeknit up -f {tmp_path / 'demo'}\n")

    text = (tmp_path / "demo" / "kai.yaml").read_text()
    assert text.count("\nkind: Pod\n") == 9 + 4, "of the PodGroups chat and too-tight"
    # The garbage collector would take pods whose owners are not there.
    assert "ownerReferences" not in (tmp_path / "demo" / "cluster.yaml").read_text()
    valid = run("validate", "-f", tmp_path / "demo")
    assert valid.exit_code == 0
