"""Messages about the scheduler."""

from __future__ import annotations

from closeknit.hub.sentences import scheduler
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(scheduler.NOT_UNDERSTOOD, "This Pod could not be worked with, which is a mistake of the scheduler's: ZeroDivisionError: poison. Others are scheduled all the same.", kind="Pod", error="ZeroDivisionError: poison"),
    message(scheduler.NOT_BOUND, "The cluster refused to bind it: A webhook says no.", why="A webhook says no."),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("scheduler", MESSAGES) == []
