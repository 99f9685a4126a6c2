"""Hypothesis strategies: clusters and requests that nobody drew."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from closeknit.hub.cluster import Cluster
from closeknit.hub.request import Request
from closeknit.testing.random_clusters import TINY, USUAL, Size
from closeknit.testing.random_requests import random_instance

__all__ = ["TINY", "USUAL", "Size", "instances", "random_instance"]


def instances(size: Size = USUAL) -> st.SearchStrategy[tuple[Cluster, Request]]:
    """Clusters with a valid request for each, about half of them feasible.

    An instance is drawn by its seed, which is what a failing example shows; give
    it to ``random_instance(Random(seed))`` to see the same again.
    """
    return st.integers(0, 2**32 - 1).map(lambda seed: random_instance(Random(seed), size))
