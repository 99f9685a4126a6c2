"""Messages about Dynamo's objects."""

from __future__ import annotations

from closeknit.hub.problems import Field
from closeknit.hub.sentences import dynamo
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(dynamo.NOTHING_TO_DEPLOY, "There is nothing to deploy here. Describe at least one."),
    message(dynamo.NOT_SERVICES, 'Found "x", a string, where a mapping from names to services, or a list, is expected.', found='"x", a string,'),
    message(dynamo.NOT_A_SERVICE, 'Found "x", a string, where a mapping is expected.', found='"x", a string,'),
    message(dynamo.SERVICE_NAMED_TWICE, "The service is named by its key. Leave this out."),
    message(dynamo.SERVICE_UNNAMED, "A service in a list needs a name."),
    message(dynamo.TOO_MANY_COMPONENTS, "There are 26 components. At most 25 are allowed.", count=26, listed="components", most=25),
    message(dynamo.NOT_A_COMPONENT_NAME, '"-" is not a valid name. Allowed are at most 63 letters, digits and dashes, with a letter or digit at both ends.', name="-"),
    message(dynamo.COMPONENT_NAME_TAKEN, '"a" is already the name of spec.components[0], capitals aside. Give each its own.', name="a", first=Field(path=("spec", "components", 0))),
    message(dynamo.NOT_SEVERAL_NODES, "1 is not several nodes. Write two or more, or leave multinode out.", nodes=1),
    message(dynamo.SHARED_GPUS, "GPUs that several pods share are not taken into account when pods are placed."),
    message(dynamo.TOO_MANY_PODS, "These would be 150006 pods in all. At most 150000 are placed for one DynamoGraphDeployment.", pods=150006, most=150000),
    message(dynamo.SPREAD_CONSTRAINTS, "A deployment's pods go where its constraints let them. Leave it out, and use topologyConstraint instead."),
    message(dynamo.NODE_NAMED, "A component's pods cannot name their node. Leave it out."),
    message(dynamo.SCHEDULERS_DIFFER, '"b" is not "a", which spec.services.a names. All pods of a deployment have one scheduler.', name="b", first="a", field=Field(path=("spec", "services", "a"))),
    message(dynamo.CONSTRAINT_MISSING, "A component has a constraint, so the topology must be named here. Write clusterTopologyName."),
    message(dynamo.TOPOLOGY_MISSING, "The topology whose domains are meant is missing. Write the name of a ClusterTopologyBinding."),
    message(dynamo.NO_DOMAIN_ANYWHERE, "No domain is named, neither here nor in any of the components. Name one, or leave the constraint out.", listed="components"),
    message(dynamo.NO_DOMAIN, "No domain is named. Name one, or leave the constraint out."),
    message(dynamo.NOT_A_DOMAIN, '"R_1" is not a domain. Write lower-case letters, digits and dashes, such as rack.', domain="R_1"),
    message(dynamo.SECOND_TOPOLOGY, '"b" is not "a", which spec.services.a speaks of. A deployment can speak of one topology only.', name="b", first="a", field=Field(path=("spec", "services", "a"))),
    message(dynamo.SECOND_TOPOLOGY_MEANT, '"b", which is meant where none is named, is not "a", which spec.services.a speaks of. A deployment can speak of one topology only.', name="b", first="a", field=Field(path=("spec", "services", "a"))),
    message(dynamo.OVERRIDE_VERSION, '"grove.io/v1" cannot be written over. Allowed: "grove.io/v1alpha1".', found="grove.io/v1", allowed="grove.io/v1alpha1"),
    message(dynamo.OVERRIDE_BESIDE_CONSTRAINTS, "There are topology constraints in plain words as well. Use either these or this."),
    message(dynamo.OVERRIDE_TOO_WIDE, "Only spec.template.topologyConstraint can be written over. Leave the rest out.", allowed="spec.template.topologyConstraint"),
    message(dynamo.SECOND_SETTINGS, "There are settings of the operator already. Remove one of the two."),
    message(dynamo.NOT_A_LABEL_KEY, '"a b" is not a label key. Write one such as example.com/rack.', label="a b"),
    message(dynamo.LABEL_TAKEN, '"a" is already the label of "rack". Each domain has its own.', label="a", first="rack"),
    message(dynamo.WITHOUT_GANGS, "The annotation says that the components are run one by one and not as a gang. They are placed together all the same."),
    message(dynamo.ACROSS_REPLICAS, "The constraint of the deployment holds here for all its pods. Dynamo holds it for the replicas that it must start together, and for each further one by itself, so it may place pods in other domains that are left out here."),
    message(dynamo.NOT_FOR_GROVE, "Another framework runs the deployment, as its annotation says. Translate it to kueue, or remove the annotation."),
    message(dynamo.NOT_A_QUEUE_NAME, '"Team_A" is not the name of a queue. Write lower-case letters, digits and dashes.', queue="Team_A"),
    message(dynamo.OVERRIDE_FOR_OTHERS, "This is for another scheduler, and Kueue is not told of it. Use constraints in plain words."),
    message(dynamo.COMPONENTS_TOGETHER, 'Kueue places each component in one "zone", but cannot be told that all 2 share it. Constrain each by itself, or translate it to kai.', domain="zone", components=2),
    message(dynamo.REPLICAS_WITHOUT_DOMAIN, '2 of the 3 replicas of "Worker" will do, each on 4 nodes; Kueue can say that of replicas with a domain only. Constrain it, write minAvailable: 3, or translate it to kai.', least=2, replicas=3, component="Worker", nodes=4),
    message(dynamo.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED, "A topology constraint cannot be added to what exists. Delete the DynamoGraphDeployment and create it anew.", done="added to"),
    message(dynamo.COMPONENT_ADDED, '"C" was not part of the deployment. Delete the DynamoGraphDeployment and create it anew.', name="C"),
    message(dynamo.COMPONENT_REMOVED, '"B" is part of the deployment and cannot be removed. Delete the DynamoGraphDeployment and create it anew.', name="B"),
    message(dynamo.NODES_CHANGED, "A component cannot change between one node and several. Delete the DynamoGraphDeployment and create it anew."),
    message(dynamo.SCALING_GROUP_CHANGED, "A component cannot change between single pods and a scaling group. Delete the DynamoGraphDeployment and create it anew."),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("dynamo", MESSAGES) == []
