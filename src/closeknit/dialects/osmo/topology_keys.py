"""The topology keys of a pool: words for levels, coarsest first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from closeknit.apis.osmo_pool import TopologyKey
from closeknit.hub.problems import Problem, as_told, shown
from closeknit.hub.topology import HOSTNAME

MOST_KEYS = 16
"""As many levels as a KAI Topology has."""

_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
    re.ASCII,
)


def key_problems(keys: Sequence[TopologyKey]) -> Iterator[Problem]:
    """Everything about the keys that users would stumble over, or that KAI would refuse in the Topology."""
    if len(keys) > MOST_KEYS:
        yield as_told("spec.topology_keys", f"There are {len(keys)} keys. Allowed are at most {MOST_KEYS}.")
    words: dict[str, int] = {}
    labels: dict[str, int] = {}
    first_labels = {one.label: i for i, one in reversed(list(enumerate(keys)))}
    for i, one in enumerate(keys):
        path = f"spec.topology_keys[{i}]"
        for field, text in (("key", one.key), ("label", one.label)):
            if not _is_label_key(text):
                yield as_told(
                    f"{path}.{field}",
                    f"{shown(text)} is not possible. Write at most 63 letters, digits, '-', '_' and '.',"
                    " such as rack, with an optional domain before a slash, such as example.com/rack.",
                )
        if (first := words.setdefault(one.key, i)) != i:
            message = f"{shown(one.key)} is already the key of topology_keys[{first}]. Each has its own."
            yield as_told(f"{path}.key", message)
        elif first_labels.get(one.key, i) != i:
            message = f"{shown(one.key)} is the label of topology_keys[{first_labels[one.key]}]."
            yield as_told(f"{path}.key", f"{message} Choose another word.")
        if (first := labels.setdefault(one.label, i)) != i:
            message = f"{shown(one.label)} is already the label of topology_keys[{first}]. Each has its own."
            yield as_told(f"{path}.label", message)
        if one.label == HOSTNAME and i != len(keys) - 1:
            message = (
                f"{shown(HOSTNAME)} is the finest there is. Move it to the end: keys go from coarse to fine."
            )
            yield as_told(f"{path}.label", message)


def _is_label_key(text: str) -> bool:
    prefix, _, name = text.rpartition("/")
    return len(prefix) <= 253 and len(name) <= 63 and _LABEL_KEY.fullmatch(text) is not None
