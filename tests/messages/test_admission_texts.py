"""What a review of a write says besides the catalogue of problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.admission.keeping import InFiles, UnusableCertificateError
from closeknit.admission.requests import MOST_PROBLEMS, Request, Review
from closeknit.hub.sentences import kai


def test_problems_that_are_too_many_to_list() -> None:
    problem = kai.TWO_SPELLINGS.at(("spec", "subgroups"))
    request = Request(
        operation="CREATE", group="scheduling.run.ai", version="v2alpha2", kind="PodGroup", name="g"
    )

    status = Review((problem,) * (MOST_PROBLEMS + 7)).status(request)

    assert status.causes[-1].message == "Problems that are not listed: 7."


async def test_a_certificate_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(UnusableCertificateError) as refused:
        await InFiles(tmp_path).look()

    assert str(refused.value).startswith(f"{tmp_path} must hold tls.crt and tls.key that belong together: ")
