"""What holds for every PodGroup that KAI makes by itself, and the leaf of a pod."""

from __future__ import annotations

import json

import pytest

from closeknit.apis.core_v1 import PodSpec, PodTemplateSpec
from closeknit.dialects.kai.implicit_groups import Leaf, Template, leaf_by_labels
from tests.unit.dialects.kai.grouped import translated
from tests.unit.dialects.kai.owned import (
    SEGMENT,
    SEGMENT_REQUIRED,
    changed,
    job,
    leader_worker_set,
)
from tests.unit.dialects.kit import TOPOLOGY, request


@pytest.mark.parametrize(
    ("labels", "queue"),
    [
        pytest.param({}, "default-queue", id="the default where nothing is said"),
        pytest.param({"kai.scheduler/queue": "a", "project": "b"}, "a", id="the queue by its label"),
        pytest.param({"project": "b"}, "b", id="the project"),
    ],
)
def test_the_queue_is(labels: dict[str, str], queue: str) -> None:
    assert translated(changed(job(), labels=labels))[0]["spec"]["queue"] == queue


def test_what_says_nothing_about_placement_is_passed_on() -> None:
    text = changed(
        job({"kai.scheduler/preemption-delay": "1h30m", "kai.scheduler/staleness-grace-period": "60s"}),
        labels={"kai.scheduler/preemptibility": "non-preemptible"},
    )

    assert translated(text)[0]["spec"] == {
        "queue": "default-queue",
        "minMember": 1,
        "priorityClassName": "train",
        "preemptibility": "non-preemptible",
        "preemptionDelay": "1h30m",
        "stalenessGracePeriod": "60s",
    }


@pytest.mark.parametrize(
    ("worker", "annotations"),
    [
        pytest.param({}, {"kai.scheduler/topology": "tree"}, id="of the set where the template names none"),
        pytest.param(
            {"kai.scheduler/topology": "tree"},
            {"kai.scheduler/topology": "other"},
            id="of the template before the set's",
        ),
    ],
)
def test_the_topology_of_segments_is_that(worker: dict[str, str], annotations: dict[str, str]) -> None:
    segments = {SEGMENT: "2", SEGMENT_REQUIRED: "topology/rack", **worker}

    assert request(TOPOLOGY, leader_worker_set(1, 3, segments, annotations)).topology == "tree"


def test_priority_and_queue_may_stand_on_the_template() -> None:
    text = json.loads(job())
    inner = text["spec"]["template"]
    inner["metadata"] = {"labels": {"project": "p", "kai.scheduler/node-pool": "fast"}}
    inner["spec"]["priorityClassName"] = "build"

    spec = translated(json.dumps(text))[0]["spec"]
    assert (spec["queue"], spec["priorityClassName"]) == ("p-fast", "build")


def leaf(name: str, role: str, numbers: range) -> Leaf:
    template = Template((), PodTemplateSpec(spec=PodSpec(containers=())))
    pods = tuple(f"{name}-{i}" for i in numbers)
    labels = {"role": role}
    return Leaf(name, template, pods, 1, (), labels=labels, index_label="index", first=numbers.start)


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        pytest.param({"role": "master"}, "master", id="labels of one leaf need no number"),
        pytest.param({"role": "worker", "index": "0"}, "worker-0", id="a number of the first segment"),
        pytest.param({"role": "worker", "index": "3"}, "worker-1", id="a number of the last segment"),
        pytest.param({"role": "worker", "index": "4"}, None, id="a number beyond the last segment"),
        pytest.param({"role": "worker"}, None, id="no number where several leaves have the labels"),
        pytest.param({"role": "worker", "index": "-1"}, None, id="what is no number"),
        pytest.param({"role": "evaluator"}, None, id="labels of no leaf"),
        pytest.param({}, None, id="no labels"),
    ],
)
def test_the_leaf_of_a_pod(labels: dict[str, str], want: str | None) -> None:
    leaves = [
        leaf("worker-1", "worker", range(2, 4)),
        leaf("master", "master", range(1)),
        leaf("worker-0", "worker", range(2)),
    ]

    assert leaf_by_labels(leaves)(labels) == want
