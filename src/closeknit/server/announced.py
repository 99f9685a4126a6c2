"""What the scheduler has said of workloads, kept beside a state that passes it over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from closeknit.apis.closeknit_keys import OUTCOME
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.live.following import Listener
from closeknit.scheduler.status.outcomes import KIND as OUTCOME_KIND


class Announced:
    """Hands on what is received to a state, and keeps the outcomes: of their own objects, or annotations."""

    def __init__(self, state: Listener) -> None:
        self._state = state
        self._texts: dict[Key, str] = {}
        """By workload, its annotation."""
        self._outcomes: dict[Key, tuple[Key, str]] = {}
        """By outcome, the workload that owns it and the text."""
        self._by_workload: dict[Key, Key] = {}

    def heard(self, kind: Kind, api_version: str, key: Key, obj: Any | None) -> None:
        """What the server says of an object; None where it has gone."""
        if kind is OUTCOME_KIND:
            self._keep(key, obj)
            return
        text = _annotations(obj).get(OUTCOME)
        if text is None:
            self._texts.pop(key, None)
        else:
            self._texts[key] = text
        self._state.heard(kind, api_version, key, obj)

    def _keep(self, key: Key, obj: Any | None) -> None:
        before = self._outcomes.pop(key, None)
        if before is not None and self._by_workload.get(before[0]) == key:
            del self._by_workload[before[0]]
        owners = (obj["metadata"].get("ownerReferences") or ()) if obj is not None else ()
        if obj is None or not owners:
            return
        group = str(owners[0].get("apiVersion", "")).rpartition("/")[0]
        workload = Key(group, str(owners[0].get("kind", "")), key.namespace, str(owners[0].get("name", "")))
        self._outcomes[key] = workload, str((obj.get("status") or {}).get("outcome", ""))
        self._by_workload[workload] = key

    def outcome(self, key: Key) -> dict[str, Any] | None:
        """What was said of an object; None where that is nothing, or cannot be read."""
        try:
            own = self._by_workload.get(key)
            text = self._outcomes[own][1] if own is not None else self._texts.get(key, "")
            return msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.MsgspecError:
            return None


def _annotations(obj: Any | None) -> Mapping[str, str]:
    if isinstance(obj, Mapping):
        return obj["metadata"].get("annotations") or {}
    return obj.metadata.annotations if obj is not None else {}
