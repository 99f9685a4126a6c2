"""What may not change in a Topology once it exists: its labels. Aliases may.

Everything in a PodGroup and in a Queue may change: what KAI's webhook refuses there, it refuses of new ones
just as well. What it refuses of new ones only is for ``rules`` to say, which knows whether a PodGroup exists.
"""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem, shown
from closeknit.hub.sentences import kai as sentences


def update_problems(old: Stored[Topology], new: Stored[Topology], _: View) -> Iterator[Problem]:
    """Everything about a change that cannot be made in place."""
    before, after = ([level.node_label for level in stored.content.spec.levels] for stored in (old, new))
    if before != after:
        was, now = (" > ".join(shown(label) for label in labels) or "none" for labels in (before, after))
        yield sentences.LABELS_CHANGED.at(("spec", "levels"), old=was, new=now)
