"""What the tests of commands share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import Serving, serving
from tests.unit.cli.running import write_cluster


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A directory with the drawn cluster as manifests."""
    return write_cluster(tmp_path)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Serving]:
    """A cluster with the definitions of KAI alone."""
    with serving(tmp_path / "kubeconfig", ["kai"]) as running:
        yield running
