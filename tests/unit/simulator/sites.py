"""Sites and gangs in a few words."""

from __future__ import annotations

from closeknit.hub import drawing
from closeknit.hub.resources import Resources
from closeknit.simulator.scenario import Ask, Faults, Scenario, Site, Submission

GPU = drawing.GPU

TWO_BLOCKS = """
b1
  r1
    x1: 8
    x2: 8
  r2
    x3: 8
    x4: 8
b2
  r1
    x5: 8
    x6: 8
"""
"""Three racks of two nodes; one of two names is used twice."""


def site(drawn: str = TWO_BLOCKS) -> Site:
    cluster = drawing.parse(drawn, host_level=True)
    return Site.of(cluster.topologies[0], cluster.nodes, GPU)


def ask(pods: int, gpus: int = 8, required: str | None = None, preferred: str | None = None) -> Ask:
    return Ask(pods, Resources({GPU: gpus}), required, preferred)


def submission(name: str, at: float, runs: float, asked: Ask, priority: int = 0) -> Submission:
    return Submission(name, at, runs, asked, priority)


def scenario(*submissions: Submission, drawn: str = TWO_BLOCKS, faults: Faults = Faults()) -> Scenario:  # noqa: B008
    return Scenario(site(drawn), submissions, faults)
