"""Dynamo's deployments as custom resources.

In v1alpha1 the services stay open, because they may be written as a mapping or as a list.
"""

from __future__ import annotations

from closeknit.apis import nvidia_com_v1alpha1 as v1alpha1
from closeknit.apis import nvidia_com_v1beta1 as v1beta1
from closeknit.dialects.definitions.definition import AGE, OPEN, Column, Definition, Limits, condition
from closeknit.dialects.definitions.pods import NOT_NEGATIVE, items, keyed

_DOMAIN = {"pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"}
_LIMITS: Limits = {
    v1alpha1.ProviderOverride: {"": {"required": ["apiVersion", "value"]}, "apiVersion": {"minLength": 1}},
    # The proposal knew one topology, and named none.
    v1alpha1.DeploymentTopologyConstraint: {"topologyProfile": {"minLength": 1}, "packDomain": _DOMAIN},
    v1alpha1.ServiceTopologyConstraint: {"": {"required": ["packDomain"]}, "packDomain": _DOMAIN},
    v1alpha1.Multinode: {"nodeCount": {"minimum": 2, "default": 2}},
    v1alpha1.PodMetadata: {
        "": {OPEN: True},
        "annotations": {"additionalProperties": {"maxLength": 262144}},
    },
    v1beta1.DeploymentTopologyConstraint: {
        "": {"required": ["clusterTopologyName"]},
        "clusterTopologyName": {"minLength": 1},
        "packDomain": _DOMAIN,
    },
    v1beta1.DynamoGraphDeploymentSpec: {"components": {**items(None, 25), **keyed("name")}},
    v1beta1.GpuMemoryService: {"mode": {"enum": ["IntraPod", "InterPod"], "default": "IntraPod"}},
    v1beta1.Component: {
        "name": {"minLength": 1, "maxLength": 63, "pattern": "^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$"},
        "replicas": NOT_NEGATIVE,
        "minAvailable": {"minimum": 1},
    },
}

DEFINITIONS = (
    Definition(
        "nvidia.com",
        v1beta1.DynamoGraphDeployment,
        ("v1beta1", "v1alpha1"),
        shapes={"v1alpha1": v1alpha1.DynamoGraphDeployment},
        short_names=("dgd",),
        columns=(condition("Ready"), Column("Backend", ".spec.backendFramework"), AGE),
        limits=_LIMITS,
    ),
)
