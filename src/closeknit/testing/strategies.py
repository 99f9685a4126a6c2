"""Hypothesis strategies: clusters and requests that nobody drew."""

from __future__ import annotations

from random import Random

from hypothesis import note
from hypothesis import strategies as st

from closeknit.hub.cluster import Cluster
from closeknit.hub.request import Request
from closeknit.testing.random_clusters import RULED, TINY, USUAL, Size
from closeknit.testing.random_requests import random_instance

__all__ = ["RULED", "TINY", "USUAL", "Size", "instances", "random_instance"]


@st.composite
def instances(draw: st.DrawFn, size: Size = RULED) -> tuple[Cluster, Request]:
    """Clusters with a valid request for each, about half of them feasible.

    An instance is drawn by its seed. A failing example notes it, and
    ``random_instance(Random(seed), size)`` makes the same instance again.
    """
    seed = draw(st.integers(0, 2**32 - 1))
    note(f"seed {seed}")
    return random_instance(Random(seed), size)
