"""Moved to ``express``; this name goes when nobody imports it."""

from __future__ import annotations

from closeknit.dialects.kai.express import to_pods

__all__ = ["to_pods"]
