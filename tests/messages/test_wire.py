"""Messages about shapes, kinds and references of objects."""

from __future__ import annotations

from closeknit.hub.problems import Meant, OneOf
from closeknit.hub.sentences import grove, wire
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(wire.WRONG_TYPE, "Found 7, a number, where a string is expected. Put it in quotes.", found="7, a number,", expected="a string", remedy=" Put it in quotes."),
    message(wire.OUT_OF_RANGE, "2147483648 is out of range. Allowed is at most 2147483647.", value="2147483648", limit="at most 2147483647"),
    message(wire.MISSING_FIELD, "This field is missing."),
    message(wire.UNKNOWN_FIELD, 'There is no field "a" here. Allowed: "key", "label".', field="a", remedy=Meant(found="a", known=("key", "label"))),
    message(wire.NO_OBJECT, "Found a list where an object with apiVersion and kind is expected.", found="a list"),
    message(wire.UNTYPED_OBJECT, 'An object needs kind, a string such as "Node".', field="kind", example="Node"),
    message(wire.UNKNOWN_VERSION, 'Pod is not read in version "v2". Allowed: "v1".', kind="Pod", version="v2", remedy=OneOf(found="v2", allowed=("v1",), more=0)),
    message(wire.UNKNOWN_GROUP, 'There is no API group "schedulng.run.ai". Did you mean "scheduling.run.ai"?', group="schedulng.run.ai", near="scheduling.run.ai"),
    message(wire.UNKNOWN_KIND, 'There is no kind "3" in this API group. Allowed: "Job".', kind="3", remedy=OneOf(found="3", allowed=("Job",), more=0)),
    message(wire.NAMELESS, "An object needs a name."),
    message(wire.INVALID_NAME, '" " is not a valid name. Allowed are at most 253 lower-case letters, digits, dashes and dots, with a letter or digit at both ends of each part.', name=" "),
    message(wire.OBJECT_TWICE, 'There is already a Node "n1" in f, document 3. Remove one, or rename it.', kind="Node", name="n1", origin="f, document 3"),
    message(wire.UNKNOWN_TARGET, '"grove" is no target. Allowed: kai, kueue, pods.', target="grove", targets="kai, kueue, pods"),
    message(wire.NOT_EXPRESSIBLE, 'PodGroup "train" cannot be said in the words of grove: "m38/1": None of its pods must run, and a clique of Grove needs at least one.', kind="PodGroup", name="train", family="grove", problem=grove.NONE_NEEDED.at((), member="m38/1")),
    message(wire.TOPOLOGY_WRITTEN_TWICE, 'Topology "tree" would be written twice, with different levels. Rename one of the topologies.', kind="Topology", name="tree"),
    message(wire.OBJECT_WRITTEN_TWICE, 'PodGang "a-0-b-0" would be written twice: for PodCliqueSet "a" and for PodCliqueSet "a-0-b". Its name follows from theirs, so rename one of them.', kind="PodGang", name="a-0-b-0", other_kind="PodCliqueSet", other="a", own_kind="PodCliqueSet", own="a-0-b"),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("wire", MESSAGES) == []
