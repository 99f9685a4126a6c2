"""What calls to the API server come to."""

from __future__ import annotations

from enum import Enum


class Answer(Enum):
    """What a call came to."""

    DONE = "done"
    CONFLICT = "conflict"
    """The pod has a node already, or is another pod of this name; or an object has changed meanwhile."""
    GONE = "gone"
    """There is no such object any more."""
    REFUSED = "refused"
    """The server will never do it."""
    LATER = "later"
    """It was not carried out; the server asks to try again later."""
    LOST = "lost"
    """It may or may not have been carried out."""
