"""Moved to ``to_pod_group``; this name goes when nobody imports it."""

from __future__ import annotations

from closeknit.dialects.kai.to_pod_group import to_pod_group, to_topology_object

__all__ = ["to_pod_group", "to_topology_object"]
