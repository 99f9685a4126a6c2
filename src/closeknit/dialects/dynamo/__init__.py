"""Dynamo: DynamoGraphDeployment, whose services become cliques and scaling groups of Grove.

Reads v1alpha1, with services as a mapping or as a list, and v1beta1 with components. Everything that
concerns placing goes by way of the PodCliqueSet that is made of a deployment, so
there is one mechanism. Where the operator's settings map domains to labels, no topology of Grove is needed.

Problems of a deployment are worded in its own terms (``to_pod_clique_set``). This package may use those of
Grove and KAI; Kueue it knows by the keys in ``closeknit.apis`` alone.
"""

from closeknit.dialects.dynamo.family import DYNAMO

__all__ = ["DYNAMO"]
