"""The fields of our wire shapes are those that the other projects publish, no more and no fewer."""

from __future__ import annotations

import msgspec
import pytest

from closeknit.apis import grove_io_v1alpha1 as grove
from closeknit.apis import kai_scheduler_v1alpha1 as topologies
from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.apis import scheduler_grove_io_v1alpha1 as scheduler
from closeknit.apis import scheduling_run_ai_v2 as queues
from closeknit.apis import scheduling_run_ai_v2alpha2 as pod_groups
from closeknit.apis.wire import Wire
from tests.contract.definitions import published

POD_GROUP = ("scheduling.run.ai", "PodGroup", "v2alpha2")
QUEUE = ("scheduling.run.ai", "Queue", "v2")
TOPOLOGY = ("kai.scheduler", "Topology", "v1alpha1")
CLUSTER_TOPOLOGY_BINDING = ("grove.io", "ClusterTopologyBinding", "v1alpha1")
POD_CLIQUE_SET = ("grove.io", "PodCliqueSet", "v1alpha1")
POD_CLIQUE_SCALING_GROUP = ("grove.io", "PodCliqueScalingGroup", "v1alpha1")
POD_CLIQUE = ("grove.io", "PodClique", "v1alpha1")
POD_GANG = ("scheduler.grove.io", "PodGang", "v1alpha1")
DEPLOYMENT = ("nvidia.com", "DynamoGraphDeployment", "v1alpha1")
NEWER_DEPLOYMENT = ("nvidia.com", "DynamoGraphDeployment", "v1beta1")

TEMPLATE = ("spec", "template")
SERVICES = ("spec", "services")
COMPONENTS = ("spec", "components")

OURS_ALONE = {
    # The older spelling is ours to accept; nobody publishes it any more.
    pod_groups.PodGroupSpec: {"subgroups"},
    # A service's name stands inside it only in the list of the first proposal.
    alpha.Service: {"name"},
}


def fields(shape: type[Wire]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(shape)} | shape.unused


@pytest.mark.parametrize(
    ("shape", "kind", "path"),
    [
        pytest.param(pod_groups.PodGroup, POD_GROUP, (), id="of a PodGroup"),
        pytest.param(pod_groups.PodGroupSpec, POD_GROUP, ("spec",), id="of a PodGroup's spec"),
        pytest.param(pod_groups.SubGroup, POD_GROUP, ("spec", "subGroups"), id="of a subgroup"),
        pytest.param(
            pod_groups.TopologyConstraint,
            POD_GROUP,
            ("spec", "topologyConstraint"),
            id="of a constraint",
        ),
        pytest.param(topologies.Topology, TOPOLOGY, (), id="of a Topology"),
        pytest.param(topologies.TopologyLevel, TOPOLOGY, ("spec", "levels"), id="of a level"),
        pytest.param(queues.Queue, QUEUE, (), id="of a Queue"),
        pytest.param(queues.QueueSpec, QUEUE, ("spec",), id="of a Queue's spec"),
        pytest.param(queues.QueueResources, QUEUE, ("spec", "resources"), id="of a Queue's resources"),
        pytest.param(queues.QueueResource, QUEUE, ("spec", "resources", "gpu"), id="of one resource"),
        pytest.param(grove.ClusterTopologyBinding, CLUSTER_TOPOLOGY_BINDING, (), id="of a binding"),
        pytest.param(
            grove.ClusterTopologyBindingSpec, CLUSTER_TOPOLOGY_BINDING, ("spec",), id="of a binding's spec"
        ),
        pytest.param(grove.TopologyLevel, CLUSTER_TOPOLOGY_BINDING, ("spec", "levels"), id="of a level"),
        pytest.param(
            grove.SchedulerTopologyBinding,
            CLUSTER_TOPOLOGY_BINDING,
            ("spec", "schedulerTopologyBindings"),
            id="of a scheduler's topology",
        ),
        pytest.param(grove.PodCliqueSet, POD_CLIQUE_SET, (), id="of a PodCliqueSet"),
        pytest.param(grove.PodCliqueSetSpec, POD_CLIQUE_SET, ("spec",), id="of a PodCliqueSet's spec"),
        pytest.param(grove.PodCliqueSetTemplate, POD_CLIQUE_SET, TEMPLATE, id="of a template"),
        pytest.param(grove.PodCliqueTemplate, POD_CLIQUE_SET, (*TEMPLATE, "cliques"), id="of a clique"),
        pytest.param(
            grove.PodCliqueSpec, POD_CLIQUE_SET, (*TEMPLATE, "cliques", "spec"), id="of a clique's spec"
        ),
        pytest.param(
            grove.AutoScalingConfig,
            POD_CLIQUE_SET,
            (*TEMPLATE, "cliques", "spec", "autoScalingConfig"),
            id="of an autoscaler",
        ),
        pytest.param(
            grove.PodCliqueScalingGroupConfig,
            POD_CLIQUE_SET,
            (*TEMPLATE, "podCliqueScalingGroups"),
            id="of a scaling group in a template",
        ),
        pytest.param(
            grove.TopologyConstraint, POD_CLIQUE_SET, (*TEMPLATE, "topologyConstraint"), id="of a constraint"
        ),
        pytest.param(
            grove.TopologyPackConstraint,
            POD_CLIQUE_SET,
            (*TEMPLATE, "topologyConstraint", "pack"),
            id="of a pack",
        ),
        pytest.param(grove.PodClique, POD_CLIQUE, (), id="of a PodClique"),
        pytest.param(
            grove.PodCliqueScalingGroupSpec, POD_CLIQUE_SCALING_GROUP, ("spec",), id="of a scaling group"
        ),
        pytest.param(scheduler.PodGang, POD_GANG, (), id="of a PodGang"),
        pytest.param(scheduler.PodGangSpec, POD_GANG, ("spec",), id="of a PodGang's spec"),
        pytest.param(scheduler.PodGroup, POD_GANG, ("spec", "podgroups"), id="of a pod group"),
        pytest.param(
            scheduler.TopologyConstraintGroupConfig,
            POD_GANG,
            ("spec", "topologyConstraintGroupConfigs"),
            id="of a group configuration",
        ),
        pytest.param(
            scheduler.TopologyPackConstraint,
            POD_GANG,
            ("spec", "topologyConstraint", "packConstraint"),
            id="of a gang's pack",
        ),
        pytest.param(alpha.DynamoGraphDeployment, DEPLOYMENT, (), id="of a v1alpha1 deployment"),
        pytest.param(alpha.DynamoGraphDeploymentSpec, DEPLOYMENT, ("spec",), id="of its spec"),
        pytest.param(
            alpha.DeploymentTopologyConstraint,
            DEPLOYMENT,
            ("spec", "topologyConstraint"),
            id="of its constraint",
        ),
        pytest.param(alpha.Service, DEPLOYMENT, SERVICES, id="of a service"),
        pytest.param(alpha.Multinode, DEPLOYMENT, (*SERVICES, "multinode"), id="of several nodes"),
        pytest.param(alpha.Resources, DEPLOYMENT, (*SERVICES, "resources"), id="of a service's resources"),
        pytest.param(
            alpha.ResourceItem, DEPLOYMENT, (*SERVICES, "resources", "requests"), id="of a service's requests"
        ),
        pytest.param(
            alpha.ServiceTopologyConstraint,
            DEPLOYMENT,
            (*SERVICES, "topologyConstraint"),
            id="of a service's constraint",
        ),
        pytest.param(alpha.PodMetadata, DEPLOYMENT, (*SERVICES, "extraPodMetadata"), id="of pods' metadata"),
        pytest.param(alpha.ProviderOverride, DEPLOYMENT, ("spec", "providerOverride"), id="of an override"),
        pytest.param(beta.DynamoGraphDeployment, NEWER_DEPLOYMENT, (), id="of a v1beta1 deployment"),
        pytest.param(beta.DynamoGraphDeploymentSpec, NEWER_DEPLOYMENT, ("spec",), id="of its newer spec"),
        pytest.param(
            beta.DeploymentTopologyConstraint,
            NEWER_DEPLOYMENT,
            ("spec", "topologyConstraint"),
            id="of its newer constraint",
        ),
        pytest.param(beta.Component, NEWER_DEPLOYMENT, COMPONENTS, id="of a component"),
        pytest.param(
            beta.PodTemplate, NEWER_DEPLOYMENT, (*COMPONENTS, "podTemplate"), id="of a pod template"
        ),
    ],
)
def test_the_fields_are_those_that_are_published(
    shape: type[Wire], kind: tuple[str, str, str], path: tuple[str, ...]
) -> None:
    schema = published(*kind)
    assert schema is not None
    for step in path:
        schema = schema["properties"][step]
        schema = schema.get("items") or schema.get("additionalProperties") or schema

    assert fields(shape) - OURS_ALONE.get(shape, set()) == set(schema["properties"])
