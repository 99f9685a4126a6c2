"""A deployment for Kueue, where there is no Grove: a batch for each component that is to run.

Domains become node labels by the operator's ``domainToLabelMapping``, or by the topology that the
deployment speaks of. A component's pods share one domain; of one that runs on several nodes, each
replica does, as a slice of the pods, within the domain of the deployment. A component all of whose replicas
are needed is a JobSet; where fewer will do it is a Job, because Kueue admits no other with part of its
pods. Kueue cannot express that several components share a domain, so that is a problem.

Around the batches only what the store does not hold is written: a Topology, a ResourceFlavor for it, a
ClusterQueue with just the quota that all deployments in the queue need, and the LocalQueue that is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from closeknit.apis import kueue_keys as keys
from closeknit.apis import nvidia_com_v1alpha1 as alpha
from closeknit.apis import nvidia_com_v1beta1 as beta
from closeknit.apis.dynamo_keys import COMPONENT, DEPLOYMENT
from closeknit.dialects.core.kinds import ANY_NODE, indexed_job, new_object, resource_group
from closeknit.dialects.core.levels import level_of_nodes
from closeknit.dialects.dynamo.compile import DrawnDeployment, drawn_deployment
from closeknit.dialects.dynamo.deployments import Component
from closeknit.dialects.dynamo.rules import places
from closeknit.dialects.dynamo.to_pod_clique_set import checksum
from closeknit.dialects.dynamo.topologies import known_to_dynamo
from closeknit.dialects.family import Object, Rendered
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import dynamo as sentences
from closeknit.hub.topology import Topology

DEFAULT_QUEUE = "dynamo"
_QUEUE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_LONGEST = 40
"""So that a pod's name, which adds a job's name and numbers, keeps within 63 characters."""


@dataclass(frozen=True, slots=True)
class Batches:
    """What a deployment becomes for Kueue; nothing where Kueue cannot express all of it."""

    queue: str = ""
    batches: tuple[Object, ...] = ()
    topology: Topology | None = None
    resources: Resources = Resources()
    """What all pods ask for together, themselves included."""
    problems: tuple[Problem, ...] = ()
    """What Kueue has no words for."""


def batches_of(view: View, key: Key) -> Batches:
    """The batches of a deployment in the store that has no problems of its own."""
    drawn = view.derive(drawn_deployment, key)
    if drawn.blueprint is None:
        return Batches()
    topology = view.derive(known_to_dynamo).topologies.get(drawn.blueprint.topology or "")
    if problems := tuple(_unsayable(drawn, topology)):
        return Batches(problems=problems)
    shapes = {clique.given.labels[COMPONENT]: clique.shape for clique in drawn.blueprint.all_cliques()}
    resources = Resources()
    for component in _running(drawn):
        pods = component.replicas * (component.nodes or 1)
        resources += Resources({**(shapes[component.name].resources * pods), "pods": pods})
    batches = tuple(_batch(drawn, component, topology) for component in _running(drawn))
    return Batches(queue_of(drawn.deployment.metadata.labels), batches, topology, resources)


def queue_of(labels: dict[str, str]) -> str:
    """The queue of a deployment with these labels."""
    return labels.get(keys.QUEUE) or DEFAULT_QUEUE


def _running(drawn: DrawnDeployment) -> list[Component]:
    return [component for component in drawn.deployment.components if component.replicas]


def _unsayable(drawn: DrawnDeployment, topology: Topology | None) -> Iterator[Problem]:
    deployment, running = drawn.deployment, _running(drawn)
    queue = queue_of(deployment.metadata.labels)
    if not _QUEUE_NAME.fullmatch(queue):
        yield sentences.NOT_A_QUEUE_NAME.at(("metadata", "labels", keys.QUEUE), queue=queue)
    for place in places(deployment):
        if place.given is not None:
            yield sentences.OVERRIDE_FOR_OTHERS.at((*place.path, "value"))
    if deployment.domain and len(running) > 1:
        yield sentences.COMPONENTS_TOGETHER.at(
            ("spec", "topologyConstraint", "packDomain"), domain=deployment.domain, components=len(running)
        )
    for component in running:
        least = _least(component)
        some = component.nodes is not None and least < component.replicas
        if some and not _asked(drawn, component, topology):
            yield sentences.REPLICAS_WITHOUT_DOMAIN.at(
                (*component.path, "minAvailable"),
                least=least,
                replicas=component.replicas,
                component=component.name,
                nodes=component.nodes or 1,
            )


def _least(component: Component) -> int:
    """How many replicas must run at once."""
    return min(component.least or 1, component.replicas)


def _batch(drawn: DrawnDeployment, component: Component, topology: Topology | None) -> Object:
    least, metadata = _least(component), drawn.deployment.metadata
    written: Object = {
        "name": _name(f"{metadata.name}-{component.key}"),
        "namespace": drawn.namespace,
        "labels": {keys.QUEUE: queue_of(metadata.labels), DEPLOYMENT: metadata.name},
    }
    if least < component.replicas:
        pods = component.replicas * (component.nodes or 1)
        written["annotations"] = {keys.MIN_PARALLELISM: str(least * (component.nodes or 1))}
        spec = {"suspend": True, **_job(drawn, component, topology, pods)}
        return new_object("batch/v1", "Job", written, spec)
    each = component.replicas if component.nodes is None else component.nodes
    jobs = {
        "name": "pods",
        "replicas": 1 if component.nodes is None else component.replicas,
        "template": {"spec": _job(drawn, component, topology, each)},
    }
    spec = {"suspend": True, "replicatedJobs": [jobs]}
    return new_object("jobset.x-k8s.io/v1alpha2", "JobSet", written, spec)


def _job(drawn: DrawnDeployment, component: Component, topology: Topology | None, pods: int) -> Object:
    """The spec of a Job with this many pods of a component."""
    metadata: dict[str, Any] = {
        "annotations": {**component.annotations, **_asked(drawn, component, topology)},
        "labels": {**component.labels, COMPONENT: component.name},
    }
    pod = {key: value for key, value in component.pod_spec.items() if key != "schedulerName"}
    kept = {key: value for key, value in metadata.items() if value}
    return indexed_job(pods, {"metadata": kept, "spec": {**pod, "restartPolicy": "OnFailure"}})


def _asked(drawn: DrawnDeployment, component: Component, topology: Topology | None) -> dict[str, str]:
    """The annotations by which Kueue is asked for closeness; an own domain goes before an inherited one."""
    whole = _label(drawn.deployment.domain, topology)
    own = _label(component.domain or "", topology)
    if component.nodes is None:
        # Each pod of a forced scaling group may be somewhere else, so its own domain asks for nothing.
        shared = whole if component.forced else own or whole
        return {keys.REQUIRED: shared} if shared else {}
    required = {keys.REQUIRED: whole} if whole else {}
    if not own and _least(component) == component.replicas:
        return required
    if not (own or whole):
        return {}
    # Slices keep replicas whole where some of them may be missing, even if they ask for nothing more.
    return {**required, keys.SLICE_LEVEL: own or whole, keys.SLICE_SIZE: str(component.nodes)}


def _label(domain: str, topology: Topology | None) -> str:
    levels: Iterator[str] = (
        (level.label for level in topology.levels if level.name == domain) if topology else iter(())
    )
    return level_of_nodes(next(levels, ""), topology)


def _name(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 5]}-{checksum(name):04x}"


# ------------------------------------------------------------- the queue, and what Kueue needs around it

_GROUP = "kueue.x-k8s.io"


def _queue(stored: Stored[Any]) -> Iterator[tuple[str, str]]:
    yield stored.namespace, queue_of(stored.content.metadata.labels)


_BY_QUEUE = "dynamo-queues"
DEPLOYMENTS_BY_QUEUE = tuple(
    Index(_BY_QUEUE, shape, _queue) for shape in (alpha.DynamoGraphDeployment, beta.DynamoGraphDeployment)
)
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
    return tuple(_needed(view, namespace, queue))


def _needed(view: View, namespace: str, queue: str) -> Iterator[Object]:
    asked: dict[str, tuple[Topology | None, Resources]] = {}
    cluster = f"{namespace}-{queue}"[:253]
    for stored in view.found(_BY_QUEUE, (namespace, queue)):
        made = view.derive(batches_of, stored.key)
        if made.batches:
            flavor = made.topology.name if made.topology is not None else cluster
            _, before = asked.get(flavor, (None, Resources()))
            asked[flavor] = (made.topology, before + made.resources)
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
    return new_object(keys.API_VERSION, kind, metadata, spec)
