"""Names that KAI and Kubernetes accept, for members of a tree that may be called anything."""

from __future__ import annotations

import re

from closeknit.dialects.kai.members import DEFAULT
from closeknit.hub.request import Group, PodSet

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_LONGEST = 63
_LONGEST_POD = 253


def subgroup_names(root: Group) -> dict[str, str]:
    """A valid subgroup name for every member of the tree: its own where that is one."""
    names: dict[str, str] = {}
    taken = Taken(_LONGEST)
    # Groups first, so that a pod set never takes the name of a group that has a right to it.
    for kind in (Group, PodSet):
        for member, parent in root.walk():
            if parent is not None and isinstance(member, kind):
                names[member.name] = taken.take(_label(member.name))
    return names


class Taken:
    """Names that are in use already; the next of its kind gets a number."""

    def __init__(self, longest: int = _LONGEST_POD) -> None:
        self._longest = longest
        self._next: dict[str, int] = {}

    def take(self, wished: str) -> str:
        """The name itself if nobody has it, else with a number behind it."""
        # Room for a dash and for more digits than there can be members of a tree.
        stem = wished if wished not in self._next else wished[: self._longest - 8].rstrip("-.")
        name, number = wished, self._next.get(wished, 1)
        while name in self._next:
            number += 1
            name = f"{stem}-{number}"
        self._next[wished] = number
        self._next.setdefault(name, 1)
        return name


def pod_name(wished: str) -> str:
    """The name itself if Kubernetes accepts it for a pod, else one that is as near as possible."""
    if len(wished) <= _LONGEST_POD and _SUBDOMAIN.fullmatch(wished):
        return wished
    return _label(wished, _LONGEST_POD)


def _label(name: str, longest: int = _LONGEST) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:longest].strip("-")
    return plain or DEFAULT
