"""What a pod asks of a node, as Kubernetes counts it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.core.pods import Stage
from closeknit.hub.request import HostPort
from tests.unit.dialects.core.read_pods import GPU, REQUIRED, container, read
from tests.unit.dialects.kit import problems, reading


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {
                "containers": [container({"cpu": "-1"}), container({}, {GPU: "x"})],
                "initContainers": [container({"cpu": ""})],
            },
            [
                'spec.containers[0].resources.requests.cpu: "-1" is negative. Write zero or more.',
                f'spec.containers[1].resources.limits["{GPU}"]: "x" is not a quantity. Write a number with an optional'
                " suffix (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei), such as 8, 500m or 1.5Gi.",
                'spec.initContainers[0].resources.requests.cpu: "" is not a quantity. Write a number with an optional'
                " suffix (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei), such as 8, 500m or 1.5Gi.",
            ],
            id="every quantity that is none is told at its path",
        ),
        pytest.param(
            {"containers": [container({"memory": "8Ei"})], "overhead": {"cpu": "1e10"}},
            [
                'spec.containers[0].resources.requests.memory: "8Ei" is too large.'
                " The most that can be counted is 9223372036854775807.",
                'spec.overhead.cpu: "1e10" is too large. The most that can be counted is 9223372036.',
            ],
            id="a quantity that is too large to count is told",
        ),
        pytest.param(
            {"containers": [container({"memory": "5Ei"}), container({"memory": "5Ei"})]},
            [
                "spec.containers: The pod asks for more memory than can be counted. The most is 9223372036854775807."
            ],
            id="a sum that is too large to count is told",
        ),
        pytest.param(
            {"containers": []},
            ["spec.containers: A pod needs at least one container."],
            id="an empty pod is told",
        ),
        pytest.param(
            {"containers": [{"ports": [{"hostPort": 70_000, "protocol": "tcp"}]}]},
            [
                "spec.containers[0].ports[0].hostPort: 70000 is out of range. Allowed are 1 to 65535.",
                'spec.containers[0].ports[0].protocol: "tcp" is not known. Did you mean "TCP"? Allowed: "SCTP", "TCP", "UDP".',
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
                "spec.tolerations[0].operator: Without a key, the operator must be Exists.",
                "spec.tolerations[1].value: Exists takes no value. Leave it out, or use Equal.",
                'spec.tolerations[2].operator: "Gt" is not known. Allowed: "Equal", "Exists".',
                'spec.tolerations[3].effect: "NoRun" is not known.'
                ' Allowed: "NoExecute", "NoSchedule", "PreferNoSchedule".',
            ],
            id="tolerations that mean nothing are told",
        ),
    ],
)
def test_problems(spec: dict[str, Any], want: list[str]) -> None:
    assert [str(problem) for problem in read(spec).problems] == want


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


def test_what_no_request_can_say_is_kept_apart() -> None:
    spec = {
        "affinity": {
            "podAffinity": {
                REQUIRED: [{"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "a"}}}]
            }
        },
    }
    found = read(spec)

    assert found.problems == ()
    assert [problem.where for problem in found.unsayable] == [
        f"spec.affinity.podAffinity.{REQUIRED}[0].namespaceSelector",
    ]


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"containers": [{"resource": {}}]},
            '1:spec.containers[0].resource: There is no field "resource" here. Did you mean "resources"?',
            id="of a container",
        ),
        pytest.param(
            {"containers": [{"resources": {"request": {}}}]},
            '1:spec.containers[0].resources.request: There is no field "request" here. Did you mean "requests"?',
            id="of resources",
        ),
        pytest.param(
            {"containers": [{}], "nodename": "n"},
            '1:spec.nodename: There is no field "nodename" here. Did you mean "nodeName"?',
            id="of a pod's spec",
        ),
        pytest.param(
            {"containers": [{}], "toleration": []},
            '1:spec.toleration: There is no field "toleration" here. Did you mean "tolerations"?',
            id="in the singular",
        ),
    ],
)
def test_a_misspelt_field_is_named_with_the_nearest(spec: dict[str, Any], want: str) -> None:
    assert problems(json.dumps({**POD, "spec": spec})) == [want]


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
