"""Policies beside ours: each is a function of the room and a gang. Which, see ``POLICIES``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from closeknit.simulator.kai_rule import kai
from closeknit.simulator.kueue_rule import kueue
from closeknit.simulator.room import Placement, Room, filled
from closeknit.simulator.scenario import Ask

Policy = Callable[[Room, Ask], Placement | None]
"""Where a gang goes; None where it waits."""

OURS = "closeknit"
"""The policy that is no function: the real scheduler on the embedded cluster."""


def first_fit(room: Room, ask: Ask) -> Placement | None:
    """The first nodes that have room, whatever domain they are in."""
    fits = room.fits(ask)
    return filled(fits, np.arange(len(fits)), ask.pods)


def best_fit(room: Room, ask: Ask) -> Placement | None:
    """The nodes with least left of the scarce resource, whatever domain they are in."""
    return filled(room.fits(ask), np.argsort(room.scarce, kind="stable"), ask.pods)


POLICIES: Mapping[str, Policy] = {"first-fit": first_fit, "best-fit": best_fit, "kueue": kueue, "kai": kai}
"""By name."""

ABOUT: Mapping[str, str] = {
    "first-fit": "Blind: the first nodes in the list that have room. Required levels are not heeded.",
    "best-fit": "Blind: the nodes with the fewest free devices. Required levels are not heeded.",
    "kueue": "Kueue's rule: the smallest sufficient domain of the level, and inside it the largest first.",
    "kai": "KAI's rule: the tightest domain of the finest level that fits, then the fullest nodes.",
    OURS: "Closeknit's scheduler itself, on the embedded cluster in virtual time.",
}
