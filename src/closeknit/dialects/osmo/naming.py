"""Names that OSMO's users write, as names that Kubernetes allows."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

from closeknit.dialects.core.naming import all_match

_P = TypeVar("_P", bound=Hashable)

LONGEST = 63
"""What Kubernetes allows for a label's value, a host and a subgroup."""

TASK_LABEL = "osmo.task_name"
"""On a pod, the name of its task."""
PRIORITY_LABEL = "osmo.priority"
"""On a workflow and its pods, how urgent it is."""
CANCEL = "osmo.closeknit.dev/cancel"
"""Annotation of a workflow: with the value ``true``, its tasks end and none is started any more."""
PRIORITIES = {"high": 125, "normal": 100, "low": 50}
"""By how urgent a workflow is, the value of the priority class that OSMO's installation brings."""

_OSMO_NAME = re.compile(r"[a-zA-Z]([a-zA-Z0-9_-]*[a-zA-Z0-9])?", re.ASCII)
_FORBIDDEN = re.compile(r"[^a-z0-9]+")
_FORBIDDEN_IN_LINES = re.compile(r"[^a-z0-9\n]+")
_DIGITS = 10


def is_name(text: str) -> bool:
    """Whether OSMO would take this as the name of a workflow, a group or a task."""
    return _OSMO_NAME.fullmatch(text) is not None


def are_names(texts: Collection[str]) -> bool:
    """Whether all of these are names."""
    return all_match(_OSMO_NAME, texts)


def all_folded(texts: Sequence[str]) -> list[str]:
    """``folded`` of each; of many, that takes a fraction of the time of one by one."""
    lines = "\n".join(texts).lower()
    if lines.count("\n") != len(texts) - 1:
        return [folded(text) for text in texts]
    return [each.strip("-") for each in _FORBIDDEN_IN_LINES.sub("-", lines).split("\n")]


def folded(text: str) -> str:
    """A name as Kubernetes spells it: lower-case letters and digits, with dashes between; maybe empty."""
    return _FORBIDDEN.sub("-", text.lower()).strip("-")


def object_name(text: str) -> str:
    """What the object is called that carries a file of this name."""
    return text.lower().replace("_", "-")


def digest(*parts: object) -> str:
    """A few letters that stand for exactly these parts, in this order."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]


def fitted(text: str, most: int = LONGEST) -> str:
    """A valid name of at most this length; if something must be cut, a digest keeps it apart from others."""
    plain = folded(text)
    return plain if 0 < len(plain) <= most else marked(plain, digest(text), most)


def marked(plain: str, mark: str, most: int = LONGEST) -> str:
    """A name with a mark at its end, cut so that both fit."""
    return f"{plain[: most - len(mark) - 1].strip('-')}-{mark}".lstrip("-")


def unique_names(wanted: Mapping[_P, str]) -> dict[_P, str]:
    """A name for each, all different: the wanted one unless it is too long or two want the same.

    Those get a digest of what they are, so that the result depends neither on order nor on which of them
    was there first.
    """
    counts = Counter(wanted.values())
    unfit = {one for one, name in wanted.items() if counts[name] > 1 or not 0 < len(name) <= LONGEST}
    names = dict(wanted)
    # A name that somebody chose may look like one with a digest. Once all have one, none is alike.
    for changed in (unfit, set(wanted)):
        names = {one: marked(name, digest(one)) if one in changed else name for one, name in wanted.items()}
        if len(set(names.values())) == len(names):
            break
    return names


def class_of(priority: str) -> str:
    """The name of the priority class; empty for no priority."""
    return f"osmo-{priority}" if priority else ""
