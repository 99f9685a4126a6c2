"""Messages about OSMO's pools and workflows."""

from __future__ import annotations

from closeknit.hub.problems import Field, OneOf
from closeknit.hub.sentences import osmo
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(osmo.NO_BACKEND_NAMED, 'The pool names no backend. Allowed: "east".', remedy=OneOf(found="", allowed=("east",), more=0)),
    message(osmo.KEYS_NOT_SUPPORTED, 'Topology keys cannot be set for pool "p": the scheduler of its backend "b" is "x", which does not support them. Empty the list, or choose a backend with "kai".', pool="p", backend="b", scheduler="x", supporting=("kai",)),
    message(osmo.NOT_A_NAMESPACE, '"A" is not a namespace. Allowed are at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends.', namespace="A", most=63),
    message(osmo.TWO_NAMES, '"q" is not "p", which metadata.name says. Leave it out, or write the same.', name="q", outside="p"),
    message(osmo.TOO_MANY_KEYS, "There are 17 keys. Allowed are at most 16.", count=17, most=16),
    message(osmo.NOT_A_KEY, '"-" is not possible. Write at most 63 letters, digits, \'-\', \'_\' and \'.\', such as rack, with an optional domain before a slash, such as example.com/rack.', value="-"),
    message(osmo.KEY_TWICE, '"rack" is already the key of topology_keys[0]. Each has its own.', value="rack", what="key", field=Field(path=("topology_keys", 0))),
    message(osmo.KEY_IS_A_LABEL, '"zone" is the label of topology_keys[0]. Choose another word.', key="zone", field=Field(path=("topology_keys", 0))),
    message(osmo.HOSTNAME_NOT_LAST, '"kubernetes.io/hostname" is the finest there is. Move it to the end: keys go from coarse to fine.', label="kubernetes.io/hostname"),
    message(osmo.UNKNOWN_DEFAULT_PLATFORM, 'There is no platform "x" in this pool. Allowed: "y".', platform="x", remedy=OneOf(found="x", allowed=("y",), more=0)),
    message(osmo.DEFAULT_NOT_A_QUANTITY, "Found a mapping where a quantity is expected. Write 8 or 1.5Gi.", found="a mapping"),
    message(osmo.NEGATIVE_SHARE, "-1 is negative. Write zero or more.", value=-1, allowed="zero or more"),
    message(osmo.TEMPLATE_FAILED, "The template of the workflow cannot be filled in: 'missing' is undefined. Values come from default-values and from --set key=value.", reason="'missing' is undefined."),
    message(osmo.VALUE_MISSING, 'There is no value for "url", so its name stands in its place. Give it with --set, or in default-values.', name="url"),
    message(osmo.UNKNOWN_FILE_VERSION, "3 is not a version that is read. Write 2, or leave it out.", version="3", known=2),
    message(osmo.KEYS_WITHOUT_POOL, 'The workflow names topology keys, so it must name the pool that defines them. Allowed: "p", "q".', remedy=OneOf(found="", allowed=("p", "q"), more=0)),
    message(osmo.SEVERAL_POOLS, 'There are 2 pools, so the workflow must name one of them. Allowed: "p", "q".', count=2, remedy=OneOf(found="", allowed=("p", "q"), more=0)),
    message(osmo.UNKNOWN_PRIORITY, '"hihg" is not a priority. Did you mean "high"? Allowed: "high", "low", "normal".', value="hihg", remedy=OneOf(found="hihg", allowed=("high", "low", "normal"), more=0)),
    message(osmo.TASKS_BESIDE_GROUPS, "This stands beside groups. Put the tasks into a group, or write tasks only."),
    message(osmo.NO_TASKS, "A workflow needs at least one group, or one task."),
    message(osmo.EMPTY_GROUP, 'Group "g" needs at least one task.', group="g"),
    message(osmo.NAME_TAKEN, '"a-B" is already the name of workflow.groups[0]. Give each its own; capitals do not count, and "_" is the same as "-".', name="a-B", field=Field(path=("workflow", "groups", 0))),
    message(osmo.NAME_TOO_LONG, "The name has 254 characters. Allowed are at most 253.", length=254, most=253),
    message(osmo.NOT_A_NAME, '"1" is not a valid name. Allowed are letters, digits, \'-\' and \'_\', with a letter at the start and a letter or digit at the end.', name="1"),
    message(osmo.NO_PLATFORM, 'Task "a" names no platform of its pool, and only a platform allows this. Remove the field, or name a platform that allows it.', task="a"),
    message(osmo.PRIVILEGED_NOT_ALLOWED, 'Platform "dgx" of pool "p" does not allow privileged containers. Remove the field, or choose a platform with privileged_allowed.', platform="dgx", pool="p"),
    message(osmo.HOST_NETWORK_NOT_ALLOWED, 'Platform "dgx" of pool "p" does not allow the network of the host. Remove the field, or choose a platform with host_network_allowed.', platform="dgx", pool="p"),
    message(osmo.MOUNT_NOT_ALLOWED, '"/etc" is not one of the allowed_mounts of platform "dgx" of pool "p"; directories below them are not allowed either. Allowed: "/data".', mount="/etc", platform="dgx", pool="p", remedy=OneOf(found="/etc", allowed=("/data",), more=0)),
    message(osmo.NOT_A_MOUNT, '"a:b:c" cannot be mounted. Write the absolute path of a directory of the host, and after a colon that in the container if it is another, without \'.\' and \'..\' as steps.', mount="a:b:c"),
    message(osmo.MOUNTED_TWICE, 'There is a mount at "/data" already. Give each its own path in the container.', target="/data"),
    message(osmo.UNDEFINED_RESOURCE, 'There is no resource "q20". Define it in resources.', resource="q20"),
    message(osmo.STRING_EXPECTED, "Found a list where a string is expected.", found="a list"),
    message(osmo.TOO_MANY_LABELS, "There are 17 labels. Allowed are at most 16.", count=17, most=16),
    message(osmo.NOT_A_LABEL_VALUE, '"" cannot be the value of a label. Write at most 63 letters, digits, \'-\', \'_\' and \'.\', with a letter or digit at both ends.', value=""),
    message(osmo.TWO_LEADS, 'workflow.groups[0].tasks[0] leads group "g" already. A group has one lead.', field=Field(path=("workflow", "groups", 0, "tasks", 0)), group="g"),
    message(osmo.RESOURCE_TWICE, 'Resource "b" stands in workflow.resources as well. Keep one of the two.', resource="b", field=Field(path=("workflow", "resources"))),
    message(osmo.FRACTION_OF_CPU, "0.5 is not whole. A task asks for whole CPUs; write 1 or more.", value=0.5),
    message(osmo.INPUT_FROM_OWN_GROUP, 'Task "a" is in group "g" too, so both run at the same time. Put them into different groups, or remove the input.', task="a", group="g"),
    message(osmo.GROUPS_IN_A_CIRCLE, "Groups wait for each other in a circle, so none of them can start: ga waits for gc waits for gb waits for ga. Remove one of the inputs.", groups="ga waits for gc waits for gb waits for ga"),
    message(osmo.UNKNOWN_EXIT_ACTION, '"RESTART" is not an exit action. Allowed: "COMPLETE", "FAIL", "RESCHEDULE".', action="RESTART", remedy=OneOf(found="RESTART", allowed=("COMPLETE", "FAIL", "RESCHEDULE"), more=0)),
    message(osmo.NOT_EXIT_CODES, 'Found "9-1", a string, where exit codes are expected. Write numbers and ranges with commas between, such as 0-10,16.', found='"9-1", a string,'),
    message(osmo.EXIT_CODE_TWICE, "Code 7 stands in workflow.groups[0].tasks[0].exitActions.COMPLETE as well. A code has one action.", code=7, field=Field(path=("workflow", "groups", 0, "tasks", 0, "exitActions", "COMPLETE"))),
    message(osmo.UNKNOWN_PLATFORM, 'Pool "p" has no platform "a10". Did you mean "a100"? Allowed: "a100".', pool="p", platform="a10", remedy=OneOf(found="a10", allowed=("a100",), more=0)),
    message(osmo.REQUIREMENT_TWICE, 'Key "zone" stands in resources.model-1.topology[1] as well. A task is in one group of a key; keep one entry.', key="zone", field=Field(path=("resources", "model-1", "topology", 1))),
    message(osmo.UNKNOWN_REQUIREMENT_TYPE, '"Required" is not a type of requirement. Did you mean "required"? Allowed: "preferred", "required".', value="Required", remedy=OneOf(found="Required", allowed=("preferred", "required"), more=0)),
    message(osmo.EMPTY_GROUP_NAME, 'The name of the group is empty. Leave it out to have "default".'),
    message(osmo.GROUP_NAME_TOO_LONG, "The name of the group has 254 characters. Allowed are at most 253.", length=254, most=253),
    message(osmo.KEY_NOT_IN_POOL, 'Topology key "row" in resource "gpus" is not available in pool "pool". Allowed: "rack", "zone".', key="row", resource="gpus", pool="pool", remedy=OneOf(found="row", allowed=("rack", "zone"), more=0)),
    message(osmo.POOL_WITHOUT_KEYS, 'Topology key "rack" in resource "a" is not available in pool "p", which has no topology keys. Remove it, or choose a pool that has some.', key="rack", resource="a", pool="p"),
    message(osmo.TWO_REQUIREMENT_TYPES, 'Group "r" of key "rack" is preferred here and required in workflow.resources.a.topology[0]. Write the same in both, or name another group.', group="r", key="rack", mine="preferred", other="required", field=Field(path=("workflow", "resources", "a", "topology", 0))),
    message(osmo.AMBIGUOUS_GROUP, 'Group "r" of key "rack" comes with no coarser key here and with key "zone" in workflow.resources.a.topology[1], so it is not clear whether it is one group or two. Name the same coarser keys in both, or another group.', group="r", key="rack", mine="no coarser key", other='key "zone"', field=Field(path=("workflow", "resources", "a", "topology", 1))),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("osmo", MESSAGES) == []
