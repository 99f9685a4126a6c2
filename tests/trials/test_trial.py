"""The judges must notice a wrong engine, and the run must say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Outcome, Placed, Undecided, Unplaceable, Wishes
from closeknit.hub.request import Request
from closeknit.testing.builders import pods, request
from closeknit.testing.check import spread_of
from closeknit.testing.drawings import parse
from closeknit.testing.meaning import wishes_of
from closeknit.testing.scene import Scene
from tests.trials import oracle_run
from tests.trials.runs import seed_of
from tests.trials.trial import Trial, decided, instance_of, judged

CLUSTER = parse("x1: 2\nx2: 1\nx3: 1")
REQUEST = request("train", pods("a", 2))


def spread_wide(cluster: Cluster, asked: Request) -> Placed:
    """A sound placement on two nodes, where one would do."""
    small = replace(cluster, nodes=tuple(node for node in cluster.nodes if node.name != "x1"))
    return on_part(cluster, small, asked)


def on_part(cluster: Cluster, part: Cluster, asked: Request) -> Placed:
    """The placement on a part of a cluster, described as one on all of it."""
    outcome = decided(part, asked)
    assert isinstance(outcome, Placed)
    return replace(outcome, wishes=wishes_of(Scene.of(cluster, asked), spread_of(outcome)))


def unsound(cluster: Cluster, asked: Request) -> Outcome:
    outcome = decided(cluster, asked)
    assert isinstance(outcome, Placed)
    return replace(outcome, wishes=Wishes(7, (), (1,)))


def unproven(cluster: Cluster, asked: Request) -> Outcome:
    return replace(spread_wide(cluster, asked), proven=False)


def proven(cluster: Cluster, asked: Request) -> Outcome:
    return replace(spread_wide(cluster, asked), proven=True)


def unplaceable(_: Cluster, asked: Request) -> Outcome:
    return Unplaceable(asked.name)


def undecided(_: Cluster, asked: Request) -> Outcome:
    return Undecided(asked.name)


def crashing(_: Cluster, asked: Request) -> Outcome:
    raise KeyError(asked.name)


def test_a_good_engine_has_no_failures() -> None:
    trial = judged(CLUSTER, REQUEST, seed=5)

    assert trial == Trial(5, "placed", optimal=True, proven=True)
    assert trial.failures == ()


@pytest.mark.parametrize(
    ("decide", "failures"),
    [
        pytest.param(unsound, ("unsound",), id="a wrong report is unsound"),
        pytest.param(unplaceable, ("missed",), id="saying no where there is a placement is a miss"),
        pytest.param(undecided, ("undecided",), id="not knowing is counted"),
        pytest.param(crashing, ("crashed",), id="an exception is counted"),
        pytest.param(proven, ("false proofs",), id="a second-best placement called proven is a false proof"),
        pytest.param(unproven, (), id="a second-best placement not called proven is honest"),
    ],
)
def test_a_bad_engine_is_noticed(
    decide: Callable[[Cluster, Request], Outcome], failures: tuple[str, ...]
) -> None:
    trial = judged(CLUSTER, REQUEST, decide=decide)

    assert trial.failures == failures


@pytest.mark.parametrize(
    ("decide", "failures"),
    [
        pytest.param(decided, (), id="as good as planted"),
        pytest.param(proven, ("false proofs",), id="worse than planted, and called proven"),
        pytest.param(unproven, (), id="worse than planted, and not called proven"),
    ],
)
def test_a_planted_placement_judges_like_the_oracle(
    decide: Callable[[Cluster, Request], Outcome], failures: tuple[str, ...]
) -> None:
    planted = {"a": Counter({"x1": 2})}

    assert judged(CLUSTER, REQUEST, planted, decide=decide).failures == failures


def test_a_second_best_placement_is_told_what_is_better() -> None:
    trial = judged(CLUSTER, REQUEST, decide=unproven)

    assert not trial.optimal
    assert trial.better == Wishes(0, (), (1,), 0, 2)


def test_seeds_tell_runs_and_numbers_apart() -> None:
    assert len({seed_of(run, number) for run in range(3) for number in range(100)}) == 300
    assert instance_of(seed_of(1, 5)) == instance_of(1_000_000_005)


def report(capsys: pytest.CaptureFixture[str], status: int) -> list[str]:
    lines = capsys.readouterr().out.splitlines()
    lines.append(f"exit {status}")
    return lines


def test_a_run_counts_and_names_what_failed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = {
        3_000_000_000: Trial(3_000_000_000, "placed", optimal=True, proven=True),
        3_000_000_001: Trial(3_000_000_001, "unplaceable"),
        3_000_000_002: Trial(3_000_000_002, "unplaceable", missed=True),
        3_000_000_003: Trial(3_000_000_003, "placed", proven=True, better=Wishes(0, (), (1,))),
        3_000_000_004: Trial(3_000_000_004, "undecided"),
        3_000_000_005: Trial(3_000_000_005, "placed"),
    }
    monkeypatch.setattr(oracle_run, "trial_of", lambda seed, **_: trials[seed])

    status = oracle_run.main(["-n", "6", "--seed", "3", "--processes", "1"])

    assert report(capsys, status) == [
        "seed 3",
        "instances 6",
        "placed 3",
        "unplaceable 2",
        "crashed 0",
        "unsound 0",
        "missed 1",
        "undecided 1",
        "false proofs 1",
        "optimal 1 of 3 (33.33 percent)",
        "not proven 1",
        "missed: replay with --only 3000000002",
        "false proofs: replay with --only 3000000003",
        "undecided: replay with --only 3000000004",
        "not optimal: replay with --only 3000000005",
        "exit 1",
    ]


@pytest.mark.parametrize(
    ("trial", "status"),
    [
        pytest.param(Trial(0, "placed", optimal=True, proven=True), 0, id="all good"),
        pytest.param(Trial(0, "placed", optimal=True), 0, id="optimal without proof is good"),
        pytest.param(Trial(0, "unplaceable"), 0, id="nothing placed is not too little that is optimal"),
        pytest.param(Trial(0, "placed"), 1, id="too few optimal"),
        pytest.param(Trial(0, "crashed"), 1, id="a crash"),
        pytest.param(Trial(0, "placed", unsound=("x",)), 1, id="something unsound"),
    ],
)
def test_exit_status(
    trial: Trial, status: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle_run, "trial_of", lambda _, **__: trial)

    assert oracle_run.main(["-n", "1", "--processes", "1"]) == status
    assert "instances 1" in capsys.readouterr().out


def planted_trials(number: int = 1_000, seconds: float = 0.1, **odd: int) -> list[Trial]:
    """So many good trials, of which some are not: by what they are, how many."""
    made = {
        "undecided": Trial(0, "undecided"),
        "missed": Trial(0, "unplaceable", missed=True),
        "leaving_out": Trial(0, "placed", leaves_out_more=True, better=Wishes(0, (), (1,))),
        "spread_wider": Trial(0, "placed", better=Wishes(0, (), (1,))),
        "slow": Trial(0, "placed", optimal=True, seconds=2.5),
    }
    trials = [made[name] for name, count in odd.items() for _ in range(count)]
    return trials + [Trial(0, "placed", optimal=True, seconds=seconds)] * (number - len(trials))


@pytest.mark.parametrize(
    ("trials", "status"),
    [
        pytest.param(planted_trials(), 0, id="all as good as planted"),
        pytest.param(planted_trials(spread_wider=999), 0, id="more domains than planted"),
        pytest.param(planted_trials(undecided=1), 0, id="one in a thousand undecided"),
        pytest.param(planted_trials(undecided=2), 1, id="two in a thousand undecided"),
        pytest.param(planted_trials(leaving_out=5), 0, id="five in a thousand leave out more pods"),
        pytest.param(planted_trials(leaving_out=6), 1, id="six in a thousand leave out more pods"),
        pytest.param(planted_trials(missed=1), 1, id="one called unplaceable"),
        pytest.param(planted_trials(slow=9), 0, id="nine in a thousand take longer than two seconds"),
        pytest.param(planted_trials(slow=11), 1, id="eleven in a thousand take longer than two seconds"),
        pytest.param(planted_trials(seconds=2.0), 1, id="all take two seconds"),
    ],
)
def test_a_planted_run_fails_where_more_goes_wrong_than_is_allowed(
    trials: list[Trial], status: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle_run, "trial_of", lambda seed, **_: replace(trials[seed], seed=seed))

    assert oracle_run.main(["-n", "1000", "--seed", "0", "--processes", "1", "--planted"]) == status
    kinds = Counter(trial.kind for trial in trials)
    lines = capsys.readouterr().out.splitlines()
    assert f"unplaceable {kinds['unplaceable']}" in lines
    assert f"undecided {kinds['undecided'] / 10:.2f} percent, at most 0.1 allowed" in lines


def test_a_planted_run_of_few_is_not_judged_by_its_slowest(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = planted_trials(seconds=2.0)
    monkeypatch.setattr(oracle_run, "trial_of", lambda seed, **_: replace(trials[seed], seed=seed))

    assert oracle_run.main(["-n", "99", "--seed", "0", "--processes", "1", "--planted"]) == 0


def test_a_placement_that_leaves_out_more_pods_than_planted_is_told_from_one_that_uses_more_domains() -> None:
    fewer = request("train", pods("a", 2, minimum=1))
    one_node = {"a": Counter({"x1": 2})}

    def one_pod(cluster: Cluster, asked: Request) -> Outcome:
        small = replace(cluster, nodes=tuple(node for node in cluster.nodes if node.name == "x2"))
        return replace(on_part(cluster, small, asked), proven=False)

    assert judged(CLUSTER, fewer, one_node, decide=one_pod).leaves_out_more
    assert not judged(CLUSTER, REQUEST, one_node, decide=unproven).leaves_out_more


def test_two_processes_count_like_one(capsys: pytest.CaptureFixture[str]) -> None:
    alone = report(capsys, oracle_run.main(["-n", "12", "--seed", "2", "--processes", "1"]))
    together = report(capsys, oracle_run.main(["-n", "12", "--seed", "2", "--processes", "2"]))

    assert together == alone


def test_one_instance_is_replayed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = report(capsys, oracle_run.main(["--only", "1000000001"]))

    assert lines[0].startswith("levels: ")
    assert "verdict: good" in lines
    assert lines[-1] == "exit 0"
