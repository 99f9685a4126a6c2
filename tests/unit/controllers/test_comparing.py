"""Whether a write would change anything."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.apis.closeknit_keys import APPLIED
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.controllers.runtime.comparing import covers, digest, is_needed
from closeknit.controllers.runtime.writes import Apply, Create, Delete, Evict, Patch, SetStatus, Write
from closeknit.dialects.store.store import Entry
from closeknit.dialects.wire.kinds import Kind
from closeknit.live.entries import whole_entry_of

BODY = {
    "apiVersion": "kai.scheduler/v1alpha1",
    "kind": "Topology",
    "metadata": {"name": "dc"},
    "spec": {"levels": [{"nodeLabel": "zone"}]},
}
KIND = Kind("kai.scheduler", "Topology", ("v1alpha1",), Topology, namespaced=False)


def stored(**metadata: Any) -> Entry:
    own = {"uid": "u1", "resourceVersion": "7", "annotations": {APPLIED: digest(BODY)}, **metadata}
    written = {**BODY, "metadata": {"name": "dc", **own}, "status": {"phase": "Ready"}}
    return whole_entry_of(KIND, "kai.scheduler/v1alpha1", written)


KEY = stored().key
GOING = stored(deletionTimestamp="2026-01-01T00:00:00Z")
OTHER = {**BODY, "spec": {"levels": [{"nodeLabel": "rack"}]}}


@pytest.mark.parametrize(
    ("write", "entry", "needed"),
    [
        pytest.param(Apply(BODY), None, True, id="apply: not there"),
        pytest.param(Apply(BODY), stored(), False, id="apply: there as wanted"),
        pytest.param(Apply(OTHER), stored(), True, id="apply: something else is wanted"),
        pytest.param(Apply(BODY), stored(annotations={}), True, id="apply: something else was wanted before"),
        pytest.param(Apply(OTHER), GOING, False, id="apply: going, and made anew later"),
        pytest.param(Create(BODY), None, True, id="create: not there"),
        pytest.param(Create(OTHER), stored(), False, id="create: there, whatever it is"),
        pytest.param(Patch(KEY, {"spec": BODY["spec"]}), stored(), False, id="patch: changes nothing"),
        pytest.param(Patch(KEY, {"spec": {"levels": []}}), stored(), True, id="patch: changes something"),
        pytest.param(Patch(KEY, {"spec": {"other": None}}), stored(), False, id="patch: takes away nothing"),
        pytest.param(
            Patch(KEY, {"spec": {"levels": [{}]}}), stored(), False, id="patch: a server has added to a list"
        ),
        pytest.param(
            Patch(KEY, {"spec": {"levels": [{}]}}, resource_version="7"),
            stored(),
            True,
            id="patch of one version: a list loses a field",
        ),
        pytest.param(
            Patch(KEY, {"spec": {"levels": [{"nodeLabel": "zone"}], "other": None}}, resource_version="7"),
            stored(),
            False,
            id="patch of one version: changes nothing",
        ),
        pytest.param(SetStatus(KEY, {"phase": "Ready"}), stored(), False, id="status: as it is"),
        pytest.param(
            SetStatus(KEY, {"phase": "Ready", "old": None}), stored(), False, id="status: no old field"
        ),
        pytest.param(SetStatus(KEY, {"phase": None}), stored(), True, id="status: a field to take away"),
        pytest.param(SetStatus(KEY, {"phase": "Ready"}), None, False, id="status: of nothing"),
        pytest.param(Delete(KEY), stored(), True, id="delete: there"),
        pytest.param(Delete(KEY, "u2"), stored(), False, id="delete: another of the name"),
        pytest.param(Delete(KEY), GOING, False, id="delete: going"),
        pytest.param(Evict(KEY), None, False, id="evict: gone"),
    ],
)
def test_a_write_is_sent_where_it_would_change_something(
    write: Write, entry: Entry | None, needed: bool
) -> None:
    assert is_needed(write, entry) is needed


def test_a_field_that_others_scale_is_no_difference() -> None:
    body = {**BODY, "spec": {**BODY["spec"], "replicas": 3}}  # type: ignore[dict-item]
    write = Apply(body, (("spec", "replicas"),))
    assert not is_needed(write, stored())
    assert is_needed(Apply(body), stored())


@pytest.mark.parametrize(
    ("found", "wanted", "covered"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="a server adds fields"),
        pytest.param({"a": 2}, {"a": 1}, False, id="another value"),
        pytest.param({}, {"a": []}, True, id="an empty list is left out"),
        pytest.param({}, {"a": 1}, False, id="a value is missing"),
        pytest.param({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, True, id="a server adds to items"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, False, id="an item too many"),
        pytest.param({"cpu": "1"}, {"cpu": "1000m"}, True, id="a quantity in other words"),
        pytest.param("text", {"a": 1}, False, id="another shape"),
    ],
)
def test_what_is_wanted_is_there(found: Any, wanted: Any, covered: bool) -> None:
    assert covers(found, wanted) is covered
