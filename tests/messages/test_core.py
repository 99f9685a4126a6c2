"""Messages about nodes, pods and what makes them."""

from __future__ import annotations

from closeknit.hub.problems import Field, OneOf, Range
from closeknit.hub.sentences import core
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(core.NOT_FOUND, 'There is no pool "q". Allowed: "p".', kind="pool", name="q", remedy=OneOf(found="q", allowed=("p",), more=0)),
    message(core.HAS_PROBLEMS, 'Pool "p" has problems of its own. Correct them first.', kind="Pool", name="p"),
    message(core.NAME_TAKEN, '"a" is already the name of spec.podgroups[0]. Give each its own.', name="a", field=Field(path=("spec", "podgroups", 0))),
    message(core.NUMBER_OF, "There are 17 levels. Allowed are 1 to 16.", given=17, what=" levels", allowed=Range(least=1, most=16)),
    message(core.OUT_OF_RANGE, "-1 is out of range. Allowed are 1 to 65535.", value=-1, allowed=Range(least=1, most=65535)),
    message(core.NOT_POSSIBLE, "1 is not possible. Allowed are 2 to 4.", value=1, allowed=Range(least=2, most=4)),
    message(core.NO_REPLICATED_JOB, "There is no replicated job. Give at least one."),
    message(core.TOPOLOGY_MISSING, 'The topology whose levels are meant is missing. Allowed: "tree".', allowed=OneOf(found="", allowed=("tree",), more=0)),
    message(core.TOPOLOGY_ASSUMED, 'Topology "cloud-provider-com-topology-rack" is not in sight, so that these node labels are taken for its levels, coarsest first: "cloud.provider.com/topology-rack". Give the object that describes it as well, and its own levels count.', name="cloud-provider-com-topology-rack", levels=("cloud.provider.com/topology-rack",)),
    message(core.NOT_A_LABEL_KEY, '"-" is not a label key. Write a name of at most 63 letters, digits, \'-\', \'_\' and \'.\', such as rack, with an optional domain before a slash, such as example.com/rack.', key="-"),
    message(core.LEVEL_TAKEN, '"a" is already the key of spec.levels[0]. Each level has its own.', value="a", what="key", field=Field(path=("spec", "levels", 0))),
    message(core.HOSTS_NOT_LAST, '"kubernetes.io/hostname" can only be the last level. Move it to the end.', label="kubernetes.io/hostname"),
    message(core.COARSER_LEVEL, '"zone" is coarser than "rack", which spec.topologyConstraint.packDomain names. Name "rack" or a finer domain, or leave it out.', level="zone", bound="rack", field=Field(path=("spec", "topologyConstraint", "packDomain")), called="domain"),
    message(core.PREFERENCE_SAYS_NOTHING, '"zone" is coarser than "rack", which spec.template.topologyConstraint.pack.required requires, so preferring it changes nothing.', level="zone", bound="rack", field=Field(path=("spec", "template", "topologyConstraint", "pack", "required"))),
    message(core.PREFERENCE_COARSER, '"zone" is coarser than "rack", which spec.template.topologyConstraint.pack.preferred prefers. It counts only where "rack" cannot be had.', level="zone", bound="rack", field=Field(path=("spec", "template", "topologyConstraint", "pack", "preferred"))),
    message(core.NO_CONTAINERS, "A pod needs at least one container."),
    message(core.POD_TOO_LARGE, "The pod asks for more memory than can be counted. The most is 9223372036854775807.", resource="memory", most=9223372036854775807),
    message(core.UNKNOWN_CHOICE, '"Gt" is not known. Allowed: "Equal", "Exists".', value="Gt", remedy=OneOf(found="Gt", allowed=("Equal", "Exists"), more=0)),
    message(core.TOPOLOGY_KEY_MISSING, "The topology key is missing. Name the node label whose values are the domains."),
    message(core.NAMESPACES_NOT_IN_SIGHT, "A rule about other pods selects namespaces by their labels, and no Namespace is in sight, so the rule is not taken into account. Give the Namespaces as well, or list them by name."),
    message(core.PODS_NOT_THERE, "2 pods must run at once, and 1 is there. It is planned once they are.", needed="2 pods", given="1 is there"),
    message(core.NO_TEMPLATE, "There is no pod template here. Give one."),
    message(core.MORE_PODS_THAN_COUNTED, "It makes 2000000 pods. The most that are counted is 1000000.", pods=2000000, most=1000000),
    message(core.MADE_ELSEWHERE, "Its pods follow from another object, so they are not planned here."),
    message(core.RUNTIME_NOT_READ, "What the runtime adds to the pods is not taken into account."),
    message(core.STEPS_APART, "Each step is planned by itself, as if all ran at once."),
    message(core.TAINT_WITHOUT_KEY, "A taint needs a key."),
    message(core.NO_TERMS, "This list is empty. Give at least one term, or leave the requirement out."),
    message(core.UNKNOWN_MATCH_FIELD, '"metadata.uid" is not a field to match. Allowed: metadata.name.', key="metadata.uid", allowed="metadata.name"),
    message(core.MATCH_FIELD_OPERATOR, "A field is matched with In or NotIn."),
    message(core.REQUIREMENT_WITHOUT_KEY, "A requirement needs the key of a label."),
    message(core.VALUES_MISSING, "In needs at least one value.", operator="In"),
    message(core.VALUES_GIVEN, "Exists takes no values. Leave them out.", operator="Exists"),
    message(core.ONE_NUMBER_NEEDED, "Gt needs exactly one value, a whole number in quotes.", operator="Gt"),
    message(core.EXISTS_WITH_VALUE, "Exists takes no value. Leave it out, or use Equal."),
    message(core.EQUAL_WITHOUT_KEY, "Without a key, the operator must be Exists."),
    message(core.NOT_JSON, '"8" is not a JSON object. Write quantities by resource, such as {"nvidia.com/gpu": "8"}.', value="8"),
    message(core.NOT_A_LEAF, 'Found 8, a number, beside what single leaves ask for. Write quantities for each, such as {"workers": {"nvidia.com/gpu": "8"}, "router": {"cpu": "4"}}.', found="8, a number,"),
    message(core.UNKNOWN_LEAF, 'No leaf that has pods is called "both". Allowed: "prefill", "router".', leaf="both", remedy=OneOf(found="both", allowed=("prefill", "router"), more=0)),
    message(core.QUANTITY_EXPECTED, 'Found a list where a quantity is expected. Write quantities by resource, such as {"nvidia.com/gpu": "8"}.', found="a list"),
    message(core.NOT_A_DURATION, '"soon" is not a duration. Write it as in 90s or 1h30m.', value="soon"),
    message(core.NEGATIVE_DURATION, '"-5s" is negative. Write zero or more, as in 90s.', value="-5s"),
    message(core.NOT_A_TIME, '"yesterday" is not a time. Write it as in 2025-01-31T12:00:00Z.', value="yesterday"),
    message(core.RULES_TOO_LARGE, 'The pods of "workers" compare 200000 values in node selectors, affinity, spreading and tolerations, and at most 5000 are allowed. Select by fewer labels.', group="workers", most=5_000, values=200_000),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("core", MESSAGES) == []
