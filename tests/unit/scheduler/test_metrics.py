from __future__ import annotations

from closeknit.engine import Engine
from closeknit.scheduler.metrics import Metrics, Readings
from closeknit.testing.drawings import GPU, parse
from tests.unit.scheduler.verdicts import decided, gang


def lines(metrics: Metrics, name: str) -> set[str]:
    text = metrics.written().decode()
    return {line for line in text.splitlines() if line.startswith(name)}


def test_decisions_are_counted_by_what_became_of_them() -> None:
    metrics = Metrics()
    metrics.decided(decided(gang(1)), 0.002)
    metrics.decided(decided(gang(2)), 0.2)

    assert 'closeknit_decision_seconds_count{status="placed"} 1.0' in lines(metrics, "closeknit_decision")
    assert 'closeknit_decision_seconds_bucket{le="0.0025",status="placed"} 1.0' in lines(
        metrics, "closeknit_decision"
    )
    assert 'closeknit_decision_seconds_sum{status="unplaceable"} 0.2' in lines(metrics, "closeknit_decision")


def test_bindings_are_counted_by_their_answer() -> None:
    metrics = Metrics()
    metrics.bound(0.01)
    metrics.bound(0.02)
    metrics.not_bound("conflict")
    metrics.scheduled(1.5)
    metrics.let_go("released")

    assert {
        'closeknit_bindings_total{result="bound"} 2.0',
        'closeknit_bindings_total{result="conflict"} 1.0',
    } <= lines(metrics, "closeknit_bindings_total")
    assert "closeknit_binding_seconds_count 2.0" in lines(metrics, "closeknit_binding_seconds")
    assert "closeknit_scheduling_seconds_sum 1.5" in lines(metrics, "closeknit_scheduling")
    assert 'closeknit_units_let_go_total{reason="released"} 1.0' in lines(metrics, "closeknit_units")


def test_queue_depth_and_capacity_are_read_when_asked_for() -> None:
    depth = {"Unschedulable": 3}
    engine = Engine(parse("r1\n  n1: 8 used=4\n  n2: 8\nr2\n  n3: 8 used=6\n"))
    metrics = Metrics(
        Readings(
            waiting=lambda: depth,
            in_flight=lambda: 7,
            capacity=lambda: engine.capacity(GPU),
            behind=lambda: 2.5,
            reports=lambda: {"written": 9},
        )
    )
    depth["NotReady"] = 1

    where = 'level="rack",resource="nvidia.com/gpu",topology="default"'
    assert lines(metrics, "closeknit_") >= {
        'closeknit_waiting_units{reason="Unschedulable"} 3.0',
        'closeknit_waiting_units{reason="NotReady"} 1.0',
        "closeknit_bindings_in_flight 7.0",
        "closeknit_behind_seconds 2.5",
        'closeknit_reports_total{result="written"} 9.0',
        f"closeknit_free{{{where}}} 14.0",
        f"closeknit_largest_free{{{where}}} 12.0",
        f"closeknit_largest_whole_nodes{{{where}}} 1.0",
    }
    (fragmentation,) = lines(metrics, "closeknit_fragmentation")
    assert abs(float(fragmentation.rpartition(" ")[2]) - (1 - 12 / 14)) < 1e-9
