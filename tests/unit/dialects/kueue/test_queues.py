"""Rules of queues, flavors and topologies, and of what may change of them."""

from __future__ import annotations

from typing import Any

import pytest

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
from tests.unit.dialects.kueue.problems import found


def limited(field: str) -> dict[str, Any]:
    """A group of resources with a limit of borrowing or lending."""
    quota = {"name": "cpu", "nominalQuota": 1, field: 1}
    return {"coveredResources": ["cpu"], "flavors": [{"name": "tas", "resources": [quota]}]}


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(
            [topology("t", RACK, RACK)],
            f'spec.levels[1].nodeLabel: "{RACK}" is already the label of spec.levels[0]. Each level has its own.',
            id="two levels have two labels",
            marks=pytest.mark.requirement("K34"),
        ),
        pytest.param(
            [topology("t", HOST, RACK)],
            f'spec.levels[0].nodeLabel: "{HOST}" can only be the last level. Move it to the end.',
            id="hosts are the lowest level",
        ),
        pytest.param(
            [written("Topology", "t", {"levels": []})],
            "spec.levels: There are 0 levels. Allowed are 1 to 16.",
            id="a topology has levels",
            marks=pytest.mark.requirement("K34"),
        ),
        pytest.param(
            [topology("t", *(f"example.com/level-{i}" for i in range(17)))],
            "spec.levels: There are 17 levels. Allowed are 1 to 16.",
            id="a topology has at most sixteen levels",
        ),
        pytest.param(
            [topology("t", "no label")],
            'spec.levels[0].nodeLabel: "no label" is not a label key. Write a name of at most 63 letters, digits,'
            " '-', '_' and '.', such as rack, with an optional domain before a slash, such as example.com/rack.",
            id="a level is a label key",
        ),
        pytest.param(
            [topology(), flavor(nodeLabels={})],
            "spec.nodeLabels: A flavor with a topology needs at least one node label, so that its nodes can be told.",
            id="the ResourceFlavor defining TopologyAwareScheduling needs at least one node label",
        ),
        pytest.param(
            [topology(), flavor(over="tre")],
            'spec.topologyName: There is no Topology "tre". Did you mean "tree"? Allowed: "tree".',
            id="a flavor's topology exists",
        ),
        pytest.param(
            [topology("tree", HOST, RACK), flavor()],
            'spec.topologyName: Topology "tree" has problems of its own. Correct them first.',
            id="a broken topology is not said to be missing",
        ),
        pytest.param(
            [flavor(over=None, nodeTaints=[{"key": "k", "effect": "Never"}])],
            'spec.nodeTaints[0].effect: "Never" is not known. Allowed: "NoExecute", "NoSchedule", "PreferNoSchedule".',
            id="a taint has a known effect",
        ),
        pytest.param(
            [flavor(over=None, tolerations=[{"operator": "Equal", "value": "x"}])],
            "spec.tolerations[0].operator: Without a key, the operator must be Exists.",
            id="a toleration without a key tolerates everything",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue("q", "tass")],
            'spec.resourceGroups[0].flavors[0].name: There is no ResourceFlavor "tass". Did you mean "tas"? Allowed: "tas".',
            id="a queue's flavors exist",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue("q", "tas", "tas")],
            'spec.resourceGroups[0].flavors[1].name: "tas" is already at spec.resourceGroups[0].flavors[0].'
            " A flavor stands in one place only.",
            id="a flavor stands once in a queue",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(quota={"nvidia.com/gpu": "many"})],
            'spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: "many" is not a quantity.'
            " Write a number with an optional suffix (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei), such as 8, 500m or 1.5Gi.",
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
            'spec.resourceGroups[0].flavors[0].resources: The resources must be those of coveredResources: "cpu", "memory".',
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
            "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: This counts in a cohort only."
            " Name one in cohortName, or leave it out.",
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
            "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: More cannot be lent than there is."
            " Write at most the nominal quota.",
            id="a queue cannot lend more than it has",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(stopPolicy="Halt")],
            'spec.stopPolicy: "Halt" is not known. Allowed: "Hold", "HoldAndDrain", "None".',
            id="a stop policy is a known one",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(queueingStrategy="FIFO")],
            'spec.queueingStrategy: "FIFO" is not known. Allowed: "BestEffortFIFO", "StrictFIFO".',
            id="a queueing strategy is a known one",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(preemption={"reclaimWithinCohort": "All"})],
            'spec.preemption.reclaimWithinCohort: "All" is not known. Allowed: "Any", "LowerPriority", "Never".',
            id="a word of preemption is a known one",
        ),
        pytest.param(
            [
                flavor(over=None),
                cluster_queue(preemption={"borrowWithinCohort": {"policy": "LowerPriority"}}),
            ],
            "spec.preemption.borrowWithinCohort.policy: Who borrows may displace others only where"
            " reclaimWithinCohort is not Never. Set it, or leave this out.",
            id="who borrows displaces nobody where nothing is reclaimed",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(namespaceSelector=None), local_queue(), job()],
            'metadata.labels["kueue.x-k8s.io/queue-name"]: ClusterQueue "research" takes no workload of this namespace:'
            " it has no namespaceSelector, so it takes workloads of no namespace; {} stands for all.",
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
            'metadata.labels["kueue.x-k8s.io/queue-name"]: ClusterQueue "research" takes no workload of this namespace:'
            " its namespaceSelector does not match namespace default.",
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
            'metadata.labels["kueue.x-k8s.io/queue-name"]: ClusterQueue "research" takes no workload of this namespace:'
            " its namespaceSelector does not match namespace default.",
            id="a Namespace in sight is looked at",
        ),
        pytest.param(
            [
                flavor(over=None),
                cluster_queue(namespaceSelector={"matchExpressions": [{"key": "team", "operator": "Is"}]}),
            ],
            'spec.namespaceSelector.matchExpressions[0].operator: "Is" is not known.'
            ' Allowed: "DoesNotExist", "Exists", "In", "NotIn".',
            id="an operator that a selector does not have",
        ),
        pytest.param(
            [
                topology(),
                flavor(),
                cluster_queue(admissionChecksStrategy={"admissionChecks": [{"name": "remote"}]}),
                written("AdmissionCheck", "remote", {"controllerName": f"{K}provisioning-request"}),
            ],
            "spec.admissionChecksStrategy.admissionChecks[0].name: ProvisioningRequest checks are not supported in a ClusterQueue"
            " with a topology. Use a queue of its own for them.",
            id="a ClusterQueue with a TAS ResourceFlavor and a ProvisioningRequest admission check is inactive",
        ),
        pytest.param(
            [
                topology(),
                flavor(),
                cluster_queue(admissionChecks=["grow"]),
                written("AdmissionCheck", "grow", {"controllerName": f"{K}provisioning-request"}),
            ],
            "spec.admissionChecks[0]: ProvisioningRequest checks are not supported in a ClusterQueue with a topology."
            " Use a queue of its own for them.",
            id="a ClusterQueue with a TAS ResourceFlavor and a ProvisioningRequest admission check is inactive",
        ),
        pytest.param(
            [local_queue(to="reserch"), flavor(over=None), cluster_queue()],
            'spec.clusterQueue: There is no ClusterQueue "reserch". Did you mean "research"? Allowed: "research".',
            id="a LocalQueue leads to a ClusterQueue",
        ),
        pytest.param(
            [written("Cohort", "a", {"parentName": "b"}), written("Cohort", "b", {"parentName": "a"})],
            'spec.parentName: These cohorts are each other\'s parents: "a" > "b" > "a". Let one of them have no parent.',
            id="cohorts do not lie in a circle",
        ),
        pytest.param(
            [
                flavor(over=None),
                written("Cohort", "a", {"resourceGroups": [limited("borrowingLimit")]}),
            ],
            "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: This counts in a cohort with a parent only."
            " Name one in parentName, or leave it out.",
            id="a cohort without a parent has no limit of borrowing",
        ),
        pytest.param(
            [
                flavor(over=None),
                written("Cohort", "a", {"resourceGroups": [limited("lendingLimit")]}),
            ],
            "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: This counts in a cohort with a parent only."
            " Name one in parentName, or leave it out.",
            id="a cohort without a parent has no limit of lending",
        ),
        pytest.param(
            [written("Cohort", "a", {"parentName": "b", "parent": "c"})],
            "spec.parent: parentName stands here as well, and differs. Leave this out.",
            id="a cohort has one parent",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(cohortName="b", cohort="c")],
            "spec.cohort: cohortName stands here as well, and differs. Leave this out.",
            id="a queue has one cohort",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(flavorFungibility={"whenCanBorrow": "TryNext"})],
            'spec.flavorFungibility.whenCanBorrow: "TryNext" is not known. Did you mean "TryNextFlavor"?'
            ' Allowed: "Borrow", "MayStopSearch", "TryNextFlavor".',
            id="when a flavor may borrow is a known word",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(flavorFungibility={"whenCanPreempt": "Never"})],
            'spec.flavorFungibility.whenCanPreempt: "Never" is not known.'
            ' Allowed: "MayStopSearch", "Preempt", "TryNextFlavor".',
            id="when a flavor may preempt is a known word",
        ),
        pytest.param(
            [
                flavor(over=None),
                cluster_queue(flavorFungibility={"preference": "BorrowingOverPreemption"}),
            ],
            "spec.flavorFungibility.preference: This counts only where whenCanBorrow and whenCanPreempt are"
            " TryNextFlavor. Set both, or leave it out.",
            id="a preference among flavors needs the next flavor to be tried",
        ),
        pytest.param(
            [written("AdmissionCheck", "c", {})],
            "spec.controllerName: The controller is missing. Name the one that performs the check.",
            id="a check needs a controller",
        ),
    ],
)
def test_queues_flavors_and_topologies(texts: list[str], want: str) -> None:
    assert want in found(*texts)
