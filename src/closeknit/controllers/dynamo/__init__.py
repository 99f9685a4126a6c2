"""What Dynamo's operator does in a cluster: a deployment becomes a PodCliqueSet, or batches for Kueue."""

from __future__ import annotations

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.controllers.dynamo.deployments import Seen, decide, observe
from closeknit.controllers.runtime.controller import Controller, Operator
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key


def _observe_earlier(view: View, key: Key) -> Seen | None:
    """The same, under a name of its own: what is stale is known by the function that observed it."""
    return observe(view, key)


OPERATOR = Operator(
    "dynamo",
    (
        # A server that serves both versions is read in the later one.
        Controller("dynamo", beta.DynamoGraphDeployment, observe, decide),
        Controller("dynamo", alpha.DynamoGraphDeployment, _observe_earlier, decide),
    ),
)
