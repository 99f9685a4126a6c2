"""The labels and annotations of Dynamo."""

from __future__ import annotations

DEPLOYMENT = "nvidia.com/dynamo-graph-deployment-name"
"""Label of everything that was made for a DynamoGraphDeployment: its name."""
COMPONENT = "nvidia.com/dynamo-component"
"""Label of a pod: the component that it belongs to."""
KAI_QUEUE = "nvidia.com/kai-scheduler-queue"
"""Annotation of a DynamoGraphDeployment: the queue of KAI that its pods go to."""
ENABLE_GROVE = "nvidia.com/enable-grove"
"""Annotation of a DynamoGraphDeployment: with the value ``false``, it is not run by Grove."""
