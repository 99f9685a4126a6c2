"""The custom resource definitions of every family, generated from the wire shapes."""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.dialects.definitions import kueue, nvidia
from closeknit.dialects.definitions.definition import Column, Definition

__all__ = ["FAMILIES", "Column", "Definition"]

FAMILIES: Mapping[str, tuple[Definition, ...]] = {
    "kai": nvidia.KAI,
    "grove": nvidia.GROVE,
    "kueue": kueue.DEFINITIONS,
    "dynamo": nvidia.DYNAMO,
    "osmo": nvidia.OSMO,
}
"""A kind that two families use stands with the one that it belongs to."""
