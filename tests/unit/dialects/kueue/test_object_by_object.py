"""A change of one object costs what depends on it, however many others there are."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from closeknit.apis.batch_v1 import Job
from closeknit.dialects import DIALECTS, Source
from closeknit.dialects.compiling import check_object, compile_object, render_object
from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.kueue.compile import nominate
from closeknit.dialects.kueue.owners import group_pods
from closeknit.dialects.kueue.queues import cluster_queue as derived_queue
from closeknit.dialects.reading import load
from closeknit.dialects.store.store import Entry
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from tests.unit.dialects.kueue.kit import (
    QUEUES,
    RACK,
    K,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    node,
    queued_pod,
    replicated,
    topology,
    view_of,
    written,
)
from tests.unit.dialects.kueue.workloads import admission, hosts, pod_set, workload

JOBS, GROUPS, SIZE = 30, 5, 8
TEXTS = (
    *QUEUES,
    flavor("other"),
    cluster_queue("others", "other"),
    local_queue("others", "others"),
    *(job(4, name=f"j-{i}", podset_required_topology=RACK) for i in range(JOBS)),
    *(queued_pod(f"g-{i}-{n}", f"g-{i}", SIZE) for i in range(GROUPS) for n in range(SIZE)),
    *(node(f"n-{i}", "b", f"r-{i // 4}") for i in range(20)),
    workload(pod_set(), name="held", status=admission(hosts({"n-1": 4}))),
)


def compiled(view: View) -> Counter[object]:
    """Compile everything, and count what had to be worked out."""
    view.worked_out.clear()
    for shape in KUEUE.compile:
        for stored in view.of(shape):
            view.derive(compile_object, KUEUE, stored.key)
    return view.worked_out


def entry_of(text: str) -> Entry:
    """One object as a store keeps it."""
    loaded = load(DIALECTS, [Source("f", text.encode())], lenient=False)
    (key,) = loaded.origins
    entry = loaded.view.entry(key)
    assert entry is not None
    return entry


def changed(view: View, text: str) -> None:
    """Put one object into a store, as a watch would."""
    view.put(entry_of(text))


@pytest.mark.requirement("K122")
@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            job(8, name="j-3", podset_required_topology=RACK),
            {nominate: 1, derived_queue: 0},
            id="a Job",
        ),
        pytest.param(queued_pod("g-2-3", "g-2", SIZE, gpus=2), {nominate: 1, group_pods: 1}, id="a pod"),
        pytest.param(node("n-7", "b", "r-9"), {nominate: 0}, id="a node that nobody has"),
        pytest.param(node("n-1", "b", "r-9"), {nominate: 1}, id="a node that is held"),
        pytest.param(cluster_queue("others", "other", quota={"cpu": 1}), {nominate: 0}, id="another queue"),
        pytest.param(workload(pod_set(), name="more"), {nominate: 1, derived_queue: 0}, id="a new Workload"),
    ],
)
def test_what_is_worked_out_again(text: str, want: dict[Callable[..., Any], int]) -> None:
    view = view_of(*TEXTS)
    first = compiled(view)
    assert first[nominate] == JOBS + GROUPS + 1
    assert compiled(view) == Counter()

    changed(view, text)
    again = compiled(view)

    assert {function: again[function] for function in want} == want


def test_the_queue_of_all_is_worked_out_once_and_so_is_each_group() -> None:
    first = compiled(view_of(*TEXTS))

    assert first[derived_queue] == 1
    # Whether pods queue under the name of a Workload is asked as well.
    assert first[group_pods] == GROUPS + 1


def test_all_that_use_a_flavor_follow_it() -> None:
    view = view_of(*TEXTS)
    compiled(view)

    changed(view, topology("tree", RACK))

    assert compiled(view)[nominate] == JOBS + GROUPS + 1
    assert {len(view.derive(compile_object, KUEUE, each.key).workloads) for each in view.of(Job)} == {1}


QUEUED = f"{K}queue-name"
VERSIONS = (
    *TEXTS[:7],
    flavor("tas", None),
    cluster_queue("research", "tas", "other", cohortName="all"),
    cluster_queue("others", "other", cohortName="all"),
    written("Cohort", "all", {"parentName": "above"}),
    written("Cohort", "above", {"parentName": "all"}),
    local_queue("team", "others"),
    topology("tree", RACK),
    *(node(f"n-{i}", "b", f"r-{i % 2}") for i in range(4)),
    node("n-1", "b", "r-2", hostname="n-1"),
    job(4, name="a", podset_required_topology=RACK),
    job(2, name="a", queue=None),
    job(2, name="g"),
    json.dumps(
        {
            **json.loads(job(4, name="b")),
            "metadata": {"name": "b", "labels": {QUEUED: "team", f"{K}prebuilt-workload-name": "w"}},
        }
    ),
    job_set(replicated("x", 1, 2), name="a"),
    job_set(replicated("x", 2, 2), name="s"),
    *(queued_pod(f"g-{i}", "g", 2) for i in range(3)),
    queued_pod("w"),
    workload(pod_set(), name="w", status=admission(hosts({"n-1": 4}))),
    workload(pod_set(), name="of-a", owner=("Job", "a"), status=admission(hosts({"n-2": 4}))),
    workload(pod_set(), name="of-a-again", owner=("Job", "a")),
    workload(pod_set(count=2), name="w"),
    workload(pod_set(), name="of-g", owner=("JobSet", "g")),
)


def made(view: View) -> list[object]:
    """All that is made of the objects of a store."""
    return [
        *(view.derive(compile_object, KUEUE, each.key) for shape in KUEUE.compile for each in view.of(shape)),
        *(view.derive(check_object, KUEUE, each.key) for shape in KUEUE.check for each in view.of(shape)),
        *(
            view.derive(render_object, KUEUE, target, each.key)
            for target, rules in KUEUE.render.items()
            for shape in rules
            for each in view.of(shape)
        ),
    ]


@pytest.mark.parametrize("seed", range(6), ids=lambda seed: f"in the order of seed {seed}")
def test_what_is_made_after_changes_is_what_is_made_anew(seed: int) -> None:
    rng = random.Random(seed)
    view = view_of()
    present: dict[Key, Entry] = {}
    for _ in range(120):
        if present and rng.random() < 0.3:
            gone = rng.choice(list(present))
            del present[gone]
            view.remove(gone)
        else:
            entry = entry_of(rng.choice(VERSIONS))
            present[entry.key] = entry
            view.put(entry)
        if rng.random() < 0.5:
            continue
        fresh = view_of()
        for entry in present.values():
            fresh.put(entry)
        assert made(view) == made(fresh)
