"""Limits that several families share."""

from __future__ import annotations

from typing import Any

_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_WORD = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
SUBDOMAIN = rf"^{_PART}(\.{_PART})*$"
LABEL = rf"^{_PART}$"
NODE_LABEL = rf"^({_PART}(\.{_PART})*/)?({_WORD})$"
LOOSE_NODE_LABEL = rf"^({_WORD}/)?{_WORD}$"
"""As Grove has it, which takes capitals before the slash too."""

ATOMIC = {"x-kubernetes-list-type": "atomic"}
ATOMIC_MAP = {"x-kubernetes-map-type": "atomic"}
A_SET = {"x-kubernetes-list-type": "set"}
REFERENCE = {"maxLength": 253, "pattern": SUBDOMAIN}
"""The name of another object."""
NODE_LABEL_KEY = {"minLength": 1, "maxLength": 316, "pattern": NODE_LABEL}
NOT_NEGATIVE = {"minimum": 0}


def keyed(*keys: str) -> dict[str, Any]:
    """A list whose items are told apart by these fields."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def items(least: int | None, most: int) -> dict[str, Any]:
    """How many items a list may have."""
    return {**({"minItems": least} if least is not None else {}), "maxItems": most}
