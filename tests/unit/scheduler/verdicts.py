"""Verdicts on drawn clusters, as the engine gives them."""

from __future__ import annotations

from closeknit.engine import Engine
from closeknit.hub.problems import Problem
from closeknit.hub.request import Request
from closeknit.hub.workload import (
    IncompleteWorkload,
    InvalidWorkload,
    ObjectName,
    PlaceableWorkload,
)
from closeknit.scheduler.planning import InvalidVerdict, Verdict, decide
from closeknit.testing.builders import group, pods
from closeknit.testing.drawings import parse

RACK, ZONE = "topology/rack", "topology/zone"
NAME = ObjectName("scheduling.run.ai/v2alpha2", "PodGroup", "default", "train")
FULL = """
z1
  r1
    n1: 8 used=8:other
    n2: 8
  r2
    n3: 8
"""


def gang(count: int, gpus: int = 8, *, required: str = RACK, minimum: int | None = None) -> PlaceableWorkload:
    """A PodGroup of equal pods named ``train-0`` and so on."""
    names = [f"train-{number}" for number in range(count)]
    workers = group(
        "workers", pods("workers/1", count, gpus, names=names, minimum=minimum), required=required
    )
    return PlaceableWorkload(
        NAME, "kai", Request("default/train", group("default/train", workers), "default")
    )


def decided(workload: PlaceableWorkload, drawing: str = FULL) -> Verdict:
    """What becomes of it on a drawn cluster."""
    drawn = parse(drawing, levels=(ZONE, RACK))
    return decide(Engine(drawn), drawn, workload)


def invalid(*problems: Problem) -> InvalidVerdict:
    """What becomes of a PodGroup with something wrong in it."""
    return InvalidVerdict(InvalidWorkload(NAME, "kai", problems))


def incomplete(*problems: Problem, missing_pods: int = 1) -> InvalidVerdict:
    """What becomes of a PodGroup whose pods do not all exist yet."""
    return InvalidVerdict(IncompleteWorkload(NAME, "kai", problems, missing_pods))
