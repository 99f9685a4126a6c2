"""``closeknit simulate`` writes figures and a report, and tells what is wrong with what it is given."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from closeknit.cli.simulate import FILES
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import cli, simulator
from tests.kit.problems import line, text
from tests.scenario.commands import run

KNOWN = ("best-fit", "closeknit", "first-fit", "kai", "kueue")
SHAPE = ("--nodes", "block=2,rack=2,host=2")


def test_figures_and_a_page_are_written_and_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    options = ("--generate", "12", *SHAPE, "--node-loss", "0.5", "--merge-racks", "2")
    first, second = (run("simulate", *options, "--into", tmp_path / name) for name in ("one", "two"))

    written = [[(tmp_path / name / each).read_bytes() for each in FILES] for name in ("one", "two")]
    assert (first.exit_code, second.exit_code) == (0, 0), first.stderr
    assert written[0] == written[1]
    figures, workloads, samples, page = (each.decode() for each in written[0])
    runs = json.loads(figures)["runs"]
    assert [(each["policy"], each["topology"]) for each in runs] == [
        (policy, topology)
        for topology in ("as it is", "2 racks as one")
        for policy in ("first-fit", "best-fit", "kueue", "kai", "closeknit")
    ]
    assert len(workloads.splitlines()) == 1 + 12 * 10
    assert len(samples.splitlines()) == 1 + 200 * 10
    assert "closeknit, 2 racks as one" in page
    assert page.count("<figure>") == 7
    assert "Gangs that ran" in first.stdout
    assert "report.html" in first.stdout


def test_the_page_asks_for_nothing_and_shows_names_as_text(tmp_path: Path) -> None:
    trace = tmp_path / "<img src=x onerror=alert(1)>.yaml"
    trace.write_text("workloads: [{name: a, at: 0, runs: 5}]")

    result = run("simulate", "--trace", trace, *SHAPE, "--policy", "kai", "--into", tmp_path / "out")

    page = (tmp_path / "out" / "report.html").read_text()
    assert result.exit_code == 0, result.stderr
    assert "&lt;img src=x" in page
    assert "<img" not in page
    assert "<script" not in page
    assert not re.search(r"(src|href|url)\s*[=(]", page.replace("&lt;img src=x", ""))


def test_a_gang_that_never_fits_shows_in_the_exit_status(tmp_path: Path) -> None:
    trace = tmp_path / "t.yaml"
    trace.write_text("workloads: [{name: a, at: 0, runs: 5, pods: 9, resources: {nvidia.com/gpu: 8}}]")

    result = run("simulate", "--trace", trace, *SHAPE, "--into", tmp_path / "out", "-o", "json")

    assert result.exit_code == 3
    assert {each["summary"]["never_ran"] for each in json.loads(result.stdout)["runs"]} == {1}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(("--generate", "3"), text(simulator.NO_SITE), id="no cluster"),
        pytest.param(SHAPE, text(simulator.NOTHING_TO_REPLAY), id="no workloads"),
        pytest.param((*SHAPE, "--generate", "3", "--policy", "kia"), line(simulator.NO_SUCH_POLICY, "--policy", name="kia", known=OneOf.among("kia", KNOWN)), id="a misspelt policy"),
        pytest.param((*SHAPE, "--generate", "3", "--trace", "x"), text(simulator.TWO_TRACES), id="two sources"),
        pytest.param(("--nodes", "rack=2", "--generate", "3"), line(cli.NO_HOSTS, "--nodes", level="rack"), id="a shape without hosts"),
        pytest.param((*SHAPE, "--cluster", "x.csv", "--generate", "3"), text(simulator.TWO_SITES), id="two clusters"),
        pytest.param(("--cluster", "absent.csv", "--generate", "3"), line(simulator.NOT_CSV, "absent.csv", reason="No such file or directory"), id="a file that is not there"),
        pytest.param((*SHAPE, "--trace", "absent.yaml"), line(cli.NO_SUCH_FILE, "absent.yaml", remedy=""), id="a trace that is not there"),
    ],
)  # fmt: skip
def test_wrong_usage_is_told_with_its_remedy(tmp_path: Path, options: tuple[str, ...], expected: str) -> None:
    result = run("simulate", *options, "--into", tmp_path / "out")

    assert result.exit_code == 2
    assert expected in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_very_large_trace_is_refused_before_it_is_read(tmp_path: Path) -> None:
    trace = tmp_path / "huge.yaml"
    with trace.open("wb") as file:
        file.truncate(2 * 2**30)

    result = run("simulate", "--trace", trace, *SHAPE, "--into", tmp_path / "out")

    assert result.exit_code == 2
    assert text(simulator.TRACE_TOO_LARGE, most=67108864, bytes=2147483648) in result.stderr


def test_manifests_bring_their_own_topology(tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(run("nodes", "--shape", "rack=2,host=2", "--topology", "dc").stdout)
    plain = tmp_path / "plain.yaml"
    plain.write_text(run("nodes", "--shape", "rack=2,host=2").stdout)

    for file, told in ((cluster, "rack > host"), (plain, "block > rack > host")):
        result = run(
            "simulate", "--generate", "3", "--cluster", file, "--policy", "kueue", "--into", tmp_path / "o"
        )
        assert result.exit_code == 0, result.stderr
        assert told in result.stdout
