"""Messages about the admission webhook."""

from __future__ import annotations

from closeknit.hub.sentences import admission
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(admission.MANAGED, "An operator made this ClusterTopology from its configuration and looks after it. Change the configuration instead.", kind="ClusterTopology"),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("admission", MESSAGES) == []
