"""Moved to ``closeknit.apis.kai_keys``; this name goes when nobody imports it."""

from __future__ import annotations

from closeknit.apis.kai_keys import GROUP_ANNOTATION, QUEUE, SCHEDULER, SKIP, SUBGROUP_LABEL, TOPOLOGY

__all__ = ["GROUP_ANNOTATION", "QUEUE", "SCHEDULER", "SKIP", "SUBGROUP_LABEL", "TOPOLOGY"]
