"""Every rule for the topologies of Grove."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.topology import Level, Topology
from tests.unit.dialects.grove.sets import LEVELS, clique, configuration, pod_clique_set, topology
from tests.unit.dialects.kit import problems, reading

SEVEN = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
DOMAINS = '"block", "datacenter", "host", "numa", "rack", "region", "zone"'
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
    assert problems(text) == []
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

    assert problems(text) == []
    assert problems(configuration({"row": "no key!"}, enabled=False)) == []
    assert reading(text).cluster.topologies == ()


@pytest.mark.requirement("G9")
def test_keys_are_taken_as_they_are_but_for_that_of_hosts() -> None:
    keys = {"zone": "example.com/whatever", "rack": "Some_Label.1", "host": "kubernetes.io/hostname"}
    (found,) = reading(configuration(keys)).cluster.topologies

    assert list(found.labels) == list(keys.values())


def test_a_configuration_of_today_lists_no_levels_beside_a_binding() -> None:
    assert problems(configuration(None), topology(kind="ClusterTopologyBinding")) == []


def test_the_managed_object_may_stand_beside_its_configuration() -> None:
    assert problems(configuration(), topology()) == []


KEY = (
    "is not a label key that Grove takes. Write at most 63 letters, digits, '-', '_' and '.',"
    " with an optional domain before a slash, such as example.com/rack."
)
PATH = "1:topologyAwareScheduling.levels"


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(
            [configuration(None)],
            [
                f"{PATH}: Topology aware scheduling is enabled, but there are no levels."
                " List at least one with its domain and key, or switch it off."
            ],
            id="at least one level is set when it is enabled",
        ),
        pytest.param(
            [configuration([]), topology(kind="ClusterTopologyBinding")],
            [
                f"{PATH}: Topology aware scheduling is enabled, but there are no levels."
                " List at least one with its domain and key, or switch it off."
            ],
            id="an empty list of levels is a mistake in any case",
        ),
        pytest.param(
            [configuration({"zone": "z", "row": "r"})],
            [f'{PATH}[1].domain: "row" is not a topology domain. Allowed: {DOMAINS}.'],
            id="a configured domain is one of the supported ones",
        ),
        pytest.param(
            [configuration({"Numa": "n"})],
            [
                f'{PATH}[0].domain: "Numa" is not a topology domain. Did you mean "numa"? Allowed: {DOMAINS}.',
            ],
            id="a configured domain is spelt in lower case",
        ),
        pytest.param(
            [configuration([{"domain": "zone", "key": "a"}, {"domain": "zone", "key": "b"}])],
            [
                f'{PATH}[1].domain: "zone" is already the domain of topologyAwareScheduling.levels[0]. Each level has its own.'
            ],
            id="configured domains are unique",
        ),
        pytest.param(
            [configuration({"zone": "a", "rack": "a"})],
            [
                f'{PATH}[1].key: "a" is already the key of topologyAwareScheduling.levels[0]. Each level has its own.'
            ],
            id="configured keys are unique",
        ),
        pytest.param(
            [configuration({"host": "example.com/host"})],
            [
                f'{PATH}[0].key: "example.com/host" is not the label of hosts.'
                ' Kubelets set "kubernetes.io/hostname"; write that.'
            ],
            id="the label of hosts is the one that kubelets set",
        ),
        pytest.param(
            [configuration(), configuration()],
            [
                "2:kind: There is already an OperatorConfiguration. An operator has one; remove the other.",
            ],
            id="there is one configuration",
        ),
        pytest.param(
            [configuration(), topology({"zone": "other"})],
            [
                "2:spec.levels: These are not the levels of the OperatorConfiguration, which"
                ' "grove-topology" is made from. Change them there.'
            ],
            id="the managed object is not edited by hand",
        ),
        pytest.param(
            [topology({"row": "r"})],
            [
                f'1:spec.levels[0].domain: "row" is not a topology domain. Allowed: {DOMAINS}.'
                " A ClusterTopologyBinding can have domains of any name."
            ],
            id="a ClusterTopology has the supported domains only",
            marks=pytest.mark.requirement("G25"),
        ),
        pytest.param(
            [topology({})],
            ["1:spec.levels: There are no levels. List at least one with its domain and key."],
            id="a ClusterTopology has at least one level",
            marks=pytest.mark.requirement("G22"),
        ),
        pytest.param(
            [topology([{"domain": "zone", "key": "a"}, {"domain": "zone", "key": "a"}])],
            [
                '1:spec.levels[1].domain: "zone" is already the domain of spec.levels[0]. Each level has its own.',
                '1:spec.levels[1].key: "a" is already the key of spec.levels[0]. Each level has its own.',
            ],
            id="domains and keys of a ClusterTopology are unique",
            marks=pytest.mark.requirement("G24"),
        ),
        pytest.param(
            [topology([{"domain": domain, "key": f"k{i}"} for i, domain in enumerate([*SEVEN, "zone"])])],
            [
                '1:spec.levels[7].domain: "zone" is already the domain of spec.levels[1]. Each level has its own.'
            ],
            id="a ClusterTopology has at most seven levels, one for each domain",
            marks=pytest.mark.requirement("G23"),
        ),
        pytest.param(
            [topology({"zone": "a b", "rack": "r" * 64})],
            [f'1:spec.levels[0].key: "a b" {KEY}', f'1:spec.levels[1].key: "{"r" * 64}" {KEY}'],
            id="keys are label keys of at most 63 characters",
            marks=pytest.mark.requirement("G26"),
        ),
        pytest.param(
            [topology({"Rack 1": "r"}, kind="ClusterTopologyBinding")],
            [
                '1:spec.levels[0].domain: "Rack 1" is not a domain. Write at most 63 lower-case letters,'
                " digits and dashes that start with a letter, such as rack."
            ],
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
                '1:spec.schedulerTopologyBindings[1].schedulerName: "kai-scheduler" is already bound by'
                " spec.schedulerTopologyBindings[0]. Bind each once.",
                '1:spec.schedulerTopologyBindings[2].schedulerName: "volcano" has no topologies of its own.'
                ' Only "kai-scheduler" can be bound.',
                '1:spec.schedulerTopologyBindings[3].schedulerName: Grove has no scheduler "kai". Allowed:'
                ' "default-scheduler", "kai-scheduler", "lpx-scheduler", "volcano".',
                "1:spec.schedulerTopologyBindings[3].topologyReference: The name of the scheduler's topology is"
                " missing. Write it, or remove the binding.",
            ],
            id="a scheduler is bound once, exists and has topologies",
        ),
        pytest.param(
            [topology(), topology(kind="ClusterTopologyBinding")],
            [
                '2:metadata.name: A ClusterTopology has the name "grove-topology" already.'
                " Remove this ClusterTopologyBinding, or rename it."
            ],
            id="a topology is described under one kind",
        ),
    ],
)
def test_what_is_refused(texts: list[str], want: list[str]) -> None:
    assert problems(*texts) == want


def test_a_set_whose_topology_has_problems_is_told_so() -> None:
    found = problems(topology({}), pod_clique_set(clique("a"), domain="zone"))

    assert found[1:] == [
        '2:spec.template.topologyConstraint.topologyName: Topology "grove-topology" has problems of its own.'
        " Correct them first."
    ]


def test_a_topology_of_kai_that_grove_did_not_make_is_not_taken_over() -> None:
    theirs: dict[str, Any] = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "theirs"},
        "spec": {"levels": [{"nodeLabel": "z"}]},
    }
    mine = topology({"zone": "z", "rack": "r"}, "theirs", "ClusterTopologyBinding")
    made = {**theirs["metadata"], "ownerReferences": [{"kind": "ClusterTopologyBinding", "name": "theirs"}]}

    assert problems(mine, json.dumps(theirs)) == [
        '2:spec.levels: Grove has a topology "theirs" as well, with levels "z", "r". Grove makes KAI\'s itself;'
        " remove this one, or rename it."
    ]
    assert problems(mine, json.dumps({**theirs, "metadata": made})) == []
    assert (
        problems(mine, json.dumps(theirs | {"spec": {"levels": [{"nodeLabel": "z"}, {"nodeLabel": "r"}]}}))
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

    assert problems(ours, theirs) == []
