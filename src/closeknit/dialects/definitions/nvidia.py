"""The kinds of KAI, Grove, Dynamo and OSMO as custom resources.

Grove's are those of today and of v0.1.0-alpha.8. In v1alpha1 of Dynamo's deployments the services stay open,
because they may be written as a mapping or as a list. The group of OSMO's files is Closeknit's own.
"""

from __future__ import annotations

from functools import partial

from closeknit.apis import grove_io_v1alpha1 as grove
from closeknit.apis import kai_scheduler_v1alpha1 as kai
from closeknit.apis import nvidia_com_v1alpha1 as v1alpha1
from closeknit.apis import nvidia_com_v1beta1 as v1beta1
from closeknit.apis import osmo_closeknit_dev_v1alpha1 as osmo
from closeknit.apis import scheduler_grove_io_v1alpha1 as scheduler
from closeknit.apis import scheduling_run_ai_v2 as queueing
from closeknit.apis import scheduling_run_ai_v2alpha2 as scheduling
from closeknit.dialects.definitions import pods
from closeknit.dialects.definitions.definition import AGE, OPEN, Column, Definition, Limits, condition
from closeknit.dialects.definitions.pods import ATOMIC, LABEL, NODE_LABEL_KEY, NOT_NEGATIVE, items, keyed

_DOMAINS = Column("Domains", ".spec.levels[*].domain")
_REPLICAS = Column("Replicas", ".spec.replicas", "integer")
_MINIMUM = Column("MinAvail", ".spec.minAvailable", "integer")
_AVAILABLE = Column("Available", ".status.availableReplicas", "integer")
_SCHEDULED = Column("Scheduled", ".status.scheduledReplicas", "integer")
_BREACHED = condition("MinBreached", "MinAvailableBreached", priority=1)

_EARLIER_DOMAINS = ["region", "zone", "datacenter", "block", "rack", "host", "numa"]
_GROVE_DOMAIN = {"minLength": 1, "maxLength": 63, "pattern": "^[a-z][a-z0-9-]*$"}
_ORDERS = ["AnyOrder", "InOrder", "Explicit"]
_ONE = {"default": 1}
_PACK_DOMAIN = {"pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"}
_COUNTS = {"minMember": NOT_NEGATIVE, "minSubGroup": NOT_NEGATIVE}
_LIMITS: Limits = {
    kai.TopologySpec: {"levels": {**items(1, 16), **ATOMIC}},
    kai.TopologyLevel: {"nodeLabel": NODE_LABEL_KEY, "alias": NODE_LABEL_KEY},
    scheduling.PodGroupSpec: _COUNTS,
    # Published without a size.
    queueing.QueueSpec: {"priority": {"format": None}},
    scheduling.SubGroup: {
        **_COUNTS,
        "name": {"minLength": 1, "pattern": LABEL},
        "parent": {"pattern": LABEL},
    },
    grove.ClusterTopologyBindingSpec: {"levels": {"minItems": 1}},
    grove.TopologyLevel: {
        "domain": _GROVE_DOMAIN,
        "key": {"minLength": 1, "maxLength": 63, "pattern": pods.LOOSE_NODE_LABEL},
    },
    grove.ClusterTopologySpec: {
        "levels": {
            "minItems": 1,
            "maxItems": 7,
            "items": {"properties": {"domain": {"enum": _EARLIER_DOMAINS, **dict.fromkeys(_GROVE_DOMAIN)}}},
        }
    },
    grove.TopologyConstraint: {"packDomain": _GROVE_DOMAIN},
    grove.TopologyPackConstraint: {"required": _GROVE_DOMAIN, "preferred": _GROVE_DOMAIN},
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
    v1alpha1.ProviderOverride: {"": {"required": ["apiVersion", "value"]}, "apiVersion": {"minLength": 1}},
    # The proposal knew one topology, and named none.
    v1alpha1.DeploymentTopologyConstraint: {
        "": {OPEN: True},
        "topologyProfile": {"minLength": 1},
        "packDomain": _PACK_DOMAIN,
    },
    v1alpha1.ServiceTopologyConstraint: {"": {"required": ["packDomain"]}, "packDomain": _PACK_DOMAIN},
    v1alpha1.Multinode: {"nodeCount": {"minimum": 2, "default": 2}},
    v1alpha1.PodMetadata: {
        "": {OPEN: True},
        "annotations": {"additionalProperties": {"maxLength": 262144}},
    },
    # That it must name a topology is a rule, since one of the proposal does not.
    v1beta1.DeploymentTopologyConstraint: {
        "": {OPEN: True},
        "clusterTopologyName": {"minLength": 1},
        "packDomain": _PACK_DOMAIN,
    },
    # Nobody converts between the versions here, so each keeps what only the other one describes.
    v1alpha1.DynamoGraphDeploymentSpec: {"": {OPEN: True}},
    v1beta1.DynamoGraphDeploymentSpec: {
        "": {OPEN: True},
        "components": {**items(None, 25), **keyed("name")},
    },
    v1beta1.GpuMemoryService: {"mode": {"enum": ["IntraPod", "InterPod"], "default": "IntraPod"}},
    v1beta1.Component: {
        "name": {"minLength": 1, "maxLength": 63, "pattern": "^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$"},
        "replicas": NOT_NEGATIVE,
        "minAvailable": {"minimum": 1},
    },
    osmo.PoolFile: {"topology_keys": keyed("key")},
    osmo.TopologyKey: {"key": {"minLength": 1}, "label": NODE_LABEL_KEY},
    # OSMO has units of its own, such as GiB.
    osmo.ResourceSpec: {
        "memory": {"pattern": None},
        "storage": {"pattern": None},
    },
    osmo.TopologyRequirement: {
        "requirementType": {"enum": ["required", "preferred"]},
    },
    osmo.TaskGroupSpec: {"tasks": keyed("name")},
}

_definition = partial(Definition, limits=_LIMITS)

KAI = (
    _definition(
        "kai.scheduler",
        kai.Topology,
        ("v1alpha1", "v1"),
        namespaced=False,
        columns=(Column("Levels", ".spec.levels[*].nodeLabel"), AGE),
        status=False,
    ),
    _definition(
        "scheduling.run.ai",
        scheduling.PodGroup,
        ("v2alpha2",),
        short_names=("pg",),
        columns=(
            Column("Queue", ".spec.queue"),
            Column("Min", ".spec.minMember", "integer"),
            Column("Scheduled", '.status.conditions[?(@.type=="Scheduled")].status'),
            Column("Reason", '.status.conditions[?(@.type=="Scheduled")].reason'),
            AGE,
        ),
    ),
    _definition(
        "scheduling.run.ai",
        queueing.Queue,
        ("v2",),
        namespaced=False,
        columns=(
            Column("Priority", ".spec.priority", "integer"),
            Column("Parent", ".spec.parentQueue"),
            AGE,
        ),
    ),
)

GROVE = (
    _definition(
        "grove.io",
        grove.ClusterTopologyBinding,
        namespaced=False,
        short_names=("ct",),
        columns=(_DOMAINS, AGE),
    ),
    _definition(
        "grove.io",
        grove.ClusterTopology,
        namespaced=False,
        columns=(_DOMAINS, AGE),
        status=False,
    ),
    _definition(
        "grove.io",
        grove.PodCliqueSet,
        short_names=("pcs",),
        columns=(_REPLICAS, _AVAILABLE, AGE),
        selector=".status.hpaPodSelector",
    ),
    _definition(
        "grove.io",
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
        "grove.io",
        grove.PodCliqueScalingGroup,
        short_names=("pcsg",),
        columns=(_MINIMUM, _REPLICAS, _AVAILABLE, _SCHEDULED, _BREACHED, AGE),
        selector=".status.selector",
    ),
    _definition(
        "scheduler.grove.io",
        scheduler.PodGang,
        short_names=("pg",),
        columns=(Column("Phase", ".status.phase"), AGE),
    ),
)

DYNAMO = (
    _definition(
        "nvidia.com",
        v1beta1.DynamoGraphDeployment,
        ("v1beta1", "v1alpha1"),
        shapes={"v1alpha1": v1alpha1.DynamoGraphDeployment},
        short_names=("dgd",),
        columns=(condition("Ready"), Column("Backend", ".spec.backendFramework"), AGE),
    ),
)

OSMO = (
    _definition(
        "osmo.closeknit.dev",
        osmo.Pool,
        namespaced=False,
        columns=(Column("Backend", ".spec.backend"), Column("Keys", ".spec.topology_keys[*].key"), AGE),
    ),
    _definition(
        "osmo.closeknit.dev",
        osmo.Backend,
        namespaced=False,
        columns=(Column("Scheduler", ".spec.scheduler_settings.scheduler_type"), AGE),
    ),
    _definition(
        "osmo.closeknit.dev",
        osmo.Workflow,
        short_names=("wf",),
        columns=(Column("Pool", ".spec.workflow.pool"), Column("Phase", ".status.phase"), AGE),
    ),
)
