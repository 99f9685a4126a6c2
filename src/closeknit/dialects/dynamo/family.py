"""Dynamo as a family: its kinds, and the functions for each."""

from __future__ import annotations

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.apis.operator_config_dynamo_nvidia_com_v1alpha1 import OperatorConfiguration
from closeknit.apis.wire import words
from closeknit.dialects.dynamo import render
from closeknit.dialects.dynamo.compile import BATCHES_BY_DEPLOYMENT, DIALECT, compile_deployment
from closeknit.dialects.dynamo.status import deployment_status
from closeknit.dialects.dynamo.to_kueue import DEPLOYMENTS_BY_QUEUE, batches_of_deployment
from closeknit.dialects.dynamo.topologies import topologies
from closeknit.dialects.dynamo.updates import update_problems
from closeknit.dialects.family import Family
from closeknit.dialects.wire.kinds import Kind, OwnFile

_DEPLOYMENTS = (alpha.DynamoGraphDeployment, beta.DynamoGraphDeployment)

DYNAMO = Family(
    name=DIALECT,
    kinds=(
        # Whole, since a server that converts nothing hands out v1alpha1's services in it.
        Kind(
            "nvidia.com",
            "DynamoGraphDeployment",
            ("v1beta1",),
            beta.DynamoGraphDeployment,
            verbatim=True,
            workload=True,
        ),
        Kind(
            "nvidia.com", "DynamoGraphDeployment", ("v1alpha1",), alpha.DynamoGraphDeployment, workload=True
        ),
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
    topologies=topologies,
    compile=dict.fromkeys(_DEPLOYMENTS, compile_deployment),
    render={
        "grove": dict.fromkeys(_DEPLOYMENTS, render.set_of_deployment),
        "podgang": dict.fromkeys(_DEPLOYMENTS, render.gangs_of_deployment),
        "kai": dict.fromkeys(_DEPLOYMENTS, render.pod_groups_of_deployment),
        "kueue": dict.fromkeys(_DEPLOYMENTS, batches_of_deployment),
        "pods": dict.fromkeys(_DEPLOYMENTS, render.pods_of_deployment),
    },
    update=dict.fromkeys(_DEPLOYMENTS, update_problems),
    status=dict.fromkeys(_DEPLOYMENTS, deployment_status),
    # The pods of a deployment are those of the PodCliqueSet that is made of it.
    claimed_by="grove",
    borrows=("grove",),
    indexes=(*BATCHES_BY_DEPLOYMENT, *DEPLOYMENTS_BY_QUEUE),
    passed_over={
        "nvidia.com": words("""
            DynamoCheckpoint DynamoComponentDeployment DynamoGraphDeploymentRequest
            DynamoGraphDeploymentScalingAdapter DynamoModel DynamoWorkerMetadata ClusterPolicy NVIDIADriver
        """)
    },
)
