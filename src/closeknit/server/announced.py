"""What the scheduler has said of workloads, kept beside a state that passes it over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from closeknit.apis.closeknit_keys import OUTCOME
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.live.following import Listener


class Announced:
    """Hands on what is heard to a state, and keeps the annotation in which outcomes are announced."""

    def __init__(self, state: Listener) -> None:
        self._state = state
        self._texts: dict[Key, str] = {}

    def heard(self, kind: Kind, api_version: str, key: Key, obj: Any | None) -> None:
        """What the server says of an object; None where it has gone."""
        text = _annotations(obj).get(OUTCOME)
        if text is None:
            self._texts.pop(key, None)
        else:
            self._texts[key] = text
        self._state.heard(kind, api_version, key, obj)

    def outcome(self, key: Key) -> dict[str, Any] | None:
        """What was said of an object; None where that is nothing, or cannot be read."""
        try:
            return msgspec.json.decode(self._texts.get(key, ""), type=dict[str, Any])
        except msgspec.MsgspecError:
            return None


def _annotations(obj: Any | None) -> Mapping[str, str]:
    if isinstance(obj, Mapping):
        return obj["metadata"].get("annotations") or {}
    return obj.metadata.annotations if obj is not None else {}
