"""What several families say: levels, pods, nodes, priorities, names."""

from __future__ import annotations

from closeknit.hub.problems import Category, Code, Severity

# fmt: off
# Names and numbers.
NOT_FOUND = Code("not-found", "There is no {kind:raw} {name}. {remedy}", category=Category.UNRESOLVED_REFERENCE)
HAS_PROBLEMS = Code("has-problems", "{kind:raw} {name} has problems of its own. Correct them first.", category=Category.UNRESOLVED_REFERENCE)
NAME_TAKEN = Code("name-taken", "{name} is already the name of {field}. Give each its own.")
NUMBER_OF = Code("number-of", "There are {given}{what:raw}. {allowed}")
OUT_OF_RANGE = Code("number-out-of-range", "{value} is out of range. {allowed}")
NOT_POSSIBLE = Code("not-possible", "{value} is not possible. {allowed}")
NO_REPLICATED_JOB = Code("no-replicated-job", "There is no replicated job. Give at least one.")

# Topologies and their levels.
TOPOLOGY_MISSING = Code("topology-missing", "The topology whose levels are meant is missing. {allowed}")
TOPOLOGY_ASSUMED = Code("topology-assumed", "Topology {name} is not in sight, so that these node labels are taken for its levels, coarsest first: {levels}. Give the object that describes it as well, and its own levels count.", Severity.NOTE)
NOT_A_LABEL_KEY = Code("not-a-label-key", "{key} is not a label key. Write a name of at most 63 letters, digits, '-', '_' and '.', such as rack, with an optional domain before a slash, such as example.com/rack.")
LEVEL_TAKEN = Code("level-taken", "{value} is already the {what:raw} of {field}. Each level has its own.")
HOSTS_NOT_LAST = Code("hosts-not-last", "{label} can only be the last level. Move it to the end.")
COARSER_LEVEL = Code("coarser-level", "{level} is coarser than {bound}, which {field} names. Name {bound} or a finer {called:raw}, or leave it out.")
PREFERENCE_SAYS_NOTHING = Code("preference-says-nothing", "{level} is coarser than {bound}, which {field} requires, so preferring it changes nothing.", Severity.NOTE)
PREFERENCE_COARSER = Code("preference-coarser", "{level} is coarser than {bound}, which {field} prefers. It counts only where {bound} cannot be had.", Severity.NOTE)

# Pods.
NO_CONTAINERS = Code("no-containers", "A pod needs at least one container.")
POD_TOO_LARGE = Code("pod-too-large", "The pod asks for more {resource:raw} than can be counted. The most is {most}.")
UNKNOWN_CHOICE = Code("unknown-choice", "{value} is not known. {remedy}")
TOPOLOGY_KEY_MISSING = Code("topology-key-missing", "The topology key is missing. Name the node label whose values are the domains.")
NAMESPACES_NOT_IN_SIGHT = Code("namespaces-not-in-sight", "A rule about other pods selects namespaces by their labels, and no Namespace is in sight, so the rule is not taken into account. Give the Namespaces as well, or list them by name.")
PODS_NOT_THERE = Code("pods-not-there", "{needed:raw} must run at once, and {given:raw}. It is planned once they are.", Severity.NOTE)

# Pods that the controllers of others make.
NO_TEMPLATE = Code("no-template", "There is no pod template here. Give one.")
MORE_PODS_THAN_COUNTED = Code("more-pods-than-counted", "It makes {pods} pods. The most that are counted is {most}.")
MADE_ELSEWHERE = Code("made-elsewhere", "Its pods follow from another object, so they are not planned here.", Severity.NOTE)
RUNTIME_NOT_READ = Code("runtime-not-read", "What the runtime adds to the pods is not taken into account.", Severity.NOTE)
STEPS_APART = Code("steps-apart", "Each step is planned by itself, as if all ran at once.", Severity.NOTE)

# Node filters.
TAINT_WITHOUT_KEY = Code("taint-without-key", "A taint needs a key.")
NO_TERMS = Code("no-terms", "This list is empty. Give at least one term, or leave the requirement out.")
UNKNOWN_MATCH_FIELD = Code("unknown-match-field", "{key} is not a field to match. Allowed: {allowed:raw}.")
MATCH_FIELD_OPERATOR = Code("match-field-operator", "A field is matched with In or NotIn.")
REQUIREMENT_WITHOUT_KEY = Code("requirement-without-key", "A requirement needs the key of a label.")
VALUES_MISSING = Code("values-missing", "{operator:raw} needs at least one value.")
VALUES_GIVEN = Code("values-given", "{operator:raw} takes no values. Leave them out.")
ONE_NUMBER_NEEDED = Code("one-number-needed", "{operator:raw} needs exactly one value, a whole number in quotes.")
EXISTS_WITH_VALUE = Code("exists-with-value", "Exists takes no value. Leave it out, or use Equal.")
EQUAL_WITHOUT_KEY = Code("equal-without-key", "Without a key, the operator must be Exists.")

# Pods that are assumed.
NOT_JSON = Code("resources-not-json", '{value} is not a JSON object. Write quantities by resource, such as {{"nvidia.com/gpu": "8"}}.')
NOT_A_LEAF = Code("resources-beside-leaves", 'Found {found:raw} beside what single leaves ask for. Write quantities for each, such as {{"workers": {{"nvidia.com/gpu": "8"}}, "router": {{"cpu": "4"}}}}.')
UNKNOWN_LEAF = Code("unknown-leaf", "No leaf that has pods is called {leaf}. {remedy}")
QUANTITY_EXPECTED = Code("quantity-expected", 'Found {found:raw} where a quantity is expected. Write quantities by resource, such as {{"nvidia.com/gpu": "8"}}.')

# Priority and age.
NOT_A_DURATION = Code("not-a-duration", "{value} is not a duration. Write it as in 90s or 1h30m.")
NEGATIVE_DURATION = Code("negative-duration", "{value} is negative. Write zero or more, as in 90s.")
NOT_A_TIME = Code("not-a-time", "{value} is not a time. Write it as in 2025-01-31T12:00:00Z.")

# Pods.
RULES_TOO_LARGE = Code("rules-too-large", "The pods of {group} compare {values:raw} values in node selectors, affinity, spreading and tolerations, and at most {most:raw} are allowed. Select by fewer labels.")
