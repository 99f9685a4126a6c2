"""Names that the dialects give to parts of a request, and to those who hold resources.

No Kubernetes name holds a slash or a space, so none of these can be mistaken
for the name of an object.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import cache

_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
    re.ASCII,
)


def all_match(pattern: re.Pattern[str], texts: Collection[str]) -> bool:
    """Whether a pattern matches every text whole; of many, that takes half as long as one by one."""
    lines = "".join([f"{text}\n" for text in texts])
    return lines.count("\n") == len(texts) and _lines(pattern).fullmatch(lines) is not None


@cache
def _lines(pattern: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:(?:{pattern.pattern})\n)*+", pattern.flags)


def is_label_key(text: str) -> bool:
    """Whether Kubernetes takes this as the key of a label."""
    prefix, _, name = text.rpartition("/")
    return len(prefix) <= 253 and len(name) <= 63 and _LABEL_KEY.fullmatch(text) is not None


def plain_name(name: str) -> str:
    """A name in lower-case letters and digits with dashes between; ``x`` where nothing is left of it."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "x"


def shortened(name: str, longest: int) -> str:
    """The name, or its beginning with a checksum where it is longer than that."""
    if len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:4]
    return f"{name[: longest - 5].strip('-')}-{digest}"


def workload_name(namespace: str, name: str) -> str:
    """The name of a workload's request, and of its root group."""
    return f"{namespace}/{name}"


def lone_holder(kind: str, namespace: str, name: str) -> str:
    """Who holds what a pod uses that belongs to no workload: its controller, or itself."""
    return f"{kind} {namespace}/{name}"


def pod_set_name(group: str, number: int) -> str:
    """The name of a group's pod set; numbered, because pods of one group can differ in shape."""
    return f"{group}/{number}"


def group_of(pod_set: str) -> str:
    """The name that users know: what they called the group that this pod set belongs to."""
    return pod_set.rpartition("/")[0] or pod_set


class UniqueNames:
    """Gives out names, each once; of two that want the same, the second gets a number behind it."""

    def __init__(self, longest: int, digits: int = 7) -> None:
        self._longest = longest
        self._room = digits + 1
        """For a dash and more digits than there can be names alike."""
        self._next: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """The name itself if nobody has it, else with a number behind it."""
        stem = wanted if wanted not in self._next else wanted[: self._longest - self._room].rstrip("-.")
        name, number = wanted, self._next.get(wanted, 1)
        while name in self._next:
            number += 1
            name = f"{stem}-{number}"
        self._next[wanted] = number
        self._next.setdefault(name, 1)
        return name
