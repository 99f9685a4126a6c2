"""Limits of what pods are made of, for the kinds that hold templates of pods."""

from __future__ import annotations

from closeknit.apis import batch_v1, core_v1
from closeknit.dialects.definitions.bounds import ATOMIC, ATOMIC_MAP, keyed
from closeknit.dialects.definitions.schemas import Limits

_WHOLE = {"type": "integer", "format": "int32", "x-kubernetes-preserve-unknown-fields": None}
_STRING = {"type": "string", "x-kubernetes-preserve-unknown-fields": None}

LIMITS: Limits = {
    batch_v1.JobTemplateSpec: {"": {"required": None}},
    core_v1.PodTemplateSpec: {"": {"required": None}},
    core_v1.PodSpec: {
        "containers": keyed("name"),
        "initContainers": keyed("name"),
        "nodeSelector": ATOMIC_MAP,
        "resourceClaims": {
            **keyed("name"),
            "items": {"properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
        "schedulingGates": keyed("name"),
        "tolerations": ATOMIC,
        "topologySpreadConstraints": keyed("topologyKey", "whenUnsatisfiable"),
    },
    core_v1.Container: {"": {"required": ["name"]}, "ports": keyed("containerPort", "protocol")},
    core_v1.ContainerPort: {
        "": {"required": ["containerPort"]},
        "containerPort": _WHOLE,
        "protocol": {"default": "TCP"},
    },
    core_v1.PodSchedulingGate: {"": {"required": ["name"]}},
    core_v1.TopologySpreadConstraint: {
        "": {"required": ["maxSkew", "topologyKey", "whenUnsatisfiable"]},
        "maxSkew": _WHOLE,
        "topologyKey": _STRING,
    },
    core_v1.NodeAffinity: {
        "preferredDuringSchedulingIgnoredDuringExecution": ATOMIC,
    },
    core_v1.PodAffinity: {"requiredDuringSchedulingIgnoredDuringExecution": ATOMIC},
    core_v1.NodeSelector: {"": ATOMIC_MAP, "nodeSelectorTerms": ATOMIC},
    core_v1.NodeSelectorTerm: {"": ATOMIC_MAP, "matchExpressions": ATOMIC, "matchFields": ATOMIC},
    core_v1.NodeSelectorRequirement: {"values": ATOMIC},
}
