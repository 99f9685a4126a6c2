from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.http import protobuf


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return (
        b"k8s\x00"
        + field(1, field(1, api_version) + field(2, kind))
        + field(2, raw)
        + field(3, "")
        + field(4, "")
    )


META = field(
    1,
    field(1, "a")
    + field(2, "")
    + field(3, "default")
    + field(8, b"")
    + field(11, field(1, "k") + field(2, "v")),
)


@pytest.mark.parametrize(
    ("body", "want"),
    [
        pytest.param(
            envelope("v1", "ConfigMap", META + field(2, field(1, "x") + field(2, "y")) + field(4, 1)),
            {"data": {"x": "y"}, "immutable": True},
            id="a map and a truth value",
        ),
        pytest.param(
            envelope(
                "v1", "Secret", META + field(2, field(1, "x") + field(2, b"\xff\x00")) + field(3, "Opaque")
            ),
            {"data": {"x": "/wA="}, "type": "Opaque"},
            id="bytes become base64",
        ),
        pytest.param(
            envelope("scheduling.k8s.io/v1", "PriorityClass", META + field(2, -7) + field(3, 0)),
            {"value": -7},
            id="a number below zero, and a false that says nothing",
        ),
        pytest.param(
            envelope(
                "policy/v1",
                "PodDisruptionBudget",
                META + field(2, field(1, field(1, 1) + field(2, 0) + field(3, "50%"))),
            ),
            {"spec": {"minAvailable": "50%"}},
            id="a number or a text",
        ),
        pytest.param(
            envelope(
                "coordination.k8s.io/v1",
                "Lease",
                META + field(2, field(1, "me") + field(4, field(1, 1_700_000_000) + field(2, 5000))),
            ),
            {"spec": {"holderIdentity": "me", "renewTime": "2023-11-14T22:13:20.000005Z"}},
            id="a moment with microseconds",
        ),
    ],
)
def test_an_object_is_read(body: bytes, want: dict[str, Any]) -> None:
    found = protobuf.decode(body)

    assert found.pop("metadata") == {"name": "a", "namespace": "default", "labels": {"k": "v"}}
    assert {name: value for name, value in found.items() if name not in ("apiVersion", "kind")} == want


def test_delete_options_have_no_metadata() -> None:
    body = envelope("v1", "DeleteOptions", field(1, 0) + field(4, "Foreground") + field(2, field(1, "u")))

    assert protobuf.decode(body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Foreground",
        "preconditions": {"uid": "u"},
    }


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param(b"{}", errors.BadRequestError, id="no envelope"),
        pytest.param(b"k8s\x00\xff", errors.BadRequestError, id="a number that never ends"),
        pytest.param(
            b"k8s\x00" + field(1, b"\x0a\x7f"),
            errors.BadRequestError,
            id="a text that is longer than what is there",
        ),
        pytest.param(envelope("v1", "ConfigMap", b"\x0b"), errors.BadRequestError, id="a form that is none"),
        pytest.param(
            envelope("v1", "ConfigMap", field(1, 3)), errors.BadRequestError, id="a number for a message"
        ),
        pytest.param(
            envelope("apps/v1", "Deployment", b""),
            errors.UnsupportedMediaTypeError,
            id="a kind that is not served",
        ),
        pytest.param(
            envelope("v1", "ConfigMap", field(99, 1)),
            errors.UnsupportedMediaTypeError,
            id="a field that is not known",
        ),
        pytest.param(
            envelope("v1", "Pod", META + field(2, field(1, field(1, "v") + field(2, b"")))),
            errors.UnsupportedMediaTypeError,
            id="a volume, whose shape is not kept",
        ),
    ],
)
def test_what_cannot_be_read(body: bytes, error: type[errors.ApiError]) -> None:
    with pytest.raises(error):
        protobuf.decode(body)
