"""The custom resource definitions of every family, generated from the wire shapes."""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.dialects.definitions import closeknit, kueue, nvidia
from closeknit.dialects.definitions.definition import Column, Definition

__all__ = ["FAMILIES", "Column", "Definition"]

FAMILIES: Mapping[str, tuple[Definition, ...]] = {
    "kai": nvidia.KAI,
    "grove": nvidia.GROVE,
    "kueue": kueue.DEFINITIONS,
    "dynamo": nvidia.DYNAMO,
    "osmo": nvidia.OSMO,
    "closeknit": closeknit.DEFINITIONS,
}
"""By family, and last those of Closeknit's own, which are part of every installation.

A kind that two families use stands with the one that it belongs to.
"""
