"""What a target has no words for is told at its object, the rest is translated, and nothing is lost in silence."""

from __future__ import annotations

import pytest

from closeknit.dialects import TARGETS, Source, Translation, translate
from closeknit.dialects.kai import KAI
from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.translation import translate_with
from tests.unit.dialects.kit import TOPOLOGY, pod, pod_group

GROUP = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: two-of-three}
spec:
  topologyConstraint: {topology: tree, requiredTopologyLevel: topology/rack}
  minSubGroup: 2
  subGroups: [{name: a, minMember: 1}, {name: b, minMember: 2}, {name: c, minMember: 3}]
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: plain}
spec: {minMember: 2}
"""


@pytest.mark.parametrize("target", ["kueue", "grove", "podgang"])
def test_one_workload_that_cannot_be_said_keeps_no_other_from_it(target: str) -> None:
    found = translate([Source("topology", TOPOLOGY.encode()), Source("groups", GROUP.encode())], target)
    names = {each["metadata"]["name"] for each in found.objects}
    family = "kueue" if target == "kueue" else "grove"

    assert any("plain" in name for name in names)
    assert found.problems
    for problem in found.problems:
        assert (problem.source, problem.document, problem.problem.path) == ("groups", 1, "metadata.name")
        assert problem.object is not None
        assert problem.object.name == "two-of-three"
        assert f'PodGroup "two-of-three" cannot be said in the words of {family}: ' in problem.problem.message
    assert found.unwritten == ()


def test_a_workload_is_said_once_and_not_what_its_operator_makes_of_it() -> None:
    found = translate([Source("groups", pod_group({"minMember": 2}).encode())], "grove")

    assert {each["kind"] for each in found.objects} == {"PodCliqueSet"}


def translated(target: str, *texts: str) -> Translation:
    return translate([Source("f", "\n---\n".join(texts).encode())], target)


def test_a_workload_whose_pods_are_all_there_is_named_as_one_that_nothing_is_left_of() -> None:
    found = translated("pods", pod_group({}), pod("p", "g"))

    assert (found.objects, found.problems) == ((), ())
    assert [(name.kind, name.namespace, name.name) for name in found.unwritten] == [
        ("PodGroup", "default", "g")
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_of_a_workload_that_is_written_something_is_left(target: str) -> None:
    found = translated(target, pod_group({}))

    assert found.objects
    assert found.unwritten == ()


def test_a_workload_with_problems_is_told_by_them_alone() -> None:
    found = translated("grove", pod_group({"minSubGroup": 1}))

    assert (found.objects, found.unwritten) == ((), ())
    assert len(found.problems) == 1


def test_a_target_for_which_nobody_has_words_is_told_with_those_that_are_left() -> None:
    source = Source("f", pod_group({}).encode())

    for target in ("grove", "podgang"):
        found = translate_with((KAI, KUEUE), [source], target, lenient=False)

        assert (found.objects, found.unwritten) == ((), ())
        assert [str(problem) for problem in found.problems] == [
            f'f:1:metadata.name: PodGroup "g" cannot be translated to {target}.'
            ' Allowed: "kai", "kueue", "pods".'
        ]


def test_documents_that_nobody_reads_are_told_of() -> None:
    found = translated("kai", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}")

    assert [(each.document, each.kind) for each in found.skipped] == [(1, "Deployment")]
