"""Request bodies: bounded in size, time and nesting before they are parsed, by the reader of files.

`closeknit.text` limits what a text may stand for; what is added here is how many bytes are taken of a client,
and for how long they may come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from aiohttp import web

from closeknit.hub.paths import Path
from closeknit.hub.problems import InvalidError, Problem
from closeknit.kube.embedded.http import protobuf
from closeknit.kube.errors import (
    BadRequestError,
    DeadlineExceededError,
    RequestTooLargeError,
    UnsupportedMediaTypeError,
)
from closeknit.kube.port import ApplyPatch, JsonPatch, MergePatch, Patch, StrategicMergePatch
from closeknit.text import documents, json, yaml

MAX_BODY: Final = 3 * 1024 * 1024
"""What kube-apiserver takes, too."""

_T = TypeVar("_T")

_LARGE: Final = 64 * 1024
"""A body of more bytes is parsed in a thread, so that other clients are answered meanwhile."""

_MOST_REPEATED: Final = 100
"""How many repeated fields are reported; kube-apiserver stops there, too."""

_MOST_SHOWN: Final = 10
"""How many problems of a body are named."""

_JSON_PATCH: Final = "application/json-patch+json"
_MERGE_PATCH: Final = "application/merge-patch+json"
_STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
_APPLY_PATCH: Final = ("application/apply-patch+yaml", "application/apply-patch+json")


@dataclass(frozen=True, slots=True)
class Sent:
    """What a client sent, and which fields it has repeatedly there."""

    content: Any
    repeated: Sequence[str] = ()


async def body_of(request: web.BaseRequest, seconds: float) -> bytes:
    """The body, as far as the server takes it, and waits for it."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMediaTypeError("The body of a request must not be compressed.")
    if (request.content_length or 0) > MAX_BODY:
        raise _too_large()
    if request.content.is_eof():
        # Most bodies have come with their headers, and need no timer.
        body = request.content.read_nowait()
        if len(body) > MAX_BODY:
            raise _too_large()
        return body
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.content.iter_chunked(64 * 1024):
                size += len(part)
                if size > MAX_BODY:
                    raise _too_large()
                parts.append(part)
    except TimeoutError:
        raise DeadlineExceededError(f"The body of the request took more than {seconds:g} seconds.") from None
    return b"".join(parts)


def _too_large() -> RequestTooLargeError:
    return RequestTooLargeError(f"Request entity too large: limit is {MAX_BODY} bytes")


async def read_object(body: bytes, content_type: str) -> Sent:
    """A body as an object."""
    if content_type == protobuf.MEDIA_TYPE:
        return Sent(await _parsed(protobuf.decode, body))
    if content_type not in ("", "application/json", "application/yaml", "application/octet-stream", "*/*"):
        raise UnsupportedMediaTypeError(
            f"the body of the request was in an unknown format ({content_type}) - "
            "accepted media types include: application/json, application/yaml"
        )
    sent = await _parsed(_read_yaml if content_type == "application/yaml" else _read_json, body)
    if not isinstance(sent.content, dict):
        raise BadRequestError("The body of the request must be a JSON object.")
    return sent


async def _parsed(read: Callable[[bytes], _T], body: bytes) -> _T:
    return read(body) if len(body) <= _LARGE else await asyncio.to_thread(read, body)


def _read_json(body: bytes) -> Sent:
    try:
        content, repeated = json.decode(body)
    except InvalidError as error:
        raise _unreadable(error.problems) from None
    return Sent(content, [f'duplicate field "{_dotted(path)}"' for path in repeated[:_MOST_REPEATED]])


def _read_yaml(body: bytes) -> Sent:
    """YAML, or JSON, which most clients send as YAML and which is read fifty times as fast."""
    if body.lstrip()[:1] == b"{":
        try:
            return _read_json(body)
        except BadRequestError:
            # The reader of YAML finds line and column of what is wrong.
            pass
    text = documents.text_of(body)
    if isinstance(text, Problem):
        raise _unreadable([text])
    try:
        content, repeated = yaml.decode(text)
    except InvalidError as error:
        raise _unreadable(error.problems) from None
    fields = [f'duplicate field "{_dotted(problem.path)}"' for problem in repeated[:_MOST_REPEATED]]
    return Sent(content, fields)


def _dotted(path: Path) -> str:
    """The path of a field, as kube-apiserver writes it."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _unreadable(problems: Sequence[Problem]) -> BadRequestError:
    listed = "; ".join(map(str, problems[:_MOST_SHOWN]))
    return BadRequestError(f"the object provided is unrecognized: {listed}")


async def read_patch(
    body: bytes, content_type: str, *, manager: str, force: bool
) -> tuple[Patch, Sequence[str]]:
    """A body as a patch, and which fields it has repeatedly."""
    if content_type in _APPLY_PATCH:
        sent = await _parsed(_read_yaml, body)
        if not isinstance(sent.content, dict):
            raise BadRequestError("An applied configuration must be an object.")
        return ApplyPatch(sent.content, manager, force=force), sent.repeated
    if force:
        raise BadRequestError(
            "PatchOptions is invalid: force: Forbidden: may not be specified for non-apply patch"
        )
    if content_type not in (_JSON_PATCH, _MERGE_PATCH, _STRATEGIC_PATCH):
        raise UnsupportedMediaTypeError(
            "the body of the request was in an unknown format - accepted media types include: "
            f"{_JSON_PATCH}, {_MERGE_PATCH}, {_STRATEGIC_PATCH}, {_APPLY_PATCH[0]}"
        )
    sent = await _parsed(_read_json, body)
    if content_type == _JSON_PATCH:
        if not isinstance(sent.content, list):
            raise BadRequestError("A JSON patch must be a list of operations.")
        return JsonPatch(sent.content), sent.repeated
    if not isinstance(sent.content, dict):
        raise BadRequestError("A merge patch must be an object.")
    if content_type == _MERGE_PATCH:
        return MergePatch(sent.content), sent.repeated
    return StrategicMergePatch(sent.content), sent.repeated
