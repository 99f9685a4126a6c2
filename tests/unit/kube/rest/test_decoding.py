from __future__ import annotations

import gc
import json
from typing import Any

import msgspec
import pytest

from closeknit.apis.core_v1 import Pod
from closeknit.kube.errors import GoneError, InternalServerError
from closeknit.kube.port import Bookmark, Change, ChangeType
from closeknit.kube.resources import PODS
from closeknit.kube.rest.decoding import decoder

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "resourceVersion": "7"},
    "spec": {"containers": [], "new": 1},
}


def wire(document: Any) -> bytes:
    return json.dumps(document).encode()


class Name(msgspec.Struct, frozen=True):
    name: str


class Named(msgspec.Struct, frozen=True):
    metadata: Name


def test_plain_data_keeps_every_field() -> None:
    assert decoder(PODS, None).object(wire(POD)) == POD


def test_items_of_a_list_get_the_kind_that_the_list_has() -> None:
    item = {"metadata": {"name": "p"}}
    page = decoder(PODS, None).page(
        wire(
            {"items": [item], "metadata": {"resourceVersion": "9", "continue": "t", "remainingItemCount": 4}}
        )
    )

    assert page.items == [{"metadata": {"name": "p"}, "apiVersion": "v1", "kind": "Pod"}]
    assert (page.resource_version, page.token, page.remaining) == ("9", "t", 4)


def test_a_wire_type_is_decoded_from_a_list_that_leaves_its_kind_out() -> None:
    (pod,) = (
        decoder(PODS, Pod)
        .page(wire({"items": [{"metadata": {"name": "p"}, "spec": {"containers": []}}]}))
        .items
    )

    assert isinstance(pod, Pod)
    assert (pod.api_version, pod.kind, pod.metadata.name) == ("v1", "Pod", "p")


def test_what_is_listed_equals_what_is_watched() -> None:
    read = decoder(PODS, Pod)
    (listed,) = read.page(wire({"items": [{"metadata": {"name": "p"}, "spec": {"containers": []}}]})).items
    event = read.event(wire({"type": "ADDED", "object": POD}))

    assert isinstance(event, Change)
    assert event.object == listed


def test_a_readers_type_holds_what_it_reads() -> None:
    assert decoder(PODS, Named).object(wire(POD)) == Named(Name("p"))


@pytest.mark.parametrize("items", [None, []], ids=["null", "empty"])
def test_a_list_of_nothing_is_empty(items: object) -> None:
    assert decoder(PODS, None).page(wire({"items": items, "metadata": {"resourceVersion": "1"}})).items == []


def test_a_change_says_where_a_watch_goes_on() -> None:
    event = decoder(PODS, None).event(wire({"type": "DELETED", "object": POD}))

    assert event == Change(ChangeType.DELETED, POD, "7")


def test_a_bookmark_is_one_whatever_the_type() -> None:
    bookmark = {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "12"}}}

    assert decoder(PODS, Named).event(wire(bookmark)) == Bookmark("12")


def test_an_error_in_a_watch_is_raised() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}

    with pytest.raises(GoneError, match="too old"):
        decoder(PODS, Pod).event(wire({"type": "ERROR", "object": status}))


@pytest.mark.parametrize(
    "line",
    [b"{", b"3", b'{"type":"ADDED"}', b'{"type":"NEW","object":{"metadata":{"name":"p"}}}', b"\xff"],
)
def test_a_line_that_is_no_event_is_the_servers_fault(line: bytes) -> None:
    with pytest.raises(InternalServerError, match=r"\bPod\b"):
        decoder(PODS, Named).event(line)


def test_an_object_of_another_shape_is_the_servers_fault() -> None:
    with pytest.raises(InternalServerError, match=r"\bPod\b"):
        decoder(PODS, Named).object(b'{"metadata":{"name":3}}')


def test_the_garbage_collector_is_on_after_a_list() -> None:
    decoder(PODS, None).page(b"{}")
    assert gc.isenabled()


BAD: dict[str, Any] = {**POD, "metadata": {"name": "bad"}, "spec": {"containers": "none"}}


def test_an_item_that_cannot_be_read_keeps_no_other_of_its_list_from_being_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    items = [{**POD, "metadata": {"name": "a"}}, BAD, {**POD, "metadata": {"name": "b"}}]
    answer = wire({"items": items, "metadata": {"resourceVersion": "9", "continue": "t"}})

    page = decoder(PODS, Pod).page(answer)

    assert [pod.metadata.name for pod in page.items] == ["a", "b"]
    assert (page.resource_version, page.token) == ("9", "t")
    assert len(caplog.records) == 1


def test_a_change_of_an_object_that_cannot_be_read_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    bad = {**BAD, "metadata": {"name": "bad", "resourceVersion": "12"}}

    assert decoder(PODS, Pod).event(wire({"type": "ADDED", "object": bad})) == Bookmark("12")
    assert len(caplog.records) == 1
