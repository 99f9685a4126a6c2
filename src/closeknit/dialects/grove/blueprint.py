"""A PodCliqueSet as it is meant: defaults filled in, domains turned into node labels, pods understood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from closeknit.apis import core_v1
from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.dialects.core.levels import Levels
from closeknit.dialects.core.pods import Shape, read_pod
from closeknit.dialects.grove.clashes import Repeated, clashes
from closeknit.dialects.grove.constraints import (
    SET,
    Constraints,
    Lost,
    constraints,
    of_clique,
    of_group,
)
from closeknit.dialects.grove.rules import rules
from closeknit.dialects.grove.topologies import Known
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.wire.decoding import decode
from closeknit.hub.paths import join
from closeknit.hub.problems import Problem, as_told
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName

MOST_PODS = 150_000
"""How many pods one PodCliqueSet may have: as many as Kubernetes supports in a cluster."""

TOO_MANY = "spec.replicas"
"""Where it is told that there are too many pods."""

ASSUMED_POD: dict[str, Any] = {
    "containers": [
        {
            "name": "main",
            "image": "registry.k8s.io/pause:3.10",
            "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}},
        }
    ]
}
"""The pod of a clique that does not say what its pods are: one GPU, as everywhere where pods are assumed."""


@dataclass(frozen=True, slots=True)
class Clique:
    """Equal pods."""

    name: str
    replicas: int
    least: int
    levels: Levels
    shape: Shape
    pod_spec: dict[str, Any]
    given: wire.PodCliqueTemplate


@dataclass(frozen=True, slots=True)
class ScalingGroup:
    """Cliques that are repeated together; the first ``least`` times as part of the base gang."""

    name: str
    replicas: int
    least: int
    levels: Levels
    cliques: tuple[Clique, ...]
    given: wire.PodCliqueScalingGroupConfig


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A PodCliqueSet without problems."""

    namespace: str
    name: str
    replicas: int
    topology: str | None
    levels: Levels
    cliques: tuple[Clique, ...]
    """Those that belong to no scaling group."""
    groups: tuple[ScalingGroup, ...]
    given: wire.PodCliqueSet
    unavailable: tuple[str, ...] = ()
    """Domains that the topology has lost; the levels go without them."""

    def all_cliques(self) -> Iterator[Clique]:
        """Every clique, in the order of the template."""
        found = {clique.name: clique for clique in self.cliques}
        found.update((clique.name, clique) for group in self.groups for clique in group.cliques)
        return (found[each.name] for each in self.given.spec.template.cliques)


def blueprint(
    given: wire.PodCliqueSet, namespace: str, known: Known, *, lenient: bool = False
) -> tuple[Blueprint | None, list[Problem]]:
    """The blueprint of a PodCliqueSet, or everything that is wrong with it.

    One that has a uid stands in a cluster already. Nothing can be refused any more then,
    so what its topology has lost is left out of its levels instead.
    """
    lost = Lost.LEAVE_OUT if given.metadata.uid else Lost.REFUSE
    close = constraints(given, known, lost)
    unruly = list(rules(given))
    problems = [*unruly, *close.problems]
    cliques: dict[str, Clique] = {}
    for i, template in enumerate(given.spec.template.cliques):
        path = f"spec.template.cliques[{i}].spec.podSpec"
        raw = ASSUMED_POD if template.spec.pod_spec is None else template.spec.pod_spec
        shape = _shape(raw, path, problems, lenient=lenient)
        replicas = template.spec.replicas or 1
        least = replicas if template.spec.min_available is None else template.spec.min_available
        levels = close.levels[of_clique(template.name)]
        cliques[template.name] = Clique(template.name, replicas, least, levels, shape, raw, template)
    if unruly:
        # Names and numbers must be in order before anything can be said of what becomes of them.
        return None, problems
    made = _assembled(given, namespace, close, cliques)
    if (pods := _pods(made)) > MOST_PODS:
        message = f"These would be {pods} pods in all. At most {MOST_PODS} are placed for one PodCliqueSet."
        problems.append(as_told(TOO_MANY, message))
    else:
        repeated = [
            Repeated(one.name, one.replicas, [each.name for each in one.cliques]) for one in made.groups
        ]
        problems.extend(clashes(given, repeated))
    return (None, problems) if problems else (made, [])


def _assembled(
    given: wire.PodCliqueSet, namespace: str, close: Constraints, cliques: dict[str, Clique]
) -> Blueprint:
    groups = tuple(
        ScalingGroup(
            name=config.name,
            replicas=1 if config.replicas is None else config.replicas,
            least=1 if config.min_available is None else config.min_available,
            levels=close.levels[of_group(config.name)],
            cliques=tuple(cliques.pop(name) for name in _ordered(config, given)),
            given=config,
        )
        for config in given.spec.template.pod_clique_scaling_groups
    )
    return Blueprint(
        namespace=namespace,
        name=given.metadata.name,
        replicas=given.spec.replicas,
        topology=close.topology.name if close.topology is not None else None,
        levels=close.levels[SET],
        cliques=tuple(cliques.values()),
        groups=groups,
        given=given,
        unavailable=close.unavailable,
    )


def _ordered(config: wire.PodCliqueScalingGroupConfig, given: wire.PodCliqueSet) -> list[str]:
    """The cliques of a scaling group, in the order in which the template describes them."""
    members = set(config.clique_names)
    return [clique.name for clique in given.spec.template.cliques if clique.name in members]


def _pods(made: Blueprint) -> int:
    alone = sum(clique.replicas for clique in made.cliques)
    scaled = sum(group.replicas * sum(one.replicas for one in group.cliques) for group in made.groups)
    return made.replicas * (alone + scaled)


def _shape(raw: dict[str, Any], path: str, problems: list[Problem], *, lenient: bool) -> Shape:
    """What a clique's pods ask of a node; everything that is wrong with them is added to ``problems``."""
    spec, wrong = decode(core_v1.PodSpec, raw, lenient=lenient)
    problems.extend(as_told(join(path, problem.where), problem.message) for problem in wrong)
    if spec is None:
        return Shape(Resources())
    if spec.topology_spread_constraints:
        message = "Grove decides where its pods go. Leave it out, and use topologyConstraint instead."
        problems.append(as_told(f"{path}.topologySpreadConstraints", message))
    if spec.node_name:
        problems.append(as_told(f"{path}.nodeName", "A clique's pods cannot name their node. Leave it out."))
    pod = core_v1.Pod(api_version="v1", kind="Pod", metadata=ObjectMeta(name="pod"), spec=spec)
    name = ObjectName("v1", "Pod", "", "pod")
    read = read_pod(Stored(name.key, name, pod))
    spread = "spec.topologySpreadConstraints"
    unsayable = () if lenient else (each for each in read.unsayable if not each.where.startswith(spread))
    problems.extend(
        as_told(path + problem.where.removeprefix("spec"), problem.message)
        for problem in (*read.problems, *unsayable)
    )
    return read.shape
