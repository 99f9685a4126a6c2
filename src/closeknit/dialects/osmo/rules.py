"""The rules for topology keys of a pool, the priority of a workflow, and quantities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Workflow
from closeknit.apis.osmo_pool import TopologyKey
from closeknit.apis.wire import Quantity
from closeknit.dialects.core.naming import is_label_key
from closeknit.dialects.osmo.naming import PRIORITIES, PRIORITY_LABEL
from closeknit.dialects.store.objects import Stored
from closeknit.hub import quantities
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, InvalidError, OneOf, Problem
from closeknit.hub.sentences import osmo as sentences
from closeknit.hub.topology import HOSTNAME

MOST_KEYS = 16
"""As many levels as a KAI Topology has."""

_KEYS: Path = ("spec", "topology_keys")


def key_problems(keys: Sequence[TopologyKey]) -> Iterator[Problem]:
    """Everything about the keys that users would stumble over, or that KAI would refuse in the Topology."""
    if len(keys) > MOST_KEYS:
        yield sentences.TOO_MANY_KEYS.at(_KEYS, count=len(keys), most=MOST_KEYS)
    words: dict[str, int] = {}
    labels: dict[str, int] = {}
    first_labels = {one.label: i for i, one in reversed(list(enumerate(keys)))}
    for i, one in enumerate(keys):
        path = (*_KEYS, i)
        for field, text in (("key", one.key), ("label", one.label)):
            if not is_label_key(text):
                yield sentences.NOT_A_KEY.at((*path, field), value=text)
        if (first := words.setdefault(one.key, i)) != i:
            yield _twice("key", one.key, i, first)
        elif first_labels.get(one.key, i) != i:
            other = Field((*_KEYS, first_labels[one.key]))
            yield sentences.KEY_IS_A_LABEL.at((*path, "key"), key=one.key, field=other)
        if (first := labels.setdefault(one.label, i)) != i:
            yield _twice("label", one.label, i, first)
        if one.label == HOSTNAME and i != len(keys) - 1:
            yield sentences.HOSTNAME_NOT_LAST.at((*path, "label"), label=HOSTNAME)


def _twice(what: str, value: str, own: int, first: int) -> Problem:
    other = Field((*_KEYS, first))
    return sentences.KEY_TWICE.at((*_KEYS, own, what), value=value, what=what, field=other)


def priority_of(stored: Stored[Workflow], found: list[Problem]) -> str:
    """``high``, ``normal`` or ``low``, by the label of the object; empty where it has none.

    A workflow's file does not say how urgent it is; whoever submits it does.
    """
    written = stored.content.metadata.labels.get(PRIORITY_LABEL, "")
    priority = written.lower()
    if priority and priority not in PRIORITIES:
        path = ("metadata", "labels", PRIORITY_LABEL)
        remedy = OneOf.among(written, PRIORITIES)
        found.append(sentences.UNKNOWN_PRIORITY.at(path, value=written, remedy=remedy))
    return priority


GPU = "nvidia.com/gpu"
RESOURCES = {"cpu": "cpu", "gpu": GPU, "memory": "memory", "storage": "ephemeral-storage"}
"""What a task may ask for, and what Kubernetes calls it."""

_SUFFIXES = {"TiB": "Ti", "GiB": "Gi", "MiB": "Mi", "KiB": "Ki", "K": "Ki", "B": ""}
"""OSMO's units that Kubernetes does not know. The others go into the pod as they are, and mean there what
Kubernetes takes them for: "1G" is a thousand million bytes."""
_IN_BYTES = ("memory", "storage")
_WITH_UNIT = re.compile(rf"([0-9]+(?:\.[0-9]+)?)({'|'.join(_SUFFIXES)})", re.ASCII)


def quantity(field: str, written: Quantity) -> str:
    """What a pod writes to ask for as much; raises ``InvalidError``."""
    meant = written
    if field in _IN_BYTES and (found := _WITH_UNIT.fullmatch(str(written))):
        meant = f"{found[1]}{_SUFFIXES[found[2]]}"
    quantities.amount(RESOURCES[field], meant)
    return str(meant)


def whole_cpus(written: Quantity) -> str:
    """The same for CPUs, of which OSMO counts whole ones."""
    text = quantity("cpu", written)
    if quantities.amount("cpu", text) % quantities.units("cpu"):
        raise InvalidError([sentences.FRACTION_OF_CPU.at((), value=written)])
    return text
