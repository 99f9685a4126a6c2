"""What tests of several kinds share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from closeknit.testing.control_plane import ControlPlane, GoMissingError, control_plane


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A real control plane, one for all tests that a process runs."""
    try:
        with control_plane() as running:
            yield running
    except GoMissingError as error:
        pytest.skip(str(error))
