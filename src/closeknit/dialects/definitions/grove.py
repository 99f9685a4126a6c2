"""Grove's kinds as custom resources, those of v0.1.0-alpha.8 among them."""

from __future__ import annotations

from functools import partial

from closeknit.apis import grove_io_v1alpha1 as grove
from closeknit.apis import scheduler_grove_io_v1alpha1 as scheduler
from closeknit.dialects.definitions.definition import AGE, Column, Definition, Limits, condition
from closeknit.dialects.definitions.pods import LOOSE_NODE_LABEL, keyed

_GROUP = "grove.io"
_DOMAINS = Column("Domains", ".spec.levels[*].domain")
_REPLICAS = Column("Replicas", ".spec.replicas", "integer")
_MINIMUM = Column("MinAvail", ".spec.minAvailable", "integer")
_AVAILABLE = Column("Available", ".status.availableReplicas", "integer")
_SCHEDULED = Column("Scheduled", ".status.scheduledReplicas", "integer")
_BREACHED = condition("MinBreached", "MinAvailableBreached", priority=1)

_EARLIER_DOMAINS = ["region", "zone", "datacenter", "block", "rack", "host", "numa"]
_DOMAIN = {"minLength": 1, "maxLength": 63, "pattern": "^[a-z][a-z0-9-]*$"}
_ORDERS = ["AnyOrder", "InOrder", "Explicit"]
_ONE = {"default": 1}
_LIMITS: Limits = {
    grove.ClusterTopologyBindingSpec: {"levels": {"minItems": 1}},
    grove.TopologyLevel: {
        "domain": _DOMAIN,
        "key": {"minLength": 1, "maxLength": 63, "pattern": LOOSE_NODE_LABEL},
    },
    grove.ClusterTopologySpec: {
        "levels": {
            "minItems": 1,
            "maxItems": 7,
            "items": {"properties": {"domain": {"enum": _EARLIER_DOMAINS, **dict.fromkeys(_DOMAIN)}}},
        }
    },
    grove.TopologyConstraint: {"packDomain": _DOMAIN},
    grove.TopologyPackConstraint: {"required": _DOMAIN, "preferred": _DOMAIN},
    grove.PodCliqueSetSpec: {"replicas": {"default": 0}},
    grove.PodCliqueSetTemplate: {
        "cliqueStartupType": {
            "enum": [f"CliqueStartupType{order}" for order in _ORDERS],
            "default": "CliqueStartupTypeAnyOrder",
        },
        "cliques": keyed("name"),
    },
    # The proposal may say nothing of pods and their roles.
    grove.PodCliqueSpec: {"": {"required": ["replicas"]}},
    grove.PodCliqueScalingGroupConfig: {"minAvailable": _ONE, "replicas": _ONE},
    grove.PodCliqueScalingGroupSpec: {
        "": {"required": ["cliqueNames", "replicas"]},
        "minAvailable": _ONE,
        "replicas": _ONE,
    },
    scheduler.PodGroup: {"": {"required": ["minReplicas", "name", "podReferences"]}},
}

_definition = partial(Definition, _GROUP, limits=_LIMITS)

DEFINITIONS = (
    _definition(
        grove.ClusterTopologyBinding,
        namespaced=False,
        short_names=("ct",),
        columns=(_DOMAINS, AGE),
    ),
    _definition(
        grove.ClusterTopology,
        namespaced=False,
        columns=(_DOMAINS, AGE),
        status=False,
    ),
    _definition(
        grove.PodCliqueSet,
        short_names=("pcs",),
        columns=(_REPLICAS, _AVAILABLE, AGE),
        selector=".status.hpaPodSelector",
    ),
    _definition(
        grove.PodClique,
        short_names=("pclq",),
        columns=(
            _MINIMUM,
            _REPLICAS,
            Column("Ready", ".status.readyReplicas", "integer"),
            _SCHEDULED,
            _BREACHED,
            AGE,
        ),
        selector=".status.hpaPodSelector",
    ),
    _definition(
        grove.PodCliqueScalingGroup,
        short_names=("pcsg",),
        columns=(_MINIMUM, _REPLICAS, _AVAILABLE, _SCHEDULED, _BREACHED, AGE),
        selector=".status.selector",
    ),
    Definition(
        "scheduler.grove.io",
        scheduler.PodGang,
        short_names=("pg",),
        columns=(Column("Phase", ".status.phase"), AGE),
        limits=_LIMITS,
    ),
)
