"""What scenarios of controllers run on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from closeknit.kube.port import KubernetesApi
from tests.scenario.controlled import connected

REAL = "kube-apiserver"


@pytest.fixture(params=["embedded", pytest.param(REAL, marks=pytest.mark.e2e)])
async def real(request: pytest.FixtureRequest) -> AsyncIterator[KubernetesApi | None]:
    """A real API server with all definitions and no objects; None for an embedded cluster."""
    if request.param != REAL:
        yield None
        return
    async with connected(request.getfixturevalue("plane")) as api:
        yield api
