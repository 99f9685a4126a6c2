"""What OSMO says: pools, backends and workflows."""

from __future__ import annotations

from closeknit.hub.problems import Code, Severity

# fmt: off
# Pools and backends.
NO_BACKEND_NAMED = Code("osmo-no-backend-named", "The pool names no backend. {remedy}")
KEYS_NOT_SUPPORTED = Code("osmo-keys-not-supported", "Topology keys cannot be set for pool {pool}: the scheduler of its backend {backend} is {scheduler}, which does not support them. Empty the list, or choose a backend with {supporting}.")
NOT_A_NAMESPACE = Code("osmo-not-a-namespace", "{namespace} is not a namespace. Allowed are at most {most} lower-case letters, digits and dashes, with a letter or digit at both ends.")
TWO_NAMES = Code("osmo-two-names", "{name} is not {outside}, which metadata.name says. Leave it out, or write the same.")
TOO_MANY_KEYS = Code("osmo-too-many-keys", "There are {count} keys. Allowed are at most {most}.")
NOT_A_KEY = Code("osmo-not-a-key", "{value} is not possible. Write at most 63 letters, digits, '-', '_' and '.', such as rack, with an optional domain before a slash, such as example.com/rack.")
KEY_TWICE = Code("osmo-key-twice", "{value} is already the {what:raw} of {field}. Each has its own.")
KEY_IS_A_LABEL = Code("osmo-key-is-a-label", "{key} is the label of {field}. Choose another word.")
HOSTNAME_NOT_LAST = Code("osmo-hostname-not-last", "{label} is the finest there is. Move it to the end: keys go from coarse to fine.")
UNKNOWN_DEFAULT_PLATFORM = Code("osmo-unknown-default-platform", "There is no platform {platform} in this pool. {remedy}")
DEFAULT_NOT_A_QUANTITY = Code("osmo-default-not-a-quantity", "Found {found:raw} where a quantity is expected. Write 8 or 1.5Gi.")
NEGATIVE_SHARE = Code("osmo-negative-share", "{value} is negative. Write {allowed:raw}.")

# Templates.
TEMPLATE_FAILED = Code("osmo-template-failed", "The template of the workflow cannot be filled in: {reason:raw} Values come from default-values and from --set key=value.")
VALUE_MISSING = Code("osmo-value-missing", "There is no value for {name}, so its name stands in its place. Give it with --set, or in default-values.", Severity.NOTE)

# Workflows.
UNKNOWN_FILE_VERSION = Code("osmo-unknown-file-version", "{version:raw} is not a version that is read. Write {known}, or leave it out.")
KEYS_WITHOUT_POOL = Code("osmo-keys-without-pool", "The workflow names topology keys, so it must name the pool that defines them. {remedy}")
SEVERAL_POOLS = Code("osmo-several-pools", "There are {count} pools, so the workflow must name one of them. {remedy}")
UNKNOWN_PRIORITY = Code("osmo-unknown-priority", "{value} is not a priority. {remedy}")
TASKS_BESIDE_GROUPS = Code("osmo-tasks-beside-groups", "This stands beside groups. Put the tasks into a group, or write tasks only.")
NO_TASKS = Code("osmo-no-tasks", "A workflow needs at least one group, or one task.")
EMPTY_GROUP = Code("osmo-empty-group", "Group {group} needs at least one task.")
NAME_TAKEN = Code("osmo-name-taken", '{name} is already the name of {field}. Give each its own; capitals do not count, and "_" is the same as "-".')
NAME_TOO_LONG = Code("osmo-name-too-long", "The name has {length} characters. Allowed are at most {most}.")
NOT_A_NAME = Code("osmo-not-a-name", "{name} is not a valid name. Allowed are letters, digits, '-' and '_', with a letter at the start and a letter or digit at the end.")
NO_PLATFORM = Code("osmo-no-platform", "Task {task} names no platform of its pool, and only a platform allows this. Remove the field, or name a platform that allows it.")
PRIVILEGED_NOT_ALLOWED = Code("osmo-privileged-not-allowed", "Platform {platform} of pool {pool} does not allow privileged containers. Remove the field, or choose a platform with privileged_allowed.")
HOST_NETWORK_NOT_ALLOWED = Code("osmo-host-network-not-allowed", "Platform {platform} of pool {pool} does not allow the network of the host. Remove the field, or choose a platform with host_network_allowed.")
MOUNT_NOT_ALLOWED = Code("osmo-mount-not-allowed", "{mount} is not one of the allowed_mounts of platform {platform} of pool {pool}; directories below them are not allowed either. {remedy}")
NOT_A_MOUNT = Code("osmo-not-a-mount", "{mount} cannot be mounted. Write the absolute path of a directory of the host, and after a colon that in the container if it is another, without '.' and '..' as steps.")
MOUNTED_TWICE = Code("osmo-mounted-twice", "There is a mount at {target} already. Give each its own path in the container.")
UNDEFINED_RESOURCE = Code("osmo-undefined-resource", "There is no resource {resource}. Define it in resources.")
STRING_EXPECTED = Code("osmo-string-expected", "Found {found:raw} where a string is expected.")
TOO_MANY_LABELS = Code("osmo-too-many-labels", "There are {count} labels. Allowed are at most {most}.")
NOT_A_LABEL_VALUE = Code("osmo-not-a-label-value", "{value} cannot be the value of a label. Write at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends.")
TWO_LEADS = Code("osmo-two-leads", "{field} leads group {group} already. A group has one lead.")
RESOURCE_TWICE = Code("osmo-resource-twice", "Resource {resource} stands in {field} as well. Keep one of the two.")
FRACTION_OF_CPU = Code("osmo-fraction-of-cpu", "{value} is not whole. A task asks for whole CPUs; write 1 or more.")
INPUT_FROM_OWN_GROUP = Code("osmo-input-from-own-group", "Task {task} is in group {group} too, so both run at the same time. Put them into different groups, or remove the input.")
GROUPS_IN_A_CIRCLE = Code("osmo-groups-in-a-circle", "Groups wait for each other in a circle, so none of them can start: {groups:raw}. Remove one of the inputs.")
UNKNOWN_EXIT_ACTION = Code("osmo-unknown-exit-action", "{action} is not an exit action. {remedy}")
NOT_EXIT_CODES = Code("osmo-not-exit-codes", "Found {found:raw} where exit codes are expected. Write numbers and ranges with commas between, such as 0-10,16.")
EXIT_CODE_TWICE = Code("osmo-exit-code-twice", "Code {code} stands in {field} as well. A code has one action.")
UNKNOWN_PLATFORM = Code("osmo-unknown-platform", "Pool {pool} has no platform {platform}. {remedy}")

# Topology requirements.
REQUIREMENT_TWICE = Code("osmo-requirement-twice", "Key {key} stands in {field} as well. A task is in one group of a key; keep one entry.")
UNKNOWN_REQUIREMENT_TYPE = Code("osmo-unknown-requirement-type", "{value} is not a type of requirement. {remedy}")
EMPTY_GROUP_NAME = Code("osmo-empty-group-name", 'The name of the group is empty. Leave it out to have "default".')
GROUP_NAME_TOO_LONG = Code("osmo-group-name-too-long", "The name of the group has {length} characters. Allowed are at most {most}.")
KEY_NOT_IN_POOL = Code("osmo-key-not-in-pool", "Topology key {key} in resource {resource} is not available in pool {pool}. {remedy}")
POOL_WITHOUT_KEYS = Code("osmo-pool-without-keys", "Topology key {key} in resource {resource} is not available in pool {pool}, which has no topology keys. Remove it, or choose a pool that has some.")
TWO_REQUIREMENT_TYPES = Code("osmo-two-requirement-types", "Group {group} of key {key} is {mine:raw} here and {other:raw} in {field}. Write the same in both, or name another group.")
AMBIGUOUS_GROUP = Code("osmo-ambiguous-group", "Group {group} of key {key} comes with {mine:raw} here and with {other:raw} in {field}, so it is not clear whether it is one group or two. Name the same coarser keys in both, or another group.")
