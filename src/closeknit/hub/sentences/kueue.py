"""What Kueue's objects, and what queues in Kueue, are told."""

from __future__ import annotations

from closeknit.hub.problems import Category, Code, Severity

# fmt: off
# Numbers and names.
AT_MOST = Code("kueue-at-most", "There are {given}. At most {most} can be {done:raw}.")
PODS_OUT_OF_RANGE = Code("kueue-pods-out-of-range", "{number} is out of range. Allowed are 1 to {most} pods.")
NAME_TAKEN = Code("kueue-name-taken", "{name} is already the name of {first}. Rename one.")

# The configuration file.
SECOND_CONFIGURATION = Code("kueue-second-configuration", "There is another Configuration of Kueue. Keep one.")
BLOCKS_ADMISSION = Code("kueue-blocks-admission", "That nobody is admitted before all pods are ready is not supported. Leave this out.")
NEGATIVE_NUMBER = Code("kueue-negative-number", "{number} is negative. Write 0 or more.")

# Topologies and flavors.
LABELS_NEEDED = Code("kueue-flavor-labels-needed", "A flavor with a topology needs at least one node label, so that its nodes can be told.")
AT_MOST_EIGHT = Code("kueue-flavor-at-most-eight", "There are {given}. Allowed are at most 8.")

# Queues, cohorts and quota.
RESOURCE_TWICE = Code("kueue-resource-twice", "{resource} is already covered at {first}. Keep one.")
NO_RESOURCE = Code("kueue-no-resource", "No resource is covered. Name at least one.")
NO_FLAVOR_GIVEN = Code("kueue-no-flavor-given", "There is no flavor. Name at least one.")
FLAVOR_TWICE = Code("kueue-flavor-twice", "{flavor} is already at {first}. A flavor stands in one place only.")
OTHER_RESOURCES = Code("kueue-other-resources", "The resources must be those of coveredResources: {covered}.")
LENDS_TOO_MUCH = Code("kueue-lends-too-much", "More cannot be lent than there is. Write at most the nominal quota.")
ALONE = Code("kueue-alone", "This counts {where:raw} only. Name one in {field:raw}, or leave it out.")
BOTH_SPELLINGS = Code("kueue-both-spellings", "{field:raw} stands here as well, and differs. Leave this out.")
COHORTS_IN_CIRCLE = Code("kueue-cohorts-in-circle", "These cohorts are each other's parents: {trail:raw}. Let one of them have no parent.")
PREFERENCE_WITHOUT_EFFECT = Code("kueue-preference-without-effect", "This counts only where whenCanBorrow and whenCanPreempt are {word:raw}. Set both, or leave it out.")
NO_CLUSTER_QUEUE = Code("kueue-no-cluster-queue", "There is no ClusterQueue {queue}. {remedy:raw}", category=Category.WAITING)
CLUSTER_QUEUE_MISSING = Code("kueue-cluster-queue-missing", "The ClusterQueue is missing. {remedy:raw}", category=Category.WAITING)
CHECK_WITH_TOPOLOGY = Code("kueue-check-with-topology", "{check:raw} checks are not supported in a ClusterQueue with a topology. Use a queue of its own for them.")
NO_CONTROLLER = Code("kueue-no-controller", "The controller is missing. Name the one that performs the check.")

# Topology requests.
NO_SUCH_ANNOTATION = Code("kueue-no-such-annotation", "There is no annotation {found}. Did you mean {meant}?")
STANDS_AS_WELL = Code("kueue-stands-as-well", "{other:raw} stands here as well. Only one of them can be given.")
AUTO_NOT_REQUIRED = Code("kueue-auto-not-required", '"auto" is allowed in {field:raw} only. Name the node label of a level.')
SLICES_WITH_EARLY = Code("kueue-slices-with-early", "Slices cannot be combined with the early design's annotations. Use {required:raw} or {preferred:raw}.")
LEVEL_MISSING = Code("kueue-level-missing", "The level is missing. Name the node label of a level.")
LEVEL_TOO_LONG = Code("kueue-level-too-long", "The name of the level is too long: Workloads take {most} characters of a label. Label the nodes with a shorter key.")
SPREADING = Code("kueue-spreading", "Spreading over domains is not taken into account when pods are placed. Leave it out.")
MISPLACED = Code("kueue-misplaced", "This counts on a pod template only. Move it to {right:raw}.")
SLICE_COARSER = Code("kueue-slice-coarser", "The slice level {level} is coarser than {outer} around it. Name {outer} or a finer level.")
INNER_SLICE_NOT_FINER = Code("kueue-inner-slice-not-finer", "The slice level {level} is {how:raw} {outer} around it. Name a finer level.")
NOT_TRUE = Code("kueue-not-true", '{written} is not a truth value. Write "true", or leave it out.')
NOT_TRUE_OR_FALSE = Code("kueue-not-true-or-false", '{written} is not a truth value. Write "true" or "false", or leave it out.')
GROUP_NAME = Code("kueue-group-name", "{name} is not the name of a group. Write a word, not a number.")
GROUP_WITH_SLICES = Code("kueue-group-with-slices", "Pod sets of a group cannot be cut into slices. Leave out one of the two.")
GROUP_WITHOUT_LEVEL = Code("kueue-group-without-level", "A group needs a level to share. Give {required:raw} or {preferred:raw} as well.")
GROUP_OF_TWO = Code("kueue-group-of-two", "Group {group} has {members} pod sets. A group has exactly two.")
GROUP_LEADER = Code("kueue-group-leader", "No pod set of group {group} has one pod. One of the two is the leader.")
GROUP_LEVELS = Code("kueue-group-levels", "Both pod sets of group {group} must require or prefer the same level.")

# Slices.
SLICED_TWICE = Code("kueue-sliced-twice", "{other:raw} stands here as well. Only one way to cut slices can be given.")
SLICE_LEVEL_NEEDED = Code("kueue-slice-level-needed", "This must be given where {other:raw} is. Name the level of a slice.")
SLICE_SIZE_NEEDED = Code("kueue-slice-size-needed", "This must be given where {other:raw} is. Write how many pods make a slice.")
SLICE_SIZE = Code("kueue-slice-size", "{written} is not a size. Write a whole number from 1 on.")
_EXAMPLE = 'Write a list such as [{{"topology": "example.com/block", "size": 8}}].'
LAYERS_LIST = Code("kueue-layers-list", f"{{written}} is not a JSON list. {_EXAMPLE}")
LAYER_LEVEL = Code("kueue-layer-level", f"The level of the slices is missing. {_EXAMPLE}")
LAYER_SIZE = Code("kueue-layer-size", f"Found {{found:raw}} where a whole number from 1 on is expected. {_EXAMPLE}")
SLICE_TOO_LARGE = Code("kueue-slice-too-large", "A slice has {size} pods, but there are only {pods}. Write at most {pods}.")
PODS_LEFT_OVER = Code("kueue-pods-left-over", "{pods} pods cannot be cut into slices of {size}: {left} would be left. Choose a size that divides {pods}.")
SLICE_DOES_NOT_DIVIDE = Code("kueue-slice-does-not-divide", "The inner slice size {size} must evenly divide {outer}, the one around it.")

# Jobs, JobSets, groups of pods.
TOPOLOGY_TWICE = Code("kueue-topology-twice", "The pod template asks for a topology as well. Leave out one of the two.")
REPLICATED_JOBS_COUNT = Code("kueue-replicated-jobs-count", "There are {given} replicated jobs. At most {most} are queued.")
TOO_MANY_PODS = Code("kueue-too-many-pods", "These are {pods} pods{more:raw}. At most {most} can be asked for.")
NONE_TO_MISS = Code("kueue-none-to-miss", "There {pods:raw}, so none can be missing. Leave it out.")
BOTH_QUEUE = Code("kueue-both-queue", "A {kind:raw} of this name queues as well, and both would be booked under it. Rename one.")
GROUP_UNNAMED = Code("kueue-group-unnamed", "{field:raw} is given, but the group has no name. Name it, or leave that out.")
GROUP_INCOMPLETE = Code("kueue-group-incomplete", "The group has {total:raw}, and {present:raw} given. {what:raw}, or change the count.", category=Category.WAITING)
GROUP_DIFFERS = Code("kueue-group-differs", "{own} differs from {common} of pod {pod:raw}. All pods of a group agree.")
GROUP_COUNT = Code("kueue-group-count", "{written} is not a number of pods. Write how many pods the group has, from 1 on, in quotes.")
GROUP_COUNT_MISSING = Code("kueue-group-count-missing", "The number of pods is missing. Write how many pods the group has, from 1 on, in quotes.")

# Workloads, admitted ones.
ONE_MIN_COUNT = Code("kueue-one-min-count", "Only one pod set can have minCount. Leave out the others.")
UNEQUAL_JOBS = Code("kueue-unequal-jobs", "{pods} pods cannot be those of {jobs} equal Jobs. Write a number that divides them.")
NOT_ASSIGNED = Code("kueue-not-assigned", "There is none for {names}. Give one for each pod set.")
ADMITTED_TOO_MANY = Code("kueue-admitted-too-many", "{count} pods are admitted, but there are {pods}. Write 0 to {pods}.")
ASSIGNED_OTHERWISE = Code("kueue-assigned-otherwise", "{assigned} pods have a place, but {admitted} are admitted. Both must agree.")
DOMAINS_AND_SLICES = Code("kueue-domains-and-slices", "slices stand here as well. Leave out one of the two.")
ONE_FOR_EACH_LEVEL = Code("kueue-one-for-each-level", "There are {given}. Give one for each of levels.")
TOO_MANY_DOMAINS = Code("kueue-too-many-domains", "There are {domains} domains in all, each with a pod. At most {most} pods can be placed.")
ONE_OF_TWO = Code("kueue-one-of-two", "Give exactly one of universal and individual.")
ONE_FOR_EACH_DOMAIN = Code("kueue-one-for-each-domain", "There {given:raw} for {domains:raw}. Give one for each.")

# Queues of workloads.
NO_QUEUE_NAMED = Code("kueue-no-queue-named", "A topology is asked for, but no queue is named, so Kueue would not look at it. {remedy}")
NO_LOCAL_QUEUE = Code("kueue-no-local-queue", "There is no LocalQueue {queue} in namespace {namespace}. {remedy:raw}")
LOCAL_QUEUE_UNUSABLE = Code("kueue-local-queue-unusable", "LocalQueue {queue} has problems of its own.", category=Category.WAITING)
FLAVORS_NOT_IN_SIGHT = Code("kueue-flavors-not-in-sight", "ClusterQueue {queue} is not taken into account, because these are not in sight: {names}.", Severity.NOTE)
LEADS_NOWHERE = Code("kueue-leads-nowhere", "LocalQueue {queue} leads to no ClusterQueue that can be used. Correct it first.", category=Category.WAITING)
NAMESPACE_NOT_IN_SIGHT = Code("kueue-namespace-not-in-sight", "ClusterQueue {queue} selects namespaces by their labels, and Namespace {namespace} is not in sight. It is taken to match.", Severity.NOTE)
NAMESPACE_NOT_TAKEN = Code("kueue-namespace-not-taken", "ClusterQueue {queue} takes no workload of this namespace: {reason:raw}.")
BORROWING_WITHOUT_RECLAIM = Code("kueue-borrowing-without-reclaim", "Who borrows may displace others only where reclaimWithinCohort is not Never. Set it, or leave this out.")
QUEUE_NOT_ACTIVE = Code("kueue-queue-not-active", "{kind:raw} {queue} is not active: {reason:raw}.", category=Category.WAITING)
NO_TOPOLOGY_FITS = Code("kueue-no-topology-fits", "No topology is known that has the levels asked for.", category=Category.WAITING)
NO_FLAVOR_FITS = Code("kueue-no-flavor-fits", "No flavor of ClusterQueue {queue} can take the pods of {who:raw}: {reasons:raw}.", category=Category.WAITING)
NO_QUOTA = Code("kueue-no-quota", "The pods ask for {resource}, for which ClusterQueue {queue} has no quota. It covers {covered:raw}.", category=Category.WAITING)
TWO_TOPOLOGY_FLAVORS = Code("kueue-two-topology-flavors", "More than one flavor with a topology is assigned to {pod_set}: {flavors}.", category=Category.WAITING)
NO_TOPOLOGY_FLAVOR = Code("kueue-no-topology-flavor", "No flavor with a topology is assigned to {pod_set}. Add one to the queue.", category=Category.WAITING)
TWO_TOPOLOGIES = Code("kueue-two-topologies", "The pod sets need levels of topologies {first} and {second}. One workload can speak of one topology only.")
FLAVOR_NO_TOPOLOGY = Code("kueue-flavor-no-topology", "it has no topology")
FLAVOR_ONLY_TOPOLOGY = Code("kueue-flavor-only-topology", "it is only for pods that ask for a topology")
FLAVOR_NO_LEVEL = Code("kueue-flavor-no-level", "its topology lacks what is asked for")
FLAVOR_TAINT = Code("kueue-flavor-taint", "its taint {taint:raw} is not tolerated")
FLAVOR_SELECTOR = Code("kueue-flavor-selector", "the node selector asks for {key:raw}={value:raw}")
FLAVOR_AFFINITY = Code("kueue-flavor-affinity", "the node affinity rules it out")

# Other families' words for Kueue.
NO_PODS = Code("kueue-no-pods", "There are no pods, and a JobSet needs at least one.")
TOO_MANY_POD_SETS = Code("kueue-too-many-pod-sets", "There are {given} different pod sets. Kueue takes at most {most}.")
LEVEL_NAME_TOO_LONG = Code("kueue-level-name-too-long", "The name of level {level} is too long; Workloads take {most} characters.")
MINIMUM_OF_ONE_JOB = Code("kueue-minimum-of-one-job", "{name}: {least} of its {pods} pods will do; Kueue can say that of a Job by itself only, and this is one of {sets} pod sets.")
NONE_MUST_RUN = Code("kueue-none-must-run", "{name}: None of its pods must run; Kueue admits at least one.")
SLICES_TOO_DEEP = Code("kueue-slices-too-deep", "{name}: Slices are nested more than {most} deep.")
MINIMUM_OF_MEMBERS = Code("kueue-minimum-of-members", "{name}: {least} of its {members} members will do; Kueue can say that of single pods or of equal slices of one Job.")
SETS_SHARE_LEVEL = Code("kueue-sets-share-level", "{name}: {sets} different pod sets must share one {level:raw}; Kueue can say that of one pod set, or of a leader and its workers.")

# Updates.
LEVELS_FIXED = Code("kueue-levels-fixed", "The levels cannot be changed unless {label} is the last before and after. Make a new Topology.")
FLAVOR_FIXED = Code("kueue-flavor-fixed", "This cannot be changed while the flavor has a topology. Make a new ResourceFlavor.")
FIXED = Code("kueue-fixed", "It was {before} and cannot be changed. Make a new {kind:raw}.")
FIXED_WHILE_RUNNING = Code("kueue-fixed-while-running", "It was {before:raw} and cannot be changed while the {kind:raw} runs. Suspend it first.")
FIXED_WITH_QUOTA = Code("kueue-fixed-with-quota", "It was {before:raw} and cannot be changed while the Workload has its quota.")
POD_SETS_FIXED = Code("kueue-pod-sets-fixed", "The pod sets cannot be changed while the Workload has its quota.")
PARALLELISM_FIXED = Code("kueue-parallelism-fixed", "It was {before} and cannot be changed while the Job runs with part of its pods. Suspend it first.")
GROUP_FIXED = Code("kueue-group-fixed", "It was {before:raw} and cannot be changed. Delete the pod and create it anew.")
