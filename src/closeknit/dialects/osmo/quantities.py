"""Amounts as OSMO's users write them, as quantities that Kubernetes reads."""

from __future__ import annotations

import re

from closeknit.apis.wire import Quantity
from closeknit.hub import quantities
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import osmo as sentences

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
