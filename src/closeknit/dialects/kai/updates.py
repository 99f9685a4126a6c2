"""What may not change in a Topology once it exists: its labels. Aliases may."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.hub.problems import Problem, as_told, shown


def update_problems(old: Topology, new: Topology) -> Iterator[Problem]:
    """Everything about a change that cannot be made in place."""
    before = [level.node_label for level in old.spec.levels]
    after = [level.node_label for level in new.spec.levels]
    if before != after:
        was, now = (" > ".join(shown(label) for label in labels) or "none" for labels in (before, after))
        message = f"The labels cannot change from {was} to {now}. Aliases can."
        yield as_told("spec.levels", f"{message} Delete the Topology and create it anew.")
