"""What a target has no words for is told at its object, and the rest is translated."""

from __future__ import annotations

import pytest

from closeknit.dialects import Source, translate
from tests.unit.dialects.kit import TOPOLOGY

GROUP = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: three-shapes}
spec:
  topologyConstraint: {topology: tree, requiredTopologyLevel: topology/rack}
  subGroups: [{name: a, minMember: 1}, {name: b, minMember: 2}, {name: c, minMember: 3}]
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: plain}
spec: {minMember: 2}
"""


@pytest.mark.parametrize("target", ["kueue", "grove"])
def test_one_workload_that_cannot_be_said_keeps_no_other_from_it(target: str) -> None:
    found = translate([Source("topology", TOPOLOGY.encode()), Source("groups", GROUP.encode())], target)
    names = {each["metadata"]["name"] for each in found.objects}

    assert any("plain" in name for name in names)
    for problem in found.problems:
        assert (problem.source, problem.document, problem.problem.path) == ("groups", 1, "metadata.name")
        assert problem.object is not None
        assert problem.object.name == "three-shapes"
        assert f'PodGroup "three-shapes" cannot be said in the words of {target}: ' in problem.problem.message
    assert bool(found.problems) == (target == "kueue")


def test_a_workload_is_said_once_and_not_what_its_operator_makes_of_it() -> None:
    found = translate([Source("topology", TOPOLOGY.encode()), Source("groups", GROUP.encode())], "grove")

    assert {each["kind"] for each in found.objects} == {"ClusterTopologyBinding", "PodCliqueSet"}
