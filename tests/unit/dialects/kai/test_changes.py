"""What is looked at again when one object changes: counted, not timed."""

from __future__ import annotations

from collections import Counter

import pytest

from closeknit.apis.batch_v1 import Job
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.compiling import check_object, compile_object, render_object
from closeknit.dialects.kai import KAI
from closeknit.dialects.kai.compile import read_implicit_groups, read_pod_group
from closeknit.dialects.kai.owners import implicit_groups
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from tests.unit.dialects.kai.owned import changed, job
from tests.unit.dialects.kai.test_queues import queue
from tests.unit.dialects.kit import TOPOLOGY, node, pod, pod_group, view

MANY = 20
READ = (read_pod_group, read_implicit_groups, implicit_groups)


def everything(of: View) -> Counter[object]:
    """Compile, check and render all that there is, and count what was worked out for it."""
    before = Counter(of.worked_out)
    for shape in KAI.check:
        for each in of.of(shape):
            of.derive(check_object, KAI, each.key)
    for shape in KAI.compile:
        for each in of.of(shape):
            of.derive(compile_object, KAI, each.key)
            for target in KAI.render:
                of.derive(render_object, KAI, target, each.key)
    return +Counter({name: of.worked_out[name] - before[name] for name in of.worked_out})


@pytest.fixture
def full() -> View:
    """Many PodGroups with a pod each, and many Jobs, of which one has a PodGroup already."""
    return view(
        TOPOLOGY,
        node("n1"),
        queue("q"),
        *(pod_group({"queue": "q"}, name=f"g{i}") for i in range(MANY)),
        *(pod(f"p{i}", group=f"g{i}") for i in range(MANY)),
        *(changed(job(), name=f"j{i}", labels={"kai.scheduler/queue": "q"}) for i in range(MANY)),
        pod_group(
            {"queue": "q"},
            name="own",
            ownerReferences=[{"apiVersion": "batch/v1", "kind": "Job", "name": "j0"}],
        ),
    )


def test_each_object_is_read_once_however_often_it_is_asked_for(full: View) -> None:
    counted = everything(full)

    assert [counted[each] for each in READ] == [MANY + 1, MANY, MANY]
    assert not everything(full)


def test_a_changed_pod_has_its_pod_group_read_again_and_no_other(full: View) -> None:
    everything(full)
    ours = full.get(Key("", "Pod", "default", "p3"))
    assert ours is not None

    full.put(replace(ours, content=view(pod("p3", group="g3", gpus=4)).of(ours.shape)[0].content))
    counted = everything(full)

    assert [counted[each] for each in READ] == [1, 0, 0]
    assert counted[compile_object] == counted[check_object] == 1


def test_a_pod_group_for_a_job_has_that_job_read_again_and_no_other(full: View) -> None:
    everything(full)
    text = pod_group(
        {"queue": "q"}, name="late", ownerReferences=[{"apiVersion": "batch/v1", "kind": "Job", "name": "j7"}]
    )

    full.put(view(text).of(PodGroup)[0])
    counted = everything(full)

    assert [counted[each] for each in READ] == [1, 1, 1]
    assert full.derive(compile_object, KAI, Key("batch", "Job", "default", "j7")).workloads == ()


def test_a_changed_pod_group_has_none_of_its_pods_checked_again(full: View) -> None:
    everything(full)

    full.put(view(pod_group({"queue": "q", "minMember": 1}, name="g3")).of(PodGroup)[0])
    counted = everything(full)

    assert [counted[each] for each in READ] == [1, 0, 0]
    assert counted[compile_object] == 1
    assert counted[check_object] == 0


def test_an_image_is_no_matter_of_placement_and_is_rendered_all_the_same(full: View) -> None:
    everything(full)
    key = Key("batch", "Job", "default", "j5")
    before = full.derive(compile_object, KAI, key)
    text = changed(job(), name="j5", labels={"kai.scheduler/queue": "q"}).replace('"train"', '"train:2"')

    full.put(view(text).of(Job)[0])

    assert full.derive(compile_object, KAI, key) == before
    _, made = full.derive(render_object, KAI, "kai", key).objects
    assert made["spec"]["containers"][0]["image"] == "train:2"
