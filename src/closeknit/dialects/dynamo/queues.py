"""The queues that a deployment's Jobs go to, with what Kueue needs around them.

Only what the files do not hold is written: a Topology, a ResourceFlavor for it, a ClusterQueue with just the
quota that is needed, and the LocalQueue that the Jobs name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.kueue_keys import API_VERSION
from closeknit.apis.wire import Wire
from closeknit.dialects.family import Object
from closeknit.dialects.store.view import View
from closeknit.hub.quantities import written
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology

_ANY_NODE = {"kubernetes.io/os": "linux"}
"""A flavor with a topology must have a label, and this one is on every node that could run the pods."""


@dataclass(slots=True)
class Queues:
    """Gathers what deployments ask for, by the queue and the topology that they speak of."""

    manifests: View
    _asked: dict[tuple[str, str], dict[str, tuple[Topology | None, Resources]]] = field(default_factory=dict)

    def ask(self, namespace: str, queue: str, topology: Topology | None, resources: Resources) -> None:
        """Note that pods with these resources in all go to a queue."""
        flavors = self._asked.setdefault((namespace, queue), {})
        name = topology.name if topology is not None else _cluster_queue(namespace, queue)
        _, before = flavors.get(name, (topology, Resources()))
        flavors[name] = (topology, before + resources)

    def objects(self) -> Iterator[Object]:
        """Everything that is needed and not there."""
        for topology in self._topologies():
            levels = [{"nodeLabel": label} for label in topology.down_to_nodes().labels]
            yield from self._missing(wire.Topology, "Topology", topology.name, {"levels": levels})
        for (namespace, queue), flavors in self._asked.items():
            if self._has(wire.LocalQueue, queue, namespace):
                continue
            for name, (known, _) in flavors.items():
                spec: Object = {"nodeLabels": _ANY_NODE, "topologyName": known.name} if known else {}
                yield from self._missing(wire.ResourceFlavor, "ResourceFlavor", name, spec)
            cluster = _cluster_queue(namespace, queue)
            quota = _quota({name: resources for name, (_, resources) in flavors.items()})
            spec = {"namespaceSelector": {}, "resourceGroups": [quota]}
            yield from self._missing(wire.ClusterQueue, "ClusterQueue", cluster, spec)
            yield _object("LocalQueue", {"name": queue, "namespace": namespace}, {"clusterQueue": cluster})

    def _topologies(self) -> Iterator[Topology]:
        spoken_of = {
            topology.name: topology
            for flavors in self._asked.values()
            for topology, _ in flavors.values()
            if topology is not None
        }
        return iter(spoken_of.values())

    def _missing(self, shape: type[Wire], kind: str, name: str, spec: Object) -> Iterator[Object]:
        if not self._has(shape, name, ""):
            yield _object(kind, {"name": name}, spec)

    def _has(self, shape: type[Wire], name: str, namespace: str) -> bool:
        named = self.manifests.keys(shape)
        return any((one.namespace, one.name) == (namespace, name) for one in named)


def _cluster_queue(namespace: str, queue: str) -> str:
    return f"{namespace}-{queue}"[:253]


def _quota(flavors: dict[str, Resources]) -> Object:
    """One resource group. Each flavor has quota for all, so that nobody is kept out by who came first."""
    asked = sum(flavors.values(), Resources())
    resources = [{"name": name, "nominalQuota": written(name, units)} for name, units in asked.items()]
    return {
        "coveredResources": list(asked),
        "flavors": [{"name": flavor, "resources": resources} for flavor in flavors],
    }


def _object(kind: str, metadata: Object, spec: Object) -> Object:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
