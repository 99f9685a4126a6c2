"""Why a node takes no pod of a group that cannot be placed."""

from __future__ import annotations

import pytest

from closeknit.hub.nodes import Effect, Operator, Requirement, Term, Toleration
from closeknit.hub.outcome import (
    Exclusion,
    ExclusionReason,
)
from closeknit.hub.request import PodSet
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import GPU, parse
from tests.unit.engine.explanation.explained import only

_SELECTED = {"selector": {"gpu": "h100"}}


_AFFINE = {
    "affinity": (
        Term((Requirement("gpu", Operator.IN, ("h100", "a100")), Requirement("zone", Operator.EXISTS))),
        Term((Requirement("size", Operator.GT, ("3",)),)),
    )
}


@pytest.mark.parametrize(
    ("host", "asked", "excluded"),
    [
        pytest.param("x1: 8", {}, [], id="a node that takes a pod is not excluded"),
        pytest.param(
            "x1: 8 not-ready unschedulable",
            {},
            [(ExclusionReason.NOT_READY, "")],
            id="of several reasons the first is told",
        ),
        pytest.param("x1: 8 unschedulable", {}, [(ExclusionReason.UNSCHEDULABLE, "")], id="a cordoned node"),
        pytest.param(
            "x1: 8 taint:a=b:NoSchedule taint:c:NoExecute",
            {"tolerations": [Toleration("a", "b", Effect.NO_SCHEDULE)]},
            [(ExclusionReason.TAINT, "c:NoExecute")],
            id="of several taints the first that is not tolerated",
        ),
        pytest.param("x1: 8 taint:a=b:PreferNoSchedule", {}, [], id="a soft taint excludes nothing"),
        pytest.param(
            "x1: 8 label:gpu=a100", _SELECTED, [(ExclusionReason.NODE_SELECTOR, "gpu=h100")], id="a selector"
        ),
        pytest.param(
            "x1: 8 label:gpu=a100",
            _AFFINE,
            [(ExclusionReason.NODE_AFFINITY, "gpu In (h100, a100) and zone Exists, or size Gt (3)")],
            id="affinity, in its users' words",
        ),
        pytest.param("x1: 8 used=8", {}, [(ExclusionReason.RESOURCE, GPU)], id="a full node"),
        pytest.param(
            "x1: 0 cpu=1",
            {"cpu": 2},
            [(ExclusionReason.RESOURCE, GPU)],
            id="of several resources the scarce kind is told",
        ),
        pytest.param(
            "x1: 8 used=1:other:port=80/TCP",
            {"gpus": 0, "ports": [80]},
            [(ExclusionReason.PORT, "80/TCP")],
            id="a port in use",
        ),
    ],
)
def test_why_a_node_takes_no_pod(
    host: str, asked: dict[str, object], excluded: list[tuple[ExclusionReason, str]]
) -> None:
    cluster = parse(f"r1\n  {host}\n")

    shortfall = only(cluster, request("t", group("g", pods("w", 99, **asked), required="rack")))  # type: ignore[arg-type]

    assert shortfall.excluded == tuple(Exclusion(reason, detail, 1) for reason, detail in excluded)


def test_nodes_without_a_domain_of_the_level_are_excluded_by_the_first_label_they_lack() -> None:
    cluster = parse("""
        b1
          r1
            x1: 1
          x2: 8
        x3: 8
        x4: 8 not-ready
    """)

    shortfall = only(cluster, request("t", group("g", pods("w", 2), required="rack")))

    assert shortfall.excluded == (
        Exclusion(ExclusionReason.UNLABELLED, "block", 2),
        Exclusion(ExclusionReason.UNLABELLED, "rack", 1),
    )


def test_a_node_that_takes_one_of_several_shapes_is_not_excluded() -> None:
    cluster = parse("""
        r1
          x1: 0 cpu=2
          x2: 8 used=8 cpu=1
    """)
    asked = request("t", group("g", pods("cpu", 1, 0, cpu=2), pods("gpu", 1, 8), required="rack"))

    assert only(cluster, asked).excluded == (Exclusion(ExclusionReason.RESOURCE, GPU, 1),)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(
            [pods("cpu", 1, 0, cpu=2, selector={"kind": "cpu"}), pods("gpu", 1, 8)],
            id="the selector keeps the first shape out",
        ),
        pytest.param(
            [pods("cpu", 1, 0, cpu=2), pods("gpu", 1, 8, selector={"kind": "gpu"})],
            id="the selector keeps the second shape out",
        ),
    ],
)
def test_of_several_shapes_the_one_that_comes_closest_counts(asked: list[PodSet]) -> None:
    shortfall = only(parse("r1\n  x1: 1 cpu=1\n"), request("t", group("g", *asked, required="rack")))

    assert [exclusion.reason for exclusion in shortfall.excluded] == [ExclusionReason.RESOURCE]
