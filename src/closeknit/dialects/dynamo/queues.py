"""The queues that a deployment's batches go to, with what Kueue needs around them.

Only what the store does not hold is written: a Topology, a ResourceFlavor for it, a ClusterQueue with just
the quota that all deployments in the queue need, and the LocalQueue that the batches name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.dialects.core.kinds import ANY_NODE, new_object, resource_group
from closeknit.dialects.dynamo.to_kueue import batches_of, queue_of
from closeknit.dialects.family import Object, Rendered
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology

_GROUP = "kueue.x-k8s.io"


def _queue(stored: Stored[Any]) -> Iterator[tuple[str, str]]:
    yield stored.namespace, queue_of(stored.content.metadata.labels)


_SHAPES = (
    ("dynamo-queues-v1alpha1", alpha.DynamoGraphDeployment),
    ("dynamo-queues", beta.DynamoGraphDeployment),
)
DEPLOYMENTS_BY_QUEUE = tuple(Index(name, shape, _queue) for name, shape in _SHAPES)
"""By namespace and queue."""


def batches_of_deployment(stored: Stored[Any], view: View) -> Rendered:
    """The batches of a deployment, after what their queue needs and the store does not hold."""
    made = view.derive(batches_of, stored.key)
    if not made.batches:
        return Rendered(problems=made.problems)
    # Each deployment writes an object of its own, and equal ones are written once.
    around = (dict(each) for each in view.derive(queue_objects, stored.namespace, made.queue))
    return Rendered((*around, *made.batches))


def queue_objects(view: View, namespace: str, queue: str) -> tuple[Object, ...]:
    """What a queue needs that is not there, for all deployments in it."""
    asked: dict[str, tuple[Topology | None, Resources]] = {}
    cluster = f"{namespace}-{queue}"[:253]
    for name, _ in _SHAPES:
        for stored in view.found(name, (namespace, queue)):
            made = view.derive(batches_of, stored.key)
            if made.batches:
                flavor = made.topology.name if made.topology is not None else cluster
                _, before = asked.get(flavor, (None, Resources()))
                asked[flavor] = (made.topology, before + made.resources)
    return tuple(_needed(view, namespace, queue, cluster, asked))


def _needed(
    view: View,
    namespace: str,
    queue: str,
    cluster: str,
    asked: dict[str, tuple[Topology | None, Resources]],
) -> Iterator[Object]:
    for topology, _ in asked.values():
        if topology is not None:
            levels = [{"nodeLabel": label} for label in topology.down_to_nodes().labels]
            yield from _missing(view, "Topology", topology.name, {"levels": levels})
    if view.has(Key(_GROUP, "LocalQueue", namespace, queue)):
        return
    for name, (known, _) in asked.items():
        spec: Object = {"nodeLabels": ANY_NODE, "topologyName": known.name} if known else {}
        yield from _missing(view, "ResourceFlavor", name, spec)
    # Each flavor has quota for all, so that no workload is kept out by those that came before it.
    quota = resource_group(sum((resources for _, resources in asked.values()), Resources()), asked)
    spec = {"namespaceSelector": {}, "resourceGroups": [quota]}
    yield from _missing(view, "ClusterQueue", cluster, spec)
    yield _object("LocalQueue", {"name": queue, "namespace": namespace}, {"clusterQueue": cluster})


def _missing(view: View, kind: str, name: str, spec: Object) -> Iterator[Object]:
    if not view.has(Key(_GROUP, kind, "", name)):
        yield _object(kind, {"name": name}, spec)


def _object(kind: str, metadata: Object, spec: Object) -> Object:
    return new_object(f"{_GROUP}/v1beta2", kind, metadata, spec)
