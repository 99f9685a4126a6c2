"""Rules of queues, flavors and topologies, and of what may change of them."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.problems import Field, OneOf, Range, suggestion
from closeknit.hub.sentences import core, hub, kueue
from tests.kit.problems import Finding, finding
from tests.unit.dialects.kueue.kit import (
    HOST,
    RACK,
    K,
    cluster_queue,
    flavor,
    job,
    local_queue,
    topology,
    written,
)
from tests.unit.dialects.kueue.problems import label, reported_anywhere


def limited(field: str) -> dict[str, Any]:
    """A group of resources with a limit of borrowing or lending."""
    quota = {"name": "cpu", "nominalQuota": 1, field: 1}
    return {"coveredResources": ["cpu"], "flavors": [{"name": "tas", "resources": [quota]}]}


FLAVOR = "spec.resourceGroups[0].flavors[0]"
NO_NAMESPACE = "it has no namespaceSelector, so it takes workloads of no namespace; {} stands for all"
OTHER_NAMESPACE = "its namespaceSelector does not match namespace default"


def unknown(where: str, value: str, *allowed: str) -> Finding:
    """A word that is none of those allowed, which are listed in the order of the API."""
    return finding(core.UNKNOWN_CHOICE, where, value=value, remedy=OneOf(value, allowed))


def missing(where: str, kind: str, name: str, *there: str) -> Finding:
    """An object that is named, but not there."""
    return finding(core.NOT_FOUND, where, kind=kind, name=name, remedy=OneOf.among(name, there))


def not_taken(reason: str) -> Finding:
    """A namespace whose workloads the queue does not take."""
    return finding(kueue.NAMESPACE_NOT_TAKEN, label("queue-name"), queue="research", reason=reason)


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(
            [topology("t", RACK, RACK)],
            finding(
                core.LEVEL_TAKEN,
                "spec.levels[1].nodeLabel",
                field=Field(("spec", "levels", 0)),
                value=RACK,
                what="label",
            ),
            id="two levels have two labels",
            marks=pytest.mark.requirement("K34"),
        ),
        pytest.param(
            [topology("t", HOST, RACK)],
            finding(core.HOSTS_NOT_LAST, "spec.levels[0].nodeLabel", label=HOST),
            id="hosts are the lowest level",
        ),
        pytest.param(
            [written("Topology", "t", {"levels": []})],
            finding(core.NUMBER_OF, "spec.levels", allowed=Range(1, 16), given=0, what=" levels"),
            id="a topology has levels",
            marks=pytest.mark.requirement("K34"),
        ),
        pytest.param(
            [topology("t", *(f"example.com/level-{i}" for i in range(17)))],
            finding(core.NUMBER_OF, "spec.levels", allowed=Range(1, 16), given=17, what=" levels"),
            id="a topology has at most sixteen levels",
        ),
        pytest.param(
            [topology("t", "no label")],
            finding(core.NOT_A_LABEL_KEY, "spec.levels[0].nodeLabel", key="no label"),
            id="a level is a label key",
        ),
        pytest.param(
            [topology(), flavor(nodeLabels={})],
            finding(kueue.LABELS_NEEDED, "spec.nodeLabels"),
            id="the ResourceFlavor defining TopologyAwareScheduling needs at least one node label",
        ),
        pytest.param(
            [topology(), flavor(over="tre")],
            missing("spec.topologyName", "Topology", "tre", "tree"),
            id="a flavor's topology exists",
        ),
        pytest.param(
            [topology("tree", HOST, RACK), flavor()],
            finding(core.HAS_PROBLEMS, "spec.topologyName", kind="Topology", name="tree"),
            id="a broken topology is not said to be missing",
        ),
        pytest.param(
            [flavor(over=None, nodeTaints=[{"key": "k", "effect": "Never"}])],
            unknown("spec.nodeTaints[0].effect", "Never", "NoExecute", "NoSchedule", "PreferNoSchedule"),
            id="a taint has a known effect",
        ),
        pytest.param(
            [flavor(over=None, tolerations=[{"operator": "Equal", "value": "x"}])],
            finding(core.EQUAL_WITHOUT_KEY, "spec.tolerations[0].operator"),
            id="a toleration without a key tolerates everything",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue("q", "tass")],
            missing(f"{FLAVOR}.name", "ResourceFlavor", "tass", "tas"),
            id="a queue's flavors exist",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue("q", "tas", "tas")],
            finding(
                kueue.FLAVOR_TWICE,
                "spec.resourceGroups[0].flavors[1].name",
                first=Field(("spec", "resourceGroups", 0, "flavors", 0)),
                flavor="tas",
            ),
            id="a flavor stands once in a queue",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(quota={"nvidia.com/gpu": "many"})],
            finding(hub.UNKNOWN_SUFFIX, f"{FLAVOR}.resources[0].nominalQuota", value="many"),
            id="quota is a quantity",
        ),
        pytest.param(
            [
                flavor(over=None),
                written(
                    "ClusterQueue",
                    "q",
                    {
                        "resourceGroups": [
                            {
                                "coveredResources": ["cpu", "memory"],
                                "flavors": [
                                    {"name": "tas", "resources": [{"name": "cpu", "nominalQuota": 1}]}
                                ],
                            }
                        ]
                    },
                ),
            ],
            finding(
                kueue.OTHER_RESOURCES,
                f"{FLAVOR}.resources",
                covered=(
                    "cpu",
                    "memory",
                ),
            ),
            id="each flavor has quota for every covered resource",
        ),
        pytest.param(
            [
                flavor(over=None),
                written(
                    "ClusterQueue",
                    "q",
                    {
                        "resourceGroups": [
                            {
                                "coveredResources": ["cpu"],
                                "flavors": [
                                    {
                                        "name": "tas",
                                        "resources": [
                                            {"name": "cpu", "nominalQuota": 1, "borrowingLimit": 1}
                                        ],
                                    }
                                ],
                            }
                        ]
                    },
                ),
            ],
            finding(
                kueue.ALONE, f"{FLAVOR}.resources[0].borrowingLimit", field="cohortName", where="in a cohort"
            ),
            id="a queue by itself cannot borrow",
        ),
        pytest.param(
            [
                flavor(over=None),
                written(
                    "ClusterQueue",
                    "q",
                    {
                        "cohortName": "c",
                        "resourceGroups": [
                            {
                                "coveredResources": ["cpu"],
                                "flavors": [
                                    {
                                        "name": "tas",
                                        "resources": [{"name": "cpu", "nominalQuota": 1, "lendingLimit": 2}],
                                    }
                                ],
                            }
                        ],
                    },
                ),
            ],
            finding(kueue.LENDS_TOO_MUCH, f"{FLAVOR}.resources[0].lendingLimit"),
            id="a queue cannot lend more than it has",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(stopPolicy="Halt")],
            unknown("spec.stopPolicy", "Halt", "None", "Hold", "HoldAndDrain"),
            id="a stop policy is a known one",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(queueingStrategy="FIFO")],
            unknown("spec.queueingStrategy", "FIFO", "StrictFIFO", "BestEffortFIFO"),
            id="a queueing strategy is a known one",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(preemption={"reclaimWithinCohort": "All"})],
            unknown("spec.preemption.reclaimWithinCohort", "All", "Never", "LowerPriority", "Any"),
            id="a word of preemption is a known one",
        ),
        pytest.param(
            [
                flavor(over=None),
                cluster_queue(preemption={"borrowWithinCohort": {"policy": "LowerPriority"}}),
            ],
            finding(kueue.BORROWING_WITHOUT_RECLAIM, "spec.preemption.borrowWithinCohort.policy"),
            id="who borrows displaces nobody where nothing is reclaimed",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(namespaceSelector=None), local_queue(), job()],
            not_taken(NO_NAMESPACE),
            id="a queue without a selector of namespaces takes nobody",
        ),
        pytest.param(
            [
                flavor(over=None),
                cluster_queue(
                    namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "others", "team": "a"}}
                ),
                local_queue(),
                job(),
            ],
            not_taken(OTHER_NAMESPACE),
            id="a queue takes the workloads of namespaces that it selects",
        ),
        pytest.param(
            [
                flavor(over=None),
                cluster_queue(namespaceSelector={"matchLabels": {"team": "a"}}),
                local_queue(),
                job(),
                '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "b"}}}',
            ],
            not_taken(OTHER_NAMESPACE),
            id="a Namespace in sight is looked at",
        ),
        pytest.param(
            [
                flavor(over=None),
                cluster_queue(namespaceSelector={"matchExpressions": [{"key": "team", "operator": "Is"}]}),
            ],
            unknown(
                "spec.namespaceSelector.matchExpressions[0].operator",
                "Is",
                "DoesNotExist",
                "Exists",
                "In",
                "NotIn",
            ),
            id="an operator that a selector does not have",
        ),
        pytest.param(
            [
                topology(),
                flavor(),
                cluster_queue(admissionChecksStrategy={"admissionChecks": [{"name": "remote"}]}),
                written("AdmissionCheck", "remote", {"controllerName": f"{K}provisioning-request"}),
            ],
            finding(
                kueue.CHECK_WITH_TOPOLOGY,
                "spec.admissionChecksStrategy.admissionChecks[0].name",
                check="ProvisioningRequest",
            ),
            id="a ClusterQueue with a TAS ResourceFlavor and a ProvisioningRequest admission check is inactive",
        ),
        pytest.param(
            [
                topology(),
                flavor(),
                cluster_queue(admissionChecks=["grow"]),
                written("AdmissionCheck", "grow", {"controllerName": f"{K}provisioning-request"}),
            ],
            finding(kueue.CHECK_WITH_TOPOLOGY, "spec.admissionChecks[0]", check="ProvisioningRequest"),
            id="a ClusterQueue with a TAS ResourceFlavor and a ProvisioningRequest admission check is inactive",
        ),
        pytest.param(
            [local_queue(to="reserch"), flavor(over=None), cluster_queue()],
            finding(
                kueue.NO_CLUSTER_QUEUE,
                "spec.clusterQueue",
                queue="reserch",
                remedy=suggestion("reserch", ["research"]),
            ),
            id="a LocalQueue leads to a ClusterQueue",
        ),
        pytest.param(
            [written("Cohort", "a", {"parentName": "b"}), written("Cohort", "b", {"parentName": "a"})],
            finding(kueue.COHORTS_IN_CIRCLE, "spec.parentName", trail='"a" > "b" > "a"'),
            id="cohorts do not lie in a circle",
        ),
        pytest.param(
            [
                flavor(over=None),
                written("Cohort", "a", {"resourceGroups": [limited("borrowingLimit")]}),
            ],
            finding(
                kueue.ALONE,
                f"{FLAVOR}.resources[0].borrowingLimit",
                field="parentName",
                where="in a cohort with a parent",
            ),
            id="a cohort without a parent has no limit of borrowing",
        ),
        pytest.param(
            [
                flavor(over=None),
                written("Cohort", "a", {"resourceGroups": [limited("lendingLimit")]}),
            ],
            finding(
                kueue.ALONE,
                f"{FLAVOR}.resources[0].lendingLimit",
                field="parentName",
                where="in a cohort with a parent",
            ),
            id="a cohort without a parent has no limit of lending",
        ),
        pytest.param(
            [written("Cohort", "a", {"parentName": "b", "parent": "c"})],
            finding(kueue.BOTH_SPELLINGS, "spec.parent", field="parentName"),
            id="a cohort has one parent",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(cohortName="b", cohort="c")],
            finding(kueue.BOTH_SPELLINGS, "spec.cohort", field="cohortName"),
            id="a queue has one cohort",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(flavorFungibility={"whenCanBorrow": "TryNext"})],
            unknown(
                "spec.flavorFungibility.whenCanBorrow", "TryNext", "MayStopSearch", "TryNextFlavor", "Borrow"
            ),
            id="when a flavor may borrow is a known word",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(flavorFungibility={"whenCanPreempt": "Never"})],
            unknown(
                "spec.flavorFungibility.whenCanPreempt", "Never", "MayStopSearch", "TryNextFlavor", "Preempt"
            ),
            id="when a flavor may preempt is a known word",
        ),
        pytest.param(
            [
                flavor(over=None),
                cluster_queue(flavorFungibility={"preference": "BorrowingOverPreemption"}),
            ],
            finding(
                kueue.PREFERENCE_WITHOUT_EFFECT, "spec.flavorFungibility.preference", word="TryNextFlavor"
            ),
            id="a preference among flavors needs the next flavor to be tried",
        ),
        pytest.param(
            [written("AdmissionCheck", "c", {})],
            finding(kueue.NO_CONTROLLER, "spec.controllerName"),
            id="a check needs a controller",
        ),
    ],
)
def test_queues_flavors_and_topologies(texts: list[str], want: Finding) -> None:
    assert want in reported_anywhere(*texts)
