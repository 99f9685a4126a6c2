from __future__ import annotations

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster


@pytest.fixture
def cluster() -> EmbeddedCluster:
    return EmbeddedCluster()
