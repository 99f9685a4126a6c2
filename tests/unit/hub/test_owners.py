"""By what an object is attributed to an owner."""

from __future__ import annotations

import pytest

from closeknit.hub.owners import OwnerIdentity, possible_owners

JOB = OwnerIdentity("batch", "Job", "a", "1")


@pytest.mark.parametrize(
    ("owner", "reference", "is_owner"),
    [
        pytest.param(JOB, ("batch/v1", "Job", "1", "a"), True, id="an object of the same namespace owns"),
        pytest.param(
            JOB, ("batch/v2", "Job", "1", "a"), True, id="the version of a reference does not matter"
        ),
        pytest.param(
            JOB, ("batch/v1", "Job", "1", "b"), False, id="an object of another namespace owns nothing"
        ),
        pytest.param(
            JOB, ("batch/v1", "Job", "1", ""), False, id="a namespaced object owns nothing cluster-wide"
        ),
        pytest.param(JOB, ("batch/v1", "Job", "2", "a"), False, id="another uid is another object"),
        pytest.param(JOB, ("batch/v1", "Pod", "1", "a"), False, id="another kind is another object"),
        pytest.param(JOB, ("v1", "Job", "1", "a"), False, id="another group is another object"),
        pytest.param(
            OwnerIdentity("", "Node", "", "1"),
            ("v1", "Node", "1", "b"),
            True,
            id="a cluster-wide object owns objects of any namespace",
        ),
        pytest.param(
            OwnerIdentity("", "Node", "", "1"),
            ("v1", "Node", "1", ""),
            True,
            id="a cluster-wide object owns cluster-wide objects",
        ),
        pytest.param(
            OwnerIdentity("", "Node", "", ""), ("v1", "Node", "", ""), False, id="no uid proves nothing"
        ),
    ],
)
def test_an_owner_is_known_by_uid_kind_and_namespace(
    owner: OwnerIdentity, reference: tuple[str, str, str, str], is_owner: bool
) -> None:
    assert (owner in possible_owners(*reference)) is is_owner
