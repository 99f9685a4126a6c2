"""Whatever is done to what KAI groups by itself, reading and translating ends in problems, never in an exception."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
import yaml

from closeknit.dialects import Source, read, translate
from tests.unit.dialects.kai.owned import (
    MINIMUM,
    PREFERRED,
    RACK,
    REQUIRED,
    SEGMENT,
    SEGMENT_REQUIRED,
    ZONE,
    changed,
    job,
    job_set,
    leader_worker_set,
    pytorch_job,
    replicated,
    template,
)
from tests.unit.dialects.kai.test_queues import queue
from tests.unit.dialects.kit import TOPOLOGY, node
from tests.unit.dialects.test_fuzz import ODD, mutate, places, sound

LABELS = {"kai.scheduler/queue": "team", "priorityClassName": "inference"}
SEGMENTS = {SEGMENT: "2", SEGMENT_REQUIRED: "topology/rack"}
RUNNING = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "r",
        "labels": {
            "leaderworkerset.sigs.k8s.io/group-index": "1",
            "leaderworkerset.sigs.k8s.io/worker-index": "4",
        },
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "l-1", "controller": True}
        ],
    },
    "spec": {**template()["spec"], "nodeName": "n1"},
}
DOCUMENTS: list[Any] = [
    yaml.safe_load(TOPOLOGY),
    RUNNING,
    *(
        json.loads(text)
        for text in (
            node("n1"),
            queue("all"),
            queue("team", "all", gpu={"quota": 1, "limit": -1}),
            changed(job({**RACK, PREFERRED: "topology/rack", MINIMUM: "2"}, parallelism=3), labels=LABELS),
            changed(
                job_set(
                    replicated("a", 2, 2, {**RACK, MINIMUM: "1"}),
                    replicated("b", None, None),
                    annotations=ZONE,
                    startupPolicy={"startupPolicyOrder": "InOrder"},
                ),
                labels=LABELS,
                name="s",
            ),
            changed(leader_worker_set(2, 5, SEGMENTS, ZONE), labels=LABELS, name="l", uid="u"),
            changed(
                pytorch_job(1, 5, SEGMENTS, ZONE, elasticPolicy={"minReplicas": 3}), labels=LABELS, name="p"
            ),
        )
    ),
]
WORDS = [
    "2",
    "3",
    "0",
    "team",
    "tree",
    "topology/rack",
    "true",
    "kai-scheduler",
    REQUIRED,
    "LeaderExcluded",
    1,
    7,
]
PLACES = list(places(DOCUMENTS))
CHANGES = ("delete", "replace", "replace", "rename", "repeat", "wrap", "stringify")


def text_of(content: list[Any]) -> bytes:
    return "\n".join(json.dumps(each) for each in content if isinstance(each, dict | list)).encode()


def test_the_manifests_are_valid_to_begin_with() -> None:
    found = read([Source("f", text_of(DOCUMENTS))])

    assert [str(problem) for problem in found.problems] == []
    assert len(found.workloads) == 5
    sound(found)


@pytest.mark.parametrize("seed", range(12), ids=lambda seed: f"with changes of seed {seed}")
def test_changed_manifests_never_raise(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        content = copy.deepcopy(DOCUMENTS)
        for _ in range(rng.randint(1, 4)):
            odd = rng.choice(WORDS) if rng.random() < 0.5 else rng.choice(ODD)
            mutate(content, rng.choice(PLACES), rng.choice(CHANGES), odd)
        source, lenient = Source("f", text_of(content)), rng.random() < 0.5
        sound(read([source], lenient=lenient))
        for target in ("kai", "pods"):
            assert all(json.dumps(made) for made in translate([source], target, lenient=lenient).objects)
