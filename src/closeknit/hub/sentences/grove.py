"""What is said of Grove's objects."""

from __future__ import annotations

from closeknit.hub.problems import Code, Severity

# fmt: off
# -------------------------------------------------------------------------------- names and numbers

NAME_IN_HOST_NAMES = Code("name-in-host-names", "{name} cannot be part of the host names of pods. Allowed are at most {longest} lower-case letters, digits and dashes, with a letter or digit at both ends, such as {near}.")
NOT_A_DNS_LABEL = Code("not-a-dns-label", "{name} is not a valid name. Allowed are at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends.")
NAMES_TOO_LONG = Code("names-too-long", "The names {names} have {length} characters together. At most {longest} leave room for the names of pods; shorten one of them.")
NAME_CONFLICT = Code("name-conflict", "This leads to the name {name}, and so does {first}. Rename one of the two.")
NEGATIVE = Code("negative-replicas", "{replicas} is negative. Write {least:raw} or more.")
LESS_THAN_ONE = Code("less-than-one", "{replicas} is not possible. Write one or more.")
MINIMUM_OUT_OF_RANGE = Code("minimum-out-of-range", "{least} of {replicas} replicas cannot be the least. {remedy}")
TOO_MANY_PODS = Code("too-many-pods-to-place", "These would be {pods} pods in all. At most {most} are placed for one {kind:raw}.")

# ------------------------------------------------------------------------------------ PodCliqueSets

NO_CLIQUES = Code("no-cliques", "There are no cliques. Describe at least one.")
STARTUP_TYPE = Code("startup-type", "{startup} is not a way to start. {remedy}")
SCALED_AS_A_WHOLE = Code("scaled-as-a-whole", "The clique belongs to a scaling group, which is scaled as a whole. Use its scaleConfig.")
STARTS_AFTER_ITSELF = Code("starts-after-itself", "A clique cannot start after itself. Leave it out.")
CLIQUE_LISTED_BEFORE = Code("clique-listed-before", "{name} is listed before. Name each clique once.")
AUTOSCALING_BELOW_MINIMUM = Code("autoscaling-below-minimum", "{lowest} is less than minAvailable, which is {least}. Write {least} or more.")
AUTOSCALING_TOO_LOW = Code("autoscaling-too-low", "{most} is less than there are at least, {lowest}. Write {lowest} or more.")
SCHEDULERS_DIFFER = Code("schedulers-differ", "{name} is not {first}, which {field} names. All pods of a set have one scheduler.")
SCHEDULER_WITHOUT_TOPOLOGY = Code("scheduler-without-topology", "{name} knows nothing of topology constraints. Use kai-scheduler, or leave the constraints out.")
SCHEDULER_NOT_ENABLED = Code("scheduler-not-enabled", "{name} is not enabled in the OperatorConfiguration. {remedy}")
TERMINATION_DELAY = Code("termination-delay", "{found} is no time to wait. Write a duration above zero, such as 4h.")
NOT_AN_MNNVL_GROUP = Code("not-an-mnnvl-group", "{value} is not the name of a group. Write at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends, or none.")
ACROSS_GANGS = Code("held-across-gangs", "The constraint of the set holds here for all pods of a replica, also those of scaled gangs. Grove holds it within each gang by itself, so it may place pods in other domains that are left out here.", Severity.NOTE)
ROLE_TAKEN = Code("role-taken", "{role} is already the role of {first}. Give each its own.")
START_CIRCLE = Code("start-circle", "These cliques wait for each other: {circle:raw}. Let one of them start first.")
GROUP_WITHOUT_CLIQUES = Code("group-without-cliques", "There are no cliques here. {remedy}")
CLIQUE_IN_TWO_GROUPS = Code("clique-in-two-groups", "{name} belongs to {first} already. A clique has one scaling group.")
SPREAD_CONSTRAINTS = Code("spread-constraints", "Grove decides where its pods go. Leave it out, and use topologyConstraint instead.")
NODE_NAMED = Code("node-named", "A clique's pods cannot name their node. Leave it out.")
CLIQUE_QUEUE = Code("clique-queue", "This clique is in queue {queue}, but the set in {own}. Name one queue.")
QUEUES_DIFFER = Code("queues-differ", "The cliques are in different queues: {queues}. A gang has one queue; name it on the set.")

# -------------------------------------------------------------------------------------- constraints

SWITCHED_OFF = Code("topology-switched-off", "Topology aware scheduling is switched off in the OperatorConfiguration. Switch it on, or leave the constraint out.")
UNKNOWN_DOMAIN = Code("unknown-domain", "Topology {topology} has no domain {domain}. {remedy}")
TOPOLOGY_UNNAMED = Code("topology-unnamed", "The topology whose domains are meant is missing, and there is none to inherit. Write the name of a ClusterTopologyBinding.")
SECOND_TOPOLOGY = Code("second-topology", "{name} is not {first}, which {field} speaks of. A PodCliqueSet can speak of one topology only.")
SECOND_TOPOLOGY_MEANT = Code("second-topology-meant", "{name}, which is meant where none is named, is not {first}, which {field} speaks of. A PodCliqueSet can speak of one topology only.")
NO_BINDING = Code("no-binding", "There is no ClusterTopologyBinding {name}. {remedy}")
NO_BINDING_MEANT = Code("no-binding-meant", "There is no ClusterTopologyBinding {name}. It is meant where no topology is named. {remedy}")
EMPTY_PACK = Code("empty-pack", "This says nothing. Give required, preferred or both.")
EMPTY_CONSTRAINT = Code("empty-constraint", "This says nothing. Give pack.required, pack.preferred or both.")
REQUIRED_TWICE = Code("required-twice", "This is the earlier spelling of pack.required, which stands here as well. Keep pack.required.")

TAKEN_FOR_DEPLOYMENTS = Code("taken-for-deployments", "DynamoGraphDeployment {name} has this name as well, so the set is taken for the one that is made of it, though neither an owner reference nor the label {label:raw} says so. If it is your own, rename one of the two.", Severity.NOTE)

# ------------------------------------ what a running set has lost, or a deployment that it is made of

LOST_DOMAIN = Code("lost-domain", "Topology {topology} has no domain {domain} any more, so this is no longer kept ({condition:raw}, {reason:raw}).", Severity.NOTE)
LOST_TOPOLOGY = Code("lost-topology", "There is no usable ClusterTopologyBinding {name} any more, so this is no longer kept ({condition:raw}, {reason:raw}).", Severity.NOTE)
LOST_NAME = Code("lost-name", "No topology is named, so this is not kept ({condition:raw}, {reason:raw}).", Severity.NOTE)
LOST_SWITCH = Code("lost-switch", "Topology aware scheduling is switched off, so this is no longer kept ({condition:raw}, {reason:raw}).", Severity.NOTE)

# --------------------------------------------------------------------------------------- topologies

TOPOLOGY_NOT_WRITTEN = Code("topology-not-written", "The topology {name} of the operator's configuration could not be brought into the cluster, so Grove's operator does not start: {reason:raw}")
CONFIGURED_WITHOUT_LEVELS = Code("configured-without-levels", "Topology aware scheduling is enabled, but there are no levels. List at least one with its domain and key, or switch it off.")
NOT_A_TOPOLOGY_DOMAIN = Code("not-a-topology-domain", "{domain} is not a topology domain. {remedy}")
NOT_A_FIXED_DOMAIN = Code("not-a-fixed-domain", "{domain} is not a topology domain. {remedy} A ClusterTopologyBinding can have domains of any name.")
NOT_A_DOMAIN_NAME = Code("not-a-domain-name", "{domain} is not a domain. Write at most 63 lower-case letters, digits and dashes that start with a letter, such as rack.")
NOT_THE_HOST_LABEL = Code("not-the-host-label", "{key} is not the label of hosts. Kubelets set {hostname}; write that.")
SECOND_CONFIGURATION = Code("second-configuration", "There is already an OperatorConfiguration. An operator has one; remove the other.")
NO_LEVELS = Code("no-levels", "There are no levels. List at least one with its domain and key.")
NOT_A_LEVEL_KEY = Code("not-a-level-key", "{key} is not a label key that Grove takes. Write at most 63 letters, digits, '-', '_' and '.', with an optional domain before a slash, such as example.com/rack.")
BOUND_TWICE = Code("bound-twice", "{name} is already bound by {first}. Bind each once.")
NO_SCHEDULER = Code("no-scheduler", "Grove has no scheduler {name}. {remedy}")
SCHEDULER_NOT_BINDABLE = Code("scheduler-not-bindable", "{name} has no topologies of its own. Only {only} can be bound.")
NO_TOPOLOGY_REFERENCE = Code("no-topology-reference", "The name of the scheduler's topology is missing. Write it, or remove the binding.")
TOPOLOGY_NAME_TAKEN = Code("topology-name-taken", "A {other:raw} has the name {name} already. Remove this {kind:raw}, or rename it.")
NOT_THE_CONFIGURED_LEVELS = Code("not-the-configured-levels", "These are not the levels of the OperatorConfiguration, which {name} is made from. Change them there.")
KAI_TOPOLOGY_DIFFERS = Code("kai-topology-differs", "Grove has a topology {name} as well, with levels {levels}. Grove makes KAI's itself; remove this one, or rename it.")

# ----------------------------------------------------------------------------------------- PodGangs

NO_POD_GROUPS = Code("no-pod-groups", "There are no pod groups. Describe at least one.")
POD_GROUP_WITHOUT_PODS = Code("pod-group-without-pods", "{least} pods are no group. Write one or more.")
TOO_FEW_REFERENCES = Code("too-few-references", "{least} pods must run at once, and {referenced} are referenced. Refer to {missing} more, or to none to have them assumed.")
FOREIGN_NAMESPACE = Code("foreign-namespace", "{namespace} is not the gang's own namespace, {own}. A gang has pods of its own namespace only.")
REFERENCED_TWICE = Code("referenced-twice", "{name} is referenced by {first} already. Refer to each pod once.")
POD_GROUP_LISTED_TWICE = Code("pod-group-listed-twice", "{name} is listed by {first} already. A pod group lies in one group at most.")
DOMAIN_FOR_LABEL = Code("domain-for-label", "{word} is a domain, and a PodGang speaks of node labels. Write {label}.")
POD_OF_NO_GROUP = Code("pod-of-no-group", "PodGang {gang} has no pod group {name}. {remedy}")
POD_GROUP_UNNAMED = Code("pod-group-unnamed", "PodGang {gang} does not refer to this pod, so the pod must name its pod group.")
STRAY_PODS = Code("stray-pods", "{pods:raw} {name}, but there is no such PodGroup or PodGang in namespace {namespace}, and no PodCliqueSet {set} to make it of. Add one of them.")

# -------------------------------------------------------------------------------- what cannot be said

GROUP_TOO_DEEP = Code("group-too-deep", "{member}: Grove knows sets, scaling groups and cliques, and this group lies deeper.")
NOTHING_TO_RUN = Code("nothing-to-run", "{member}: A PodCliqueSet needs at least one clique, and there are no pods.")
NONE_NEEDED = Code("none-needed", "{member}: None of its pods must run, and a clique of Grove needs at least one.")
SOME_NEEDED = Code("some-needed", "{member}: {least} of its {members} members are needed; Grove needs all of them.")
ONE_TOPOLOGY_BEFORE = Code("one-topology-before", "There was one topology before, and here is {first} already.")
TOO_MANY_LEVELS_BEFORE = Code("too-many-levels-before", "There are {levels} levels, and before there could be {most}.")
NO_PREFERENCE_BEFORE = Code("no-preference-before", "The preference for {level} could not be said before, and is left out.")

# ------------------------------------------------------------------------------------------ updates

LEVELS_CHANGED = Code("cluster-topology-levels-changed", "The levels of a ClusterTopology cannot be changed. Delete it and create it anew.")
CONSTRAINT_ADDED_OR_REMOVED = Code("constraint-added-or-removed", "A constraint cannot be {done:raw} what exists. Delete the {kind:raw} and create it anew.")
CONSTRAINT_CHANGED = Code("constraint-changed", "The {what:raw} cannot change from {old:raw} to {new:raw}. Delete the {kind:raw} and create it anew.")
MEMBERS_CHANGED = Code("members-changed", "The {what:raw} cannot change, but {names} would be {done:raw}. Delete the PodCliqueSet and create it anew.")
ORDER_CHANGED = Code("order-changed", "The order of {what:raw} cannot change from {old} to {new}. Delete the PodCliqueSet and create it anew.")
FIELD_CHANGED = Code("field-changed", "This cannot change from {old:raw} to {new:raw}. Delete the {kind:raw} and create it anew.")
