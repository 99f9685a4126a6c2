"""What is said about PodGroups, Queues and Topologies of KAI, and about Jobs that it groups by itself."""

from __future__ import annotations

from closeknit.hub.problems import Code, Severity

TOPOLOGY_WITHOUT_LEVEL = Code(
    "topology-without-level",
    "A topology without a level asks for nothing. Name a required or a preferred level.",
    Severity.NOTE,
)
RUNNING_APART = Code(
    "running-apart",
    "Its running pods lie in several domains of {level}, which it requires: {pods:raw}. No further pod can join them all.",
    Severity.NOTE,
)
NODES_WITHOUT_LABEL = Code(
    "nodes-without-label",
    "{nodes:raw} {label}, a level of topology {topology}, and cannot be used where a level is required.",
    Severity.NOTE,
)
# fmt: off
# Topologies.
ALIAS_IS_A_LABEL = Code("alias-is-a-label", "{alias} is the label of a level. An alias must be another word.")
LABELS_CHANGED = Code("labels-changed", "The labels cannot change from {old:raw} to {new:raw}. Aliases can. Delete the Topology and create it anew.")

# Queues.
CIRCLE_OF_QUEUES = Code("circle-of-queues", "These queues are each other's parents: {circle:raw}. Let one of them have no parent.")
NEGATIVE_QUOTA = Code("negative-quota", "{value} is negative. Write zero or more, or {unlimited} for no limit.")
NO_QUEUE_NAMED = Code("no-queue-named", "No queue is named, so KAI would pass it over. {allowed}")
QUEUE_WITH_CHILDREN = Code("queue-with-children", "Queue {queue} has queues below it, and so takes no workloads. {allowed}")

# Subgroups.
TWO_SPELLINGS = Code("two-spellings", "This stands beside subGroups. Keep subGroups only.")
NOT_A_SUBGROUP_NAME = Code("not-a-subgroup-name", "{name} is not a valid name. Allowed are at most {longest} lower-case letters, digits and dashes, with a letter or digit at both ends.")
CIRCLE_OF_SUBGROUPS = Code("circle-of-subgroups", "These subgroups are each other's parents: {circle:raw}. Let one of them have no parent.")
SUBGROUPS_TOO_DEEP = Code("subgroups-too-deep", "Subgroups are nested more than {deepest} deep here. Leave some of them out.")
NO_SUBGROUPS_TO_COUNT = Code("no-subgroups-to-count", "This counts subgroups, and there are none in {field:raw}. Use minMember.")
MORE_THAN_CHILDREN = Code("more-than-children", "{value} is more than there are children. {allowed}")
PARENT_COUNTS_PODS = Code("parent-counts-pods", "{name} has subgroups, and so no pods of its own. Use minSubGroup.")
PARENT_COUNTED_PODS = Code("parent-counted-pods", "{name} has subgroups, and so no pods of its own: KAI passes over its minMember. Use minSubGroup.", Severity.NOTE)
LEAF_COUNTS_SUBGROUPS = Code("leaf-counts-subgroups", "No subgroup has {name} as its parent. Use minMember, which counts pods.")
LEAF_WITHOUT_MINIMUM = Code("leaf-without-minimum", "{name} needs minMember: how many of its pods must run at once.")
TWO_MINIMUMS = Code("two-minimums", "minMember, which counts pods, stands here as well. Only one of the two can be given.")

# Fields of a PodGroup that say nothing about placement.
NOT_A_BACKOFF = Code("not-a-backoff", "{value:raw} is not known. Allowed are -1 and 1.")

NOT_A_RUN_TIME = Code("not-a-run-time", "{value} is not a number of seconds above zero, so nobody knows when this ends. Write it as in '3600'.", Severity.NOTE)

# Constraints.
TWO_TOPOLOGIES = Code("two-topologies", "{topology} is not {other}, which {field} names. A PodGroup can speak of several only where their levels nest into one tree.")
TOPOLOGY_NOT_THERE = Code("topology-not-there", "Topology {topology} is not there. {allowed}")

# Pods of PodGroups.
NO_SUCH_POD_GROUP = Code("no-such-pod-group", "There is no PodGroup {group} in namespace {namespace}. {allowed}")
POD_GROUP_WITHOUT_SUBGROUPS = Code("pod-group-without-subgroups", "There is no subgroup {subgroup}: PodGroup {group:raw} has none. Remove the label.")
POD_WITHOUT_SUBGROUP = Code("pod-without-subgroup", "PodGroup {group:raw} has subgroups, so each of its pods must name one. {allowed}")
NO_SUCH_SUBGROUP = Code("no-such-subgroup", "PodGroup {group:raw} has no subgroup {subgroup}. {allowed}")
POD_OF_A_PARENT = Code("pod-of-a-parent", "{subgroup} has subgroups, and so no pods of its own. {allowed}")
NOT_A_TASK_PRIORITY = Code("not-a-task-priority", "{value} is not a whole number, so the pod comes after those that have one.", Severity.NOTE)
SHARED_GPU = Code("shared-gpu", "Parts of a GPU cannot be placed here. Leave this pod to KAI, or ask for whole ones.", Severity.UNPLACED)
TOO_FEW_PODS = Code("too-few-pods", "{needed:raw} must run at once, and {given:raw}. Give {missing} more, or none to have them assumed.")
PODS_MISSING = Code("pods-missing", "{needed:raw} must run at once, and {given:raw} that may be scheduled. Waiting for {missing} more.")
PODS_AWAITED = Code("pods-awaited", "{existing} of {minimum} pods exist, {gated} of them held back by gates.", Severity.NOTE)
TOO_MANY_ASSUMED = Code("too-many-assumed", "Pods are assumed where none are given, but at most {most} for one PodGroup.")

# Owners whose pods KAI groups by itself.
QUEUES_IN_KUEUE = Code("queues-in-kueue", "{key} is not taken into account for what queues in Kueue. Ask for the level with Kueue's annotation, or leave out Kueue's label.")
NO_PODS_TO_COUNT = Code("no-pods-to-count", "There are no pods to count. Leave it out.")
NOT_A_POSSIBLE_NUMBER = Code("not-a-possible-number", "{value} is not possible. Write a whole number from {least} to {most}, in quotes.")
TOO_MANY_PODS = Code("too-many-pods", "These are {pods} pods. At most {most} can be asked for.")
TOO_MANY_PODS_IN_ALL = Code("too-many-pods-in-all", "There are {pods} pods in all. At most {most} can be asked for.")
TOO_MANY_SEGMENTS = Code("too-many-segments", "These are {segments} segments. At most {most} are made.")
OWNER_MAKES_TOO_FEW = Code("owner-makes-too-few", "{minimum} pods must run at once, and {made} are made. Ask for {missing} more.")
SUBGROUP_OF_TWO_JOBS = Code("subgroup-of-two-jobs", "{name} would be a subgroup of {field} as well. Rename one.")
GROUP_WITHOUT_LEADER = Code("group-without-leader", "A group has at least its leader. Write 1 or more.")
EXCLUSIVE_TOPOLOGY = Code("exclusive-topology", "This is not taken into account when pods are placed. Use {instead:raw}.")
UNEVEN_SEGMENTS = Code("uneven-segments", "{workers} workers cannot be cut into segments of {size}. Choose a size that divides them, or use {together:raw}.")
NO_REPLICAS = Code("no-replicas", "There is neither a Master nor a Worker. Give at least one.")
NOT_AMONG_ALL_PODS = Code("not-among-all-pods", "{value} is not possible. Allowed are 0 to {pods}, all its pods.")
