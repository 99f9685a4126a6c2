from __future__ import annotations

import pytest

from closeknit.hub.sentences import kube
from closeknit.kube.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    Cause,
    ConflictError,
    DeadlineExceededError,
    GoneError,
    InternalServerError,
    NotFoundError,
    Status,
    TooManyRequestsError,
    UnavailableError,
    error_of,
    invalid,
)
from tests.kit.problems import finding, findings


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        pytest.param(404, "NotFound", NotFoundError, id="what is not there is a NotFoundError"),
        pytest.param(409, "AlreadyExists", AlreadyExistsError, id="409 with AlreadyExists is no conflict"),
        pytest.param(409, "Conflict", ConflictError, id="409 with Conflict is one"),
        pytest.param(410, "Gone", GoneError, id="the older word for expired is known too"),
        pytest.param(
            504, "ServerTimeout", DeadlineExceededError, id="a server's timeout is a passed deadline"
        ),
        pytest.param(429, "NeverHeardOf", TooManyRequestsError, id="an unknown reason is told by its code"),
        pytest.param(409, "NeverHeardOf", ConflictError, id="an unknown 409 is a conflict"),
        pytest.param(418, "Teapot", BadRequestError, id="an unknown 4xx is the caller's fault"),
        pytest.param(599, "Teapot", InternalServerError, id="an unknown 5xx is the server's fault"),
    ],
)
def test_a_status_becomes_the_type_that_says_what_to_do(code: int, reason: str, kind: type[ApiError]) -> None:
    assert type(error_of(Status(code=code, reason=reason, message=""))) is kind


def test_a_status_survives_the_wire() -> None:
    status = Status(
        code=422,
        reason="Invalid",
        message="bad",
        group="batch",
        kind="Job",
        name="j",
        uid="u",
        causes=(Cause("spec.x", "too large", "FieldValueInvalid"),),
        retry_after=3,
    )

    assert Status.read(status.wire(), code=500) == status


@pytest.mark.parametrize(
    ("document", "code", "text", "expected"),
    [
        pytest.param(
            "<html>",
            502,
            "bad gateway",
            (502, "InternalError", "bad gateway"),
            id="a proxy's page is shown as it is",
        ),
        pytest.param(
            {"kind": "Status", "message": 3, "details": []},
            503,
            "",
            (503, "ServiceUnavailable", "503"),
            id="a damaged Status is read as far as it goes",
        ),
        pytest.param(None, 404, "", (404, "NotFound", "404"), id="nothing at all"),
    ],
)
def test_any_answer_is_read_as_a_status(
    document: object, code: int, text: str, expected: tuple[int, str, str]
) -> None:
    """The last that is expected is what the message names."""
    status = Status.read(document, code=code, text=text)

    assert (status.code, status.reason) == expected[:2]
    assert expected[2] in status.message


def test_a_refused_object_names_every_field() -> None:
    error = invalid(
        [Cause("spec.a", "Required value", "FieldValueRequired"), Cause("spec.b", "Invalid value: 1")],
        group="batch",
        kind="Job",
        name="j",
    )

    assert str(error) == 'Job.batch "j" is invalid: [spec.a: Required value, spec.b: Invalid value: 1]'
    assert findings(error.problems) == [
        finding(kube.REFUSED, "spec.a", message="Required value"),
        finding(kube.REFUSED, "spec.b", message="Invalid value: 1"),
    ]


def test_an_error_made_from_a_sentence_has_the_code_of_its_type() -> None:
    error = UnavailableError("The server is gone.", retry_after=2)

    assert (error.status.code, error.status.reason, error.retry_after) == (503, "ServiceUnavailable", 2)
