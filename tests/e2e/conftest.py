"""What tests of a whole cluster share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from closeknit.testing.control_plane import ControlPlane
from tests.planes import running_plane


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A real control plane for each module, because these tests look at all that is in it."""
    with running_plane() as running:
        yield running
