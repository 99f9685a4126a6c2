"""A PodCliqueSet as it is meant: defaults filled in, domains turned into node labels, pods understood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from closeknit.apis import core_v1
from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.core.assumed_pods import ONE_GPU
from closeknit.dialects.core.levels import Levels
from closeknit.dialects.core.pod_specs import pod_spec
from closeknit.dialects.core.pods import MOST_PODS, Shape, read_template, template_problems
from closeknit.dialects.grove.constraints import Constraints, constraints
from closeknit.dialects.grove.names import clique_name, replica_name, scaled_name, scaling_group_name
from closeknit.dialects.grove.places import SET, of_clique, of_group
from closeknit.dialects.grove.rules import rules
from closeknit.dialects.grove.terms import GROVE, Terms
from closeknit.dialects.grove.topologies import Known, known
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.decoding import decode, passed_over
from closeknit.hub.keys import Key
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path, rebased, starts_with
from closeknit.hub.problems import Field, Problem, parted
from closeknit.hub.sentences import grove as sentences

ASSUMED_POD = pod_spec(ONE_GPU.pod_set("assumed"))
"""The pod of a clique without ``podSpec``: one GPU, as everywhere where pods are assumed."""
_SPREAD: Final[Path] = ("topologySpreadConstraints",)
_encoded: Final = msgspec.json.Encoder().encode


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
    return blueprint(given, key.namespace, view.derive(known), lenient=view.lenient, judging=view.judging)


def blueprint(
    given: wire.PodCliqueSet,
    namespace: str,
    topologies: Known,
    *,
    lenient: bool = False,
    judging: bool = False,
    terms: Terms = GROVE,
) -> Drawn:
    """The blueprint of a PodCliqueSet, or everything that is wrong with it; no blueprint where ``judging``.

    One that has a uid stands in a cluster already. Nothing can be refused any more then,
    so what its topology has lost is left out of its levels instead. Problems are reported in ``terms``.
    """
    close = constraints(given, topologies, running=bool(given.metadata.uid), terms=terms)
    unruly = list(rules(given, topologies, terms))
    pods = _Pods(given.metadata.namespace, terms, lenient=lenient)
    found = first_of(_pod_problems(given, pods))
    problems, notes = map(list, parted([*unruly, *close.problems, *found]))
    notes = [*close.notes, *notes]
    if unruly:
        # What is made of a set depends on its names and numbers, so these must be in order first.
        return Drawn(None, tuple(problems), tuple(notes))
    if (count := _number_of_pods(given)) > MOST_PODS:
        problems.append(terms.too_many_pods(("spec", "replicas"), pods=count, most=MOST_PODS))
    else:
        problems.extend(first_of(_name_conflicts(given)))
    made = None if problems or judging else _assembled(given, namespace, close, pods)
    return Drawn(made, tuple(problems), tuple(notes))


def _pod_problems(given: wire.PodCliqueSet, pods: _Pods) -> Iterator[Problem]:
    """What is wrong with the pods of cliques."""
    for i, template in enumerate(given.spec.template.cliques):
        for problem in pods.problems(template):
            yield problem.under("spec", "template", "cliques", i, "spec", "podSpec")


def _clique(template: wire.PodCliqueTemplate, close: Constraints, pods: _Pods) -> Clique:
    replicas = template.spec.replicas or 1
    return Clique(
        name=template.name,
        replicas=replicas,
        least=replicas if template.spec.min_available is None else template.spec.min_available,
        levels=close.levels[of_clique(template.name)],
        shape=pods.shape(template),
        pod_spec=_written(template),
        given=template,
    )


def _written(template: wire.PodCliqueTemplate) -> dict[str, Any]:
    return ASSUMED_POD if template.spec.pod_spec is None else template.spec.pod_spec


def _assembled(given: wire.PodCliqueSet, namespace: str, close: Constraints, pods: _Pods) -> Blueprint:
    cliques = {each.name: _clique(each, close, pods) for each in given.spec.template.cliques}
    position = {name: i for i, name in enumerate(cliques)}
    groups = tuple(
        ScalingGroup(
            name=config.name,
            replicas=_replicas(config),
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


def _number_of_pods(given: wire.PodCliqueSet) -> int:
    template = given.spec.template
    alone = {clique.name: clique.spec.replicas or 1 for clique in template.cliques}
    scaled = sum(
        _replicas(group) * sum([alone.pop(name) for name in group.clique_names])
        for group in template.pod_clique_scaling_groups
    )
    return given.spec.replicas * (sum(alone.values()) + scaled)


def _replicas(group: wire.PodCliqueScalingGroupConfig) -> int:
    return 1 if group.replicas is None else group.replicas


def _name_conflicts(given: wire.PodCliqueSet) -> Iterator[Problem]:
    """Cliques of one replica of a set whose objects would have one name.

    A replica of a scaling group counts as well, because its constraint goes by its name in a gang.
    """
    numbers = {clique.name: i for i, clique in enumerate(given.spec.template.cliques)}
    generated = list(_generated_names(given, numbers))
    if len({name for name, _, _ in generated}) == len(generated):
        return
    taken: dict[str, Path] = {}
    for name, field, number in generated:
        path = ("spec", "template", field, number, "name")
        first = taken.setdefault(name, path)
        if first != path:
            yield sentences.NAME_CONFLICT.at(path, name=name, first=Field(first))


def _generated_names(given: wire.PodCliqueSet, numbers: Mapping[str, int]) -> Iterator[tuple[str, str, int]]:
    """The names of everything in the first replica, with the list that it comes from and its number there.

    ``numbers`` are those of the cliques.
    """
    name, alone = given.metadata.name, dict(numbers)
    for i, group in enumerate(given.spec.template.pod_clique_scaling_groups):
        inner = sorted([(alone.pop(each), each) for each in group.clique_names])
        for number in range(_replicas(group)):
            within = scaled_name(scaling_group_name(name, 0, group.name), number)
            yield within, "podCliqueScalingGroups", i
            for j, each in inner:
                yield clique_name(within, each), "cliques", j
    whole = replica_name(name, 0)
    for each, j in alone.items():
        yield clique_name(whole, each), "cliques", j


class _Pods:
    """Reads what the pods of cliques ask of a node. Of a large set most are equal, and are read once."""

    def __init__(self, namespace: str, terms: Terms, *, lenient: bool) -> None:
        self._namespace, self._terms, self._lenient = namespace, terms, lenient
        self._known: dict[tuple[bytes, tuple[tuple[str, str], ...]], tuple[Problem, ...]] = {}

    def shape(self, template: wire.PodCliqueTemplate) -> Shape:
        """What each pod of a clique asks for, where nothing is wrong with it."""
        spec = msgspec.convert(_written(template), core_v1.PodSpec)
        return read_template(spec, namespace=self._namespace, labels=template.labels).shape

    def problems(self, template: wire.PodCliqueTemplate) -> tuple[Problem, ...]:
        """Everything that is wrong with the pods of a clique; paths begin at their spec."""
        raw, labels = _written(template), template.labels
        key = _encoded(raw), tuple(labels.items())
        if (known := self._known.get(key)) is None:
            known = self._known[key] = tuple(self._problems(raw, labels))
        return known

    def _problems(self, raw: dict[str, Any], labels: Mapping[str, str]) -> Iterator[Problem]:
        spec, wrong = decode(core_v1.PodSpec, raw)
        yield from passed_over(wrong, lenient=self._lenient)
        if spec is None:
            return
        if spec.topology_spread_constraints:
            yield self._terms.spread_constraints.at(_SPREAD)
        if spec.node_name:
            yield self._terms.node_named.at(("nodeName",))
        for each in template_problems(spec, namespace=self._namespace, labels=labels):
            moved = each.moved(lambda own: rebased(own, ("spec",), ()))
            if not starts_with(moved.path, _SPREAD):
                yield moved
