"""Claims on a live cluster: who waits for a claim, who is bound where it can be used, and what is counted."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.core.kinds import KINDS
from closeknit.hub.outcome import Placed
from closeknit.live.entries import key_of
from closeknit.scheduler.cluster_state import ClusterState
from tests.filters.cases import Object, node, pod
from tests.filters.claims import (
    GPUS,
    claim,
    claiming,
    csi_node,
    device,
    mounting,
    on_nodes,
    request,
    resource_slice,
    volume,
    volume_claim,
)


class Live:
    """A cluster that is followed."""

    def __init__(self, *objects: Object) -> None:
        self.state = ClusterState()
        self.hear(*objects)

    def hear(self, *objects: Object, gone: bool = False) -> None:
        for obj in objects:
            group, _, version = obj["apiVersion"].rpartition("/")
            kind = next(each for each in KINDS if (each.group, each.kind) == (group, obj["kind"]))
            metadata = obj["metadata"]
            key = key_of(kind, metadata.get("namespace", ""), metadata["name"])
            told: Any = None if gone else obj
            self.state.heard(kind, obj["apiVersion"], key, told)
            assert version

    def verdict(self) -> str:
        """The node that the only unit gets, or why it waits."""
        self.state.news()
        (unit,) = self.state.units.values()
        if unit.request is None:
            return " ".join(problem.message for problem in unit.problems)
        outcome = self.state.engine.solve(unit.request)
        return outcome.assignments[0].node if isinstance(outcome, Placed) else "no room"


DEVICES = [GPUS, resource_slice("a", [device("0")]), resource_slice("b", [device("0")])]


def test_a_pod_goes_where_its_claim_can_get_devices_or_has_got_them() -> None:
    taken = claim("other", request("gpus"), allocated=[("a", "0")])
    live = Live(
        node("a"), node("b"), *DEVICES, taken, claim("one", request("gpus")), pod("p", claiming("one"))
    )
    assert live.verdict() == "b"

    live.hear(taken, gone=True)
    live.hear(claim("one", request("gpus"), allocated=[("a", "0")]))

    assert live.verdict() == "a"


def test_a_pod_waits_until_a_claim_was_made_for_it_from_its_template() -> None:
    waits = pod("p", {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "each"}]})
    template = claim("each", request("gpus"), template=True)
    live = Live(node("a"), node("b"), *DEVICES, template, waits)
    assert live.verdict().startswith('No ResourceClaim was made yet from ResourceClaimTemplate "each"')

    made = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu"}]}
    live.hear(claim("p-gpu", request("gpus"), allocated=[("a", "0")]), {**waits, "status": made})

    assert live.verdict() == "a"


def test_a_pod_whose_template_asks_for_no_claim_waits_for_none() -> None:
    waits = pod("p", {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "each"}]})
    live = Live(node("a"), {**waits, "status": {"resourceClaimStatuses": [{"name": "gpu"}]}})

    assert live.verdict() == "a"


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param(
            {"bindingConditions": ["Attached"]}, "must be prepared before a pod is bound", id="conditions"
        ),
        pytest.param({"consumesCounters": [{"counterSet": "x"}]}, "share counters", id="counters"),
        pytest.param({"allowMultipleAllocations": True}, "take several claims", id="capacity"),
    ],
)
def test_pods_whose_devices_cannot_be_given_stay_pending_with_that_reason(changed: Object, want: str) -> None:
    slices = [resource_slice("a", [device("0", **changed)])]
    live = Live(node("a"), GPUS, *slices, claim("one", request("gpus")), pod("p", claiming("one")))

    assert want in live.verdict()


def test_devices_are_held_by_the_pod_that_runs_with_them_and_by_nobody_when_it_has_ended() -> None:
    held = claim("held", request("gpus"), allocated=[("a", "0")])
    held["status"]["reservedFor"] = [{"resource": "pods", "name": "runs", "uid": "u"}]
    runs = pod("runs", {"nodeName": "a", **claiming("held")})
    runs["metadata"]["uid"] = "u"
    waits = pod("p", claiming("one"))
    live = Live(node("a"), GPUS, DEVICES[1], held, runs, claim("one", request("gpus")), waits)
    assert live.verdict() == "no room"
    name = "deviceclass.resource.kubernetes.io/gpus"
    assert [each.resources.get(name) for each in live.state.all_holdings()] == [1]
    assert live.state.nodes["a"].allocatable[name] == 1

    live.hear({**runs, "status": {"phase": "Succeeded"}})

    assert live.verdict() == "no room"
    assert name not in live.state.nodes["a"].allocatable

    live.hear(claim("held", request("gpus")))

    assert live.verdict() == "a"


def test_a_pod_waits_until_its_volume_is_bound_and_goes_where_it_is_reached() -> None:
    live = Live(node("a"), node("b"), volume_claim("data"), pod("p", mounting("data")))
    assert live.verdict().startswith('PersistentVolumeClaim "data" has no volume yet')

    live.hear(volume("disk", "data", **on_nodes("b")), volume_claim("data", "disk"))

    assert live.verdict() == "b"


@pytest.mark.parametrize(
    ("limit", "want"),
    [
        pytest.param(1, "no room", id="the volume of a pod that runs takes the only place"),
        pytest.param(2, "a", id="there is room for a second one"),
    ],
)
def test_volumes_of_pods_that_run_count_although_they_were_told_later(limit: int, want: str) -> None:
    live = Live(
        node("a"),
        pod("runs", {"nodeName": "a", **mounting("first")}),
        pod("p", mounting("second")),
        *(volume(f"{name}-disk", name) for name in ("first", "second")),
        volume_claim("second", "second-disk"),
    )
    live.verdict()

    live.hear(csi_node("a", limit), volume_claim("first", "first-disk"))

    assert live.verdict() == want


def test_a_volume_for_one_pod_alone_is_free_again_when_its_pod_has_gone() -> None:
    runs = pod("runs", {"nodeName": "a", **mounting("data")})
    live = Live(
        node("a"),
        volume("disk", "data"),
        volume_claim("data", "disk", mode="ReadWriteOncePod"),
        runs,
        pod("p", mounting("data")),
    )
    assert live.verdict() == "no room"

    live.hear(runs, gone=True)

    assert live.verdict() == "a"
