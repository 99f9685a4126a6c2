"""Real control planes, or a reason to skip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from closeknit.testing.control_plane import ControlPlane, GoMissingError, control_plane
from closeknit.testing.control_plane.plane import CONTROLLERS
from closeknit.testing.control_plane.programs import Programs, programs


@contextmanager
def skipped_without_go() -> Iterator[None]:
    """Skip the test, and say why, where something would have to be built and there is no Go."""
    try:
        yield
    except GoMissingError as error:
        pytest.skip(str(error))


@contextmanager
def running_plane(*api_server_flags: str, controllers: Sequence[str] = CONTROLLERS) -> Iterator[ControlPlane]:
    """A control plane, or a reason to skip."""
    with (
        skipped_without_go(),
        control_plane(api_server_flags=api_server_flags, controllers=controllers) as running,
    ):
        yield running


@skipped_without_go()
def built_programs() -> Programs:
    """The programs of a control plane, kubectl among them, or a reason to skip."""
    return programs()
