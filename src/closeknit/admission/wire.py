"""AdmissionReview as it goes over HTTP (admission.k8s.io/v1)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from closeknit.admission.patches import difference
from closeknit.admission.requests import Request, Review


class _Kind(msgspec.Struct):
    group: str
    version: str
    kind: str


class _User(msgspec.Struct):
    username: str = ""


class _Request(msgspec.Struct, rename="camel"):
    uid: str
    kind: _Kind
    operation: str
    namespace: str = ""
    name: str = ""
    user_info: _User = msgspec.field(default_factory=_User)
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None


class _Review(msgspec.Struct):
    request: _Request


_decoder = msgspec.json.Decoder(_Review)


class UnreadableReviewError(Exception):
    """What was sent is no AdmissionReview."""


def read(body: bytes) -> tuple[str, Request]:
    """The uid of a request, which its answer repeats, and the request."""
    try:
        sent = _decoder.decode(body).request
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise UnreadableReviewError(
            f"The body is no AdmissionReview of admission.k8s.io/v1: {error}"
        ) from None
    return sent.uid, Request(
        operation=sent.operation,
        group=sent.kind.group,
        version=sent.kind.version,
        kind=sent.kind.kind,
        namespace=sent.namespace,
        name=sent.name,
        user=sent.user_info.username,
        obj=sent.object,
        old=sent.old_object,
    )


def reviewed(uid: str, request: Request, review: Review) -> bytes:
    """The answer of a validating webhook."""
    response: dict[str, Any] = {"allowed": review.allowed}
    if not review.allowed:
        response["status"] = review.status(request).wire()
    if review.warnings:
        response["warnings"] = list(review.warnings)
    return _written(uid, response)


def changed(uid: str, request: Request, obj: Mapping[str, Any] | None) -> bytes:
    """The answer of a mutating webhook."""
    response: dict[str, Any] = {"allowed": True}
    if obj is not None:
        patch = msgspec.json.encode(list(difference(request.obj, obj)))
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    return _written(uid, response)


def _written(uid: str, response: dict[str, Any]) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": uid, **response},
        }
    )
