"""What Dynamo's operator does in a cluster: a deployment becomes a PodCliqueSet, or batches for Kueue."""

from __future__ import annotations

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.controllers.dynamo.deployments import decide, observe
from closeknit.controllers.runtime.controller import Controller, Operator

OPERATOR = Operator(
    "dynamo",
    tuple(
        # A server serves the kind in one of its versions, or in both; it is read in one.
        Controller("dynamo", shape, observe, decide)
        for shape in (beta.DynamoGraphDeployment, alpha.DynamoGraphDeployment)
    ),
)
