"""ResourceFlavors: nodes that are alike, and the topology over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.core_v1 import Affinity, PodSpec
from closeknit.dialects.core.node_filters import node_filter, taint
from closeknit.dialects.kueue.topologies import key_problems
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.nodes import Taint, Toleration
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown, suggestion
from closeknit.hub.topology import Topology


@dataclass(frozen=True, slots=True)
class Flavor:
    """Nodes that are alike: their labels, and the topology over them if there is one."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    tolerations: tuple[Toleration, ...]
    topology: Topology | None


def change_problems(old: wire.ResourceFlavor, new: wire.ResourceFlavor) -> Iterator[Problem]:
    """What Kueue would refuse about a change: the topology of a flavor stays, once it has one."""
    if old.spec.topology_name and new.spec.topology_name != old.spec.topology_name:
        message = f"It was {shown(old.spec.topology_name)} and cannot be changed. Make a new ResourceFlavor."
        yield as_told("spec.topologyName", message)


def read_flavors(
    manifests: View, topologies: Mapping[str, Topology], found: list[Reported]
) -> dict[str, Flavor]:
    """The flavors by name. One whose topology is not known counts as one without."""
    flavors: dict[str, Flavor] = {}
    unusable = {one.name for one in manifests.keys(wire.Topology)}
    for manifest in manifests.of(wire.ResourceFlavor):
        problems: list[Problem] = []
        spec = manifest.content.spec
        for key in spec.node_labels:
            problems.extend(key_problems(within("spec.nodeLabels", key), key))
        if spec.topology_name and not spec.node_labels:
            message = "A flavor with a topology needs at least one node label, so that its nodes can be told."
            problems.append(as_told("spec.nodeLabels", message))
        for name, given in (("nodeTaints", spec.node_taints), ("tolerations", spec.tolerations)):
            if len(given) > 8:
                problems.append(as_told(f"spec.{name}", f"There are {len(given)}. Allowed are at most 8."))
        if spec.topology_name and spec.topology_name not in topologies:
            name = shown(spec.topology_name)
            wrong = (
                f"Topology {name} has problems of its own. Correct them first."
                if spec.topology_name in unusable
                else f"There is no Topology {name}. {suggestion(spec.topology_name, topologies)}"
            )
            problems.append(as_told("spec.topologyName", wrong))
        tolerating = PodSpec(containers=[], affinity=Affinity(), tolerations=spec.tolerations)
        flavors[manifest.name] = Flavor(
            name=manifest.name,
            labels=spec.node_labels,
            taints=tuple(
                taint(each, f"spec.nodeTaints[{i}]", problems) for i, each in enumerate(spec.node_taints)
            ),
            tolerations=node_filter(tolerating, problems).tolerations,
            topology=topologies.get(spec.topology_name),
        )
        found.extend(manifest.report(problem) for problem in problems)
    return flavors
