"""Messages about requests, topologies and drawings."""

from __future__ import annotations

from closeknit.hub.problems import Field, OneOf, Range
from closeknit.hub.sentences import hub
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(hub.NOT_A_QUANTITY, "True is not a quantity. Write a number, such as 8, 500m or 1.5Gi.", value="True"),
    message(hub.QUANTITY_TOO_LONG, '"99999999999999999999999999999999999999999999999999999999999999999" is too long for a quantity. Write at most 64 characters.', value="99999999999999999999999999999999999999999999999999999999999999999"),
    message(hub.UNKNOWN_SUFFIX, '"x" is not a quantity. Write a number with an optional suffix (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei), such as 8, 500m or 1.5Gi.', value="x"),
    message(hub.NEGATIVE, "-1 is negative. Write zero or more.", value=-1),
    message(hub.TOO_LARGE, "1e+30 is too large. The most that can be counted is 9223372036.", value=1e+30, most=9223372036),
    message(hub.UNCOUNTABLE, 'More is held on node "a" than can be counted; the most is 9223372036854775807 units.', node="a", most=9223372036854775807),
    message(hub.NO_SUCH_TOPOLOGY, 'There is no topology "gone".', topology="gone"),
    message(hub.NAME_USED_TWICE, 'The name "g" is used twice; give each member its own.', name="g"),
    message(hub.IMPOSSIBLE_MINIMUM, "-1 is not possible. Write 0.", value=-1, remedy=Range(least=0, most=0)),
    message(hub.COARSER_THAN_ABOVE, '"zone" is coarser than "rack", the level required above it. Name "rack" or a finer level, or leave it out.', level="zone", bound="rack"),
    message(hub.NESTED_TOO_DEEP, "Groups are nested more than 64 deep. Leave some out.", most=64),
    message(hub.MORE_BOUND_THAN_COUNT, "2 pods run already, but count is 1. Raise count.", bound=2, count=1),
    message(hub.NAMES_DO_NOT_MATCH, "1 names are given for 2 pods. Name all of them or none.", names=1, pods=2),
    message(hub.LEVEL_WITHOUT_TOPOLOGY, 'The level "rack" is named, but the request names no known topology.', level="rack"),
    message(hub.UNKNOWN_LEVEL, 'Topology "t" has no level "r0". Allowed: "rack", "zone".', topology="t", level="r0", remedy=OneOf(found="r0", allowed=("rack", "zone"), more=0)),
    message(hub.NODE_TWICE, 'Two nodes are called "a". Give each its own name.', node="a"),
    message(hub.UNKNOWN_NODE, 'There is no node "b".', node="b"),
    message(hub.TOPOLOGY_TWICE, 'Two topologies are called "tree". Give each its own name.', topology="tree"),
    message(hub.LEVEL_TWICE, 'levels[0] has the label "rack" as well. Give each level its own.', field=Field(path=("levels", 0)), label="rack"),
    message(hub.NODE_EXISTS, 'There is a node "n1" already. Change it instead.', node="n1"),
    message(hub.BOUND_TO_UNKNOWN_NODE, 'There is no node "x1"; a pod cannot run on it.', node="x1"),
    message(hub.TOO_FEW_HELD, 'Workload "w" holds 2 such pods on node "x1", so 3 cannot be released. Name at most 2.', workload="w", held=2, node="x1", pods=3),
    message(hub.UNKNOWN_TOPOLOGY, 'There is no topology "defualt". Did you mean "default"? Allowed: "default".', topology="defualt", remedy=OneOf(found="defualt", allowed=("default",), more=0)),
    message(hub.INDENTED_WITH_TAB, "The line is indented with a tab. Indent with spaces."),
    message(hub.INDENTED_BETWEEN, "The line is indented by 2, which matches no line above it. Indent by 0 or 4.", column=2, allowed="0 or 4"),
    message(hub.INSIDE_A_HOST, 'Host "x1" holds nothing further. Indent by 2, or drop the colon to make it a domain.', host="x1", column=2),
    message(hub.NOT_ONE_NAME, '": 8" does not start with one name. Write a domain as one word, or a host as one word, a colon and its GPUs.', line=": 8"),
    message(hub.DRAWN_TOO_DEEP, '"r1" lies 2 levels deep. The levels are block.', domain="r1", depth=2, remedy="The levels are block."),
    message(hub.DOMAIN_DRAWN_TWICE, 'Domain "r1" is already drawn on line 1. Draw all of it in one place, or give this one its own name.', domain="r1", line=1),
    message(hub.HOST_DRAWN_TWICE, 'Host "x1" is already drawn on line 2. Give each host of the cluster its own name.', host="x1", line=2),
    message(hub.DRAWN_HOST, 'Host "x1": pods=0 cannot be drawn. Write unschedulable instead.', host="x1", problem=hub.NO_PODS_DRAWN.at(())),
    message(hub.UNKNOWN_WORD, '"8" is not understood. Allowed: "cpu", "ephemeral-storage", "label", "memory", "no-hostname", "not-ready", "pods", "taint" and 2 more. A resource of another name needs a slash in it.', word="8", remedy=OneOf(found="8", allowed=("cpu", "ephemeral-storage", "label", "memory", "no-hostname", "not-ready", "pods", "taint", "unschedulable", "used"), more=0)),
    message(hub.RESOURCE_TWICE, "cpu is written twice. Write it once.", resource="cpu"),
    message(hub.NO_PODS_DRAWN, "pods=0 cannot be drawn. Write unschedulable instead."),
    message(hub.RESOURCE_AMOUNT, 'nvidia.com/gpu: "-1" is negative. Write zero or more.', resource="nvidia.com/gpu", problem=hub.NEGATIVE.at((), value="-1")),
    message(hub.NOT_A_TAINT, '"taint:NoSchedule" is not a taint. Write taint:KEY=VALUE:EFFECT or taint:KEY:EFFECT.', word="taint:NoSchedule"),
    message(hub.UNKNOWN_EFFECT, '"noschedule" is not a taint\'s effect. Did you mean "NoSchedule"? Allowed: "NoExecute", "NoSchedule", "PreferNoSchedule".', effect="noschedule", remedy=OneOf(found="noschedule", allowed=("NoExecute", "NoSchedule", "PreferNoSchedule"), more=0)),
    message(hub.USED_WITHOUT_NUMBER, '"used=all" does not start with a number of pods. Write used=3, used=3:train or used=3:train:cpu=4,port=80/TCP.', word="used=all"),
    message(hub.NOT_A_PORT, '"port=http" is not a port. Write port=80 or port=80/UDP.', word="port=http"),
    message(hub.MORE_USED_THAN_OFFERED, "3 of pods are used, but it has 2.", used="3", resource="pods", offered="2"),
    message(hub.AND_MORE, "More is wrong in the same way. Mend the first 200 to see the rest.", count=200),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("hub", MESSAGES) == []
