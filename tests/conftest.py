"""What tests of several kinds share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from closeknit.testing.control_plane import ControlPlane
from tests.planes import running_plane


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A real control plane, one for all tests that a process runs; what they make in it stays."""
    with running_plane() as running:
        yield running
