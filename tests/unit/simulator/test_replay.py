"""Replays, by functions and by the real scheduler, and what is measured in them."""

from __future__ import annotations

import pytest

from closeknit.hub.copying import replace
from closeknit.simulator import real_scheduler
from closeknit.simulator.comparing import compared, with_merged_racks
from closeknit.simulator.generated import Mix, generate
from closeknit.simulator.history import History
from closeknit.simulator.measures import measured, window
from closeknit.simulator.policies import OURS, POLICIES
from closeknit.simulator.replay import Replay
from closeknit.simulator.scenario import ORIGINAL_SITE, Faults, Scenario
from closeknit.simulator.writing import as_json, samples_csv, workloads_csv
from tests.unit.simulator.sites import ask, scenario, site, submission

RACK, BLOCK = "rack", "block"


def replayed(policy: str, of: Scenario) -> History:
    return real_scheduler.replay(of) if policy == OURS else Replay(of, POLICIES[policy]).run()


def stays(policy: str, of: Scenario) -> list[tuple[str, int, int]]:
    """Who ran, from when to when in whole seconds, by start."""
    found = sorted(replayed(policy, of).stays, key=lambda stay: (stay.started, stay.submission))
    return [
        (of.submissions[stay.submission].name, int(stay.started + 0.5), int(stay.ended + 0.5))
        for stay in found
    ]


@pytest.mark.parametrize("policy", [*POLICIES, OURS])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            scenario(submission("a", 0, 100, ask(2, required=RACK)), submission("b", 10, 50, ask(1))),
            [("a", 0, 100), ("b", 10, 60)],
            id="gangs that fit start at once",
        ),
        pytest.param(
            scenario(submission("a", 0, 100, ask(6)), submission("b", 10, 50, ask(6)), submission("c", 20, 50, ask(6))),
            [("a", 0, 100), ("b", 100, 150), ("c", 150, 200)],
            id="gangs that wait go in the order of their arrival",
        ),
        pytest.param(
            scenario(submission("a", 0, 100, ask(7)), submission("b", 10, 50, ask(1))),
            [("b", 10, 60)],
            id="a gang that never fits stays without a place and holds up nobody",
        ),
    ],
)  # fmt: skip
def test_gangs_run_in_turn(policy: str, given: Scenario, expected: list[tuple[str, int, int]]) -> None:
    assert stays(policy, given) == expected


@pytest.mark.parametrize("policy", POLICIES)
def test_priority_goes_before_arrival_among_those_who_wait(policy: str) -> None:
    given = scenario(
        submission("a", 0, 100, ask(6)),
        submission("b", 10, 50, ask(6)),
        submission("c", 20, 50, ask(6), priority=5),
    )

    assert stays(policy, given) == [("a", 0, 100), ("c", 100, 150), ("b", 150, 200)]


def test_the_real_scheduler_displaces_for_a_higher_priority() -> None:
    given = scenario(submission("a", 0, 100, ask(6)), submission("urgent", 20, 50, ask(6), priority=50))

    found = replayed(OURS, given)

    first, urgent, again = found.stays
    assert first.lost
    assert first.submission == again.submission == 0
    assert urgent.submission == 1
    assert urgent.started < 100
    assert again.ended - again.started == pytest.approx(100)


@pytest.mark.parametrize("policy", [*POLICIES, OURS])
def test_a_gang_that_loses_a_node_runs_its_whole_time_again(policy: str) -> None:
    given = replace(
        scenario(submission("a", 0, 40_000, ask(2, required=RACK)), faults=Faults(2.0, 1000.0)), seed=3
    )

    found = replayed(policy, given)

    *lost, last = found.stays
    assert lost
    assert all(each.lost for each in lost)
    assert not last.lost
    assert last.ended - last.started == pytest.approx(40_000, abs=0.01)
    for node, fails, back in found.outages:
        for stay in found.stays:
            held = any(used == node for used, _ in stay.nodes)
            assert not held or stay.ended <= fails + 0.1 or stay.started >= back - 0.1


def test_all_policies_meet_the_same_failures() -> None:
    given = scenario(submission("a", 0, 5000, ask(1)), faults=Faults(20.0, 600.0))
    found = [
        {(node, round(fails, 3)) for node, fails, _ in replayed(policy, given).outages if fails < 5000}
        for policy in (*POLICIES, OURS)
    ]

    assert found[0]
    assert all(each == found[0] for each in found)


def test_figures_follow_from_placements() -> None:
    given = scenario(
        submission("whole", 0, 100, ask(2, required=RACK)),
        submission("wide", 0, 100, ask(4, preferred=RACK)),
        submission("late", 50, 50, ask(1)),
        drawn="""
        b1
          r1
            x1: 8
            x2: 8
          r2
            x3: 8
            x4: 8
          r3
            x5: 8
            x6: 8
        """,
    )
    history = replayed("kueue", given)

    found = measured(given, history, "kueue", ORIGINAL_SITE, window(given, [history]))

    wide = found.gangs[1]
    assert (wide.racks, wide.blocks, wide.preference_met, wide.requirement_kept) == (2, 1, False, None)
    assert wide.ring == 2 / 4
    assert wide.all_to_all == pytest.approx(1 - 4 / 12)
    assert found.summary["whole_in_rack"] == 0.5
    assert found.summary["whole_in_block"] == 1.0
    assert found.summary["preferences_met"] == 0.0
    assert found.summary["requirements_broken"] == 0
    # Two nodes of work stay in their rack, and four are apart.
    assert found.summary["traffic_leaving_racks_ring"] == pytest.approx(0.5 * 4 / 6)
    assert found.summary["utilisation"] == 1.0
    assert found.summary["wait_p99"] == 50
    assert [(each.devices, each.gangs, each.median) for each in found.waits] == [
        ("5-8", 1, 50),
        ("9-16", 1, 0),
        ("17-32", 1, 0),
    ]
    assert {each.used for each in found.samples} == {1.0}
    assert [each.waiting for each in found.samples].count(1) == len(found.samples) // 2


def test_fragmentation_tells_what_is_missing_from_a_whole_rack() -> None:
    given = scenario(
        *(submission(f"g{number}", 0, 100, ask(1)) for number in range(3)), submission("end", 100, 1, ask(1))
    )
    spread = History()
    for each in replayed("first-fit", given).stays[:3]:
        # One node of every rack is taken, instead of the first three.
        spread.stays.append(replace(each, nodes=((2 * each.submission, 1),)))

    together, apart = (
        measured(given, history, "", ORIGINAL_SITE, 100).samples[0]
        for history in (replayed("first-fit", given), spread)
    )

    assert (together.fragmentation, together.largest_in_rack, together.largest_in_block) == (0.0, 16, 16)
    assert (apart.fragmentation, apart.largest_in_rack, apart.largest_in_block) == (0.5, 8, 16)


def test_equal_seeds_give_equal_bytes_and_others_do_not() -> None:
    def written(seed: int) -> tuple[str, str, str]:
        gangs = generate(Mix(workloads=20, load=1.5, burst_share=0.5, burst_size=5), site(), seed)
        given = Scenario(site(), gangs, Faults(1.0), seed)
        found = compared(given, ["kai", OURS], merge_racks=2)
        return as_json(given, found), workloads_csv(given, found), samples_csv(found)

    assert written(1) == written(1) != written(2)


def test_merged_racks_stay_within_their_block() -> None:
    merged = with_merged_racks(site(), 2)

    racks = [merged.topology.path(node.labels)[:2] for node in merged.nodes]
    assert racks == [("b1", "r1")] * 4 + [("b2", "r1")] * 2


def test_bursts_arrive_at_one_moment_and_the_load_sets_the_rate() -> None:
    gangs = generate(Mix(workloads=200, load=0.5, burst_share=1.0, burst_size=50), site(), 1)
    work = sum(site().devices_of(each.ask) * each.runs for each in gangs)

    assert len({each.at for each in gangs}) == 4
    assert max(each.at for each in gangs) <= work / (0.5 * site().devices)
    assert {each.ask.required for each in gangs} >= {None, RACK}
    # What is too large for the largest rack asks for a block, and what is too large for that for nothing.
    levels = {each.ask.pods: each.ask.required or each.ask.preferred for each in gangs}
    assert (levels[1], levels[2], levels[4], levels[8]) == (None, RACK, BLOCK, None)
