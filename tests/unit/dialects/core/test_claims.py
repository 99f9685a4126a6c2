"""Claims to devices and volumes: what is counted, what is told, and what pods share."""

from __future__ import annotations

import msgspec
import pytest

from closeknit.apis.core_v1 import PodSpec
from closeknit.dialects.core import matched_devices
from closeknit.dialects.core.pod_specs import pod_spec
from closeknit.dialects.core.pods import read_template
from closeknit.dialects.core.selectors import cost
from closeknit.hub.copying import replace
from closeknit.hub.request import PodSet, Reference
from closeknit.hub.sentences import claims
from tests.filters.cases import Object, node, pod
from tests.filters.claims import (
    DRIVER,
    GPUS,
    LARGE,
    MODEL_B,
    PART,
    ZONE,
    claim,
    claiming,
    csi_node,
    device,
    device_class,
    either,
    mounting,
    partitioned,
    request,
    resource_slice,
    storage_class,
    volume_claim,
)
from tests.filters.feasible import feasible
from tests.kit.problems import Finding, finding
from tests.unit.dialects.core.planned import notes, placed
from tests.unit.dialects.core.test_selectors import NESTED

CHANNELS = "compute-domain.nvidia.com"
CHANNEL = device_class(
    "compute-domain-default-channel.nvidia.com",
    f"device.driver == '{CHANNELS}' && device.attributes['{CHANNELS}'].id == 0",
)
DOMAIN = {
    "apiVersion": "resource.nvidia.com/v1beta1",
    "kind": "ComputeDomain",
    "metadata": {"name": "domain", "namespace": "default"},
    "spec": {"numNodes": 2, "channel": {"resourceClaimTemplate": {"name": "channel"}}},
}


def templated(name: str) -> Object:
    return {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": name}]}


def with_attribute(obj: Object, attribute: str) -> Object:
    constraint = {"requests": [], "matchAttribute": f"{DRIVER}/{attribute}"}
    devices = {**obj["spec"]["devices"], "constraints": [constraint]}
    return {**obj, "spec": {"devices": devices}}


def without_cel_error(note: Finding) -> Finding:
    """The error of a selector is worded by the CEL library."""
    return replace(note, facts=frozenset((name, "" if name == "why" else fact) for name, fact in note.facts))


ONE = claim("one", request("gpus"))
BY_MODEL = [
    device_class(f"model-{each}", f"device.attributes['{DRIVER}'].model == '{each}'") for each in "ab"
]
SLICE = resource_slice("a", [device("0"), device("1", "b")])


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(
            [GPUS, ONE],
            finding(claims.NO_SLICES, kind="ResourceClaim", name="one"),
            id="without slices nothing is counted",
        ),
        pytest.param(
            [GPUS, SLICE],
            finding(claims.NOT_IN_SIGHT, kind="ResourceClaim", name="one"),
            id="a claim may be missing",
        ),
        pytest.param(
            [ONE, SLICE],
            finding(claims.NOT_IN_SIGHT, kind="DeviceClass", name="gpus"),
            id="a class may be missing",
        ),
        pytest.param(
            [GPUS, SLICE, claim("one", request("gpus", 1, "device.x ="))],
            finding(claims.NOT_EVALUATED, expression="device.x =", why=""),
            id="a selector may be wrong",
        ),
        pytest.param(
            [GPUS, SLICE, claim("one", request("gpus", 1, NESTED))],
            finding(claims.GIVEN_UP, expression=NESTED, device="0", why=""),
            id="the evaluation of a selector may exceed the budget of the library",
        ),
        pytest.param(
            [GPUS, ONE, resource_slice("a", [device("0", allowMultipleAllocations=True)])],
            finding(claims.DEVICES_SHARED, name="gpus"),
            id="devices may be shared",
        ),
        pytest.param(
            [GPUS, ONE, *partitioned("a")],
            finding(claims.COUNTERS_SHARED, name="gpus"),
            id="devices may exclude each other",
        ),
        pytest.param(
            [GPUS, *partitioned("a"), claim("one", request("gpus", 1, PART))],
            None,
            id="partitions that can all be given are counted like others",
        ),
        pytest.param(
            [GPUS, ONE, {**SLICE, "spec": {**SLICE["spec"], "nodeName": "", "allNodes": True}}],
            finding(claims.NOT_LOCAL, name="gpus"),
            id="devices may not belong to a node",
        ),
        pytest.param(
            [
                GPUS,
                SLICE,
                resource_slice("b", [device("0")]),
                claim("one", request("gpus", every=True)),
                claim("single", request("gpus")),
            ],
            finding(claims.UNEQUAL_NODES, kind="ResourceClaim", name="one", device_class="gpus"),
            id="nodes may have different numbers of what is all to one and single devices to others",
        ),
        pytest.param(
            [GPUS, SLICE, with_attribute(claim("one", request("gpus", 2)), "model")],
            finding(
                claims.CONSTRAINT_NOT_COUNTED,
                kind="ResourceClaim",
                name="one",
                attribute=f"{DRIVER}/model",
            ),
            id="a constraint that may fail is told",
        ),
        pytest.param(
            [GPUS, SLICE, with_attribute(claim("one", request("gpus", 2)), "version")],
            None,
            id="a constraint that all devices of a node meet is nothing to tell",
        ),
        pytest.param(
            [
                GPUS,
                SLICE,
                device_class("none", "false"),
                claim("one", either(("none", 1), ("gpus", 2))),
            ],
            None,
            id="of several kinds those that there are count, and there is nothing to tell",
        ),
        pytest.param(
            [
                GPUS,
                SLICE,
                *BY_MODEL,
                resource_slice("b", [device("0", "b"), device("1", "b")]),
                claim("one", either(("model-a", 1), ("model-b", 2))),
                claim("any", request("gpus")),
            ],
            finding(claims.FIRST_OF_SEVERAL, kind="ResourceClaim", name="one", device_class="model-a"),
            id="of several kinds one counts where others take any of them, one at a time",
        ),
    ],
)
def test_what_is_not_counted_is_told(objects: list[Object], want: Finding | None) -> None:
    reported = notes(node("a"), node("b"), *objects, pod("p", claiming("one")))

    assert [without_cel_error(note) for note in reported] == ([want] if want else [])


def test_claims_of_the_first_version_are_read_as_well() -> None:
    old = {"apiVersion": "resource.k8s.io/v1beta1"}
    given = device("0")
    basic = {"name": given.pop("name"), "basic": given}
    slices = {**SLICE, **old, "spec": {**SLICE["spec"], "devices": [basic]}}
    flat = {"name": "main", "deviceClassName": "gpus", "count": 1}
    asked = {**ONE, **old, "spec": {"devices": {"requests": [flat]}}}

    found = feasible([node("a"), node("b"), {**GPUS, **old}, slices, asked, pod("p", claiming("one"))])

    assert found == {"p": {"a"}}


def test_pods_that_are_planned_in_turn_get_devices_of_their_own() -> None:
    template = claim("gpu", request("gpus"), template=True)
    pods = [pod(f"p{i}", templated("gpu")) for i in range(4)]
    slices = [resource_slice("a", [device("0"), device("1")]), resource_slice("b", [device("0")])]

    found = placed(node("a"), node("b"), GPUS, template, *slices, *pods)

    assert sorted(found.values()) == ["a", "a", "b"]


def test_overlapping_selectors_are_counted_exactly() -> None:
    """One large device of model b serves one of both kinds of pods, and the others of each kind one more."""
    kinds = {"large": LARGE, "model-b": MODEL_B}
    templates = [claim(name, request("gpus", 1, each), template=True) for name, each in kinds.items()]
    devices = [device("0", "b", "80Gi"), device("1", "a", "80Gi"), device("2", "b")]
    pods = [pod(f"{name}-{i}", templated(name)) for name in kinds for i in range(2)]

    found = placed(node("a"), GPUS, *templates, resource_slice("a", devices), *pods)

    assert len(found) == 3


def test_a_pod_takes_of_each_node_the_kind_of_devices_that_is_there() -> None:
    """One large device or two small ones; who asks for a small one takes half of what such a pod takes."""
    templates = [
        claim("either", either(("model-a", 1), ("model-b", 2)), template=True),
        claim("small", request("model-b"), template=True),
    ]
    slices = [
        resource_slice("a", [device("0")]),
        resource_slice("b", [device(str(i), "b") for i in range(5)]),
    ]
    pods = [pod("s0", templated("small")), *(pod(f"p{i}", templated("either")) for i in range(4))]

    found = placed(node("a"), node("b"), *BY_MODEL, *templates, *slices, *pods)

    assert found["s0"] == "b"
    assert sorted(each for name, each in found.items() if name != "s0") == ["a", "b", "b"]


@pytest.mark.parametrize(
    ("asked", "taken", "want"),
    [
        pytest.param("parts", "", 3, id="partitions that fit together are devices of their own"),
        pytest.param("wholes", "part-0", 1, id="a whole device is gone once a part of it is taken"),
        pytest.param("parts", "part-0", 3, id="of parts that are taken those that are left count"),
        pytest.param("parts", "whole", 0, id="nothing is left of a device that is taken whole"),
    ],
)
def test_devices_are_counted_by_the_counters_that_are_left(asked: str, taken: str, want: int) -> None:
    """On node a there is a device with parts, on node b a whole one more where whole ones are asked for."""
    templates = {
        "parts": claim("parts", request("gpus", 1, PART), template=True),
        "wholes": claim("wholes", request("gpus", 1, f"!({PART})"), template=True),
    }
    others = [*partitioned("b")] if asked == "wholes" else []
    if taken:
        others.append(claim("held", request("gpus"), allocated=[("a", taken)]))
        if taken == "part-0" and asked == "parts":
            want -= 1
    pods = [pod(f"p{i}", templated(asked)) for i in range(4)]

    found = placed(node("a"), node("b"), GPUS, templates[asked], *partitioned("a"), *others, *pods)

    assert len(found) == want


def test_of_a_whole_device_and_its_parts_no_more_is_planned_than_can_be_given() -> None:
    templates = [
        claim("part", request("gpus", 1, PART), template=True),
        claim("whole", request("gpus", 1, f"!({PART})"), template=True),
    ]
    pods = [pod("p0", templated("part")), *(pod(f"w{i}", templated("whole")) for i in range(2))]
    slices = [*partitioned("a"), *partitioned("b")]

    found = placed(node("a"), node("b"), GPUS, *templates, *slices, *pods)

    assert sorted(found) == ["p0", "w0"]
    assert found["p0"] != found["w0"]


def test_a_channel_of_a_compute_domain_is_one_for_each_node() -> None:
    channels = [{"name": f"channel-{i}", "attributes": {"id": {"int": i}}} for i in range(3)]
    slices = [resource_slice(name, channels, CHANNELS) for name in ("a", "b")]
    pods = [pod(f"p{i}", templated("channel")) for i in range(3)]

    found = placed(node("a"), node("b"), CHANNEL, DOMAIN, *slices, *pods)

    assert sorted(found.values()) == ["a", "b"]


def test_an_ephemeral_volume_counts_as_its_template_says_before_its_claim_is_made() -> None:
    template = {"spec": volume_claim("x", class_name="zonal")["spec"]}
    own = {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]}
    nodes = [node("a", labels={ZONE: "z1"}), node("b", labels={ZONE: "z2"})]
    objects = [*nodes, csi_node("b", 2), storage_class("zonal", "disk.example.com", "z2")]
    pods = [pod(f"p{i}", own) for i in range(3)]

    assert notes(*objects, *pods) == []
    assert sorted(placed(*objects, *pods).values()) == ["b", "b"]


def test_a_claim_that_was_not_made_for_the_pod_of_an_ephemeral_volume_is_told() -> None:
    template = {"spec": volume_claim("x", class_name="zonal")["spec"]}
    own = {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]}
    claimed = volume_claim("p-v", class_name="zonal")

    assert notes(node("a"), storage_class("zonal"), claimed, pod("p", own)) == [
        finding(claims.VOLUME_CLAIM_OF_OTHERS, name="p-v")
    ]


def test_a_volume_whose_claim_is_not_in_sight_is_told() -> None:
    assert notes(node("a"), pod("p", mounting("data"))) == [
        finding(claims.NOT_IN_SIGHT, kind="PersistentVolumeClaim", name="data")
    ]


def test_a_claim_of_a_class_that_is_not_in_sight_is_told() -> None:
    assert notes(node("a"), volume_claim("data", class_name="fast"), pod("p", mounting("data"))) == [
        finding(claims.NOT_IN_SIGHT, kind="StorageClass", name="fast")
    ]


def test_a_level_below_hosts_is_left_to_kubelets() -> None:
    topology = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": "tree"},
        "spec": {
            "levels": [
                {"domain": "host", "key": "kubernetes.io/hostname"},
                {"domain": "numa", "key": "numa"},
            ]
        },
    }
    clique = {
        "name": "w",
        "topologyConstraint": {"topologyName": "tree", "packDomain": "numa"},
        "spec": {
            "roleName": "w",
            "replicas": 2,
            "podSpec": {"containers": [{"name": "main", "image": "i"}]},
        },
    }
    made = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "s"},
        "spec": {"replicas": 1, "template": {"cliques": [clique]}},
    }
    objects = [topology, made, node("a"), node("b")]

    assert notes(*objects) == [finding(claims.KEPT_BY_KUBELETS, level="numa", group="s-0-w")]
    assert len(set(placed(*objects).values())) == 1


def test_claims_are_written_as_they_were_read() -> None:
    given = PodSet(
        "w",
        1,
        claims=(
            Reference("ResourceClaim", "a"),
            Reference("ResourceClaimTemplate", "b"),
            Reference("PersistentVolumeClaim", "c"),
        ),
    )
    spec = msgspec.convert(pod_spec(given), PodSpec)

    assert read_template(spec, namespace="default", labels={}).shape.claims == given.claims


def test_costly_selectors_are_left_out_before_cheap_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    costly = "[1, 2, 3, 4].all(a, [1, 2, 3, 4].all(b, a+b > 0))"
    objects = [
        GPUS,
        resource_slice("a", [device("0"), device("1", "b")]),
        claim("cheap", request("gpus")),
        claim("costly", request("gpus", 1, costly)),
    ]
    pods = [pod("p0", claiming("cheap")), pod("p1", claiming("costly"))]
    plain = cost(GPUS["spec"]["selectors"][0]["cel"]["expression"]) + matched_devices.EVALUATION
    both = 2 * plain + cost(costly) + matched_devices.EVALUATION
    # There are two devices, so both claims would take one step more than is allowed.
    monkeypatch.setattr(matched_devices, "MOST_STEPS", 2 * both - 1)

    (note,) = notes(*objects, node("a"), *pods)

    steps = 2 * (both - plain)
    assert note == finding(claims.TOO_MANY_STEPS, name="gpus", steps=steps, devices=2, most=2 * both - 1)
