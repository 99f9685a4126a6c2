"""How an API refuses: Kubernetes' Status as data, and one exception type for each reason.

Callers catch the type that they can do something about; what they show is the
Status, which is the same whichever adapter raised it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from closeknit.hub.failures import UncontainedError
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kube as sentences


@dataclass(frozen=True, slots=True)
class Cause:
    """One of the things that are wrong, at the path of its field."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Kubernetes' answer to a request that failed."""

    code: int
    reason: str
    """A word for programs, such as ``NotFound``."""
    message: str
    """A sentence for people."""
    group: str = ""
    kind: str = ""
    """The kind, or for some reasons the plural, of what was asked for."""
    name: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after: int | None = None
    """Seconds, where the server asks to be left alone for a while."""

    def wire(self) -> dict[str, Any]:
        """As it goes over HTTP."""
        details: dict[str, Any] = {
            "name": self.name,
            "group": self.group,
            "kind": self.kind,
            "uid": self.uid,
            "causes": [
                {"reason": cause.reason, "message": cause.message, "field": cause.field}
                for cause in self.causes
            ],
            "retryAfterSeconds": self.retry_after or 0,
        }
        details = {key: value for key, value in details.items() if value}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.code,
        }

    @classmethod
    def read(cls, document: object, *, code: int, text: str = "") -> Status:
        """Make sense of any answer; ``code`` and ``text`` serve where it is no Status."""
        found = document if isinstance(document, Mapping) and document.get("kind") == "Status" else {}
        details = found.get("details")
        details = details if isinstance(details, Mapping) else {}
        causes = details.get("causes")
        retry_after = details.get("retryAfterSeconds")
        number = found.get("code")
        return cls(
            code=number if isinstance(number, int) and number else code,
            reason=_text(found.get("reason"))
            or REASONS.get(code, "InternalError" if code >= 500 else "BadRequest"),
            message=_text(found.get("message")) or text or f"The server answered with status {code}.",
            group=_text(details.get("group")),
            kind=_text(details.get("kind")),
            name=_text(details.get("name")),
            uid=_text(details.get("uid")),
            causes=tuple(
                Cause(_text(cause.get("field")), _text(cause.get("message")), _text(cause.get("reason")))
                for cause in (causes if isinstance(causes, list) else ())
                if isinstance(cause, Mapping)
            ),
            retry_after=retry_after if isinstance(retry_after, int) and retry_after > 0 else None,
        )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class ApiError(Exception):
    """A request that failed. The subclasses say what a caller can do about it."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(self, message: str | Status, **details: Any) -> None:
        if isinstance(message, str):
            message = Status(code=self.code, reason=self.reason, message=message, **details)
        self.status = message
        super().__init__(message.message)

    @property
    def retry_after(self) -> int | None:
        """For how many seconds the server asks to be left alone."""
        return self.status.retry_after


class BadRequestError(ApiError):
    """The request cannot be read; sending it again changes nothing."""

    code = 400
    reason = "BadRequest"


class UnauthorizedError(ApiError):
    """The server does not know who asks."""

    code = 401
    reason = "Unauthorized"


class ForbiddenError(ApiError):
    """Who asks may not do this, or an admission rule refused it."""

    code = 403
    reason = "Forbidden"


class NotFoundError(ApiError):
    """There is no such object, or no such resource."""

    code = 404
    reason = "NotFound"


class MethodNotAllowedError(ApiError):
    """The resource cannot be asked to do this."""

    code = 405
    reason = "MethodNotAllowed"


class NotAcceptableError(ApiError):
    """The server cannot answer in any of the formats that were asked for."""

    code = 406
    reason = "NotAcceptable"


class AlreadyExistsError(ApiError):
    """An object of this name is there already."""

    code = 409
    reason = "AlreadyExists"


class ConflictError(ApiError):
    """The object has changed since it was read, or another manager owns the field: read and decide again."""

    code = 409
    reason = "Conflict"


class GoneError(ApiError):
    """The resource version, or the page's token, is older than what the server remembers: list again."""

    code = 410
    reason = "Expired"


class RequestTooLargeError(ApiError):
    """The request has more bytes than the server takes."""

    code = 413
    reason = "RequestEntityTooLarge"


class UnsupportedMediaTypeError(ApiError):
    """The server does not read this format, or not for this resource."""

    code = 415
    reason = "UnsupportedMediaType"


class InvalidObjectError(ApiError):
    """The object breaks rules of its kind; the causes name every field."""

    code = 422
    reason = "Invalid"

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every cause, with the path of its field."""
        return tuple(
            sentences.REFUSED.at((Verbatim(cause.field),), message=cause.message)
            for cause in self.status.causes
        )


class TooManyRequestsError(ApiError):
    """The server, or a disruption budget, asks to try later."""

    code = 429
    reason = "TooManyRequests"


class InternalServerError(ApiError):
    """The server failed."""


class UnavailableError(ApiError):
    """The server cannot be reached or cannot serve now; the request may or may not have been carried out."""

    code = 503
    reason = "ServiceUnavailable"


class DeadlineExceededError(ApiError):
    """No answer came in time; the request may or may not have been carried out."""

    code = 504
    reason = "Timeout"


_TYPES: tuple[type[ApiError], ...] = (
    BadRequestError,
    UnauthorizedError,
    ForbiddenError,
    NotFoundError,
    MethodNotAllowedError,
    NotAcceptableError,
    ConflictError,
    AlreadyExistsError,
    GoneError,
    RequestTooLargeError,
    UnsupportedMediaTypeError,
    InvalidObjectError,
    TooManyRequestsError,
    InternalServerError,
    UnavailableError,
    DeadlineExceededError,
)
_BY_REASON: Mapping[str, type[ApiError]] = {
    **{error.reason: error for error in _TYPES},
    "Gone": GoneError,
    "ServerTimeout": DeadlineExceededError,
}
_BY_CODE: Mapping[int, type[ApiError]] = {error.code: error for error in reversed(_TYPES)}
REASONS: Mapping[int, str] = {code: error.reason for code, error in _BY_CODE.items()}

TRANSIENT = (DeadlineExceededError, InternalServerError, TooManyRequestsError, UnavailableError)
"""Failures of a server or of a network, which may be over at the next try."""


def error_of(status: Status) -> ApiError:
    """The exception for a Status: by its reason, else by its code."""
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code)
    if kind is None:
        kind = InternalServerError if status.code >= 500 else BadRequestError
    return kind(status)


def invalid(causes: Iterable[Cause], *, group: str, kind: str, name: str) -> InvalidObjectError:
    """The refusal of an object, worded as Kubernetes words it, with every cause."""
    listed = tuple(causes)
    said = [f"{cause.field}: {cause.message}" for cause in listed]
    joined = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    qualified = f"{kind}.{group}" if group else kind
    return InvalidObjectError(
        f'{qualified} "{name}" is invalid: {joined}', group=group, kind=kind, name=name, causes=listed
    )


class LeaseExpiredError(UncontainedError):
    """A write was not sent, because the lease may be held by another instance now. It ends the term."""


def only_expired(error: BaseException | None) -> bool:
    """Whether work ended as it should: without an error, or only because of writes that were not sent."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(LeaseExpiredError)[1] is None
    return error is None or isinstance(error, LeaseExpiredError)
