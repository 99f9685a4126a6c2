"""The custom resource definitions of every family, generated from the wire shapes."""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.dialects.definitions import dynamo, grove, kai, kueue, osmo
from closeknit.dialects.definitions.definition import Column, Definition

__all__ = ["FAMILIES", "Column", "Definition"]

FAMILIES: Mapping[str, tuple[Definition, ...]] = {
    "kai": kai.DEFINITIONS,
    "grove": grove.DEFINITIONS,
    "kueue": kueue.DEFINITIONS,
    "dynamo": dynamo.DEFINITIONS,
    "osmo": osmo.DEFINITIONS,
}
"""A kind that two families use stands with the one that it belongs to."""
