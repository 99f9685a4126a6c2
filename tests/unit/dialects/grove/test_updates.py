"""What may not change in a PodCliqueSet once it exists."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.dialects.grove.sets import clique, group, pod_clique_set, pod_spec
from tests.unit.dialects.kit import changes

AGAIN = "Delete the PodCliqueSet and create it anew."


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
            [f"spec.template.topologyConstraint: A constraint cannot be added to what exists. {AGAIN}"],
            id="no constraint is added",
        ),
        pytest.param(
            pod_clique_set(clique("a", domain="rack")),
            pod_clique_set(clique("a")),
            [
                f"spec.template.cliques[0].topologyConstraint: A constraint cannot be removed from what exists. {AGAIN}"
            ],
            id="no constraint is removed",
        ),
        pytest.param(
            pod_clique_set(clique("a"), groups=[group("g", "a", domain="rack")]),
            pod_clique_set(clique("a"), groups=[group("g", "a", domain="host")]),
            [
                "spec.template.podCliqueScalingGroups[0].topologyConstraint.packDomain: The required domain cannot"
                f' change from "rack" to "host". {AGAIN}'
            ],
            id="no domain changes",
            marks=pytest.mark.requirement("G34"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed("zone", topology="t")),
            pod_clique_set(clique("a"), **packed("zone", "rack", topology="u")),
            [
                f'spec.template.topologyConstraint.pack.preferred: The preferred domain cannot change from none to "rack". {AGAIN}',
                f'spec.template.topologyConstraint.topologyName: The topology cannot change from "t" to "u". {AGAIN}',
            ],
            id="neither preference nor topology change",
        ),
        pytest.param(
            pod_clique_set(clique("a"), clique("b"), groups=[group("g", "a")]),
            pod_clique_set(clique("a"), clique("c"), groups=[group("g", "a", "c")]),
            [
                f'spec.template.cliques: The cliques cannot change, but "c" would be added. {AGAIN}',
                f'spec.template.cliques: The cliques cannot change, but "b" would be removed. {AGAIN}',
                f'spec.template.podCliqueScalingGroups[0].cliqueNames: The cliques cannot change, but "c" would be added. {AGAIN}',
            ],
            id="what the set is made of stays",
        ),
        pytest.param(
            pod_clique_set(clique("a", roleName="x"), clique("b")),
            pod_clique_set(clique("b"), clique("a", roleName="y")),
            [f'spec.template.cliques[1].spec.roleName: This cannot change from "x" to "y". {AGAIN}'],
            id="roles stay, though cliques that start in any order may change places",
            marks=pytest.mark.requirement("G69"),
        ),
        pytest.param(
            pod_clique_set(clique("a", 3)),
            pod_clique_set(clique("a", 3, minAvailable=2)),
            [f"spec.template.cliques[0].spec.minAvailable: This cannot change from 3 to 2. {AGAIN}"],
            id="the minimum of a clique stays, which is all replicas where none is written",
            marks=pytest.mark.requirement("G69"),
        ),
        pytest.param(
            pod_clique_set(clique("a", 3, minAvailable=2)),
            pod_clique_set(clique("a", 5)),
            [f"spec.template.cliques[0].spec.minAvailable: This cannot change from 2 to 5. {AGAIN}"],
            id="a minimum is not left out later, because all replicas would be meant",
        ),
        pytest.param(
            pod_clique_set(clique("a"), clique("b"), cliqueStartupType="CliqueStartupTypeInOrder"),
            pod_clique_set(clique("b"), clique("a"), cliqueStartupType="CliqueStartupTypeInOrder"),
            [f'spec.template.cliques: The order of cliques cannot change from "a", "b" to "b", "a". {AGAIN}'],
            id="cliques that start in order keep it",
            marks=pytest.mark.requirement("G69"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), clique("b")),
            pod_clique_set(
                clique("a"), clique("b", startsAfter=["a"]), cliqueStartupType="CliqueStartupTypeExplicit"
            ),
            [
                f'spec.template.cliques[1].spec.startsAfter: This cannot change from none to "a". {AGAIN}',
                "spec.template.cliqueStartupType: This cannot change from"
                f' "CliqueStartupTypeAnyOrder" to "CliqueStartupTypeExplicit". {AGAIN}',
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
                'spec.template.cliques[0].spec.podSpec.schedulerName: This cannot change from "kai-scheduler"'
                f' to "volcano". {AGAIN}'
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
                "spec.template.podCliqueScalingGroups[0].cliqueNames: The order of cliques cannot change from"
                f' "a", "b" to "b", "a". {AGAIN}',
                "spec.template.podCliqueScalingGroups[0].minAvailable: This cannot change from 1 to 2."
                f" {AGAIN}",
            ],
            id="a scaling group keeps its cliques and its minimum, whatever its replicas",
        ),
        pytest.param(
            pod_clique_set(clique("a"), groups=[group("g", "a")]),
            pod_clique_set(clique("a")),
            [
                'spec.template.podCliqueScalingGroups: The scaling groups cannot change, but "g" would be removed.'
                f" {AGAIN}"
            ],
            id="scaling groups stay",
        ),
    ],
)
@pytest.mark.requirement("G69")
def test_what_may_change(old: str, new: str, want: list[str]) -> None:
    assert changes("PodCliqueSet", old, new) == want
