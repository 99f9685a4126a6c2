"""What the tests of commands share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import Serving, serving
from tests.unit.cli.running import DRAWING, TOPOLOGY, Run


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A directory with the drawn cluster as manifests."""
    (tmp_path / "cluster.txt").write_text(DRAWING)
    nodes = Run("nodes", "--drawing", str(tmp_path / "cluster.txt"), "--prefix", "")
    (tmp_path / "nodes.yaml").write_text(TOPOLOGY + nodes.out)
    return str(tmp_path)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Serving]:
    """A cluster with the definitions of KAI alone."""
    with serving(tmp_path / "kubeconfig", ["kai"]) as running:
        yield running
