"""What the scheduler says of objects in a cluster."""

from __future__ import annotations

from closeknit.hub.problems import Code

# fmt: off
NOT_UNDERSTOOD = Code("not-understood", "This {kind:raw} could not be worked with, which is a mistake of the scheduler's: {error:raw}. Others are scheduled all the same.")
NOT_BOUND = Code("not-bound", "The cluster refused to bind it: {why:raw}")
