"""Messages about clusters that reject objects."""

from __future__ import annotations

from closeknit.hub.sentences import kube
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(kube.REFUSED, "Required value", message="Required value"),
    message(kube.UNSERVED_KIND, "The embedded cluster does not serve a.b/v1, or not this kind of it. Add its CustomResourceDefinition, or leave the object out.", version="a.b/v1"),
    message(kube.UNNAMED_OBJECT, "The object has no name. Write one, as a string; generateName is not enough."),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("kube", MESSAGES) == []
