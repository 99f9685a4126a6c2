"""What running pods hold that share a GPU: whole GPUs, each counted for the first of the pods that share it.

KAI gives such a pod no ``nvidia.com/gpu``. On a cluster, a pod of its own reserves each GPU that is shared,
and is counted like any other; files often lack those.
"""

from __future__ import annotations

from fractions import Fraction

from closeknit.apis.core_v1 import Pod
from closeknit.apis.kai_keys import GPU_FRACTION, GPU_GROUP, GPU_MEMORY, RESERVATIONS
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.resources import Resources

GPU = Resources({"nvidia.com/gpu": 1})


def shares_gpu(pod: Pod) -> bool:
    """Whether a pod asks for a part of a GPU."""
    return GPU_FRACTION in pod.metadata.annotations or GPU_MEMORY in pod.metadata.annotations


def first_sharers(view: View) -> frozenset[Key]:
    """The running pods that stand for the GPUs which they share with others on their node.

    Pods that name the GPU by its group share that one. Others fill one after another in the order of their
    names; how much of a GPU an amount of memory is cannot be known, so such a pod has one to itself.
    """
    reserved = {pod.content.spec.node_name for pod in view.of(Pod) if pod.namespace == RESERVATIONS}
    found: set[Key] = set()
    named: set[tuple[str, str]] = set()
    left: dict[str, Fraction] = {}
    for pod in sorted(view.of(Pod), key=lambda pod: pod.key):
        metadata, node = pod.content.metadata, pod.content.spec.node_name
        if not node or node in reserved or pod.content.status.phase in ("Succeeded", "Failed"):
            continue
        group = metadata.labels.get(GPU_GROUP) or metadata.annotations.get(GPU_GROUP)
        if not shares_gpu(pod.content):
            continue
        part = _fraction(metadata.annotations.get(GPU_FRACTION, ""))
        if group:
            if (node, group) not in named:
                named.add((node, group))
                found.add(pod.key)
        elif part > left.get(node, Fraction(0)):
            found.add(pod.key)
            left[node] = 1 - part
        else:
            left[node] -= part
    return frozenset(found)


def _fraction(written: str) -> Fraction:
    """The part of a GPU that a pod asks for; the whole of it where that cannot be read."""
    whole, point, digits = written.partition(".")
    plain = f"{whole}{digits}".isdecimal() and f"{whole}{digits}".isascii() and len(written) < 12 and point
    part = Fraction(written if digits else f"{written}0") if plain else Fraction(1)
    return part if 0 < part <= 1 else Fraction(1)
