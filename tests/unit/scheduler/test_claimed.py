"""Claims on a live cluster: who waits for a claim, who is bound where it can be used, and what is counted."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.core.kinds import KINDS
from closeknit.hub.outcome import Placed
from closeknit.hub.sentences import claims, scheduler
from closeknit.hub.workload import PlaceableWorkload
from closeknit.kube.resources import PERSISTENT_VOLUME_CLAIMS
from closeknit.live.entries import key_of
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.planning import AnyVerdict
from closeknit.scheduler.reporter import Silence
from closeknit.scheduler.settings import Settings
from tests.filters.cases import Object, node, pod
from tests.filters.claims import (
    GPUS,
    ZONE,
    claim,
    claiming,
    csi_node,
    device,
    mounting,
    on_nodes,
    request,
    resource_slice,
    storage_class,
    volume,
    volume_claim,
)
from tests.kit.problems import Finding, finding, findings
from tests.unit.scheduler.living import living


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

    def verdict(self) -> str | list[Finding]:
        """The node that the only unit gets, or the problems for which it waits."""
        self.state.news()
        (unit,) = self.state.units.values()
        if not isinstance(unit, PlaceableWorkload):
            return findings(unit.problems)
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
    assert live.verdict() == [finding(claims.NOT_MADE, name="each")]

    made = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu"}]}
    live.hear(claim("p-gpu", request("gpus"), allocated=[("a", "0")]), {**waits, "status": made})

    assert live.verdict() == "a"


def test_a_pod_whose_template_asks_for_no_claim_waits_for_none() -> None:
    waits = pod("p", {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "each"}]})
    live = Live(node("a"), {**waits, "status": {"resourceClaimStatuses": [{"name": "gpu"}]}})

    assert live.verdict() == "a"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param(
            {"bindingConditions": ["Attached"]},
            [finding(claims.BINDING_CONDITIONS, name="gpus")],
            id="conditions",
        ),
        pytest.param(
            {"consumesCounters": [{"counterSet": "x", "counters": {"y": {"value": "1"}}}]},
            "no room",
            id="counters that the pool does not have",
        ),
        pytest.param(
            {"allowMultipleAllocations": True},
            [finding(claims.DEVICES_SHARED, name="gpus")],
            id="capacity",
        ),
    ],
)
def test_pods_whose_devices_cannot_be_given_stay_pending_with_that_reason(
    changed: Object, expected: str | list[Finding]
) -> None:
    slices = [resource_slice("a", [device("0", **changed)])]
    live = Live(node("a"), GPUS, *slices, claim("one", request("gpus")), pod("p", claiming("one")))

    assert live.verdict() == expected


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


def test_a_pod_goes_where_its_volume_can_be_made_or_is_reached() -> None:
    late = storage_class("late", "disk.example.com", "z1")
    zoned = node("a", labels={ZONE: "z1"})
    live = Live(zoned, node("b"), late, volume_claim("data", class_name="late"), pod("p", mounting("data")))
    assert live.verdict() == "a"

    live.hear(volume("disk", "data", **on_nodes("b")), volume_claim("data", "disk", "late"))

    assert live.verdict() == "b"


def test_a_free_volume_is_found_by_its_affinity_and_judged_by_its_zone_once_a_claim_has_it() -> None:
    large = volume("large", labels={ZONE: "z1"}, storageClassName="static", **on_nodes("a"))
    live = Live(
        node("a", labels={ZONE: "z2"}),
        storage_class("static", "kubernetes.io/no-provisioner"),
        large,
        volume("small", storageClassName="static", capacity={"storage": "1Gi"}, **on_nodes("a")),
        volume_claim("data", class_name="static"),
        pod("p", mounting("data")),
    )
    assert live.verdict() == "a"

    live.hear(
        volume("large", "data", labels={ZONE: "z1"}, storageClassName="static", **on_nodes("a")),
        volume_claim("data", "large", "static"),
    )

    assert live.verdict() == "no room"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        pytest.param(
            {"volumeBindingMode": "Immediate"},
            finding(claims.VOLUME_IMMEDIATE, name="data"),
            id="at once",
        ),
        pytest.param(
            {"metadata": {"name": "other"}},
            finding(claims.NOT_IN_SIGHT, kind="StorageClass", name="late"),
            id="no class",
        ),
        pytest.param(
            {},
            finding(claims.VOLUME_SELECTED, name="data"),
            id="by labels, where volumes are made",
        ),
    ],
)
def test_a_pod_whose_volume_is_for_others_to_bind_stays_pending(changed: Object, problem: Finding) -> None:
    late, data = {**storage_class("late"), **changed}, volume_claim("data", class_name="late")
    data["spec"]["selector"] = {} if changed else {"matchLabels": {"tier": "fast"}}
    live = Live(node("a"), late, data, pod("p", mounting("data")))

    assert live.verdict() == [problem]


def test_a_node_that_was_selected_for_a_volume_is_the_only_one() -> None:
    claimed = volume_claim("data", class_name="late")
    claimed["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "b"}
    live = Live(node("a"), node("b"), storage_class("late"), claimed, pod("p", mounting("data")))

    assert live.verdict() == "b"


def own_volume(class_name: str = "late") -> Object:
    template = {"spec": volume_claim("x", class_name=class_name)["spec"]}
    return {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]}


def made_for(uid: str, claimed: Object) -> Object:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True}
    return {**claimed, "metadata": {**claimed["metadata"], "ownerReferences": [owner]}}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            [],
            [finding(claims.VOLUME_CLAIM_NOT_MADE, name="p-v")],
            id="without a claim the pod waits for kube-controller-manager",
        ),
        pytest.param(
            [volume_claim("p-v", class_name="late")],
            [finding(claims.VOLUME_CLAIM_OF_OTHERS, name="p-v")],
            id="a claim of that name that somebody else made is not used",
        ),
        pytest.param(
            [made_for("earlier", volume_claim("p-v", class_name="late"))],
            [finding(claims.VOLUME_CLAIM_OF_OTHERS, name="p-v")],
            id="a claim of an earlier pod of that name is not used",
        ),
        pytest.param(
            [made_for("u", volume_claim("p-v", class_name="late"))],
            "a",
            id="a claim of its own is bound where its class allows it",
        ),
        pytest.param(
            [made_for("u", volume_claim("p-v", "disk")), volume("disk", "p-v", **on_nodes("b"))],
            "b",
            id="a claim of its own that has a volume binds the pod to its nodes",
        ),
    ],
)
def test_a_pod_with_an_ephemeral_volume_needs_the_claim_that_is_made_for_it(
    objects: list[Object], expected: str | list[Finding]
) -> None:
    waits = pod("p", own_volume())
    waits["metadata"]["uid"] = "u"
    nodes = [node("a", labels={ZONE: "z1"}), node("b", labels={ZONE: "z2"})]
    live = Live(*nodes, storage_class("late", "disk.example.com", "z1"), *objects, waits)

    assert live.verdict() == expected


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


class Heard(Silence):
    """Remembers why units wait."""

    def __init__(self) -> None:
        self.reported: list[Finding] = []

    def waiting(self, verdict: AnyVerdict, *_: Any) -> None:
        self.reported += findings(verdict.problems)


async def test_a_volume_that_is_not_made_in_time_is_no_longer_waited_for_and_the_unit_says_why() -> None:
    heard = Heard()
    objects = [node("a"), storage_class("late"), volume_claim("data", class_name="late")]
    async with living([*objects, pod("p", mounting("data"))], Settings(volume_deadline=5.0), heard) as live:
        await live.settle(2)
        found = await live.cluster.get(PERSISTENT_VOLUME_CLAIMS, "data", namespace="default")
        assert found["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "a"
        assert heard.reported == []
        await live.settle(4)

        assert await live.nodes() == {"p": ""}
        why = "PersistentVolumeClaim data got no volume in time."
        assert heard.reported[0] == finding(scheduler.NOT_BOUND, "Pod p", why=why)
