from __future__ import annotations

import pytest

from closeknit.kube.resources import JOBS, NODES, PODS, Resource


@pytest.mark.parametrize(
    ("resource", "place", "want"),
    [
        pytest.param(PODS, {}, "/api/v1/pods", id="the core group has no name"),
        pytest.param(PODS, {"namespace": "a", "name": "p"}, "/api/v1/namespaces/a/pods/p", id="an object"),
        pytest.param(
            JOBS,
            {"namespace": "a", "name": "j", "subresource": "status"},
            "/apis/batch/v1/namespaces/a/jobs/j/status",
            id="a subresource of a named group",
        ),
        pytest.param(
            NODES,
            {"namespace": "a", "name": "n"},
            "/api/v1/nodes/n",
            id="a cluster's object has no namespace",
        ),
        pytest.param(
            PODS,
            {"namespace": "a/b", "name": "../x"},
            "/api/v1/namespaces/a%2Fb/pods/..%2Fx",
            id="no name leaves its place",
        ),
    ],
)
def test_the_path_of_a_resource(resource: Resource, place: dict[str, str], want: str) -> None:
    assert resource.path(**place) == want


def test_names_for_people() -> None:
    assert (PODS.api_version, PODS.qualified) == ("v1", "pods")
    assert (JOBS.api_version, JOBS.qualified) == ("batch/v1", "jobs.batch")
