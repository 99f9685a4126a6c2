"""The difference of two objects as a JSON patch (RFC 6902), which is how a webhook answers with changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def difference(old: Any, new: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """The operations that make the new value of the old one. Lists of one length are compared by item."""
    if old is new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in old.keys() - new.keys():
            yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
        for key, value in new.items():
            inner = f"{path}/{_escaped(key)}"
            if key not in old:
                yield {"op": "add", "path": inner, "value": value}
            else:
                yield from difference(old[key], value, inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (was, now) in enumerate(zip(old, new, strict=True)):
            yield from difference(was, now, f"{path}/{i}")
    elif old != new:
        yield {"op": "replace", "path": path, "value": new}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
