"""Every order of events in the binding of a gang whose pods claim devices, with faults at every step.

The model of ``preparing_model`` with claims: what is written into them is what the scheduler writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest

from closeknit.dialects.core.devices import GROUP
from closeknit.dialects.core.reserving import FINALIZER, Reservation, letting_go, reserving
from closeknit.hub.keys import Key
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.commit import Answered, Call
from closeknit.scheduler.preparations import Prepare, Undo
from tests.filters.claims import claim, device, device_class, request, resource_slice
from tests.property.commit_model import NAMES, NODES, Model, explore
from tests.property.preparing_model import PreparingModel
from tests.unit.scheduler.objects import pod

HOST = "kubernetes.io/hostname"


@dataclass
class ClaimModel(PreparingModel):
    """The same with a claim for each pod, and one device on each node."""

    def __post_init__(self) -> None:
        for name, claimed in self.claim_of.items():
            made = claim(claimed, request("gpus"))
            made["metadata"] |= {"uid": f"uid-{claimed}", "resourceVersion": "1", "finalizers": []}
            self.claims[claimed] = made
            reference = [{"name": "gpu", "resourceClaimName": claimed}]
            self.pods[name] = pod(name, "g", gpus=self.gpus, resourceClaims=reference)
        self.start()

    @property
    def gpus(self) -> int:
        """How much of a node each pod takes beside its claim: so that two that share one find room."""
        return int(len(set(self.claim_of.values())) == len(self.claim_of))

    def others(self) -> Iterable[dict[str, Any]]:
        yield device_class("gpus")
        yield from (resource_slice(name, [device("0")]) for name in NODES)
        yield from deepcopy(list(self.claims.values()))

    # ---- the server ----

    def _carried_out(self, call: Call) -> Answered:
        if not isinstance(call, Prepare | Undo):
            return super()._carried_out(call)
        assert isinstance(call.what, Reservation)
        found, is_late = self.written(call), id(call) in self.versions
        if self.came_too_late(call):
            return Answered(call, Answer.CONFLICT)
        if isinstance(call, Prepare):
            if not is_late:
                self._protect(found)
            change = reserving(found, call.what)
            if isinstance(change, str):
                return Answered(call, Answer.REFUSED, change)
        else:
            change = letting_go(found, call.what) or {}
        self._write(found, change)
        if isinstance(call, Undo) and not found["status"].get("allocation"):
            self._unprotect(found)
        return Answered(call, Answer.DONE, version=found["metadata"]["resourceVersion"])

    def _protect(self, found: dict[str, Any]) -> None:
        if FINALIZER not in found["metadata"]["finalizers"]:
            found["metadata"]["finalizers"] = [FINALIZER]
            self.changed(found)

    def _unprotect(self, found: dict[str, Any]) -> None:
        if found["metadata"]["finalizers"]:
            found["metadata"]["finalizers"] = []
            self.changed(found)

    def _write(self, found: dict[str, Any], change: Any) -> None:
        status = {**found.get("status", {}), **change}
        found["status"] = {name: value for name, value in status.items() if value}
        if change:
            self.changed(found)

    # ---- what happens ----

    def _late(self, i: int) -> None:
        call = self.flights[i].call
        if isinstance(call, Prepare):
            self._protect(self.written(call))
        super()._late(i)

    def stored(self, key: Key) -> dict[str, Any] | None:
        return deepcopy(self.claims[key.name]) if key.kind == "ResourceClaim" else super().stored(key)

    def _delete_pod(self, name: str) -> None:
        """With what the resource claim controller does then."""
        uid = self.pods[name]["metadata"]["uid"]
        super()._delete_pod(name)
        for found in self.claims.values():
            status = found.get("status", {})
            valid = [each for each in status.get("reservedFor", ()) if each["uid"] != uid]
            if len(valid) < len(status.get("reservedFor", ())):
                self._write(found, {"reservedFor": valid} | ({} if valid else {"allocation": None}))

    # ---- what must hold ----

    def _devices(self, found: dict[str, Any]) -> Iterator[str]:
        allocation = found.get("status", {}).get("allocation") or {"devices": {"results": []}}
        yield from (each["pool"] for each in allocation["devices"]["results"])

    def state(self) -> object:
        view = self.core.state.view
        believed = tuple(
            repr(view.get(Key(GROUP, "ResourceClaim", "default", name)).content.status)  # type: ignore[union-attr]
            for name in sorted(self.claims)
        )
        known = tuple(
            (name, repr(each.get("status")), bool(each["metadata"]["finalizers"]))
            for name, each in sorted(self.claims.items())
        )
        return super().state(), believed, known, self.late(), self.core.state.beliefs.describe()

    def check(self) -> None:
        super().check()
        given = [each for found in self.claims.values() for each in self._devices(found)]
        assert len(given) == len(set(given)), given
        for flight in self.flights:
            if isinstance(flight.call, Prepare) and flight.answer is None and not flight.forgotten:
                what = flight.call.what
                stored = self.core.state.view.get(what.claim)
                assert stored is not None
                assert isinstance(what, Reservation)
                believed = what.exclusive <= self.core.state.beliefs.devices()
                assert believed or stored.content.status.allocation is not None, flight

    def check_end(self) -> None:
        super().check_end()
        for claimed in set(self.claim_of.values()):
            users = [each for name, each in self.pods.items() if self.claim_of.get(name) == claimed]
            bound = [each for each in users if each["spec"].get("nodeName")]
            if bound and not self.rivals:
                reserved = self.claims[claimed].get("status", {}).get("reservedFor", ())
                assert {each["spec"]["nodeName"] for each in bound} == set(
                    self._devices(self.claims[claimed])
                )
                assert {each["uid"] for each in reserved} == {each["metadata"]["uid"] for each in bound}


@dataclass
class SharedModel(ClaimModel):
    """The same with one claim that both pods share."""

    claim_of: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(NAMES, "shared"))
    nodes: dict[str, dict[str, Any]] = field(default_factory=lambda: {name: _host(name) for name in NODES})


def _host(name: str) -> dict[str, Any]:
    meta = NODES[name]["metadata"]
    return {**NODES[name], "metadata": {**meta, "labels": {**meta["labels"], HOST: name}}}


@pytest.mark.parametrize("model", [ClaimModel, SharedModel])
def test_every_order_without_faults_ends_well(model: type[Model]) -> None:
    states, ends = explore(0, made=model)

    assert states > 15
    assert ends >= 1


@pytest.mark.slow
@pytest.mark.parametrize("model", [ClaimModel, SharedModel])
def test_every_order_with_a_fault_at_every_step_ends_well(model: type[ClaimModel]) -> None:
    states, ends = explore(1, made=lambda: model(telling_at_once=True))

    assert states > 150
    assert ends >= 5
