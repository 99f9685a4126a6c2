"""What may not change in a PodCliqueSet once it exists."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.sentences import grove
from tests.kit.problems import Finding, finding
from tests.unit.dialects.grove.expected import constraint_changed, field_changed
from tests.unit.dialects.grove.sets import clique, group, pod_clique_set, pod_spec
from tests.unit.dialects.kit import forbidden_changes


def packed(required: str = "", preferred: str = "", topology: str = "") -> dict[str, Any]:
    pack = {key: word for key, word in (("required", required), ("preferred", preferred)) if word}
    return {"topologyConstraint": {"pack": pack, **({"topologyName": topology} if topology else {})}}


CLOSE = pod_clique_set(clique("a", domain="rack"), groups=[group("g", "a", domain="block")], domain="zone")


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(CLOSE, CLOSE, [], id="nothing changes"),
        pytest.param(
            pod_clique_set(clique("a", 1), replicas=1),
            pod_clique_set(clique("a", 3), replicas=2),
            [],
            id="replicas may change",
        ),
        pytest.param(
            pod_clique_set(clique("a"), domain="rack"),
            pod_clique_set(clique("a"), **packed("rack", topology="grove-topology")),
            [],
            id="the earlier spelling may give way to today's, with a name",
        ),
        pytest.param(
            pod_clique_set(clique("a")),
            pod_clique_set(clique("a"), domain="rack"),
            [
                finding(
                    grove.CONSTRAINT_ADDED_OR_REMOVED,
                    "spec.template.topologyConstraint",
                    done="added to",
                    kind="PodCliqueSet",
                )
            ],
            id="no constraint is added",
        ),
        pytest.param(
            pod_clique_set(clique("a", domain="rack")),
            pod_clique_set(clique("a")),
            [
                finding(
                    grove.CONSTRAINT_ADDED_OR_REMOVED,
                    "spec.template.cliques[0].topologyConstraint",
                    done="removed from",
                    kind="PodCliqueSet",
                )
            ],
            id="no constraint is removed",
        ),
        pytest.param(
            pod_clique_set(clique("a"), groups=[group("g", "a", domain="rack")]),
            pod_clique_set(clique("a"), groups=[group("g", "a", domain="host")]),
            [
                constraint_changed(
                    "spec.template.podCliqueScalingGroups[0].topologyConstraint.packDomain",
                    "required domain",
                    '"rack"',
                    '"host"',
                )
            ],
            id="no domain changes",
            marks=pytest.mark.requirement("G34"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed("zone", topology="t")),
            pod_clique_set(clique("a"), **packed("zone", "rack", topology="u")),
            [
                constraint_changed(
                    "spec.template.topologyConstraint.pack.preferred", "preferred domain", "none", '"rack"'
                ),
                constraint_changed("spec.template.topologyConstraint.topologyName", "topology", '"t"', '"u"'),
            ],
            id="neither preference nor topology change",
        ),
        pytest.param(
            pod_clique_set(clique("a"), clique("b"), groups=[group("g", "a")]),
            pod_clique_set(clique("a"), clique("c"), groups=[group("g", "a", "c")]),
            [
                finding(
                    grove.MEMBERS_CHANGED, "spec.template.cliques", done="added", names=("c",), what="cliques"
                ),
                finding(
                    grove.MEMBERS_CHANGED,
                    "spec.template.cliques",
                    done="removed",
                    names=("b",),
                    what="cliques",
                ),
                finding(
                    grove.MEMBERS_CHANGED,
                    "spec.template.podCliqueScalingGroups[0].cliqueNames",
                    done="added",
                    names=("c",),
                    what="cliques",
                ),
            ],
            id="what the set is made of stays",
        ),
        pytest.param(
            pod_clique_set(clique("a", roleName="x"), clique("b")),
            pod_clique_set(clique("b"), clique("a", roleName="y")),
            [field_changed("spec.template.cliques[1].spec.roleName", '"x"', '"y"')],
            id="roles stay, though cliques that start in any order may change places",
            marks=pytest.mark.requirement("G69"),
        ),
        pytest.param(
            pod_clique_set(clique("a", 3)),
            pod_clique_set(clique("a", 3, minAvailable=2)),
            [field_changed("spec.template.cliques[0].spec.minAvailable", "3", "2")],
            id="the minimum of a clique stays, which is all replicas where none is written",
            marks=pytest.mark.requirement("G69"),
        ),
        pytest.param(
            pod_clique_set(clique("a", 3, minAvailable=2)),
            pod_clique_set(clique("a", 5)),
            [field_changed("spec.template.cliques[0].spec.minAvailable", "2", "5")],
            id="a minimum is not left out later, because all replicas would be meant",
        ),
        pytest.param(
            pod_clique_set(clique("a"), clique("b"), cliqueStartupType="CliqueStartupTypeInOrder"),
            pod_clique_set(clique("b"), clique("a"), cliqueStartupType="CliqueStartupTypeInOrder"),
            [
                finding(
                    grove.ORDER_CHANGED,
                    "spec.template.cliques",
                    old=("a", "b"),
                    new=("b", "a"),
                    what="cliques",
                )
            ],
            id="cliques that start in order keep it",
            marks=pytest.mark.requirement("G69"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), clique("b")),
            pod_clique_set(
                clique("a"), clique("b", startsAfter=["a"]), cliqueStartupType="CliqueStartupTypeExplicit"
            ),
            [
                field_changed("spec.template.cliques[1].spec.startsAfter", "none", '"a"'),
                field_changed(
                    "spec.template.cliqueStartupType",
                    '"CliqueStartupTypeAnyOrder"',
                    '"CliqueStartupTypeExplicit"',
                ),
            ],
            id="how cliques start stays",
        ),
        pytest.param(
            pod_clique_set(clique("a")),
            pod_clique_set(clique("a"), cliqueStartupType="CliqueStartupTypeAnyOrder"),
            [],
            id="what is meant anyway may be written",
        ),
        pytest.param(
            pod_clique_set(clique("a")),
            pod_clique_set(clique("a", podSpec=pod_spec(schedulerName="volcano"))),
            [
                field_changed(
                    "spec.template.cliques[0].spec.podSpec.schedulerName", '"kai-scheduler"', '"volcano"'
                )
            ],
            id="the scheduler stays",
            marks=pytest.mark.requirement("G69"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), clique("b"), groups=[group("g", "a", "b", replicas=2)]),
            pod_clique_set(
                clique("a"), clique("b"), groups=[group("g", "b", "a", replicas=3, minAvailable=2)]
            ),
            [
                finding(
                    grove.ORDER_CHANGED,
                    "spec.template.podCliqueScalingGroups[0].cliqueNames",
                    old=("a", "b"),
                    new=("b", "a"),
                    what="cliques",
                ),
                field_changed("spec.template.podCliqueScalingGroups[0].minAvailable", "1", "2"),
            ],
            id="a scaling group keeps its cliques and its minimum, whatever its replicas",
        ),
        pytest.param(
            pod_clique_set(clique("a"), groups=[group("g", "a")]),
            pod_clique_set(clique("a")),
            [
                finding(
                    grove.MEMBERS_CHANGED,
                    "spec.template.podCliqueScalingGroups",
                    done="removed",
                    names=("g",),
                    what="scaling groups",
                )
            ],
            id="scaling groups stay",
        ),
    ],
)
@pytest.mark.requirement("G69")
def test_what_may_change(old: str, new: str, want: list[Finding]) -> None:
    assert forbidden_changes("PodCliqueSet", old, new) == want
