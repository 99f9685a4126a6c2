"""What the definitions of several families share: pods, and the bounds of fields."""

from __future__ import annotations

from typing import Any

from closeknit.apis import batch_v1, core_v1
from closeknit.dialects.definitions.definition import Limits

_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_WORD = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
SUBDOMAIN = rf"^{_PART}(\.{_PART})*$"
LABEL = rf"^{_PART}$"
NODE_LABEL = rf"^({_PART}(\.{_PART})*/)?({_WORD})$"
LOOSE_NODE_LABEL = rf"^({_WORD}/)?{_WORD}$"
"""As Grove has it, which takes capitals before the slash too."""

ATOMIC = {"x-kubernetes-list-type": "atomic"}
ATOMIC_MAP = {"x-kubernetes-map-type": "atomic"}
A_SET = {"x-kubernetes-list-type": "set"}
REFERENCE = {"maxLength": 253, "pattern": SUBDOMAIN}
"""The name of another object."""
NODE_LABEL_KEY = {"minLength": 1, "maxLength": 316, "pattern": NODE_LABEL}
NOT_NEGATIVE = {"minimum": 0}


def keyed(*keys: str) -> dict[str, Any]:
    """A list whose items are distinguished by these fields."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def items(least: int | None, most: int) -> dict[str, Any]:
    """How many items a list may have."""
    return {**({"minItems": least} if least is not None else {}), "maxItems": most}


_WHOLE = {"type": "integer", "format": "int32", "x-kubernetes-preserve-unknown-fields": None}

LIMITS: Limits = {
    batch_v1.JobTemplateSpec: {"": {"required": None}},
    core_v1.PodTemplateSpec: {"": {"required": None}},
    core_v1.PodSpec: {
        "containers": keyed("name"),
        "initContainers": keyed("name"),
        "nodeSelector": ATOMIC_MAP,
        "resourceClaims": keyed("name"),
        "schedulingGates": keyed("name"),
        "tolerations": ATOMIC,
        "topologySpreadConstraints": keyed("topologyKey", "whenUnsatisfiable"),
        "volumes": keyed("name"),
    },
    core_v1.PodResourceClaim: {"": {"required": ["name"]}},
    core_v1.Volume: {"": {"required": ["name"]}},
    core_v1.VolumeClaimName: {"": {"required": ["claimName"]}},
    core_v1.VolumeClaimTemplate: {"": {"required": ["spec"]}},
    core_v1.PersistentVolumeClaimSpec: {"accessModes": ATOMIC},
    core_v1.Container: {"": {"required": ["name"]}, "ports": keyed("containerPort", "protocol")},
    core_v1.ContainerPort: {
        "": {"required": ["containerPort"]},
        "containerPort": _WHOLE,
        "protocol": {"default": "TCP"},
    },
    core_v1.PodSchedulingGate: {"": {"required": ["name"]}},
    core_v1.TopologySpreadConstraint: {
        "": {"required": ["maxSkew", "topologyKey", "whenUnsatisfiable"]},
        "matchLabelKeys": ATOMIC,
    },
    core_v1.NodeAffinity: {
        "preferredDuringSchedulingIgnoredDuringExecution": ATOMIC,
    },
    core_v1.PodAffinity: {
        "preferredDuringSchedulingIgnoredDuringExecution": ATOMIC,
        "requiredDuringSchedulingIgnoredDuringExecution": ATOMIC,
    },
    core_v1.PodAffinityTerm: {
        "": {"required": ["topologyKey"]},
        "matchLabelKeys": ATOMIC,
        "mismatchLabelKeys": ATOMIC,
        "namespaces": ATOMIC,
    },
    core_v1.LabelSelector: {"": ATOMIC_MAP, "matchExpressions": ATOMIC},
    core_v1.LabelSelectorRequirement: {"values": ATOMIC},
    core_v1.NodeSelector: {"": ATOMIC_MAP, "nodeSelectorTerms": ATOMIC},
    core_v1.NodeSelectorTerm: {"": ATOMIC_MAP, "matchExpressions": ATOMIC, "matchFields": ATOMIC},
    core_v1.NodeSelectorRequirement: {"values": ATOMIC},
}
