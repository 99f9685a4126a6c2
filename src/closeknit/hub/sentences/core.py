"""What several families say: levels, pods, nodes, priorities, names."""

from __future__ import annotations

from closeknit.hub.problems import Code, Severity

COARSER_LEVEL = Code(
    "coarser-level",
    "{level} is coarser than {bound}, which {field} names."
    " Name {bound} or a finer {called:raw}, or leave it out.",
)
PREFERENCE_SAYS_NOTHING = Code(
    "preference-says-nothing",
    "{level} is coarser than {bound}, which {field} requires, so preferring it changes nothing.",
    Severity.NOTE,
)
PREFERENCE_COARSER = Code(
    "preference-coarser",
    "{level} is coarser than {bound}, which {field} prefers. It counts only where {bound} cannot be had.",
    Severity.NOTE,
)
NO_PRIORITY_CLASS = Code("no-priority-class", "There is no PriorityClass {name}. {allowed}")
