"""Which pod goes to which domain, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from closeknit.apis import core_v1
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.controllers.kueue.reservations import INDEXES
from closeknit.controllers.kueue.ungating import PodSetPods, Waiting, decide, observe
from closeknit.controllers.runtime.writes import Decision, Patch
from closeknit.dialects.kueue.assignments import Assigned
from closeknit.dialects.store.store import Entry, Store
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.kube.clock import timestamp
from closeknit.live.entries import whole_entry_of

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


def stored_pod(name: str, workload: str, gates: int = 1) -> Entry:
    written = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "d",
            "labels": {"kueue.x-k8s.io/podset": "main"},
            "annotations": {"kueue.x-k8s.io/workload": workload},
        },
        "spec": {"containers": [], "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}] * gates},
    }
    return whole_entry_of(Kind("", "Pod", ("v1",), core_v1.Pod), "v1", written)


def stored_workload(name: str) -> Entry:
    admission = {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "count": 2}]}
    written = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "d"},
        "spec": {"podSets": [{"name": "main", "count": 2, "template": {"spec": {"containers": []}}}]},
        "status": {
            "admission": admission,
            "conditions": [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")],
        },
    }
    kind = Kind("kueue.x-k8s.io", "Workload", ("v1beta2",), wire.Workload)
    return whole_entry_of(kind, "kueue.x-k8s.io/v1beta2", written)


@pytest.mark.requirement("K88", "K92", "K93")
def test_a_workload_is_looked_at_again_for_its_own_pods_alone() -> None:
    """Its pods are found by an index: those of others are not even looked at."""
    view = View(Store(INDEXES))
    own = stored_workload("w")
    view.put(own)
    for i in range(100):
        view.put(stored_pod(f"other-{i}", f"other-{i}"))
    view.put(stored_pod("w-0", "w"))
    (found,) = view.derive(observe, own.key)
    assert [each.key.name for each in found.waiting] == ["w-0"]

    view.put(stored_pod("other-0", "other-0", gates=0))
    assert list(view.stale(observe)) == []

    view.put(stored_pod("w-1", "w"))
    assert list(view.stale(observe)) == [(own.key,)]
    (found,) = view.derive(observe, own.key)
    assert [each.key.name for each in found.waiting] == ["w-0", "w-1"]


@pytest.mark.requirement("K82")
def test_the_gates_of_others_stay() -> None:
    (patch,) = decide((pods(waiting(0, gates=("other",)), {"a": 1}),), NOW).writes

    assert isinstance(patch, Patch)
    assert patch.body["spec"]["schedulingGates"] == [{"name": "other"}]
    assert patch.uid == "u0"
