"""What may be created and changed, asked of the embedded cluster and of a real API server in the same words."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from closeknit.kube.errors import ApiError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.rest import Access, connect, load_access
from tests.planes import running_plane
from tests.scenario.admitted import embedded, resource_of, webhook
from tests.scenario.refused_writes import REFUSED, Refused
from tests.scenario.reviewed_manifests import (
    Json,
    clique_set,
    deployment,
    job,
    named,
    pack,
    pod_group,
    within,
    workflow,
)

EMBEDDED, REAL = "embedded", "kube-apiserver"
_OTHER_CASE = re.compile(r'"case-[0-9]+", ')
"""Cases share a real API server, so a remedy may list the objects of another case among what is allowed."""


@pytest.fixture(scope="module")
def reviewed_access() -> Iterator[Access]:
    """The way to a real API server that asks the webhook; one for all tests, because it takes seconds."""
    with running_plane() as plane, webhook(plane):
        yield load_access(kubeconfig=str(plane.kubeconfig))


@pytest.fixture(params=[EMBEDDED, pytest.param(REAL, marks=pytest.mark.e2e)])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[KubernetesApi]:
    """An API that reviews writes; its user is an administrator, and no operator."""
    if request.param == EMBEDDED:
        async with embedded() as cluster:
            yield cluster
        return
    async with connect(request.getfixturevalue("reviewed_access"), component="admission-tests") as found:
        yield found


@pytest.mark.parametrize("case", REFUSED)
async def test_a_write_is_refused_and_everything_is_told(api: KubernetesApi, case: Refused) -> None:
    new = named(case.new)
    resource = resource_of(new)
    if case.old:
        old = named(case.old)
        made = await api.create(resource, old)
        new["metadata"] = {**made["metadata"], **{k: v for k, v in new["metadata"].items() if k != "name"}}

    with pytest.raises(ApiError) as caught:
        await (api.replace(resource, new) if case.old else api.create(resource, new))

    status = caught.value.status
    assert status.code == case.code
    assert status.message.startswith(f'admission webhook "{case.webhook}.closeknit.dev" denied the request: ')
    listed = [f"{cause.field}: {cause.message}" for cause in status.causes]
    assert len(listed) == len(case.said), listed
    for said, found in zip(sorted(case.said), sorted(listed), strict=True):
        assert said in _OTHER_CASE.sub("", found)
    assert all(each in status.message for each in listed)


ALLOWED = [
    pytest.param(
        pod_group(
            "{minMember: 1, topologyConstraint: {topology: racks, requiredTopologyLevel: example.com/rack}}"
        ),
        {},
        id="a PodGroup that is right",
        marks=pytest.mark.requirement("A55"),
    ),
    pytest.param(
        pod_group("{minMember: 1, queue: later}"), {}, id="a PodGroup whose queue is not there yet", marks=()
    ),
    pytest.param(
        clique_set(),
        {
            "cliqueStartupType": "CliqueStartupTypeAnyOrder",
            "cliques": [{"spec": {"replicas": 2, "minAvailable": 2}}],
            "podCliqueScalingGroups": [{"replicas": 1, "minAvailable": 1}],
        },
        id="a PodCliqueSet says how many of its pods must run, where it did not",
        marks=(),
    ),
    pytest.param(
        clique_set(pack("zone"), pack("rack"), pack("block")),
        {},
        id="a PodCliqueSet whose levels get finer",
        marks=pytest.mark.requirement("G39"),
    ),
    pytest.param(
        deployment(), {}, id="a deployment without a constraint", marks=pytest.mark.requirement("D1", "D30")
    ),
    pytest.param(
        deployment(within("zone"), "{packDomain: rack}"),
        {},
        id="a deployment with a constraint, and a narrower one of a component",
        marks=pytest.mark.requirement("D6", "D27"),
    ),
    pytest.param(
        job("{kueue.x-k8s.io/podset-required-topology: example.com/rack}"),
        {"suspend": True},
        id="a Job that queues is suspended",
        marks=pytest.mark.requirement("K46", "K6"),
    ),
    pytest.param(job(), {"suspend": True}, id="a Job that queues without a topology is suspended", marks=()),
    pytest.param(job(queue=""), {"suspend": False}, id="a Job that queues nowhere is left alone", marks=()),
    pytest.param(job(queue="later"), {"suspend": True}, id="a Job whose queue is not there yet", marks=()),
    pytest.param(
        "{apiVersion: v1, kind: Pod, metadata: {labels: {kueue.x-k8s.io/queue-name: team}, annotations: "
        "{kueue.x-k8s.io/podset-required-topology: example.com/rack}}, spec: {containers: [{name: main, image: busybox}]}}",
        {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}]},
        id="a pod that queues by itself is gated",
        marks=pytest.mark.requirement("K13"),
    ),
    pytest.param(
        workflow("{key: rack, group: a, requirementType: required}"),
        {},
        id="a Workflow that is right",
        marks=(),
    ),
]


@pytest.mark.parametrize(("manifest", "spec"), ALLOWED)
async def test_a_write_is_allowed_and_defaults_are_written(
    api: KubernetesApi, manifest: str, spec: Json
) -> None:
    obj = named(manifest)

    made = await api.create(resource_of(obj), obj)

    found = made["spec"].get("template", {}) if obj["kind"] == "PodCliqueSet" else made["spec"]
    _assert_part_of(spec, found)


def _assert_part_of(part: Any, whole: Any) -> None:
    if isinstance(part, dict):
        for key, value in part.items():
            _assert_part_of(value, whole[key])
    elif isinstance(part, list):
        assert len(part) == len(whole)
        for one, other in zip(part, whole, strict=True):
            _assert_part_of(one, other)
    else:
        assert part == whole
