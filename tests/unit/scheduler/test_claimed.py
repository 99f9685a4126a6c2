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


def test_a_pod_waits_until_its_claim_has_devices_and_goes_where_they_are() -> None:
    live = Live(node("a"), node("b"), *DEVICES, claim("one", request("gpus")), pod("p", claiming("one")))
    assert live.verdict().startswith('ResourceClaim "one" has no devices yet')

    live.hear(claim("one", request("gpus"), allocated=[("b", "0")]))

    assert live.verdict() == "b"


def test_the_claim_that_was_made_for_a_pod_is_the_one_that_counts() -> None:
    waits = pod("p", {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "each"}]})
    template = claim("each", request("gpus"), template=True)
    live = Live(node("a"), node("b"), *DEVICES, template, waits)
    assert live.verdict().startswith('ResourceClaimTemplate "each" has no devices yet')

    made = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu"}]}
    live.hear(claim("p-gpu", request("gpus"), allocated=[("a", "0")]), {**waits, "status": made})

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


def test_a_rule_about_namespaces_with_a_label_follows_the_label() -> None:
    selector = {"namespaceSelector": {"matchLabels": {"team": "a"}}, "labelSelector": {}}
    term = {"topologyKey": "kubernetes.io/hostname", **selector}
    away = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    runs = pod("runs", {**away, "nodeName": "a"})
    live = Live(node("a"), runs, pod("p", {}), _namespace("default", {"team": "a"}))
    assert live.verdict() == "no room"

    live.hear(_namespace("default", {"team": "b"}))

    assert live.verdict() == "a"


def _namespace(name: str, labels: dict[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
