"""Request bodies: bounded, and read as JSON or as YAML without aliases."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import yaml
from aiohttp import web

from closeknit.kube.embedded.http import protobuf
from closeknit.kube.errors import BadRequestError, RequestTooLargeError, UnsupportedMediaTypeError
from closeknit.kube.port import ApplyPatch, JsonPatch, MergePatch, Patch, StrategicMergePatch

MAX_BODY: Final = 3 * 1024 * 1024
"""What kube-apiserver takes, too."""

_JSON_PATCH: Final = "application/json-patch+json"
_MERGE_PATCH: Final = "application/merge-patch+json"
_STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
_APPLY_PATCH: Final = ("application/apply-patch+yaml", "application/apply-patch+json")


async def body_of(request: web.BaseRequest) -> bytes:
    """The body, as far as the server takes it."""
    if (request.content_length or 0) > MAX_BODY:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_chunked(64 * 1024):
        size += len(part)
        if size > MAX_BODY:
            raise _too_large()
        parts.append(part)
    return b"".join(parts)


def _too_large() -> RequestTooLargeError:
    return RequestTooLargeError(f"Request entity too large: limit is {MAX_BODY} bytes")


def read_object(body: bytes, content_type: str) -> dict[str, Any]:
    """A body as an object."""
    if content_type == protobuf.MEDIA_TYPE:
        return protobuf.decode(body)
    if content_type not in ("", "application/json", "application/yaml", "application/octet-stream", "*/*"):
        raise UnsupportedMediaTypeError(
            f"the body of the request was in an unknown format ({content_type}) - "
            "accepted media types include: application/json, application/yaml"
        )
    found = _read(body, yaml_too=content_type == "application/yaml")
    if not isinstance(found, dict):
        raise BadRequestError("The body of the request must be a JSON object.")
    return found


def _read(body: bytes, *, yaml_too: bool) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        if not yaml_too:
            raise BadRequestError(f"the object provided is unrecognized: {problem}") from None
    try:
        # An alias can make a small text into a huge object.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(body, yaml.CSafeLoader)):
            raise BadRequestError("YAML with aliases is not taken here. Write their values out.")
        return yaml.load(body, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise BadRequestError(f"the object provided is neither JSON nor YAML: {problem}") from None


def read_patch(body: bytes, content_type: str, *, manager: str, force: bool) -> Patch:
    """A body as a patch."""
    if content_type in _APPLY_PATCH:
        found = _read(body, yaml_too=True)
        if not isinstance(found, dict):
            raise BadRequestError("An applied configuration must be an object.")
        return ApplyPatch(found, manager, force=force)
    if force:
        raise BadRequestError(
            "PatchOptions is invalid: force: Forbidden: may not be specified for non-apply patch"
        )
    found = _read(body, yaml_too=False)
    if content_type == _JSON_PATCH:
        if not isinstance(found, list):
            raise BadRequestError("A JSON patch must be a list of operations.")
        return JsonPatch(found)
    if not isinstance(found, dict):
        raise BadRequestError("A merge patch must be an object.")
    if content_type == _MERGE_PATCH:
        return MergePatch(found)
    if content_type == _STRATEGIC_PATCH:
        return StrategicMergePatch(found)
    raise UnsupportedMediaTypeError(
        "the body of the request was in an unknown format - accepted media types include: "
        f"{_JSON_PATCH}, {_MERGE_PATCH}, {_STRATEGIC_PATCH}, {_APPLY_PATCH[0]}"
    )
