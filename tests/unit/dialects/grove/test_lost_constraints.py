"""What becomes of a PodCliqueSet whose topology changes, and how its condition says so."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.dialects.family import Condition
from closeknit.dialects.grove.status import topology_levels
from closeknit.dialects.grove.topologies import Known
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import grove
from closeknit.hub.topology import Level, Topology
from tests.kit.problems import finding
from tests.unit.dialects.grove.constrained import RUNNING, TREE, WITHOUT_RACK, gangs, packed, required
from tests.unit.dialects.grove.sets import (
    clique,
    configuration,
    pod_clique_set,
    topology,
)
from tests.unit.dialects.kit import reported
from tests.unit.dialects.kit import request as only_request


def condition(text: str, *topologies: Topology, enabled: bool = True) -> Condition:
    given = msgspec.convert(json.loads(text), PodCliqueSet)
    return topology_levels(given, Known({one.name: one for one in topologies}, enabled=enabled))


def test_442_the_condition_follows_every_edit_of_the_topology() -> None:
    text = pod_clique_set(clique("a"), **packed(required="rack"))
    lost = Topology("grove-topology", tuple(level for level in TREE.levels if level.name != "rack"))

    assert condition(text, TREE).status == "False"
    assert condition(text, lost).status == "True"
    assert condition(text).status == "Unknown"
    assert condition(text, TREE).status == "False"


def test_lost_domains_are_listed_in_order_and_once() -> None:
    """Grove lists them as its maps happen to be walked."""
    text = pod_clique_set(
        clique("a", domain="host"), clique("b", domain="host"), clique("c", domain="rack"), domain="block"
    )
    bare = Topology("grove-topology", (Level("topology/zone", "zone"),))

    lost = condition(text, bare)

    assert lost.reason == "ClusterTopologyLevelsUnavailable"
    assert re.findall(r"\b(?:zone|block|rack|host)\b", lost.message) == ["block", "host", "rack"]


def test_a_topology_that_is_gone_leaves_the_condition_unknown_and_is_called_by_name() -> None:
    found = condition(pod_clique_set(clique("a"), **packed("h100", required="rack")))

    assert (found.status, found.reason) == ("Unknown", "ClusterTopologyNotFound")
    assert "h100" in found.message


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param((), id="the topology is gone"),
        pytest.param(
            (configuration(None, enabled=False), topology()),
            id="it is switched off",
            marks=pytest.mark.requirement("G62"),
        ),
    ],
)
def test_a_running_set_goes_on_without_constraints_and_names_no_topology(texts: tuple[str, ...]) -> None:
    text = pod_clique_set(clique("a", domain="rack"), domain="zone", **RUNNING)
    (found,) = gangs(*texts, text).values()

    assert "topologyConstraint" not in found["spec"]
    assert "grove.io/topology-name" not in found["metadata"]["annotations"]
    assert set(required(only_request(*texts, text)).values()) == {None}


def test_switching_it_off_is_told_by_the_condition() -> None:
    found = condition(pod_clique_set(clique("a"), domain="zone"), TREE, enabled=False)

    assert (found.status, found.reason) == ("Unknown", "TopologyAwareSchedulingDisabled")


def test_a_running_set_without_a_name_for_its_topology_goes_on() -> None:
    text = pod_clique_set(clique("a"), **packed(None, required="rack"), **RUNNING)

    assert set(required(only_request(topology(), text)).values()) == {None}
    assert condition(text, TREE).reason == "TopologyNameMissing"


def test_a_running_set_whose_levels_changed_places_goes_on_with_the_finer_one() -> None:
    """What was finer is now coarser than the constraint of the set, which holds for it anyway."""
    text = pod_clique_set(clique("a", domain="rack"), domain="block", **RUNNING)
    upside = topology({"rack": "topology/rack", "block": "topology/block"})

    assert required(only_request(upside, text)) == {
        "default/pcs": None,
        "pcs-0": "topology/block",
        "pcs-0-a": None,
    }


def test_a_new_set_is_refused_for_what_a_running_one_may_keep() -> None:
    text = pod_clique_set(clique("a", domain="rack"), domain="zone")

    assert reported(topology(WITHOUT_RACK), text) == [
        finding(
            grove.UNKNOWN_DOMAIN,
            "2:spec.template.cliques[0].topologyConstraint.packDomain",
            topology="grove-topology",
            domain="rack",
            remedy=OneOf("rack", ("zone", "block", "host")),
        )
    ]
