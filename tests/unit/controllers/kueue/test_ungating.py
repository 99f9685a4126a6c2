"""Which pod goes to which domain, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from closeknit.controllers.kueue.ungating import PodSetPods, Waiting, decide
from closeknit.controllers.runtime.writes import Decision, Patch
from closeknit.dialects.kueue.assignments import Assigned
from closeknit.hub.keys import Key
from closeknit.kube.clock import timestamp

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOST = "kubernetes.io/hostname"


def waiting(*ranks: int | None, age: float = 10, gates: tuple[str, ...] = ()) -> tuple[Waiting, ...]:
    created = timestamp(NOW - timedelta(seconds=age))
    return tuple(
        Waiting(Key("", "Pod", "d", f"p{i}"), f"u{i}", rank, created, gates) for i, rank in enumerate(ranks)
    )


def pods(
    waits: tuple[Waiting, ...], domains: dict[str, int], gone: dict[str, int] | None = None
) -> PodSetPods:
    assigned = Assigned((HOST,), tuple(((name,), count) for name, count in domains.items()))
    return PodSetPods(
        assigned, (("pool", "tas"),), waits, tuple(((name,), count) for name, count in (gone or {}).items())
    )


def hosts(decision: Decision) -> dict[str, str]:
    """The host of each pod that is let go."""
    found = {}
    for write in decision.writes:
        assert isinstance(write, Patch)
        assert write.body["spec"]["nodeSelector"]["pool"] == "tas"
        found[write.key.name] = write.body["spec"]["nodeSelector"][HOST]
    return found


@pytest.mark.requirement("K89", "K90", "K98", "K116")
@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(
            pods(waiting(2, 0, 1), {"a": 2, "b": 1}), {"p0": "b", "p1": "a", "p2": "a"}, id="ranks follow the domains"
        ),
        pytest.param(
            pods(waiting(None, None, None), {"a": 2, "b": 1}),
            {"p0": "a", "p1": "a", "p2": "b"},
            id="without ranks, names do",
        ),
        pytest.param(
            pods(waiting(1, 1), {"a": 1, "b": 1}), {"p0": "a", "p1": "b"}, id="two pods of one rank are told apart"
        ),
        pytest.param(
            pods(waiting(0), {"a": 1, "b": 1}, {"b": 1}), {"p0": "a"}, id="after a restart, those gone before count"
        ),
        pytest.param(
            pods(waiting(0), {"a": 1, "b": 1}, {"a": 1}),
            {"p0": "b"},
            id="a rank whose domain is full takes what is left",
        ),
        pytest.param(
            pods(waiting(0, 1), {"a": 1}, {"a": 1}), {}, id="nobody goes where the number is complete"
        ),
        pytest.param(
            pods(waiting(7), {"a": 1}), {"p0": "a"}, id="a rank beyond the number of pods takes what is left"
        ),
    ],
)  # fmt: skip
def test_the_domain_of_each_pod(given: PodSetPods, want: dict[str, str]) -> None:
    assert hosts(decide((given,), NOW)) == want


@pytest.mark.requirement("K94")
@pytest.mark.parametrize(
    ("given", "later"),
    [
        pytest.param(pods(waiting(0, age=0.0), {"a": 2}), 1.0, id="others may come within a second"),
        pytest.param(pods(waiting(0, age=1.0), {"a": 2}), None, id="after a second nobody waits for them"),
        pytest.param(pods(waiting(0, 1, age=0.0), {"a": 2}), None, id="all are there"),
        pytest.param(
            pods(waiting(0, age=0.0), {"a": 2}, {"a": 1}), None, id="all are there, those let go before included"
        ),
    ],
)  # fmt: skip
def test_pods_that_come_together_are_let_go_together(given: PodSetPods, later: float | None) -> None:
    decision = decide((given,), NOW)

    assert bool(decision.writes) == (later is None)
    assert decision.again_at == (NOW + timedelta(seconds=later) if later is not None else None)


@pytest.mark.requirement("K82")
def test_the_gates_of_others_stay() -> None:
    (patch,) = decide((pods(waiting(0, gates=("other",)), {"a": 1}),), NOW).writes

    assert isinstance(patch, Patch)
    assert patch.body["spec"]["schedulingGates"] == [{"name": "other"}]
    assert patch.uid == "u0"
