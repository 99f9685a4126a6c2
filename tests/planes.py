"""Real control planes, or a reason to skip."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import yaml

from closeknit.kube.port import KubernetesApi
from closeknit.testing.accounts import connected
from closeknit.testing.control_plane import ControlPlane, GoMissingError, control_plane
from closeknit.testing.control_plane.plane import CONTROLLERS
from closeknit.testing.control_plane.programs import Programs, programs

MANIFESTS = Path(__file__).parents[1] / "deploy" / "manifests.yaml"
"""What the chart renders where nothing is said."""


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


@asynccontextmanager
async def chart_accounts(plane: ControlPlane) -> AsyncIterator[KubernetesApi]:
    """An administrator of a control plane; ``seen_by`` asks as an account with the roles of the chart."""
    async with connected(plane, yaml.safe_load_all(MANIFESTS.read_text("utf-8"))) as api:
        yield api


@skipped_without_go()
def built_programs() -> Programs:
    """The programs of a control plane, kubectl among them, or a reason to skip."""
    return programs()
