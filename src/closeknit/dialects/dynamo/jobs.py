"""A deployment for Kueue, where there is no Grove: a batch for each component that is to run.

Domains become node labels by the operator's ``domainToLabelMapping``, or by the topology that the
deployment speaks of. A component's pods share one domain; of one that runs on several nodes, each
replica does, as a slice of the pods, within the domain of the deployment. A component all of whose replicas
are needed is a JobSet; where fewer will do it is a Job, because Kueue admits no other with part of its
pods. That several components share a domain is nothing that Kueue can be told, and so it is a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from closeknit.apis import kueue_keys as keys
from closeknit.dialects.core.host_level import level_of_nodes
from closeknit.dialects.dynamo.deployments import Component
from closeknit.dialects.dynamo.overrides import places
from closeknit.dialects.dynamo.queues import Queues
from closeknit.dialects.dynamo.sets import checksum
from closeknit.dialects.dynamo.workloads import Read, read_all, topologies_for
from closeknit.dialects.family import Object, Surroundings
from closeknit.dialects.grove.members import DEPLOYMENT
from closeknit.dialects.grove.objects import Objects
from closeknit.dialects.store.view import View
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology

DEFAULT_QUEUE = "dynamo"
_COMPONENT = "nvidia.com/dynamo-component"
_QUEUE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_LONGEST = 40
"""So that a pod's name, which adds a job's name and numbers, keeps within 63 characters."""


def kueue_objects(manifests: View, surroundings: Surroundings) -> Objects:
    """The batches of every deployment, after the queues that they need and the files do not hold.

    A deployment that Kueue cannot be told of in full has none, and problems instead.
    """
    known = topologies_for(manifests)
    queues = Queues(manifests)
    batches: list[Object] = []
    for one in read_all(manifests, lenient=surroundings.lenient):
        topology = known.topologies.get(one.blueprint.topology or "") if one.blueprint is not None else None
        problems = one.problems or tuple(_unsayable(one, topology))
        yield from (one.manifest.report(problem) for problem in problems)
        if problems or one.blueprint is None:
            continue
        shapes = {clique.given.labels[_COMPONENT]: clique.shape for clique in one.blueprint.all_cliques()}
        for component in _running(one):
            pods = component.replicas * (component.nodes or 1)
            asked = shapes[component.name].resources * pods
            queues.ask(one.manifest.namespace, _queue(one), topology, Resources({**asked, "pods": pods}))
            batches.append(_batch(one, component, topology))
    yield from queues.objects()
    yield from batches


def _running(one: Read) -> list[Component]:
    return [component for component in one.deployment.components if component.replicas]


def _queue(one: Read) -> str:
    return one.deployment.metadata.labels.get(keys.QUEUE) or DEFAULT_QUEUE


def _unsayable(one: Read, topology: Topology | None) -> Iterator[Problem]:
    """What Kueue has no words for."""
    running = _running(one)
    if not _QUEUE_NAME.fullmatch(_queue(one)):
        message = (
            f"{shown(_queue(one))} is not the name of a queue. Write lower-case letters, digits and dashes."
        )
        yield as_told(within("metadata.labels", keys.QUEUE), message)
    for place in places(one.deployment):
        if place.given is not None:
            message = "This is for Grove, and Kueue is not told of it. Use constraints in plain words."
            yield as_told(f"{place.path}.value", message)
    if one.deployment.domain and len(running) > 1:
        message = (
            f"Kueue places each component in one {shown(one.deployment.domain)}, but cannot be told that"
            f" all {len(running)} share it. Constrain each by itself, or use Grove."
        )
        yield as_told("spec.topologyConstraint.packDomain", message)
    for component in running:
        least = _least(component)
        if (
            component.nodes is not None
            and least < component.replicas
            and not _asked(one, component, topology)
        ):
            message = (
                f"{least} of the {component.replicas} replicas of {shown(component.name)} will do, each on"
                f" {component.nodes} nodes; Kueue can say that of replicas with a domain only. Constrain it,"
                f" write minAvailable: {component.replicas}, or use Grove."
            )
            yield as_told(f"{component.path}.minAvailable", message)


def _least(component: Component) -> int:
    """How many replicas must run at once."""
    return min(component.least or 1, component.replicas)


def _batch(one: Read, component: Component, topology: Topology | None) -> Object:
    least = _least(component)
    metadata: Object = {
        "name": _name(f"{one.deployment.metadata.name}-{component.key}"),
        "namespace": one.manifest.namespace,
        "labels": {keys.QUEUE: _queue(one), DEPLOYMENT: one.deployment.metadata.name},
    }
    if least < component.replicas:
        pods = component.replicas * (component.nodes or 1)
        metadata["annotations"] = {keys.MIN_PARALLELISM: str(least * (component.nodes or 1))}
        spec = {"suspend": True, **_job(one, component, topology, pods)}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    each = component.replicas if component.nodes is None else component.nodes
    jobs = {
        "name": "pods",
        "replicas": 1 if component.nodes is None else component.replicas,
        "template": {"spec": _job(one, component, topology, each)},
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata,
        "spec": {"suspend": True, "replicatedJobs": [jobs]},
    }


def _job(one: Read, component: Component, topology: Topology | None, pods: int) -> Object:
    """The spec of a Job with this many pods of a component."""
    metadata: dict[str, Any] = {
        "annotations": {**component.annotations, **_asked(one, component, topology)},
        "labels": {**component.labels, _COMPONENT: component.name},
    }
    pod = {key: value for key, value in component.pod_spec.items() if key != "schedulerName"}
    return {
        "parallelism": pods,
        "completions": pods,
        "completionMode": "Indexed",
        "template": {
            "metadata": {key: value for key, value in metadata.items() if value},
            "spec": {**pod, "restartPolicy": "OnFailure"},
        },
    }


def _asked(one: Read, component: Component, topology: Topology | None) -> dict[str, str]:
    """The annotations by which Kueue is asked for closeness; an own domain goes before an inherited one."""
    whole = _label(one.deployment.domain, topology)
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
