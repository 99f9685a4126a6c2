"""Whatever is done to valid objects of Kueue, reading and translating them ends in problems, never in an exception."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from closeknit.dialects import Source, read
from closeknit.dialects.family import Family
from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.reading import load
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
    K,
    flavor,
    job,
    job_set,
    node,
    queued_pod,
    replicated,
    written,
)
from tests.unit.dialects.kueue.workloads import admission, hosts, pod_set, workload
from tests.unit.dialects.test_fuzz import ODD, mutate, places, sound

LAYERS = json.dumps([{"topology": BLOCK, "size": 4}, {"topology": RACK, "size": 2}])
QUOTA = {"name": "cpu", "nominalQuota": 4, "borrowingLimit": "1", "lendingLimit": 2}
LIMITED = {"coveredResources": ["cpu"], "flavors": [{"name": "spot", "resources": [QUOTA]}]}
DOCUMENTS: list[Any] = [
    json.loads(text)
    for text in (
        *QUEUES,
        flavor("spot", tolerations=[{"key": "a", "operator": "Exists"}], nodeTaints=[{"key": "a", "effect": "NoSchedule"}]),
        written(
            "ClusterQueue",
            "other",
            {
                "cohortName": "all",
                "resourceGroups": [LIMITED],
                "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "preference": "BorrowingOverPreemption"},
                "admissionChecksStrategy": {"admissionChecks": [{"name": "c", "onFlavors": ["spot"]}]},
            },
        ),
        written("Cohort", "all", {"parentName": "outer", "resourceGroups": [LIMITED]}),
        written("AdmissionCheck", "c", {"controllerName": "somebody.example.com/else"}),
        node("n1", "b", "r"),
        job(name="early", own={"require-topology": RACK, "job-min-parallelism": "2"}),
        job(8, name="layers", podset_slice_required_topology_constraints=LAYERS),
        job(name="slices", podset_preferred_topology=BLOCK, podset_slice_required_topology=RACK, podset_slice_size="2"),
        job_set(
            replicated("leader", 1, 1, podset_required_topology=HOST, podset_group_name="g"),
            replicated("workers", 1, 3, podset_required_topology=HOST, podset_group_name="g"),
            replicated("rest", 2, 4, podset_slice_required_topology=RACK, podset_slice_size="2"),
        ),
        queued_pod("p-0", "p", 2, podset_unconstrained_topology="true"),
        queued_pod("p-1", "p", 2, podset_unconstrained_topology="true"),
        queued_pod("f-0", "f", 3, pod_group_fast_admission="true"),
        workload(
            pod_set(topologyRequest={"required": BLOCK, "podSetSliceRequiredTopology": RACK, "podSetSliceSize": 2}),
            pod_set(6, "more", topologyRequest={"preferred": RACK, "subGroupCount": 2, "subGroupIndexLabel": "i"}),
            priority=3,
        ),
        workload(name="held", status=admission(hosts({"n1": 4}))),
        workload(pod_set(5), name="grown", replaces="default/held"),
        workload(
            name="part",
            owner=("Job", "early"),
            version="v1beta1",
            status=admission({"levels": [BLOCK, RACK], "domains": [{"values": ["b", "r"], "count": 2}]}, 2),
        ),
    )
]  # fmt: skip
WORDS = [
    RACK,
    "team",
    "held",
    "grown",
    "default/grown",
    "research",
    "tas",
    "tree",
    "true",
    "3",
    LAYERS,
    "[{}]",
    "[1, {}]",
    '{"a": 1}',
    f"{K}x",
]
PLACES = list(places(DOCUMENTS))
CHANGES = ("delete", "replace", "replace", "rename", "repeat", "wrap", "stringify")


def text_of(content: list[Any]) -> bytes:
    return "\n".join(json.dumps(each) for each in content if isinstance(each, dict | list)).encode()


def written_objects(dialect: Family, text: bytes, *, lenient: bool) -> int:
    """How many objects are written; that none of them raises is the point."""
    view = load([dialect], [Source("f", text)], lenient=lenient).view
    return sum(
        1
        for rules in dialect.render.values()
        for shape, render in rules.items()
        for stored in view.of(shape)
        for each in render(stored, view).objects
        if json.dumps(each)
    )


def test_the_manifests_are_valid_to_begin_with() -> None:
    found = read([Source("f", text_of(DOCUMENTS))])

    assert [str(problem) for problem in found.problems] == []
    assert len(found.workloads) == 8, "Slices of one elastic workload count as one."
    sound(found)


@pytest.mark.parametrize("seed", range(12), ids=lambda seed: f"with changes of seed {seed}")
def test_changed_manifests_never_raise(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        content = copy.deepcopy(DOCUMENTS)
        for _ in range(rng.randint(1, 4)):
            odd = rng.choice(WORDS) if rng.random() < 0.4 else rng.choice(ODD)
            mutate(content, rng.choice(PLACES), rng.choice(CHANGES), odd)
        lenient = rng.random() < 0.5
        sound(read([Source("f", text_of(content))], lenient=lenient))
        assert written_objects(KUEUE, text_of(content), lenient=lenient) >= 0
