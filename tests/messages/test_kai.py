"""Messages about KAI's objects."""

from __future__ import annotations

from closeknit.hub.problems import Field, OneOf, Range
from closeknit.hub.sentences import kai
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(kai.TOPOLOGY_WITHOUT_LEVEL, "A topology without a level asks for nothing. Name a required or a preferred level."),
    message(kai.RUNNING_APART, 'Its running pods lie in several domains of "topology/rack", which it requires: x in z/b/r1, y in z/b/r2. No further pod can join them all.', level="topology/rack", pods="x in z/b/r1, y in z/b/r2"),
    message(kai.NODES_WITHOUT_LABEL, '10 nodes lack label "block", a level of topology "t", and cannot be used where a level is required.', nodes="10 nodes lack label", label="block", topology="t"),
    message(kai.ALIAS_IS_A_LABEL, '"b" is the label of a level. An alias must be another word.', alias="b"),
    message(kai.LABELS_CHANGED, 'The labels cannot change from "a" > "b" to "b" > "a". Aliases can. Delete the Topology and create it anew.', old='"a" > "b"', new='"b" > "a"'),
    message(kai.CIRCLE_OF_QUEUES, 'These queues are each other\'s parents: "a" > "a". Let one of them have no parent.', circle='"a" > "a"'),
    message(kai.NEGATIVE_QUOTA, "-2 is negative. Write zero or more, or -1 for no limit.", value=-2, unlimited=-1),
    message(kai.NO_QUEUE_NAMED, 'No queue is named, so KAI would pass it over. Allowed: "team".', allowed=OneOf(found="", allowed=("team",), more=0)),
    message(kai.QUEUE_WITH_CHILDREN, 'Queue "all" has queues below it, and so takes no workloads. Allowed: "team".', queue="all", allowed=OneOf(found="", allowed=("team",), more=0)),
    message(kai.TWO_SPELLINGS, "This stands beside subGroups. Keep subGroups only."),
    message(kai.NOT_A_SUBGROUP_NAME, '"A" is not a valid name. Allowed are at most 48 lower-case letters, digits and dashes, with a letter or digit at both ends.', name="A", longest=48),
    message(kai.CIRCLE_OF_SUBGROUPS, 'These subgroups are each other\'s parents: "a" > "a". Let one of them have no parent.', circle='"a" > "a"'),
    message(kai.SUBGROUPS_TOO_DEEP, "Subgroups are nested more than 64 deep here. Leave some of them out.", deepest=64),
    message(kai.NO_SUBGROUPS_TO_COUNT, "This counts subgroups, and there are none in subGroups. Use minMember.", field="subGroups"),
    message(kai.MORE_THAN_CHILDREN, "3 is more than there are children. Allowed are 0 to 2.", value=3, allowed=Range(least=0, most=2)),
    message(kai.PARENT_COUNTS_PODS, '"a" has subgroups, and so no pods of its own. Use minSubGroup.', name="a"),
    message(kai.PARENT_COUNTED_PODS, '"a" has subgroups, and so no pods of its own: KAI passes over its minMember. Use minSubGroup.', name="a"),
    message(kai.LEAF_COUNTS_SUBGROUPS, 'No subgroup has "a" as its parent. Use minMember, which counts pods.', name="a"),
    message(kai.LEAF_WITHOUT_MINIMUM, '"a" needs minMember: how many of its pods must run at once.', name="a"),
    message(kai.TWO_MINIMUMS, "minMember, which counts pods, stands here as well. Only one of the two can be given."),
    message(kai.NOT_A_BACKOFF, "2 is not known. Allowed are -1 and 1.", value="2"),
    message(kai.NOT_A_RUN_TIME, '"soon" is not a number of seconds above zero, so nobody knows when this ends. Write it as in \'3600\'.', value="soon"),
    message(kai.TWO_TOPOLOGIES, '"gone" is not "tree", which spec.topologyConstraint.topology names. A PodGroup can speak of several only where their levels nest into one tree.', topology="gone", other="tree", field=Field(path=("spec", "topologyConstraint", "topology"))),
    message(kai.TOPOLOGY_NOT_THERE, 'Topology "t" is not there. Allowed: "another".', topology="t", allowed=OneOf(found="t", allowed=("another",), more=0)),
    message(kai.NO_SUCH_POD_GROUP, 'There is no PodGroup "g" in namespace "team". Allowed: " ".', group="g", namespace="team", allowed=OneOf(found="g", allowed=(" ",), more=0)),
    message(kai.POD_GROUP_WITHOUT_SUBGROUPS, 'There is no subgroup "a": PodGroup default/g has none. Remove the label.', subgroup="a", group="default/g"),
    message(kai.POD_WITHOUT_SUBGROUP, 'PodGroup team/g has subgroups, so each of its pods must name one. Allowed: "api", "decode", "prefill".', group="team/g", allowed=OneOf(found="", allowed=("api", "decode", "prefill"), more=0)),
    message(kai.NO_SUCH_SUBGROUP, 'PodGroup default/g has no subgroup "z". Allowed: "a".', subgroup="z", group="default/g", allowed=OneOf(found="z", allowed=("a",), more=0)),
    message(kai.POD_OF_A_PARENT, '"workers" has subgroups, and so no pods of its own. Allowed: "decode", "prefill".', subgroup="workers", allowed=OneOf(found="workers", allowed=("decode", "prefill"), more=0)),
    message(kai.NOT_A_TASK_PRIORITY, '"high" is not a whole number, so the pod comes after those that have one.', value="high"),
    message(kai.SHARED_GPU, "Parts of a GPU cannot be placed here. Leave this pod to KAI, or ask for whole ones."),
    message(kai.TOO_FEW_PODS, "3 pods must run at once, and 1 is given. Give 2 more, or none to have them assumed.", needed="3 pods", given="1 is given", missing=2),
    message(kai.PODS_MISSING, "3 pods must run at once, and 1 is there that may be scheduled. Waiting for 2 more.", needed="3 pods", given="1 is there", missing=2),
    message(kai.PODS_AWAITED, "1 of 3 pods exist, 1 of them held back by gates.", minimum=3, existing=1, gated=1),
    message(kai.TOO_MANY_ASSUMED, "Pods are assumed where none are given, but at most 150000 for one PodGroup.", most=150000),
    message(kai.QUEUES_IN_KUEUE, '"kai.scheduler/topology-required-placement" is not taken into account for what queues in Kueue. Ask for the level with Kueue\'s annotation, or leave out Kueue\'s label.', key="kai.scheduler/topology-required-placement"),
    message(kai.NO_PODS_TO_COUNT, "There are no pods to count. Leave it out."),
    message(kai.NOT_A_POSSIBLE_NUMBER, '"3" is not possible. Write a whole number from 1 to 2, in quotes.', value="3", least=1, most=2),
    message(kai.TOO_MANY_PODS, "These are 200000 pods. At most 150000 can be asked for.", pods=200000, most=150000),
    message(kai.TOO_MANY_PODS_IN_ALL, "There are 200000 pods in all. At most 150000 can be asked for.", pods=200000, most=150000),
    message(kai.TOO_MANY_SEGMENTS, "These are 15001 segments. At most 10000 are made.", segments=15001, most=10000),
    message(kai.OWNER_MAKES_TOO_FEW, "4 pods must run at once, and 3 are made. Ask for 1 more.", minimum=4, made=3, missing=1),
    message(kai.SUBGROUP_OF_TWO_JOBS, '"a-replica-1" would be a subgroup of spec.replicatedJobs[0] as well. Rename one.', name="a-replica-1", field=Field(path=("spec", "replicatedJobs", 0))),
    message(kai.GROUP_WITHOUT_LEADER, "A group has at least its leader. Write 1 or more."),
    message(kai.EXCLUSIVE_TOPOLOGY, "This is not taken into account when pods are placed. Use kai.scheduler/topology-required-placement.", instead="kai.scheduler/topology-required-placement"),
    message(kai.UNEVEN_SEGMENTS, "3 workers cannot be cut into segments of 2. Choose a size that divides them, or use LeaderWorker.", workers=3, size=2, together="LeaderWorker"),
    message(kai.NO_REPLICAS, "There is neither a Master nor a Worker. Give at least one."),
    message(kai.NOT_AMONG_ALL_PODS, "5 is not possible. Allowed are 0 to 4, all its pods.", value=5, pods=4),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("kai", MESSAGES) == []
