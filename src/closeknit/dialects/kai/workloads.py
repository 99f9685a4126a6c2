"""Moved to ``compile``; this name goes when nobody imports it."""

from __future__ import annotations

from closeknit.dialects.kai.compile import PRIORITIES

__all__ = ["PRIORITIES"]
