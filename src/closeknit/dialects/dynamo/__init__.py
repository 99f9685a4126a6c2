"""Dynamo: DynamoGraphDeployment, whose services become cliques and scaling groups of Grove.

Reads v1alpha1, with services as a mapping or as a list, and v1beta1 with components. Everything that
concerns placing goes by way of the PodCliqueSet that is made of a deployment, so
there is one mechanism. Where the operator's settings map domains to labels, no topology of Grove is needed.
"""

from __future__ import annotations

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.apis.operator_config_dynamo_nvidia_com_v1alpha1 import OperatorConfiguration
from closeknit.dialects.dynamo.jobs import kueue_objects
from closeknit.dialects.dynamo.mapping import read_mapping
from closeknit.dialects.dynamo.objects import gang_objects, grove_objects, kai_objects, pod_objects
from closeknit.dialects.dynamo.workloads import DIALECT, read_workloads
from closeknit.dialects.family import Family, described
from closeknit.dialects.wire.kinds import Kind, OwnFile

DYNAMO = Family(
    name=DIALECT,
    kinds=(
        Kind("nvidia.com", "DynamoGraphDeployment", ("v1beta1",), beta.DynamoGraphDeployment),
        Kind("nvidia.com", "DynamoGraphDeployment", ("v1alpha1",), alpha.DynamoGraphDeployment),
        Kind(
            "operator.config.dynamo.nvidia.com",
            "OperatorConfiguration",
            ("v1alpha1",),
            OperatorConfiguration,
            namespaced=False,
            named=False,
            own_file=OwnFile("operator", (), unnamed="dynamo-operator"),
        ),
    ),
    topologies=lambda view: described(read_mapping(view)),
    workloads=read_workloads,
    claimed_by="grove",
    borrows=("grove",),
    passed_over={
        "nvidia.com": frozenset(
            {
                "DynamoCheckpoint",
                "DynamoComponentDeployment",
                "DynamoGraphDeploymentRequest",
                "DynamoGraphDeploymentScalingAdapter",
                "DynamoModel",
                "DynamoWorkerMetadata",
                "ClusterPolicy",
                "NVIDIADriver",
            }
        )
    },
    translations={
        "grove": grove_objects,
        "podgang": gang_objects,
        "kai": kai_objects,
        "kueue": kueue_objects,
        "pods": pod_objects,
    },
)
