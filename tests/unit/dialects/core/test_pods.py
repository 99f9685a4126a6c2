"""What a pod asks of a node, as Kubernetes counts it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.core import kinds as core_kinds
from closeknit.dialects.core.pods import ReadPod, Stage, read_pod
from closeknit.dialects.reading import stored
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.text.documents import Document
from closeknit.dialects.wire.registry import Found, Registry
from closeknit.hub.nodes import (
    NAME_FIELD,
    Effect,
    NodeFilter,
    Operator,
    Preference,
    Requirement,
    Term,
    Toleration,
)
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from tests.unit.dialects.kit import problems, reading


def read(spec: dict[str, Any], **rest: Any) -> ReadPod:
    """A pod, without the way through a file."""
    content = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{}], **spec},
        **rest,
    }
    results = list(Registry(core_kinds.KINDS, []).objects([Document("f", 1, content)], lenient=False))
    kept = [stored(result) for result in results if isinstance(result, Found)]
    assert len(kept) == len(results), results
    (manifest,) = kept
    assert isinstance(manifest, Stored)
    return read_pod(manifest)


def container(
    requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **rest: Any
) -> dict[str, Any]:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"resources": resources, **rest}


def sidecar(**requests: Any) -> dict[str, Any]:
    return container(requests, restartPolicy="Always")


GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"containers": [container({GPU: 2, "cpu": "500m"}), container({"cpu": 1, "memory": "1Gi"})]},
            {GPU: 2, "cpu": 1_500_000_000, "memory": 2**30},
            id="containers run side by side, so they add up",
        ),
        pytest.param(
            {"containers": [container({"cpu": 1}, {"cpu": 8, GPU: "4"})]},
            {"cpu": 10**9, GPU: 4},
            id="a limit stands in where there is no request for that resource",
        ),
        pytest.param(
            {"containers": [container({GPU: 0}, {GPU: 4})]}, {}, id="a request of zero is a request"
        ),
        pytest.param(
            {
                "containers": [container({GPU: 2})],
                "initContainers": [container({GPU: 3}), container({GPU: 1, "cpu": 1})],
            },
            {GPU: 3, "cpu": 10**9},
            id="init containers run one after the other, so the largest counts",
        ),
        pytest.param(
            {
                "containers": [container({GPU: 2})],
                "initContainers": [sidecar(cpu=1), container({GPU: 1, "cpu": 2})],
            },
            {GPU: 2, "cpu": 3 * 10**9},
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            {
                "containers": [container({"cpu": 2})],
                "initContainers": [container({"cpu": 4}), sidecar(cpu=1)],
            },
            {"cpu": 4 * 10**9},
            id="an init container does not run beside the sidecars after it",
        ),
        pytest.param(
            {"containers": [container({"cpu": 2})], "initContainers": [sidecar(cpu=1), sidecar(cpu=1)]},
            {"cpu": 4 * 10**9},
            id="sidecars run beside the containers",
        ),
        pytest.param(
            {"containers": [container({"cpu": 2})], "overhead": {"cpu": "250m", "memory": 5}},
            {"cpu": 2_250_000_000, "memory": 5},
            id="the overhead comes on top",
        ),
        pytest.param(
            {
                "containers": [container({"cpu": 2, GPU: 1})],
                "resources": {"requests": {"cpu": 3}},
                "overhead": {"cpu": 1},
            },
            {"cpu": 4 * 10**9, GPU: 1},
            id="what the pod asks for as a whole replaces the sum",
        ),
        pytest.param(
            {"containers": [container({"cpu": 2})], "resources": {"limits": {"cpu": 3, "memory": 7}}},
            {"cpu": 2 * 10**9, "memory": 7},
            id="a limit of the pod as a whole stands in only where nothing is asked",
        ),
        pytest.param(
            {"containers": [container({"cpu": "0.1", "memory": "0.5", GPU: 1.0})]},
            {"cpu": 10**8, "memory": 1, GPU: 1},
            id="fractions are exact, and part of a unit needs a whole one",
        ),
        pytest.param({}, {}, id="a pod may ask for nothing"),
    ],
)
def test_resources(spec: dict[str, Any], want: dict[str, int]) -> None:
    found = read(spec)

    assert found.shape.resources == Resources(want)
    assert found.problems == ()


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


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(*terms: dict[str, Any], preferred: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    required = {REQUIRED: {"nodeSelectorTerms": list(terms)}} if terms else {}
    return {"affinity": {"nodeAffinity": {**required, PREFERRED: preferred or []}}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def test_filters() -> None:
    spec = affinity(
        {"matchExpressions": [expression("a", "In", "x", "y"), expression("b", "Gt", "3")]},
        {"matchFields": [expression(NAME_FIELD, "NotIn", "n1")]},
        {},
        preferred=[
            {"weight": 7, "preference": {"matchExpressions": [expression("c", "Exists")]}},
            {"weight": 1, "preference": {}},
        ],
    )
    spec["nodeSelector"] = {"z": "1", "a": "2"}
    spec["tolerations"] = [
        {"operator": "Exists"},
        {"key": "k", "value": "v", "effect": "NoSchedule", "tolerationSeconds": 5},
        {"key": "k"},
    ]

    found = read(spec)

    assert found.problems == ()
    assert found.shape.filter == NodeFilter(
        selector=(("a", "2"), ("z", "1")),
        affinity=(
            Term((Requirement("a", Operator.IN, ("x", "y")), Requirement("b", Operator.GT, ("3",)))),
            Term((Requirement(NAME_FIELD, Operator.NOT_IN, ("n1",)),)),
            Term(()),
        ),
        preferences=(Preference(7, Term((Requirement("c", Operator.EXISTS),))),),
        tolerations=(
            Toleration(),
            Toleration("k", "v", Effect.NO_SCHEDULE),
            Toleration("k", ""),
        ),
    )


def test_an_empty_list_of_terms_is_a_problem_and_no_affinity_is_none() -> None:
    spec: dict[str, Any] = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}}

    assert [str(problem) for problem in read(spec).problems] == [
        f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: This list is empty."
        " Give at least one term, or leave the requirement out."
    ]
    assert read({}).shape.filter == NodeFilter()


@pytest.mark.parametrize(
    ("term", "want"),
    [
        pytest.param(
            {"matchExpressions": [expression("a", "in", "x")]},
            'matchExpressions[0].operator: "in" is not known. Did you mean "In"?',
            id="operators are written exactly",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "In")]},
            "matchExpressions[0].values: In needs at least one value.",
            id="In needs values",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "Exists", "x")]},
            "matchExpressions[0].values: Exists takes no values. Leave them out.",
            id="Exists takes none",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "Lt", "ten")]},
            "matchExpressions[0].values: Lt needs exactly one value, a whole number in quotes.",
            id="Lt compares numbers",
        ),
        pytest.param(
            {"matchExpressions": [expression("", "Exists")]},
            "matchExpressions[0].key: A requirement needs the key of a label.",
            id="a key cannot be empty",
        ),
        pytest.param(
            {"matchFields": [expression("metadata.uid", "In", "x")]},
            'matchFields[0].key: "metadata.uid" is not a field to match. Allowed: metadata.name.',
            id="only the name is a field",
        ),
        pytest.param(
            {"matchFields": [expression(NAME_FIELD, "Exists")]},
            "matchFields[0].operator: A field is matched with In or NotIn.",
            id="a field is matched with In or NotIn",
        ),
    ],
)
def test_terms(term: dict[str, Any], want: str) -> None:
    (problem,) = read(affinity(term)).problems

    assert str(problem).startswith(f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].{want}")


def test_a_weight_is_between_one_and_a_hundred() -> None:
    preferred = {"weight": 0, "preference": {"matchExpressions": [expression("c", "Exists")]}}
    (problem,) = read(affinity(preferred=[preferred])).problems

    assert (
        str(problem)
        == f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight: 0 is out of range. Allowed are 1 to 100."
    )


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

    assert read(spec).shape.host_ports == {HostPort(80), HostPort(53, "UDP"), HostPort(9, "SCTP")}


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
        "affinity": {"podAffinity": {REQUIRED: [{}]}, "podAntiAffinity": {REQUIRED: [{}], PREFERRED: [{}]}},
        "topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}, {"maxSkew": 1}],
        "resourceClaims": [{"name": "x"}],
    }
    found = read(spec)

    assert found.problems == ()
    assert [problem.where for problem in found.unsayable] == [
        f"spec.affinity.podAffinity.{REQUIRED}",
        f"spec.affinity.podAntiAffinity.{REQUIRED}",
        "spec.topologySpreadConstraints[1].whenUnsatisfiable",
        "spec.resourceClaims",
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
