"""A PodCliqueSet as it is meant: defaults filled in, domains turned into node labels, pods understood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from closeknit.apis import core_v1
from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.core.assumed_pods import ONE_GPU
from closeknit.dialects.core.levels import Levels
from closeknit.dialects.core.pod_specs import pod_spec
from closeknit.dialects.core.pods import MOST_PODS, Shape, read_template
from closeknit.dialects.grove.constraints import Constraints, constraints
from closeknit.dialects.grove.names import clique_name, replica_name, scaled_name, scaling_group_name
from closeknit.dialects.grove.places import SET, of_clique, of_group
from closeknit.dialects.grove.rules import rules
from closeknit.dialects.grove.topologies import Known, known
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.decoding import decode, passed_over
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path, rebased, starts_with
from closeknit.hub.problems import Field, Problem, parted
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import grove as sentences

ASSUMED_POD = pod_spec(ONE_GPU.pod_set("assumed"))
"""The pod of a clique without ``podSpec``: one GPU, as everywhere where pods are assumed."""


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

    @property
    def holds_across_gangs(self) -> bool:
        """Whether the set requires something that Grove holds within each of several gangs by itself."""
        return self.levels.required is not None and any(one.least < one.replicas for one in self.groups)

    def all_cliques(self) -> Iterator[Clique]:
        """Every clique, in the order of the template."""
        found = {clique.name: clique for clique in self.cliques}
        found.update((clique.name, clique) for group in self.groups for clique in group.cliques)
        return (found[each.name] for each in self.given.spec.template.cliques)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The blueprint of a PodCliqueSet, or everything that is wrong with it."""

    blueprint: Blueprint | None
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    """What is worth knowing of it, and no reason to refuse it."""


def blueprint_of(view: View, key: Key) -> Drawn:
    """The blueprint of a PodCliqueSet in the store."""
    given: wire.PodCliqueSet | None = view.content(key)
    assert given is not None
    return blueprint(given, key.namespace, view.derive(known), lenient=view.lenient)


def blueprint(
    given: wire.PodCliqueSet,
    namespace: str,
    topologies: Known,
    *,
    lenient: bool = False,
) -> Drawn:
    """The blueprint of a PodCliqueSet, or everything that is wrong with it.

    One that has a uid stands in a cluster already. Nothing can be refused any more then,
    so what its topology has lost is left out of its levels instead.
    """
    close = constraints(given, topologies, running=bool(given.metadata.uid))
    unruly = list(rules(given, topologies))
    problems = [*unruly, *close.problems]
    cliques: dict[str, Clique] = {}
    for i, template in enumerate(given.spec.template.cliques):
        path = ("spec", "template", "cliques", i, "spec", "podSpec")
        raw = ASSUMED_POD if template.spec.pod_spec is None else template.spec.pod_spec
        shape = _shape(
            raw,
            path,
            problems,
            namespace=given.metadata.namespace,
            labels=template.labels,
            lenient=lenient,
        )
        replicas = template.spec.replicas or 1
        least = replicas if template.spec.min_available is None else template.spec.min_available
        levels = close.levels[of_clique(template.name)]
        cliques[template.name] = Clique(template.name, replicas, least, levels, shape, raw, template)
    problems, notes = map(list, parted(problems))
    notes = [*close.notes, *notes]
    if unruly:
        # What is made of a set depends on its names and numbers, so these must be in order first.
        return Drawn(None, tuple(problems), tuple(notes))
    made = _assembled(given, namespace, close, cliques)
    if (pods := _pods(made)) > MOST_PODS:
        where = ("spec", "replicas")
        problems.append(sentences.TOO_MANY_PODS.at(where, pods=pods, most=MOST_PODS, kind="PodCliqueSet"))
    else:
        problems.extend(_name_conflicts(made))
    return Drawn(None if problems else made, tuple(problems), tuple(notes))


def _assembled(
    given: wire.PodCliqueSet, namespace: str, close: Constraints, cliques: dict[str, Clique]
) -> Blueprint:
    position = {name: i for i, name in enumerate(cliques)}
    groups = tuple(
        ScalingGroup(
            name=config.name,
            replicas=1 if config.replicas is None else config.replicas,
            least=1 if config.min_available is None else config.min_available,
            levels=close.levels[of_group(config.name)],
            cliques=tuple(
                cliques.pop(name) for name in sorted(config.clique_names, key=position.__getitem__)
            ),
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


def _pods(made: Blueprint) -> int:
    alone = sum(clique.replicas for clique in made.cliques)
    scaled = sum(group.replicas * sum(one.replicas for one in group.cliques) for group in made.groups)
    return made.replicas * (alone + scaled)


def _name_conflicts(made: Blueprint) -> Iterator[Problem]:
    """Cliques of one replica of a set whose objects would have one name.

    A replica of a scaling group counts as well, because its constraint goes by its name in a gang.
    """
    taken: dict[str, Path] = {}
    for name, path in _generated_names(made):
        first = taken.setdefault(name, path)
        if first != path:
            yield sentences.NAME_CONFLICT.at(path, name=name, first=Field(first))


def _generated_names(made: Blueprint) -> Iterator[tuple[str, Path]]:
    """The names of everything in the first replica, with the field that each comes from."""
    template: Path = ("spec", "template")
    cliques = made.given.spec.template.cliques
    paths = {clique.name: (*template, "cliques", i, "name") for i, clique in enumerate(cliques)}
    for i, group in enumerate(made.groups):
        for number in range(group.replicas):
            within = scaled_name(scaling_group_name(made.name, 0, group.name), number)
            yield within, (*template, "podCliqueScalingGroups", i, "name")
            yield from ((clique_name(within, one.name), paths[one.name]) for one in group.cliques)
    yield from ((clique_name(replica_name(made.name, 0), one.name), paths[one.name]) for one in made.cliques)


def _shape(
    raw: dict[str, Any],
    path: Path,
    problems: list[Problem],
    *,
    namespace: str,
    labels: Mapping[str, str],
    lenient: bool,
) -> Shape:
    """What a clique's pods ask of a node; everything that is wrong with them is added to ``problems``."""
    spec, wrong = decode(core_v1.PodSpec, raw)
    problems.extend(problem.under(*path) for problem in passed_over(wrong, lenient=lenient))
    if spec is None:
        return Shape(Resources())
    spread = (*path, "topologySpreadConstraints")
    if spec.topology_spread_constraints:
        problems.append(sentences.SPREAD_CONSTRAINTS.at(spread))
    if spec.node_name:
        problems.append(sentences.NODE_NAMED.at((*path, "nodeName")))
    template = read_template(spec, namespace=namespace, labels=labels)
    found = (each.moved(lambda own: rebased(own, ("spec",), path)) for each in template.problems)
    problems.extend(each for each in found if not starts_with(each.path, spread))
    return template.shape
