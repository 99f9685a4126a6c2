"""What is known to go wrong or to be missing in the Dynamo operator, and how it goes here.

Numbers are those of Dynamo's issues and pull requests. Outside of what files can show
are routing by topology (#9118), reservations that are used again (#8171), pods that stay gated between two
controllers (#14278), and who may read topologies; the reference of Dynamo lists them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit import Cluster, Placed, solve
from closeknit.dialects import Source, translate
from closeknit.hub.drawing import parse
from closeknit.hub.problems import OneOf
from closeknit.hub.request import Group, Request
from closeknit.hub.sentences import dynamo, grove
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import finding, findings
from tests.unit.dialects.dynamo.graphs import graph, service
from tests.unit.dialects.grove.expected import field_changed, unknown_domain
from tests.unit.dialects.grove.sets import LEVELS, clique, configuration, pod_clique_set, topology
from tests.unit.dialects.kit import forbidden_changes, reading, reported
from tests.unit.dialects.kit import request as only_request

TREE = Topology("grove-topology", tuple(Level(key, domain) for domain, key in LEVELS.items()))
FORCED: dict[str, Any] = {"experimental": {"grove": {"forceScalingGroup": True}}}
KIND = "DynamoGraphDeployment"


def beta(*components: dict[str, Any], domain: str = "", **spec: Any) -> str:
    named = {"clusterTopologyName": "grove-topology"}
    constraint = {"topologyConstraint": {**named, "packDomain": domain} if domain else named}
    return graph(list(components), version="v1beta1", **{**constraint, **spec})


def translated(target: str, *texts: str) -> list[dict[str, Any]]:
    found = translate([Source("f", "\n---\n".join(texts).encode())], target)
    assert [str(problem) for problem in found.problems] == []
    return list(found.objects)


def made_set(text: str) -> dict[str, Any]:
    (found,) = (one for one in translated("grove", topology(), text) if one["kind"] == "PodCliqueSet")
    return found


def required(found: Request) -> dict[str, str | None]:
    return {member.name: member.required for member, _ in found.root.walk() if isinstance(member, Group)}


def drawn(text: str) -> Cluster:
    cluster = parse(text, levels=("topology/zone", "topology/block", "topology/rack"))
    return Cluster((TREE,), cluster.nodes, cluster.holdings)


@pytest.mark.parametrize("kind", ["ClusterTopology", "ClusterTopologyBinding"])
def test_a_topology_is_found_under_both_its_names(kind: str) -> None:
    """Dynamo 1.3 looks for one of them only, and 1.4 for the other."""
    assert reported(topology(kind=kind), beta(service("A"), domain="rack")) == []


def test_8124_what_is_made_speaks_todays_words_of_grove() -> None:
    assert made_set(beta(service("A"), domain="zone"))["spec"]["template"]["topologyConstraint"] == {
        "topologyName": "grove-topology",
        "pack": {"required": "zone"},
    }
    assert "packDomain" not in json.dumps(made_set(beta(service("A", domain="rack"), domain="zone")))


def test_11399_a_set_in_the_earlier_spelling_may_become_todays_in_place() -> None:
    old = pod_clique_set(clique("a"), domain="zone", name="graph")
    new = json.dumps(made_set(beta(service("A"), domain="zone")))

    assert forbidden_changes("PodCliqueSet", old, new) == []


def test_12448_one_component_may_be_constrained_where_nothing_else_is() -> None:
    """Dynamo 1.1 wanted a constraint on each of them."""
    text = beta(service("A", domain="rack"), service("B"))

    assert reported(topology(), text) == []
    assert required(only_request(topology(), text)) == {
        "default/graph": None,
        "graph-0": None,
        "graph-0-a": "topology/rack",
        "graph-0-b": None,
    }


def test_a_service_alone_may_be_constrained_in_the_words_of_the_proposal() -> None:
    """Dynamo wants the name of the topology for the whole deployment first."""
    assert reported(topology(), graph([service("A", domain="rack"), service("B")])) == []


def test_domains_may_have_any_name_that_the_topology_knows() -> None:
    """The first version had seven words for them."""
    rows = topology({"row": "topology/row"}, kind="ClusterTopologyBinding")

    assert required(only_request(rows, beta(service("A"), domain="row")))["graph-0"] == "topology/row"


def test_a_domain_that_grove_would_refuse_is_refused_here() -> None:
    """Dynamo lets a name begin with a digit, and Grove does not."""
    assert reported(topology(), beta(service("A"), domain="1rack")) == [
        unknown_domain("2:spec.topologyConstraint.packDomain", "1rack")
    ]


def test_an_unknown_domain_is_told_in_the_same_words_at_both_places() -> None:
    """Dynamo speaks of a ClusterTopology at one, and of a ClusterTopologyBinding at the other."""
    assert reported(topology(), beta(service("A", domain="row"), domain="row")) == [
        unknown_domain("2:spec.topologyConstraint.packDomain", "row"),
        unknown_domain("2:spec.components[0].topologyConstraint.packDomain", "row"),
    ]


def test_domains_are_checked_where_grove_is_switched_off() -> None:
    """Dynamo then passes over them in silence."""
    texts = (configuration(None, enabled=False), topology(), beta(service("A"), domain="rack"))

    assert reported(*texts) == [finding(grove.SWITCHED_OFF, "3:spec.topologyConstraint")]


def test_domains_are_checked_against_a_mapping_where_there_is_no_grove() -> None:
    mapping = {
        "operator": {"topologyAwareScheduling": {"domainToLabelMapping": {"rack": "example.com/rack"}}}
    }

    assert reported(json.dumps(mapping), graph([service("A")], "block")) == [
        finding(
            grove.UNKNOWN_DOMAIN,
            "2:spec.topologyConstraint.packDomain",
            domain="block",
            remedy=OneOf("block", ("rack",)),
            topology="dynamo-domains",
        )
    ]


TWO_RACKS = """
z
  b
    r1
      n1: 1
      n2: 1
    r2
      n3: 1
      n4: 1
      n5: 1
"""


def test_14594_replicas_of_a_component_share_its_domain_or_wait() -> None:
    """All in one rack; the fourth waits although the other rack has room."""
    outcome = solve(drawn(TWO_RACKS), only_request(topology(), beta(service("A", 4, "rack"))))

    assert isinstance(outcome, Placed)
    assert {each.domain[:3] for each in outcome.assignments} == {("z", "b", "r2")}
    assert outcome.wishes.left_out == 1


def test_12699_the_domain_of_a_deployment_holds_for_replicas_that_are_scaled_out() -> None:
    """In Grove a required rack is that of one gang, so a further replica may be in another."""
    outcome = solve(drawn(TWO_RACKS), only_request(topology(), beta(service("A", 2, nodes=2), domain="rack")))

    assert isinstance(outcome, Placed)
    assert len({each.domain[:3] for each in outcome.assignments}) == 1
    assert outcome.wishes.left_out == 2


def test_each_replica_on_several_nodes_has_a_domain_of_its_own() -> None:
    outcome = solve(drawn(TWO_RACKS), only_request(topology(), beta(service("A", 2, "rack", nodes=2))))

    assert isinstance(outcome, Placed)
    assert outcome.wishes.left_out == 0
    assert {each.domain[2] for each in outcome.assignments} == {"r1", "r2"}


def test_a_forced_scaling_group_gives_each_replica_a_domain_of_its_own() -> None:
    text = beta(service("A", 3, "host", minAvailable=2, **FORCED))
    template = made_set(text)["spec"]["template"]

    assert template["podCliqueScalingGroups"] == [
        {
            "name": "a",
            "cliqueNames": ["a"],
            "replicas": 3,
            "minAvailable": 2,
            "topologyConstraint": {"topologyName": "grove-topology", "pack": {"required": "host"}},
        }
    ]
    (only,) = template["cliques"]
    assert ("topologyConstraint" in only, only["spec"]["replicas"], only["spec"]["minAvailable"]) == (
        False,
        1,
        1,
    )
    outcome = solve(drawn(TWO_RACKS), only_request(topology(), text))
    assert isinstance(outcome, Placed)
    assert len(outcome.assignments) == 3


def test_8172_priority_reaches_the_set_and_its_gangs() -> None:
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 7,
    }
    text = beta(service("A"), domain="rack", priorityClassName="high")
    (gang,) = translated("podgang", topology(), json.dumps(high), text)
    (workload,) = reading(topology(), json.dumps(high), text).workloads

    assert gang["spec"]["priorityClassName"] == "high"
    assert workload.priority == 7


def test_8171_a_preference_can_be_said_by_an_override() -> None:
    pack = {"topologyName": "grove-topology", "pack": {"required": "zone", "preferred": "rack"}}
    value = {"spec": {"template": {"topologyConstraint": pack}}}
    override: dict[str, Any] = {"providerOverride": {"apiVersion": "grove.io/v1alpha1", "value": value}}
    text = graph([service("A")], version="v1beta1", **override)
    found = only_request(topology(), text)

    (replica,) = found.root.members
    assert isinstance(replica, Group)
    assert (replica.required, replica.preferred) == ("topology/zone", "topology/rack")


def test_13604_pods_are_not_spread_by_anything_that_nobody_asked_for() -> None:
    pods = translated("pods", topology(), beta(service("A", 2), domain="rack"))

    assert [
        pod for pod in pods if "topologySpreadConstraints" in pod["spec"] or "affinity" in pod["spec"]
    ] == []


def test_10171_a_domain_finer_than_hosts_is_refused_where_the_topology_has_none() -> None:
    assert reported(topology(), graph([service("A", domain="numa")])) == [
        unknown_domain("2:spec.services[0].topologyConstraint.packDomain", "numa")
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            graph({"A": service(gpuMemoryService={"enabled": True, "mode": "interPod"})}),
            "spec.services.A.gpuMemoryService.mode",
        ),
        (
            beta(service("A", domain="rack", experimental={"gpuMemoryService": {"mode": "InterPod"}})),
            "spec.components[0].experimental.gpuMemoryService.mode",
        ),
    ],
    ids=["v1alpha1", "v1beta1"],
)
def test_gpus_that_pods_share_are_not_counted_twice_in_silence(text: str, path: str) -> None:
    found = reading(topology(), text)

    assert found.problems == ()
    assert findings(found.workloads[0].notes) == [finding(dynamo.SHARED_GPUS, path)]


@pytest.mark.parametrize(
    "sharing",
    [{"gpuMemoryService": {"enabled": False, "mode": "interPod"}}, {"gpuMemoryService": {"enabled": True}}],
    ids=["switched off", "within a pod"],
)
def test_gpus_that_are_shared_within_a_pod_are_counted(sharing: dict[str, Any]) -> None:
    assert reported(graph({"A": service(**sharing)})) == []


def test_what_a_component_is_made_of_stays() -> None:
    old = beta(service("A", 2), service("B", 3, minAvailable=2))
    new = beta(service("A", 2, **FORCED), service("B", 3))

    assert forbidden_changes(KIND, old, new) == [
        finding(dynamo.SCALING_GROUP_CHANGED, "spec.components[0].experimental.grove.forceScalingGroup"),
        field_changed("spec.components[1].minAvailable", "2", "1", KIND),
    ]


def test_a_least_number_that_is_written_out_is_no_change() -> None:
    old, new = beta(service("A", 2)), beta(service("A", 2, minAvailable=1))

    assert forbidden_changes(KIND, old, new) == []


def test_a_forced_scaling_group_leaves_room_for_both_names() -> None:
    plain, grouped = (
        made_set(graph([service("w" * 15, **more)], version="v1beta1", name="n" * 20))["metadata"]["name"]
        for more in ({}, FORCED)
    )

    assert plain == "n" * 20
    assert len(grouped) == 15


def test_a_forced_scaling_group_asks_kueue_for_the_domain_of_the_deployment_alone() -> None:
    for domain, want in (("zone", {"kueue.x-k8s.io/podset-required-topology": "topology/zone"}), ("", {})):
        *_, made = translated("kueue", topology(), beta(service("A", 2, "rack", **FORCED), domain=domain))
        job = made["spec"]

        assert job["parallelism"] == 2
        assert job["template"]["metadata"].get("annotations", {}) == want


def test_a_deployment_whose_gangs_are_there_asks_for_nothing_more() -> None:
    text = beta(service("A", 2), domain="rack")
    gangs = [json.dumps(gang) for gang in translated("podgang", topology(), text)]
    found = reading(topology(), text, *gangs)

    assert [str(problem) for problem in found.problems] == []
    assert [workload.object.kind for workload in found.workloads] == ["PodGang"]


def test_pods_that_were_made_count_for_the_deployment() -> None:
    text = beta(service("A", 2), domain="rack")
    pods = translated("pods", topology(), text)
    pods[0]["spec"]["nodeName"] = "n"
    host = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    found = reading(topology(), text, *(json.dumps(each) for each in (host, *pods)))

    assert [str(problem) for problem in found.problems] == []
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    assert [(each.bound, each.pods) for each in workload.request.root.pod_sets()] == [
        (("n",), ("graph-0-a-1",))
    ]
