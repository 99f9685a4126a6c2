"""What Kueue's objects may not say, with the place and the remedy."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.kueue.flavors import change_problems as flavor_changes
from closeknit.dialects.kueue.topologies import change_problems as topology_changes
from tests.unit.dialects.kit import problems, reading
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
    K,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    queued_pod,
    replicated,
    topology,
    written,
)

TEMPLATE = "spec.template.metadata.annotations"
OWN = "metadata.annotations"
LONG = f"example.com/{'rack' * 13}"
"""A label's key of 64 characters, which may be a level of a Topology."""


def at(path: str, key: str, message: str) -> str:
    return f'{path}["{K}{key}"]: {message}'


def found(*texts: str, lenient: bool = False) -> list[str]:
    """The problems without the number of their document, each once."""
    return [line.partition(":")[2] for line in problems(*texts, lenient=lenient)]


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(
            {"podset_required_topology": RACK, "podset_preferred_topology": RACK},
            [
                at(
                    TEMPLATE,
                    "podset-preferred-topology",
                    f"{K}podset-required-topology stands here as well. Only one of them can be given.",
                )
            ],
            id="required and preferred exclude each other",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_unconstrained_topology": "true"},
            [
                at(
                    TEMPLATE,
                    "podset-unconstrained-topology",
                    f"{K}podset-required-topology stands here as well. Only one of them can be given.",
                )
            ],
            id="required and unconstrained exclude each other",
        ),
        pytest.param(
            {"podset_preferred_topology": RACK, "podset_unconstrained_topology": "false"},
            [],
            id="unconstrained set to false says nothing",
        ),
        pytest.param(
            {"podset_unconstrained_topology": "yes"},
            [
                at(
                    TEMPLATE,
                    "podset-unconstrained-topology",
                    '"yes" is not a truth value. Write "true", or leave it out.',
                )
            ],
            id="unconstrained takes true or false",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "prefer_topology": RACK},
            [
                at(
                    TEMPLATE,
                    "prefer-topology",
                    f"{K}podset-required-topology stands here as well. Only one of them can be given.",
                )
            ],
            id="the early words and today's exclude each other",
        ),
        pytest.param(
            {"podset_required_topology": "example.com/rak"},
            [
                at(
                    TEMPLATE,
                    "podset-required-topology",
                    f'Topology "tree" has no level "example.com/rak". Did you mean "{RACK}"? Allowed: "{BLOCK}", "{RACK}", "{HOST}".',
                )
            ],
            id="a required level must be one of the topology's",
        ),
        pytest.param(
            {"require_topology": "shelf"},
            [
                at(
                    TEMPLATE,
                    "require-topology",
                    f'Topology "tree" has no level "shelf". Allowed: "{BLOCK}", "{RACK}", "{HOST}".',
                )
            ],
            id="the value of require-topology is one of the labels",
        ),
        pytest.param(
            {"prefer_topology": "shelf"},
            [
                at(
                    TEMPLATE,
                    "prefer-topology",
                    f'Topology "tree" has no level "shelf". Allowed: "auto", "{BLOCK}", "{RACK}", "{HOST}".',
                )
            ],
            id="the value of prefer-topology is one of the labels, or auto",
        ),
        pytest.param({"prefer_topology": "auto"}, [], id="auto is allowed in prefer-topology"),
        pytest.param(
            {"require_topology": "auto"},
            [
                at(
                    TEMPLATE,
                    "require-topology",
                    f'"auto" is allowed in {K}prefer-topology only. Name the node label of a level.',
                )
            ],
            id="auto is not allowed in require-topology",
        ),
        pytest.param(
            {"podset_required_topology": ""},
            [
                at(
                    TEMPLATE,
                    "podset-required-topology",
                    "The level is missing. Name the node label of a level.",
                )
            ],
            id="a level must be named",
        ),
        pytest.param(
            {"podset_required_topology": LONG},
            [
                at(
                    TEMPLATE,
                    "podset-required-topology",
                    "The name of the level is too long: Workloads take 63 characters of a label."
                    " Label the nodes with a shorter key.",
                ),
                at(
                    TEMPLATE,
                    "podset-required-topology",
                    f'Topology "tree" has no level "{LONG}". Allowed: "{BLOCK}", "{RACK}", "{HOST}".',
                ),
            ],
            id="a level's name is one that a Workload takes",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_topology_spreading": BLOCK},
            [
                at(
                    TEMPLATE,
                    "podset-topology-spreading",
                    "Spreading over domains is not taken into account when pods are placed. Leave it out.",
                ),
            ],
            id="spreading is not passed over",
        ),
        pytest.param(
            {"podset_require_topology": RACK},
            [
                at(
                    TEMPLATE,
                    "podset-require-topology",
                    f'There is no annotation "{K}podset-require-topology". Did you mean "{K}podset-required-topology"?',
                )
            ],
            id="a misspelt annotation is not passed over",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK},
            [
                at(
                    TEMPLATE,
                    "podset-slice-size",
                    f"This must be given where {K}podset-slice-required-topology is. Write how many pods make a slice.",
                )
            ],
            id="a slice level needs a size",
        ),
        pytest.param(
            {"podset_slice_size": "2"},
            [
                at(
                    TEMPLATE,
                    "podset-slice-required-topology",
                    f"This must be given where {K}podset-slice-size is. Name the level of a slice.",
                )
            ],
            id="a slice size needs a level",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "0"},
            [at(TEMPLATE, "podset-slice-size", '"0" is not a size. Write a whole number from 1 on.')],
            id="a slice has at least one pod",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "five"},
            [at(TEMPLATE, "podset-slice-size", '"five" is not a size. Write a whole number from 1 on.')],
            id="a slice size is a number",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "9"},
            [at(TEMPLATE, "podset-slice-size", "A slice has 9 pods, but there are only 4. Write at most 4.")],
            id="a slice has no more pods than there are",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "3"},
            [
                at(
                    TEMPLATE,
                    "podset-slice-size",
                    "4 pods cannot be cut into slices of 3: 1 would be left. Choose a size that divides 4.",
                )
            ],
            id="no pod is left over by slices",
        ),
        pytest.param(
            {
                "podset_required_topology": RACK,
                "podset_slice_required_topology": BLOCK,
                "podset_slice_size": "2",
            },
            [
                at(
                    TEMPLATE,
                    "podset-slice-required-topology",
                    f'The slice level "{BLOCK}" is coarser than "{RACK}" around it. Name "{RACK}" or a finer level.',
                )
            ],
            id="a slice level lies at or below the main level",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": "rack"},
            [
                at(
                    TEMPLATE,
                    "podset-slice-required-topology-constraints",
                    '"rack" is not a JSON list. Write a list such as [{"topology": "example.com/block", "size": 8}].',
                )
            ],
            id="layers are a JSON list",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": "[]"},
            [
                at(
                    TEMPLATE,
                    "podset-slice-required-topology-constraints",
                    "There are 0 layers. Allowed are 1 to 3.",
                )
            ],
            id="there is at least one layer",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": json.dumps([{"topology": BLOCK, "size": "4"}])},
            [
                f'{TEMPLATE}["{K}podset-slice-required-topology-constraints"][0].size: Found "4", a string, where a whole number from 1 on is expected. Write a list such as [{{"topology": "example.com/block", "size": 8}}].'
            ],
            id="a layer's size is a number, not a string",
        ),
        pytest.param(
            {
                "podset_slice_required_topology_constraints": json.dumps(
                    [{"topology": BLOCK, "size": 4}, {"topology": RACK, "size": 3}]
                )
            },
            [
                f'{TEMPLATE}["{K}podset-slice-required-topology-constraints"][1]: The inner slice size 3 must evenly divide 4, the one around it.'
            ],
            id="inner slices divide the outer ones",
        ),
        pytest.param(
            {
                "podset_slice_required_topology_constraints": json.dumps(
                    [{"topology": RACK, "size": 4}, {"topology": RACK, "size": 2}]
                )
            },
            [
                f'{TEMPLATE}["{K}podset-slice-required-topology-constraints"][1]: The slice level "{RACK}" is the same as "{RACK}" around it. Name a finer level.'
            ],
            id="inner slices lie at a finer level",
        ),
        pytest.param(
            {
                "podset_slice_required_topology_constraints": json.dumps([{"topology": RACK, "size": 2}]),
                "podset_slice_required_topology": RACK,
                "podset_slice_size": "2",
            },
            [
                at(
                    TEMPLATE,
                    "podset-slice-required-topology",
                    f"{K}podset-slice-required-topology-constraints stands here as well. Only one way to cut slices can be given.",
                ),
                at(
                    TEMPLATE,
                    "podset-slice-size",
                    f"{K}podset-slice-required-topology-constraints stands here as well. Only one way to cut slices can be given.",
                ),
            ],
            id="the two ways to cut slices exclude each other",
        ),
        pytest.param(
            {"require_topology": RACK, "podset_slice_required_topology": RACK, "podset_slice_size": "2"},
            [
                at(
                    TEMPLATE,
                    "podset-slice-size",
                    f"Slices cannot be combined with the early design's annotations. Use {K}podset-required-topology or {K}podset-preferred-topology.",
                )
            ],
            id="slices need today's words",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_group_name": "7"},
            [
                at(
                    TEMPLATE,
                    "podset-group-name",
                    '"7" is not the name of a group. Write a word, not a number.',
                ),
                at(TEMPLATE, "podset-group-name", 'Group "7" has 1 pod sets. A group has exactly two.'),
            ],
            id="a group's name is not a number",
        ),
    ],
)
def test_annotations_of_a_pod_template(asked: dict[str, Any], want: list[str]) -> None:
    assert found(*QUEUES, job(**asked)) == want


@pytest.mark.parametrize(
    ("jobs", "want"),
    [
        pytest.param(
            [
                replicated("leader", 1, 1, podset_required_topology=RACK, podset_group_name="g"),
                replicated("workers", 1, 3, podset_required_topology=BLOCK, podset_group_name="g"),
            ],
            'spec.replicatedJobs[1].template.spec.template.metadata.annotations["kueue.x-k8s.io/podset-group-name"]:'
            ' Both pod sets of group "g" must require or prefer the same level.',
            id="leader and workers ask for the same level",
        ),
        pytest.param(
            [
                replicated("a", 1, 2, podset_required_topology=RACK, podset_group_name="g"),
                replicated("b", 1, 3, podset_required_topology=RACK, podset_group_name="g"),
            ],
            'spec.replicatedJobs[1].template.spec.template.metadata.annotations["kueue.x-k8s.io/podset-group-name"]:'
            ' No pod set of group "g" has one pod. One of the two is the leader.',
            id="one pod set of a group has one pod",
        ),
        pytest.param(
            [replicated("a", 1, 1, podset_unconstrained_topology="true", podset_group_name="g")],
            'spec.replicatedJobs[0].template.spec.template.metadata.annotations["kueue.x-k8s.io/podset-group-name"]:'
            " A group needs a level to share. Give kueue.x-k8s.io/podset-required-topology or"
            " kueue.x-k8s.io/podset-preferred-topology as well.",
            id="a group needs a level",
        ),
        pytest.param(
            [
                replicated(
                    "a",
                    1,
                    2,
                    podset_required_topology=BLOCK,
                    podset_group_name="g",
                    podset_slice_required_topology=RACK,
                    podset_slice_size="1",
                )
            ],
            'spec.replicatedJobs[0].template.spec.template.metadata.annotations["kueue.x-k8s.io/podset-group-name"]:'
            " Pod sets of a group cannot be cut into slices. Leave out one of the two.",
            id="pod sets of a group have no slices",
        ),
        pytest.param(
            [replicated("a", 1, 2), replicated("a", 1, 2)],
            'spec.replicatedJobs[1].name: "a" is already the name of spec.replicatedJobs[0]. Rename one.',
            id="two replicated jobs have two names",
        ),
        pytest.param(
            [replicated("a", -1, 2)],
            "spec.replicatedJobs[0].replicas: -1 is negative. Write zero or more.",
            id="there is no negative number of Jobs",
        ),
        pytest.param(
            [replicated("a", 20_000, 20_000)],
            "spec.replicatedJobs[0].replicas: These are 400000000 pods. At most 150000 can be asked for.",
            id="a JobSet cannot ask for more pods than a cluster can have",
        ),
    ],
)
def test_replicated_jobs(jobs: list[dict[str, Any]], want: str) -> None:
    assert want in found(*QUEUES, job_set(*jobs))


def test_todays_annotations_on_the_job_itself_are_not_passed_over() -> None:
    want = at(OWN, "podset-required-topology", f"This counts on a pod template only. Move it to {TEMPLATE}.")

    assert found(*QUEUES, job(own={"podset-required-topology": RACK})) == [want]


def test_the_early_annotations_stand_on_the_job_or_on_its_template_but_not_on_both() -> None:
    both = job(own={"require-topology": RACK}, require_topology=RACK)

    want = at(
        OWN, "require-topology", "The pod template asks for a topology as well. Leave out one of the two."
    )
    assert found(*QUEUES, both) == [want]


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
            [
                topology(),
                flavor(),
                cluster_queue(admissionChecksStrategy={"admissionChecks": [{"name": "remote"}]}),
                written("AdmissionCheck", "remote", {"controllerName": f"{K}multikueue"}),
            ],
            "spec.admissionChecksStrategy.admissionChecks[0].name: MultiKueue checks are not supported in a ClusterQueue"
            " with a topology. Use a queue of its own for them.",
            id="a ClusterQueue with a TAS ResourceFlavor and a MultiKueue admission check is inactive",
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
    ],
)
def test_queues_flavors_and_topologies(texts: list[str], want: str) -> None:
    assert want in found(*texts)


LABEL = f'metadata.labels["{K}queue-name"]'


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(
            [job(queue="tem"), *QUEUES],
            f'{LABEL}: There is no LocalQueue "tem" in namespace "default". Did you mean "team"? Allowed: "team".',
            id="the queue exists",
        ),
        pytest.param(
            [job()],
            f'{LABEL}: There is no LocalQueue "team" in namespace "default".'
            " Give it as well, with its ClusterQueue and ResourceFlavors.",
            id="a queue is needed",
        ),
        pytest.param(
            [
                json.dumps(
                    json.loads(job()) | {"metadata": {**json.loads(job())["metadata"], "namespace": "other"}}
                ),
                *QUEUES,
            ],
            f'{LABEL}: There is no LocalQueue "team" in namespace "other".'
            ' There is one in "default"; a workload uses the queues of its own namespace.',
            id="the queue is of the same namespace",
        ),
        pytest.param(
            [local_queue(), job()],
            'spec.clusterQueue: There is no ClusterQueue "research". Give it as well.',
            id="the ClusterQueue behind it exists",
        ),
        pytest.param(
            [job(queue=None, podset_required_topology=RACK), *QUEUES],
            f"{LABEL}: A topology is asked for, but no queue is named, so Kueue would not look at it."
            ' Allowed: "team".',
            id="a topology without a queue has no effect in Kueue, which is told",
        ),
        pytest.param(
            [job(), topology(), flavor(), cluster_queue(stopPolicy="Hold"), local_queue()],
            f'{LABEL}: ClusterQueue "research" is not active: its stopPolicy is Hold.',
            id="a queue that is held admits nothing",
        ),
        pytest.param(
            [job(), topology(), flavor(), cluster_queue(), local_queue(stopPolicy="HoldAndDrain")],
            f'{LABEL}: LocalQueue "team" is not active: its stopPolicy is HoldAndDrain.',
            id="a LocalQueue can be held by itself",
        ),
        pytest.param(
            [
                job(),
                topology(),
                flavor(),
                cluster_queue(cohortName="a"),
                local_queue(),
                written("Cohort", "a", {"parentName": "b"}),
                written("Cohort", "b", {"parentName": "b"}),
            ],
            f'{LABEL}: ClusterQueue "research" is not active: cohort "a" lies in a circle of cohorts.',
            id="nobody is admitted in a circle of cohorts",
        ),
        pytest.param(
            [job(), topology(), flavor(), cluster_queue(quota={"cpu": 5}), local_queue()],
            'spec.template.spec.containers: The pods ask for "nvidia.com/gpu", for which ClusterQueue "research" has'
            ' no quota. It covers "cpu".',
            id="a resource that the queue does not cover can never be admitted",
        ),
        pytest.param(
            [job(podset_required_topology=RACK), flavor(over=None), cluster_queue(), local_queue()],
            f'{LABEL}: No flavor of ClusterQueue "research" can take the pods of "main": flavor "tas": it has no topology.',
            id="pods that ask for a topology need a flavor with one",
        ),
        pytest.param(
            [
                job(),
                topology(),
                flavor(),
                flavor("plain", None),
                cluster_queue("research", "tas", "plain"),
                local_queue(),
                job(name="other", pod={"nodeSelector": {"pool": "tas"}}),
            ],
            f'{LABEL}: No flavor of ClusterQueue "research" can take the pods of "main": flavor "tas": it is only for'
            ' pods that ask for a topology; flavor "plain": the node selector asks for pool=tas.',
            id="a flavor with a topology is only for pods that ask for one, unless all flavors have one",
        ),
        pytest.param(
            [
                job(),
                topology(),
                flavor(nodeTaints=[{"key": "gpu", "effect": "NoSchedule"}]),
                cluster_queue(),
                local_queue(),
            ],
            f'{LABEL}: No flavor of ClusterQueue "research" can take the pods of "main": flavor "tas": its taint'
            " gpu:NoSchedule is not tolerated.",
            id="a flavor's taints must be tolerated",
        ),
        pytest.param(
            [
                job(gpus=0, podset_required_topology=RACK),
                written("ClusterQueue", "research", {}),
                local_queue(),
            ],
            f'{LABEL}: No flavor with a topology is assigned to "main". Add one to the queue.',
            id="a level is never dropped because the queue has no flavors",
        ),
        pytest.param(
            [job(own={"job-min-parallelism": "4"}), *QUEUES],
            at(OWN, "job-min-parallelism", '"4" is not possible. Allowed are 1 to 3.'),
            id="the least parallelism is less than the parallelism",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 3), queued_pod("p-1", "p", 3), *QUEUES],
            at(
                OWN,
                "pod-group-total-count",
                "The group has 3 pods, and 2 are given. Give the rest, or change the count.",
            ),
            id="a group of pods is complete",
        ),
        pytest.param(
            [queued_pod("p-0", "p"), *QUEUES],
            at(
                OWN,
                "pod-group-total-count",
                "The number of pods is missing. Write how many pods the group has, from 1 on, in quotes.",
            ),
            id="a group of pods says how many there are",
        ),
        pytest.param(
            [queued_pod("p-0", total=2), *QUEUES],
            f'metadata.labels["{K}pod-group-name"]: {K}pod-group-total-count is given, but the group has no name.'
            " Name it, or leave that out.",
            id="a group of pods has a name",
        ),
        pytest.param(
            [queued_pod("p-0", pod_group_fast_admission="true"), *QUEUES],
            f'metadata.labels["{K}pod-group-name"]: {K}pod-group-fast-admission is given, but the group has no name.'
            " Name it, or leave that out.",
            id="only a group can be admitted before it is complete",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 1, pod_group_fast_admission="yes"), *QUEUES],
            at(
                OWN,
                "pod-group-fast-admission",
                '"yes" is not a truth value. Write "true" or "false", or leave it out.',
            ),
            id="fast admission is true or false",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 1, retriable_in_group="no"), *QUEUES],
            at(
                OWN,
                "retriable-in-group",
                '"no" is not a truth value. Write "true" or "false", or leave it out.',
            ),
            id="whether a pod is made again is true or false",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 1), queued_pod("p-1", "p", 1), *QUEUES],
            at(
                OWN,
                "pod-group-total-count",
                "The group has 1 pod, and 2 are given. Take some away, or change the count.",
            ),
            id="a group has no more pods than it says",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 2), queued_pod("p-1", "p", 3), *QUEUES],
            f'Pod p-1: metadata.annotations["{K}pod-group-total-count"]: "3" differs from "2" of pod p-0.'
            " All pods of a group agree.",
            id="all pods of a group agree on their number",
        ),
        pytest.param(
            [job(), job_set(replicated("a", 1, 1), name="train"), *QUEUES],
            "metadata.name: A Job of this name queues as well, and both would be booked under it. Rename one.",
            id="a Job and a JobSet of one name would be booked as one",
        ),
    ],
)
def test_workloads_and_their_queues(texts: list[str], want: str) -> None:
    assert want in found(*texts)


def test_a_workload_with_problems_has_no_request() -> None:
    (workload,) = reading(*QUEUES, job(podset_required_topology="shelf")).workloads

    assert workload.request is None
    assert len(workload.problems) == 1


def test_jobs_that_do_not_speak_to_kueue_are_left_alone() -> None:
    read = reading(*QUEUES, job(queue=None))

    assert not [workload for workload in read.workloads if workload.dialect == "kueue"]
    assert not read.problems


def test_finished_jobs_queue_for_nothing() -> None:
    done = json.loads(job()) | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}

    assert not reading(*QUEUES, json.dumps(done)).workloads


def test_leniently_a_queue_that_is_not_in_the_files_is_no_problem() -> None:
    read = reading(topology(), job(podset_required_topology=RACK), lenient=True)

    assert not read.problems
    (workload,) = read.workloads
    assert workload.request is not None
    assert workload.request.root.required == RACK


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param(None, "tree", [], id="a flavor may get a topology"),
        pytest.param("tree", "tree", [], id="a flavor keeps its topology"),
        pytest.param(
            "tree",
            None,
            ['spec.topologyName: It was "tree" and cannot be changed. Make a new ResourceFlavor.'],
            id="a flavor does not lose its topology",
        ),
        pytest.param(
            "tree",
            "other",
            ['spec.topologyName: It was "tree" and cannot be changed. Make a new ResourceFlavor.'],
            id="a flavor does not get another topology",
        ),
    ],
)
def test_changes_of_a_flavor(before: str | None, after: str | None, want: list[str]) -> None:
    old, new = (
        msgspec.json.decode(flavor(over=over), type=wire.ResourceFlavor) for over in (before, after)
    )  # fmt: skip

    assert [str(problem) for problem in flavor_changes(old, new)] == want


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        pytest.param((BLOCK, RACK), (BLOCK, RACK), True, id="nothing has changed"),
        pytest.param((BLOCK, RACK), (RACK,), False, id="levels stay as they are"),
        pytest.param((BLOCK, HOST), (BLOCK, RACK, HOST), True, id="levels above hosts may change"),
        pytest.param((BLOCK, HOST), (BLOCK, RACK), False, id="hosts stay the lowest level"),
    ],
)
def test_changes_of_a_topology(before: tuple[str, ...], after: tuple[str, ...], allowed: bool) -> None:
    old, new = (
        msgspec.json.decode(topology("tree", *levels), type=wire.Topology) for levels in (before, after)
    )
    want = f'spec.levels: The levels cannot be changed unless "{HOST}" is the last before and after. Make a new Topology.'

    assert [str(problem) for problem in topology_changes(old, new)] == ([] if allowed else [want])
