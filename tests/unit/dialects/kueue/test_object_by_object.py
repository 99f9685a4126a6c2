"""A change of one object costs what depends on it, however many others there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from closeknit.apis.batch_v1 import Job
from closeknit.dialects import DIALECTS, Source
from closeknit.dialects.compiling import compile_object
from closeknit.dialects.kueue.compile import nominate
from closeknit.dialects.kueue.family import KUEUE
from closeknit.dialects.kueue.owners import group_pods
from closeknit.dialects.kueue.queues import cluster_queue as derived_queue
from closeknit.dialects.reading import load
from closeknit.dialects.store.view import View
from tests.unit.dialects.kueue.kit import (
    QUEUES,
    RACK,
    cluster_queue,
    flavor,
    job,
    local_queue,
    node,
    queued_pod,
    topology,
    view_of,
)
from tests.unit.dialects.kueue.test_workload_objects import admission, hosts, pod_set, workload

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


def changed(view: View, text: str) -> None:
    """Put one object into a store, as a watch would."""
    loaded = load(DIALECTS, [Source("f", text.encode())], lenient=False)
    (key,) = loaded.origins
    stored = loaded.view.entry(key)
    assert stored is not None
    view.put(stored)


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
