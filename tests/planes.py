"""Real control planes, or a reason to skip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from closeknit.testing.control_plane import ControlPlane, GoMissingError, control_plane
from closeknit.testing.control_plane.plane import CONTROLLERS
from closeknit.testing.control_plane.programs import Programs, programs


@contextmanager
def running_plane(*api_server_flags: str, controllers: Sequence[str] = CONTROLLERS) -> Iterator[ControlPlane]:
    """A control plane; where it would have to be built and there is no Go, the test is skipped, and says so."""
    try:
        with control_plane(api_server_flags=api_server_flags, controllers=controllers) as running:
            yield running
    except GoMissingError as error:
        pytest.skip(str(error))


def built_programs() -> Programs:
    """The programs of a control plane, kubectl among them, or a reason to skip."""
    try:
        return programs()
    except GoMissingError as error:
        pytest.skip(str(error))
