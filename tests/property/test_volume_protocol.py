"""Every order of events in the binding of a gang whose volumes wait for their first consumer, with faults.

The model of ``preparing_model`` with claims to volumes: what is written for them is what the scheduler
writes, and controllers do their part at any time after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Self

import pytest

from closeknit.dialects.core.binding_volumes import (
    VolumeBinding,
    claiming_volume,
    selecting_node,
    taking_back,
)
from closeknit.dialects.core.volumes import SELECTED_NODE
from closeknit.hub.keys import Key
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.commit import Answered, Call
from closeknit.scheduler.preparations import Prepare, Undo
from tests.filters.claims import mounting, storage_class, volume, volume_claim
from tests.property.commit_model import NODES, explore
from tests.property.preparing_model import PreparingModel
from tests.unit.scheduler.objects import pod


@dataclass
class VolumeModel(PreparingModel):
    """A claim for each pod, of a class whose volumes are made for the node that was selected."""

    provisioner = "disk.example.com"
    volumes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, claimed in self.claim_of.items():
            made = volume_claim(claimed, class_name="late")
            made["metadata"] |= {"uid": f"uid-{claimed}", "resourceVersion": "1"}
            self.claims[claimed] = made
            self.pods[name] = pod(name, "g", **mounting(claimed))
        self.start()

    def copy(self) -> Self:
        made = super().copy()
        made.volumes = deepcopy(self.volumes)
        return made

    def others(self) -> Iterable[dict[str, Any]]:
        yield storage_class("late", self.provisioner)
        yield from deepcopy([*self.claims.values(), *self.volumes.values()])

    def keep(self, name: str, rack: str) -> dict[str, Any]:
        """Have a volume in a rack."""
        term = {"matchExpressions": [{"key": "rack", "operator": "In", "values": [rack]}]}
        reached: dict[str, Any] = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
        made = volume(name, storageClassName="late", **reached)
        made["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": "1", "annotations": {}}
        self.volumes[name] = made
        return made

    # ---- the server ----

    def written(self, call: Prepare | Undo) -> dict[str, Any]:
        what = call.what
        assert isinstance(what, VolumeBinding)
        return self.volumes[what.volume] if what.volume else self.claims[what.claim.name]

    def _carried_out(self, call: Call) -> Answered:
        if not isinstance(call, Prepare | Undo):
            return super()._carried_out(call)
        what, found = call.what, self.written(call)
        assert isinstance(what, VolumeBinding)
        if self.came_too_late(call):
            return Answered(call, Answer.CONFLICT)
        if isinstance(call, Undo):
            change = taking_back(self.claims[what.claim.name], found if what.volume else None, what)
        else:
            wanted = claiming_volume(found, what) if what.volume else selecting_node(found, what)
            if isinstance(wanted, str):
                return Answered(call, Answer.REFUSED, wanted)
            change = wanted
        self._merge(found, change)
        return Answered(call, Answer.DONE)

    def _merge(self, found: dict[str, Any], change: Any) -> None:
        if not change:
            return
        annotations = {
            **found["metadata"]["annotations"],
            **change.get("metadata", {}).get("annotations", {}),
        }
        found["metadata"]["annotations"] = {name: each for name, each in annotations.items() if each}
        found["spec"] = {
            name: each for name, each in {**found["spec"], **change.get("spec", {})}.items() if each
        }
        self.changed(found)

    # ---- what happens ----

    def _fair(self) -> Iterator[tuple[str, Any]]:
        yield from super()._fair()
        for name, each in self.claims.items():
            if not each["spec"].get("volumeName") and self._volume_for(each) is not None:
                yield "provide", name

    def _volume_for(self, claim: dict[str, Any]) -> dict[str, Any] | None:
        """The volume that controllers give a claim: one that was claimed for it, or one that they make."""
        uid = claim["metadata"]["uid"]
        for each in self.volumes.values():
            if each["spec"].get("claimRef", {}).get("uid") == uid:
                return each
        selected = claim["metadata"]["annotations"].get(SELECTED_NODE)
        return None if selected is None else volume("made", storageClassName="late")

    def _provide(self, name: str) -> None:
        claim = self.claims[name]
        found = self._volume_for(claim)
        assert found is not None
        if found["metadata"]["name"] == "made":
            selected = claim["metadata"]["annotations"][SELECTED_NODE]
            found = self.keep(f"made-{name}", NODES[selected]["metadata"]["labels"]["rack"])
            found["spec"]["claimRef"] = {
                "namespace": "default",
                "name": name,
                "uid": claim["metadata"]["uid"],
            }
        found["status"] = {"phase": "Bound"}
        self.changed(found)
        annotations = {**claim["metadata"]["annotations"], "pv.kubernetes.io/bind-completed": "yes"}
        claim["metadata"]["annotations"] = annotations
        claim["spec"]["volumeName"] = found["metadata"]["name"]
        self.changed(claim)

    def stored(self, key: Key) -> dict[str, Any] | None:
        if key.kind not in ("PersistentVolumeClaim", "PersistentVolume"):
            return super().stored(key)
        return deepcopy((self.claims if key.namespace else self.volumes)[key.name])

    # ---- what must hold ----

    def state(self) -> object:
        view = self.core.state.view
        believed = tuple(
            repr((stored.content.spec, stored.content.metadata.annotations))
            for name in sorted(self.claims)
            if (stored := view.get(Key("", "PersistentVolumeClaim", "default", name))) is not None
        )
        known = tuple(
            (
                name,
                repr(each["spec"]),
                repr(sorted(each["metadata"]["annotations"])),
                repr(each.get("status")),
            )
            for name, each in sorted({**self.claims, **self.volumes}.items())
        )
        seen = tuple(sorted(self.core.state.beliefs.volumes()))
        return super().state(), believed, known, self.late(), seen

    def check(self) -> None:
        super().check()
        given = [
            each["spec"]["volumeName"] for each in self.claims.values() if each["spec"].get("volumeName")
        ]
        assert len(given) == len(set(given)), given
        for name, each in self.pods.items():
            if where := each["spec"].get("nodeName"):
                self._check_bound(name, where)

    def _check_bound(self, name: str, where: str) -> None:
        """A pod that is bound has its volume, in reach of its node."""
        found = self.claims[self.claim_of[name]]["spec"].get("volumeName")
        assert found, name
        terms = self.volumes[found]["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        racks = terms[0]["matchExpressions"][0]["values"]
        assert NODES[where]["metadata"]["labels"]["rack"] in racks, (name, where, racks)

    def check_end(self) -> None:
        super().check_end()
        if len(self.pods) == len(self.claim_of):
            assert all(each["spec"].get("nodeName") for each in self.pods.values())


@dataclass
class FoundModel(VolumeModel):
    """The same with volumes that nobody makes: two in each rack."""

    provisioner = "kubernetes.io/no-provisioner"

    def __post_init__(self) -> None:
        for rack in ("ra", "rb"):
            for i in range(2):
                self.keep(f"{rack}-{i}", rack)
        super().__post_init__()


MODELS = [pytest.param(VolumeModel, id="volumes are made"), pytest.param(FoundModel, id="volumes are found")]


@pytest.mark.parametrize("model", MODELS)
def test_every_order_without_faults_ends_well(model: type[VolumeModel]) -> None:
    states, ends = explore(0, made=lambda: model(telling_at_once=True))

    assert states > 15
    assert ends >= 1


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_every_order_with_a_fault_at_every_step_ends_well(model: type[VolumeModel]) -> None:
    states, ends = explore(1, made=lambda: model(telling_at_once=True))

    assert states > 150
    assert ends >= 5
