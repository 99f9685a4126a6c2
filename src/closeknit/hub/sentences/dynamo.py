"""What is said of Dynamo's deployments. None of it speaks of the objects that are made of them."""

from __future__ import annotations

from closeknit.hub.problems import Code, Severity

# fmt: off
# -------------------------------------------------------------------------- services and components

NOTHING_TO_DEPLOY = Code("nothing-to-deploy", "There is nothing to deploy here. Describe at least one.")
NOT_SERVICES = Code("not-services", "Found {found:raw} where a mapping from names to services, or a list, is expected.")
NOT_A_SERVICE = Code("not-a-service", "Found {found:raw} where a mapping is expected.")
SERVICE_NAMED_TWICE = Code("service-named-twice", "The service is named by its key. Leave this out.")
SERVICE_UNNAMED = Code("service-unnamed", "A service in a list needs a name.")
TOO_MANY_COMPONENTS = Code("too-many-components", "There are {count} {listed:raw}. At most {most} are allowed.")
NOT_A_COMPONENT_NAME = Code("not-a-component-name", "{name} is not a valid name. Allowed are at most 63 letters, digits and dashes, with a letter or digit at both ends.")
COMPONENT_NAME_TAKEN = Code("component-name-taken", "{name} is already the name of {first}, capitals aside. Give each its own.")
NOT_SEVERAL_NODES = Code("not-several-nodes", "{nodes} is not several nodes. Write two or more, or leave multinode out.")
SHARED_GPUS = Code("gpus-shared-by-pods", "GPUs that several pods share are not taken into account when pods are placed.")
TOO_MANY_PODS = Code("too-many-pods-of-deployment", "These would be {pods} pods in all. At most {most} are placed for one DynamoGraphDeployment.")
SPREAD_CONSTRAINTS = Code("spread-of-deployment", "A deployment's pods go where its constraints let them. Leave it out, and use topologyConstraint instead.")
NODE_NAMED = Code("node-of-component", "A component's pods cannot name their node. Leave it out.")
SCHEDULERS_DIFFER = Code("schedulers-of-deployment", "{name} is not {first}, which {field} names. All pods of a deployment have one scheduler.")

# -------------------------------------------------------------------------------------- constraints

CONSTRAINT_MISSING = Code("constraint-missing", "A component has a constraint, so the topology must be named here. Write clusterTopologyName.")
TOPOLOGY_MISSING = Code("deployment-topology-missing", "The topology whose domains are meant is missing. Write the name of a ClusterTopologyBinding.")
NO_DOMAIN_ANYWHERE = Code("no-domain-anywhere", "No domain is named, neither here nor in any of the {listed:raw}. Name one, or leave the constraint out.")
NO_DOMAIN = Code("no-domain", "No domain is named. Name one, or leave the constraint out.")
NOT_A_DOMAIN = Code("not-a-domain", "{domain} is not a domain. Write lower-case letters, digits and dashes, such as rack.")
SECOND_TOPOLOGY = Code("second-topology-of-deployment", "{name} is not {first}, which {field} speaks of. A deployment can speak of one topology only.")
SECOND_TOPOLOGY_MEANT = Code("second-topology-meant-by-deployment", "{name}, which is meant where none is named, is not {first}, which {field} speaks of. A deployment can speak of one topology only.")
OVERRIDE_VERSION = Code("override-version", "{found} cannot be written over. Allowed: {allowed}.")
OVERRIDE_BESIDE_CONSTRAINTS = Code("override-beside-constraints", "There are topology constraints in plain words as well. Use either these or this.")
OVERRIDE_TOO_WIDE = Code("override-too-wide", "Only {allowed:raw} can be written over. Leave the rest out.")
SECOND_SETTINGS = Code("second-settings", "There are settings of the operator already. Remove one of the two.")
NOT_A_LABEL_KEY = Code("not-a-mapped-label", "{label} is not a label key. Write one such as example.com/rack.")
LABEL_TAKEN = Code("label-taken", "{label} is already the label of {first}. Each domain has its own.")

WITHOUT_GANGS = Code("without-gangs", "The annotation says that the components are run one by one and not as a gang. They are placed together all the same.", Severity.NOTE)
ACROSS_REPLICAS = Code("held-across-replicas", "The constraint of the deployment holds here for all its pods. Dynamo holds it for the replicas that it must start together, and for each further one by itself, so it may place pods in other domains that are left out here.", Severity.NOTE)
NOT_FOR_GROVE = Code("not-for-grove", "Another framework runs the deployment, as its annotation says. Translate it to kueue, or remove the annotation.")

# -------------------------------------------------------------------------- what Kueue cannot be told

NOT_A_QUEUE_NAME = Code("not-a-queue-name", "{queue} is not the name of a queue. Write lower-case letters, digits and dashes.")
OVERRIDE_FOR_OTHERS = Code("override-for-others", "This is for another scheduler, and Kueue is not told of it. Use constraints in plain words.")
COMPONENTS_TOGETHER = Code("components-together", "Kueue places each component in one {domain}, but cannot be told that all {components} share it. Constrain each by itself, or translate it to kai.")
REPLICAS_WITHOUT_DOMAIN = Code("replicas-without-domain", "{least} of the {replicas} replicas of {component} will do, each on {nodes} nodes; Kueue can say that of replicas with a domain only. Constrain it, write minAvailable: {replicas}, or translate it to kai.")

# ------------------------------------------------------------------------------------------ updates

TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED = Code("topology-constraint-added-or-removed", "A topology constraint cannot be {done:raw} what exists. Delete the DynamoGraphDeployment and create it anew.")
COMPONENT_ADDED = Code("component-added", "{name} was not part of the deployment. Delete the DynamoGraphDeployment and create it anew.")
COMPONENT_REMOVED = Code("component-removed", "{name} is part of the deployment and cannot be removed. Delete the DynamoGraphDeployment and create it anew.")
NODES_CHANGED = Code("nodes-changed", "A component cannot change between one node and several. Delete the DynamoGraphDeployment and create it anew.")
SCALING_GROUP_CHANGED = Code("scaling-group-changed", "A component cannot change between single pods and a scaling group. Delete the DynamoGraphDeployment and create it anew.")
