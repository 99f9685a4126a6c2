"""Which volumes claims get, and what is written for them."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.core.binding_volumes import (
    BOUND_BY_CONTROLLER,
    VolumeBinding,
    chosen_volumes,
    claiming_volume,
    selecting_node,
    taking_back,
)
from closeknit.dialects.core.volumes import SELECTED_NODE
from closeknit.hub.keys import Key
from tests.filters.cases import Object, node
from tests.filters.claims import on_nodes, storage_class, volume, volume_claim
from tests.unit.dialects.core.test_allocating import Refused, assert_change, refused, view_of

STATIC = storage_class("static", "kubernetes.io/no-provisioner")


def local(name: str, where: str = "a", size: str = "10Gi", **more: Any) -> Object:
    return volume(name, storageClassName="static", capacity={"storage": size}, **on_nodes(where), **more)


def given(*objects: Object, to: str = "one", taken: str = "") -> dict[str, str]:
    """By claim, its volume on node a; nothing where one of them finds none."""
    claims = [Key("", "PersistentVolumeClaim", "default", name) for name in to.split()]
    nodes = [node(name, labels={"kubernetes.io/hostname": name}) for name in ("a", "b")]
    view = view_of(*nodes, STATIC, storage_class("made"), *objects)
    found, problems = chosen_volumes(view, "a", claims, frozenset(taken.split()))
    return {} if problems else {key.name: each for key, each in found.items()}


ONE = volume_claim("one", class_name="static")
SELECTING = volume_claim("one", class_name="static")
SELECTING["spec"]["selector"] = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["fast"]}]}


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([ONE, local("big", size="20Gi"), local("fits")], {"one": "fits"}, id="the smallest that fits"),
        pytest.param([ONE, local("small", size="1Gi")], {}, id="none that is too small"),
        pytest.param([ONE, local("far", "b")], {}, id="none that the node does not reach"),
        pytest.param([ONE, local("theirs", claimRef={"name": "x", "uid": "y"})], {}, id="none that is taken"),
        pytest.param([ONE, local("busy")], {}, id="none that is being given to another"),
        pytest.param([SELECTING, local("plain"), local("chosen", labels={"tier": "fast"})], {"one": "chosen"}, id="one that the claim selects"),
        pytest.param([SELECTING, local("plain")], {}, id="none that the claim does not select"),
        pytest.param([ONE, local("raw", volumeMode="Block")], {}, id="none of another mode"),
        pytest.param([ONE, local("shared", accessModes=["ReadOnlyMany"])], {}, id="none of another access mode"),
        pytest.param([volume_claim("one", class_name="made")], {"one": ""}, id="where it is made, none is chosen"),
    ],
)  # fmt: skip
def test_volume_of_a_claim(objects: list[Object], want: dict[str, str]) -> None:
    assert given(*objects, taken="busy") == want


def test_claims_on_one_node_get_volumes_of_their_own() -> None:
    large = volume_claim("large", class_name="static")
    large["spec"]["resources"]["requests"]["storage"] = "15Gi"

    assert given(ONE, large, local("big", size="20Gi"), local("small"), to="one large") == {
        "one": "small",
        "large": "big",
    }
    assert given(ONE, large, local("big", size="20Gi"), to="one large") == {}


CLAIM = Key("", "PersistentVolumeClaim", "default", "one")
STATICALLY = VolumeBinding(CLAIM, "u", "a", (), "disk")
MADE = VolumeBinding(CLAIM, "u", "a", ())
REFERENCE = {"namespace": "default", "name": "one"}
OURS = {**REFERENCE, "uid": "u"}


def pv(claim_ref: Object | None = None, phase: str = "Available", **metadata: Any) -> Object:
    return {"metadata": metadata, "spec": {"claimRef": claim_ref}, "status": {"phase": phase}}


def pvc(selected: str = "", volume_name: str = "", **metadata: Any) -> Object:
    annotations = {SELECTED_NODE: selected} if selected else {}
    return {"metadata": {"annotations": annotations, **metadata}, "spec": {"volumeName": volume_name}}


def test_a_free_volume_is_claimed_as_kube_scheduler_claims_it() -> None:
    change = claiming_volume(pv(), STATICALLY)

    assert change == {
        "metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}},
        "spec": {"claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **OURS}},
    }


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(pv(OURS), {}, id="what is ours is not written again"),
        pytest.param(pv({**OURS, "uid": "v"}), refused("disk"), id="an earlier claim of this name has it"),
        pytest.param(pv({"namespace": "x", "name": "one"}), refused("disk"), id="another claim has it"),
        pytest.param(pv(deletionTimestamp="now"), refused("disk"), id="it goes"),
    ],
)
def test_a_volume_that_is_not_free(found: Object, want: Object | Refused) -> None:
    assert_change(claiming_volume(found, STATICALLY), want)


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(pvc(), {"metadata": {"annotations": {SELECTED_NODE: "a"}}}, id="a node is selected"),
        pytest.param(pvc("a"), {}, id="it was selected already"),
        pytest.param(pvc(volume_name="disk"), {}, id="it has a volume"),
        pytest.param(pvc("b"), refused("one", "b"), id="another node was selected"),
        pytest.param(pvc(deletionTimestamp="now"), refused("one"), id="it goes"),
    ],
)
def test_the_node_for_which_a_volume_is_made(found: Object, want: Object | Refused) -> None:
    assert_change(selecting_node(found, MADE), want)


MARKED: dict[str, Any] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}


@pytest.mark.parametrize(
    ("claim", "found", "had", "want"),
    [
        pytest.param(pvc("a"), None, MADE, {"metadata": {"annotations": {SELECTED_NODE: None}}}, id="selected"),
        pytest.param(pvc("b"), None, MADE, {}, id="another node was selected since"),
        pytest.param(pvc("a", "disk"), None, MADE, {}, id="the volume was made"),
        pytest.param(
            pvc(),
            pv(OURS, **MARKED),
            STATICALLY,
            {"metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}, "spec": {"claimRef": None}},
            id="claimed",
        ),
        pytest.param(pvc(), pv(OURS, "Bound", **MARKED), STATICALLY, {}, id="the volume is being bound"),
        pytest.param(pvc(), pv(OURS), STATICALLY, {}, id="whoever made the volume claimed it"),
        pytest.param(pvc(), pv({**OURS, "uid": "v"}, **MARKED), STATICALLY, {}, id="another claim has it"),
    ],
)  # fmt: skip
def test_what_is_taken_back(claim: Object, found: Object | None, had: VolumeBinding, want: Object) -> None:
    assert taking_back(claim, found, had) == want
