"""What an ``ownerReference`` proves, in a store that holds several objects of a name or a uid."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.apis.core_v1 import Pod
from closeknit.dialects.core.owner_references import is_controlled_by, is_owned_by, owner_named
from closeknit.dialects.ownership import claim_of
from closeknit.hub.keys import Key
from tests.unit.dialects.kueue.kit import view_of

JOB = Key("batch", "Job", "a", "train")
POD = Key("", "Pod", "a", "p")
REFERENCE = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u-1", "controller": True}


def job(uid: str = "u-1", namespace: str = "a") -> str:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    metadata = {"name": "train", "namespace": namespace, **({"uid": uid} if uid else {})}
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}
    return json.dumps(made)


def pod(reference: dict[str, Any]) -> str:
    metadata = {"name": "p", "namespace": "a", "uid": "u-p", "ownerReferences": [reference]}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize(
    ("owner", "change", "belongs"),
    [
        pytest.param(job(), {}, True, id="a pod belongs to the Job that it names"),
        pytest.param(job("u-2"), {}, False, id="not to a later Job of the name of its own"),
        pytest.param(job(""), {}, True, id="a Job that was never on a server is known by its name"),
        pytest.param(
            job(), {"apiVersion": "example.com/v1"}, False, id="not to a Job where another group is named"
        ),
    ],
)
def test_a_pod_belongs_to_the_controller_that_it_names(
    owner: str, change: dict[str, str], belongs: bool
) -> None:
    view = view_of(owner, pod({**REFERENCE, **change}))

    assert (claim_of(view, POD).key == JOB) is belongs
    stored_pod, stored_job = view.get(POD), view.get(JOB)
    assert stored_pod is not None
    assert stored_job is not None
    assert is_owned_by(stored_pod, stored_job) is belongs
    reference = stored_pod.content.metadata.owner_references[0]
    assert (owner_named(view, reference, "a") is stored_job) is belongs


def test_a_job_of_another_namespace_with_the_uid_controls_nothing_here() -> None:
    view = view_of(job("u-1", "b"), pod(REFERENCE))
    (stored,) = view.of(Pod)
    elsewhere = view.get(JOB._replace(namespace="b"))

    assert elsewhere is not None
    assert not is_controlled_by(stored, elsewhere)
    assert not is_owned_by(stored, elsewhere)
