"""What a pod asks of a node, as Kubernetes counts it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.core.pods import Stage
from closeknit.hub.problems import Range
from closeknit.hub.request import HostPort
from closeknit.hub.sentences import core, hub
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.core.read_pods import GPU, container, read
from tests.unit.dialects.expected import MOST, misspelt, unknown_choice, with_suggestions
from tests.unit.dialects.kit import reading, reported


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {
                "containers": [container({"cpu": "-1"}), container({}, {GPU: "x"})],
                "initContainers": [container({"cpu": ""})],
            },
            [
                finding(hub.NEGATIVE, "spec.containers[0].resources.requests.cpu", value="-1"),
                finding(hub.UNKNOWN_SUFFIX, f'spec.containers[1].resources.limits["{GPU}"]', value="x"),
                finding(hub.UNKNOWN_SUFFIX, "spec.initContainers[0].resources.requests.cpu", value=""),
            ],
            id="every quantity that is none is told at its path",
        ),
        pytest.param(
            {"containers": [container({"memory": "8Ei"})], "overhead": {"cpu": "1e10"}},
            [
                finding(
                    hub.TOO_LARGE,
                    "spec.containers[0].resources.requests.memory",
                    value="8Ei",
                    most=MOST,
                ),
                finding(hub.TOO_LARGE, "spec.overhead.cpu", value="1e10", most=9_223_372_036),
            ],
            id="a quantity that is too large to count is told",
        ),
        pytest.param(
            {"containers": [container({"memory": "5Ei"}), container({"memory": "5Ei"})]},
            [finding(core.POD_TOO_LARGE, "spec.containers", resource="memory", most=MOST)],
            id="a sum that is too large to count is told",
        ),
        pytest.param(
            {"containers": []},
            [finding(core.NO_CONTAINERS, "spec.containers")],
            id="an empty pod is told",
        ),
        pytest.param(
            {"containers": [{"ports": [{"hostPort": 70_000, "protocol": "tcp"}]}]},
            [
                finding(
                    core.OUT_OF_RANGE,
                    "spec.containers[0].ports[0].hostPort",
                    value=70_000,
                    allowed=Range(1, 65_535),
                ),
                unknown_choice("spec.containers[0].ports[0].protocol", "tcp", ("TCP", "UDP", "SCTP")),
            ],
            id="ports out of range and unknown protocols are told",
        ),
        pytest.param(
            {
                "tolerations": [
                    {"operator": "Equal"},
                    {"key": "a", "operator": "Exists", "value": "x"},
                    {"key": "a", "operator": "Gt"},
                    {"key": "a", "effect": "NoRun"},
                ]
            },
            [
                finding(core.EQUAL_WITHOUT_KEY, "spec.tolerations[0].operator"),
                finding(core.EXISTS_WITH_VALUE, "spec.tolerations[1].value"),
                unknown_choice("spec.tolerations[2].operator", "Gt", ("Equal", "Exists")),
                unknown_choice(
                    "spec.tolerations[3].effect", "NoRun", ("NoExecute", "NoSchedule", "PreferNoSchedule")
                ),
            ],
            id="tolerations that mean nothing are told",
        ),
    ],
)
def test_problems(spec: dict[str, Any], want: list[Finding]) -> None:
    assert findings(read(spec).problems) == want


def test_host_ports_are_those_of_containers_that_stay() -> None:
    ports = [
        {"containerPort": 1},
        {"hostPort": 80},
        {"hostPort": 53, "protocol": "UDP", "hostIP": "127.0.0.1"},
    ]
    spec = {
        "containers": [{"ports": ports}],
        "initContainers": [
            {"ports": [{"hostPort": 1}]},
            {"ports": [{"hostPort": 9, "protocol": "SCTP"}], "restartPolicy": "Always"},
        ],
    }

    assert read(spec).shape.host_ports == {
        HostPort(80),
        HostPort(53, "UDP", "127.0.0.1"),
        HostPort(9, "SCTP"),
    }


@pytest.mark.parametrize(
    ("spec", "status", "metadata", "want"),
    [
        pytest.param({}, {}, {}, Stage.OPEN, id="a pod without a node waits"),
        pytest.param({"schedulingGates": [{"name": "x"}]}, {}, {}, Stage.OPEN, id="a gated pod waits"),
        pytest.param(
            {"nodeName": "n"}, {"phase": "Pending"}, {}, Stage.RUNNING, id="a bound pod runs, started or not"
        ),
        pytest.param(
            {"nodeName": "n"}, {"phase": "Succeeded"}, {}, Stage.SUCCEEDED, id="a pod can have succeeded"
        ),
        pytest.param({"nodeName": "n"}, {"phase": "Failed"}, {}, Stage.FAILED, id="a pod can have failed"),
        pytest.param(
            {"nodeName": "n"},
            {},
            {"deletionTimestamp": "2025-01-01T00:00:00Z"},
            Stage.LEAVING,
            id="a pod can be leaving",
        ),
    ],
)
def test_stages(spec: dict[str, Any], status: dict[str, Any], metadata: dict[str, Any], want: Stage) -> None:
    found = read(spec, status=status, metadata={"name": "p", **metadata})

    assert found.stage is want
    assert found.holds == (want in (Stage.RUNNING, Stage.LEAVING))


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"containers": [{"resource": {}}]},
            misspelt("1:spec.containers[0].resource", "resource", "resources"),
            id="of a container",
        ),
        pytest.param(
            {"containers": [{"resources": {"request": {}}}]},
            misspelt("1:spec.containers[0].resources.request", "request", "requests"),
            id="of resources",
        ),
        pytest.param(
            {"containers": [{}], "nodename": "n"},
            misspelt("1:spec.nodename", "nodename", "nodeName"),
            id="of a pod's spec",
        ),
        pytest.param(
            {"containers": [{}], "toleration": []},
            misspelt("1:spec.toleration", "toleration", "tolerations"),
            id="in the singular",
        ),
    ],
)
def test_a_misspelt_field_is_named_with_the_nearest(spec: dict[str, Any], want: Finding) -> None:
    assert with_suggestions(reported(json.dumps({**POD, "spec": spec}))) == [want]


def test_fields_that_do_not_concern_us_are_fine() -> None:
    spec = {
        "containers": [
            {"name": "a", "image": "b", "command": ["c"], "env": [], "volumeMounts": [], "tty": True}
        ],
        "volumes": [],
        "serviceAccountName": "x",
        "restartPolicy": "Never",
        "schedulerName": "kai-scheduler",
        "terminationGracePeriodSeconds": 5,
        "hostNetwork": True,
    }
    status = {"phase": "Pending", "conditions": [], "aFieldOfTheFuture": 1}

    assert reading(json.dumps({**POD, "spec": spec, "status": status})).problems == ()


def test_pods_that_differ_in_their_index_alone_have_one_shape_that_is_made_once() -> None:
    labels = [{"app": "train", "apps.kubernetes.io/pod-index": str(index)} for index in range(3)]
    pods = [read({}, metadata={"name": "p", "labels": each}) for each in labels]
    other = read({}, metadata={"name": "p", "labels": {"app": "serve"}})

    assert all(pod.shape is pods[0].shape for pod in pods)
    assert other.shape != pods[0].shape
    assert dict(pods[2].holding("w").neighbour.labels)["apps.kubernetes.io/pod-index"] == "2"
