"""A PodCliqueSet over time: what may not change, and what its status says of its topology."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.dialects.grove.drift import Condition, topology_levels
from closeknit.dialects.grove.topologies import Known
from closeknit.dialects.grove.updates import update_problems
from closeknit.hub.topology import Level, Topology
from tests.unit.dialects.grove.sets import LEVELS, clique, group, pod_clique_set

AGAIN = "Delete the PodCliqueSet and create it anew."


def decoded(text: str) -> PodCliqueSet:
    return msgspec.convert(json.loads(text), PodCliqueSet)


def known(levels: dict[str, str] | None = None, *, enabled: bool = True) -> Known:
    given = LEVELS if levels is None else levels
    topology = Topology("grove-topology", tuple(Level(key, domain) for domain, key in given.items()))
    return Known({topology.name: topology}, enabled=enabled)


def packed(required: str = "", preferred: str = "", topology: str = "") -> dict[str, Any]:
    pack = {key: word for key, word in (("required", required), ("preferred", preferred)) if word}
    return {"topologyConstraint": {"pack": pack, **({"topologyName": topology} if topology else {})}}


CLOSE = pod_clique_set(clique("a", domain="rack"), groups=[group("g", "a", domain="block")], domain="zone")


@pytest.mark.parametrize(
    ("text", "topologies", "status", "reason", "message"),
    [
        pytest.param(
            CLOSE,
            Known({}),
            "Unknown",
            "ClusterTopologyNotFound",
            "ClusterTopologyBinding grove-topology not found",
            id="the topology no longer exists",
        ),
        pytest.param(
            CLOSE,
            known({"zone": "z"}),
            "True",
            "ClusterTopologyLevelsUnavailable",
            "Unavailable topology domains: [block, rack]",
            id="levels in use are no longer there",
        ),
        pytest.param(
            CLOSE,
            known(),
            "False",
            "AllClusterTopologyLevelsAvailable",
            "All topology levels are available",
            id="all levels in use are there",
        ),
        pytest.param(
            pod_clique_set(clique("a")),
            Known({}),
            "False",
            "AllClusterTopologyLevelsAvailable",
            "No topology constraints defined",
            id="nothing is constrained",
        ),
        pytest.param(
            CLOSE,
            known(enabled=False),
            "Unknown",
            "TopologyAwareSchedulingDisabled",
            "Topology constraints are defined but Topology Aware Scheduling is disabled",
            id="it is switched off",
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed("rack")),
            known(),
            "Unknown",
            "TopologyNameMissing",
            "PodCliqueSet topology constraints must include topologyName",
            id="nobody names the topology",
        ),
    ],
)
def test_the_condition(text: str, topologies: Known, status: str, reason: str, message: str) -> None:
    found = topology_levels(decoded(text), topologies)

    assert found == Condition("TopologyLevelsUnavailable", status, reason, message)


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
    ],
)
def test_what_may_change(old: str, new: str, want: list[str]) -> None:
    assert [str(problem) for problem in update_problems(decoded(old), decoded(new))] == want
