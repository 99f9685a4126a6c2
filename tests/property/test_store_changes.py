"""After one object has changed, only those that depend on it are looked at again."""

from __future__ import annotations

import pytest

from bench.store import CHANGES, filled, pod, put, worked_out_again
from closeknit.apis.core_v1 import Pod
from closeknit.dialects import DIALECTS
from closeknit.dialects.compiling import compile_object
from closeknit.hub.keys import Key
from closeknit.hub.workload import PlaceableWorkload

SIZES = (30, 20, 400)
"""Nodes, sets and pods; what is counted does not depend on them."""


@pytest.mark.parametrize(
    ("what", "want"),
    [
        pytest.param("one pod", {"pod_of": 1, "compile_object": 1}, id="a pod: itself, and its set"),
        pytest.param("one node", {}, id="a node: nothing, as long as it stays"),
        pytest.param("one set", {"blueprint_of": 1, "compile_object": 1}, id="a set: itself"),
    ],
)
@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param(SIZES, id="a small store"),
        pytest.param((3_000, 1_000, 20_000), id="a full store", marks=pytest.mark.slow),
    ],
)
def test_only_what_depends_on_a_changed_object_is_looked_at_again(
    sizes: tuple[int, int, int], what: str, want: dict[str, int]
) -> None:
    view = filled(*sizes)
    key, content = CHANGES[what]
    put(view, key, content)

    assert worked_out_again(view) == want
    assert worked_out_again(view) == {}


def test_what_is_worked_out_again_is_what_a_new_store_gives() -> None:
    view = filled(*SIZES)
    key = Key("", "Pod", "default", "set-7-0-router-0")
    put(view, key, pod(7, 0, 12))
    worked_out_again(view)
    grove = next(family for family in DIALECTS if family.name == "grove")
    workload = Key("grove.io", "PodCliqueSet", "default", "set-7")
    (compiled,) = view.derive(compile_object, grove, workload).workloads

    assert isinstance(compiled, PlaceableWorkload)
    assert any("node-12" in pods.bound for pods in compiled.request.root.pod_sets())


def test_a_node_that_goes_concerns_the_sets_whose_pods_it_had() -> None:
    view = filled(*SIZES)
    there = [each for each in view.of(Pod) if each.content.spec.node_name == "node-3"]
    held = {each.content.metadata.labels["app.kubernetes.io/part-of"] for each in there}
    view.remove(Key("", "Node", "", "node-3"))

    assert worked_out_again(view) == {"pod_of": len(there), "compile_object": len(held)}


def test_a_topology_that_changes_concerns_every_set_that_may_speak_of_it() -> None:
    view = filled(*SIZES)
    key = Key("grove.io", "ClusterTopologyBinding", "", "tree")
    levels = [{"domain": domain, "key": f"other/{domain}"} for domain in ("zone", "block", "rack")]
    content = {"apiVersion": "v1", "kind": "", "metadata": {"name": "tree"}, "spec": {"levels": levels}}
    put(view, key, content)
    again = worked_out_again(view)

    assert again["blueprint_of"] == again["compile_object"] == SIZES[1]
