"""Every rule for the topologies of Grove."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import core, grove
from closeknit.hub.topology import Level, Topology
from tests.kit.problems import Finding, finding
from tests.unit.dialects.grove.expected import SEVEN, field, not_a_domain
from tests.unit.dialects.grove.sets import LEVELS, clique, configuration, pod_clique_set, topology
from tests.unit.dialects.kit import reading, reported

WANT = Topology("grove-topology", tuple(Level(key, domain) for domain, key in LEVELS.items()))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(configuration(), id="an OperatorConfiguration"),
        pytest.param(
            configuration(dict(reversed(LEVELS.items()))),
            id="an OperatorConfiguration in any order, because its domains have a fixed one",
        ),
        pytest.param(topology(), id="a ClusterTopology"),
        pytest.param(topology(kind="ClusterTopologyBinding"), id="a ClusterTopologyBinding"),
    ],
)
def test_a_topology_is_read_from(text: str) -> None:
    assert reported(text) == []
    assert reading(text).cluster.topologies == (WANT,)


@pytest.mark.parametrize("kind", ["ClusterTopology", "ClusterTopologyBinding"])
def test_the_order_of_levels_is_that_of_the_list(kind: str) -> None:
    (found,) = reading(topology({"rack": "r", "zone": "z"}, kind=kind)).cluster.topologies

    assert found.labels == ("r", "z")


def test_a_binding_may_have_domains_of_any_name() -> None:
    text = topology({"nvl72-domain": "nvidia.com/gpu.clique"}, kind="ClusterTopologyBinding", name="gb200")

    assert reading(text).cluster.topologies == (
        Topology("gb200", (Level("nvidia.com/gpu.clique", "nvl72-domain"),)),
    )


@pytest.mark.requirement("G11")
def test_there_is_no_topology_where_it_is_switched_off() -> None:
    text = configuration(enabled=False)

    assert reported(text) == []
    assert reported(configuration({"row": "no key!"}, enabled=False)) == []
    assert reading(text).cluster.topologies == ()


@pytest.mark.requirement("G9")
def test_keys_are_taken_as_they_are_but_for_that_of_hosts() -> None:
    keys = {"zone": "example.com/whatever", "rack": "Some_Label.1", "host": "kubernetes.io/hostname"}
    (found,) = reading(configuration(keys)).cluster.topologies

    assert list(found.labels) == list(keys.values())


def test_a_configuration_of_today_lists_no_levels_beside_a_binding() -> None:
    assert reported(configuration(None), topology(kind="ClusterTopologyBinding")) == []


def test_the_managed_object_may_stand_beside_its_configuration() -> None:
    assert reported(configuration(), topology()) == []


PATH = "1:topologyAwareScheduling.levels"


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(
            [configuration(None)],
            [finding(grove.CONFIGURED_WITHOUT_LEVELS, PATH)],
            id="at least one level is set when it is enabled",
        ),
        pytest.param(
            [configuration([]), topology(kind="ClusterTopologyBinding")],
            [finding(grove.CONFIGURED_WITHOUT_LEVELS, PATH)],
            id="an empty list of levels is a mistake in any case",
        ),
        pytest.param(
            [configuration({"zone": "z", "row": "r"})],
            [not_a_domain(f"{PATH}[1].domain", "row")],
            id="a configured domain is one of the supported ones",
        ),
        pytest.param(
            [configuration({"Numa": "n"})],
            [
                not_a_domain(f"{PATH}[0].domain", "Numa"),
            ],
            id="a configured domain is spelt in lower case",
        ),
        pytest.param(
            [configuration([{"domain": "zone", "key": "a"}, {"domain": "zone", "key": "b"}])],
            [
                finding(
                    core.LEVEL_TAKEN,
                    f"{PATH}[1].domain",
                    field=field("topologyAwareScheduling.levels[0]"),
                    value="zone",
                    what="domain",
                )
            ],
            id="configured domains are unique",
        ),
        pytest.param(
            [configuration({"zone": "a", "rack": "a"})],
            [
                finding(
                    core.LEVEL_TAKEN,
                    f"{PATH}[1].key",
                    field=field("topologyAwareScheduling.levels[0]"),
                    value="a",
                    what="key",
                )
            ],
            id="configured keys are unique",
        ),
        pytest.param(
            [configuration({"host": "example.com/host"})],
            [
                finding(
                    grove.NOT_THE_HOST_LABEL,
                    f"{PATH}[0].key",
                    hostname="kubernetes.io/hostname",
                    key="example.com/host",
                )
            ],
            id="the label of hosts is the one that kubelets set",
        ),
        pytest.param(
            [configuration(), configuration()],
            [
                finding(grove.SECOND_CONFIGURATION, "2:kind"),
            ],
            id="there is one configuration",
        ),
        pytest.param(
            [configuration(), topology({"zone": "other"})],
            [finding(grove.NOT_THE_CONFIGURED_LEVELS, "2:spec.levels", name="grove-topology")],
            id="the managed object is not edited by hand",
        ),
        pytest.param(
            [topology({"row": "r"})],
            [
                finding(
                    grove.NOT_A_FIXED_DOMAIN,
                    "1:spec.levels[0].domain",
                    domain="row",
                    remedy=OneOf("row", SEVEN),
                )
            ],
            id="a ClusterTopology has the supported domains only",
            marks=pytest.mark.requirement("G25"),
        ),
        pytest.param(
            [topology({})],
            [finding(grove.NO_LEVELS, "1:spec.levels")],
            id="a ClusterTopology has at least one level",
            marks=pytest.mark.requirement("G22"),
        ),
        pytest.param(
            [topology([{"domain": "zone", "key": "a"}, {"domain": "zone", "key": "a"}])],
            [
                finding(
                    core.LEVEL_TAKEN,
                    "1:spec.levels[1].domain",
                    field=field("spec.levels[0]"),
                    value="zone",
                    what="domain",
                ),
                finding(
                    core.LEVEL_TAKEN,
                    "1:spec.levels[1].key",
                    field=field("spec.levels[0]"),
                    value="a",
                    what="key",
                ),
            ],
            id="domains and keys of a ClusterTopology are unique",
            marks=pytest.mark.requirement("G24"),
        ),
        pytest.param(
            [topology([{"domain": domain, "key": f"k{i}"} for i, domain in enumerate([*SEVEN, "zone"])])],
            [
                finding(
                    core.LEVEL_TAKEN,
                    "1:spec.levels[7].domain",
                    field=field("spec.levels[1]"),
                    value="zone",
                    what="domain",
                )
            ],
            id="a ClusterTopology has at most seven levels, one for each domain",
            marks=pytest.mark.requirement("G23"),
        ),
        pytest.param(
            [topology({"zone": "a b", "rack": "r" * 64})],
            [
                finding(grove.NOT_A_LEVEL_KEY, "1:spec.levels[0].key", key="a b"),
                finding(grove.NOT_A_LEVEL_KEY, "1:spec.levels[1].key", key="r" * 64),
            ],
            id="keys are label keys of at most 63 characters",
            marks=pytest.mark.requirement("G26"),
        ),
        pytest.param(
            [topology({"Rack 1": "r"}, kind="ClusterTopologyBinding")],
            [finding(grove.NOT_A_DOMAIN_NAME, "1:spec.levels[0].domain", domain="Rack 1")],
            id="domains of a binding are names",
        ),
        pytest.param(
            [
                topology(
                    kind="ClusterTopologyBinding",
                    schedulerTopologyBindings=[
                        {"schedulerName": "kai-scheduler", "topologyReference": "a"},
                        {"schedulerName": "kai-scheduler", "topologyReference": "b"},
                        {"schedulerName": "volcano", "topologyReference": "c"},
                        {"schedulerName": "kai", "topologyReference": ""},
                    ],
                )
            ],
            [
                finding(
                    grove.BOUND_TWICE,
                    "1:spec.schedulerTopologyBindings[1].schedulerName",
                    first=field("spec.schedulerTopologyBindings[0]"),
                    name="kai-scheduler",
                ),
                finding(
                    grove.SCHEDULER_NOT_BINDABLE,
                    "1:spec.schedulerTopologyBindings[2].schedulerName",
                    name="volcano",
                    only="kai-scheduler",
                ),
                finding(
                    grove.NO_SCHEDULER,
                    "1:spec.schedulerTopologyBindings[3].schedulerName",
                    name="kai",
                    remedy=OneOf("kai", ("kai-scheduler", "default-scheduler", "volcano", "lpx-scheduler")),
                ),
                finding(grove.NO_TOPOLOGY_REFERENCE, "1:spec.schedulerTopologyBindings[3].topologyReference"),
            ],
            id="a scheduler is bound once, exists and has topologies",
        ),
        pytest.param(
            [topology(), topology(kind="ClusterTopologyBinding")],
            [
                finding(
                    grove.TOPOLOGY_NAME_TAKEN,
                    "2:metadata.name",
                    kind="ClusterTopologyBinding",
                    name="grove-topology",
                    other="ClusterTopology",
                )
            ],
            id="a topology is described under one kind",
        ),
    ],
)
def test_what_is_refused(texts: list[str], want: list[Finding]) -> None:
    assert reported(*texts) == want


def test_a_set_whose_topology_has_problems_is_told_so() -> None:
    _, *of_set = reported(topology({}), pod_clique_set(clique("a"), domain="zone"))

    assert of_set == [
        finding(
            core.HAS_PROBLEMS,
            "2:spec.template.topologyConstraint.topologyName",
            kind="Topology",
            name="grove-topology",
        )
    ]


def test_a_topology_of_kai_that_grove_did_not_make_is_not_taken_over() -> None:
    theirs: dict[str, Any] = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "theirs"},
        "spec": {"levels": [{"nodeLabel": "z"}]},
    }
    mine = topology({"zone": "z", "rack": "r"}, "theirs", "ClusterTopologyBinding")
    made = {
        **theirs["metadata"],
        "ownerReferences": [
            {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding", "name": "theirs"}
        ],
    }

    assert reported(mine, json.dumps(theirs)) == [
        finding(grove.KAI_TOPOLOGY_DIFFERS, "2:spec.levels", levels=("z", "r"), name="theirs")
    ]
    assert reported(mine, json.dumps({**theirs, "metadata": made})) == []
    assert (
        reported(mine, json.dumps(theirs | {"spec": {"levels": [{"nodeLabel": "z"}, {"nodeLabel": "r"}]}}))
        == []
    )


@pytest.mark.parametrize("reference", ["other", "t"])
def test_a_topology_of_kai_is_in_nobodys_way_where_grove_makes_none(reference: str) -> None:
    ours = topology(
        {"zone": "z", "rack": "r"},
        "t",
        "ClusterTopologyBinding",
        schedulerTopologyBindings=[{"schedulerName": "kai-scheduler", "topologyReference": reference}],
    )
    theirs = json.dumps(
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": {"levels": [{"nodeLabel": "row"}]},
        }
    )

    assert reported(ours, theirs) == []
