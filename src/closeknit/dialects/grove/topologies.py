"""Grove's topologies, from an OperatorConfiguration, a ClusterTopology or a ClusterTopologyBinding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.kai_keys import SCHEDULER as KAI_SCHEDULER
from closeknit.apis.kai_scheduler_v1alpha1 import Topology as KaiTopology
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration
from closeknit.dialects.assumed_topologies import Asked, chains, with_assumed
from closeknit.dialects.core.owner_references import names_kind
from closeknit.dialects.core.topologies import taken_problems
from closeknit.dialects.family import Described
from closeknit.dialects.grove.places import places
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem
from closeknit.hub.sentences import grove as sentences
from closeknit.hub.topology import HOSTNAME, Level, Topology

MANAGED = "grove-topology"
"""The topology that an OperatorConfiguration describes, and the one meant where none is named."""

DOMAINS = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""The domains of v0.1.0-alpha.8 and before, by falling distance in the network."""

KUBE_SCHEDULER = "default-scheduler"
_BACKENDS = (KAI_SCHEDULER, KUBE_SCHEDULER, "volcano", "lpx-scheduler")
_LEVELS: Path = ("spec", "levels")
_CONFIGURED: Path = ("topologyAwareScheduling", "levels")

_DOMAIN = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
_KEY = re.compile(
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII
)


_Described: TypeAlias = Stored[wire.ClusterTopology] | Stored[wire.ClusterTopologyBinding]


@dataclass(frozen=True, slots=True)
class Known:
    """What PodCliqueSets are read against."""

    topologies: Mapping[str, Topology]
    unusable: AbstractSet[str] = frozenset()
    """Those that exist but have problems of their own."""
    enabled: bool = True
    """Whether topology aware scheduling is switched on."""
    schedulers: tuple[str, ...] = ()
    """The schedulers that are enabled; empty where nothing says so."""
    scheduler: str = KAI_SCHEDULER
    """The one that is meant where a set names none."""


def known(view: View) -> Known:
    """The topologies of Grove that can be used, and the names of those that cannot."""
    usable = view.derive(_described).topologies
    names = {
        key.name for shape in (wire.ClusterTopology, wire.ClusterTopologyBinding) for key in view.keys(shape)
    }
    switches = [one.content.topology_aware_scheduling for one in view.of(OperatorConfiguration)]
    if any(switch.levels is not None for switch in switches):
        names.add(MANAGED)
    enabled = not switches or any(one.enabled for one in switches)
    return Known(usable, names - usable.keys(), enabled, *_schedulers(view))


def _schedulers(view: View) -> tuple[tuple[str, ...], str]:
    """The schedulers that are enabled, and the one that is meant where none is named.

    Kubernetes' own is always enabled. Where no profile is listed, nothing is known of either.
    """
    for each in view.of(OperatorConfiguration):
        given = each.content.scheduler
        if given.profiles:
            names = dict.fromkeys([*(profile.name for profile in given.profiles), KUBE_SCHEDULER])
            return tuple(names), given.default_profile_name or KUBE_SCHEDULER
    return (), KAI_SCHEDULER


def topologies(view: View) -> Described:
    """All topologies, and all problems with them. Of two with one name, the configured or first counts."""
    found = view.derive(_described)
    return replace(found, problems=(*found.problems, *_kai_topologies_that_differ(view)))


def _described(view: View) -> Described:
    seen: dict[str, tuple[str, Topology]] = {}
    problems: list[Reported] = []

    def take(stored: _Described, *own: Problem) -> None:
        kind, levels = stored.object.kind, stored.content.spec.levels
        found = [*own, *_described_before(kind, stored.name, levels, seen)]
        problems.extend(map(stored.report, found))
        if not found and stored.name not in seen:
            seen[stored.name] = (kind, to_topology(stored.name, levels))

    bound = any(view.keys(shape) for shape in (wire.ClusterTopology, wire.ClusterTopologyBinding))
    for number, configuration in enumerate(view.of(OperatorConfiguration)):
        switch = configuration.content.topology_aware_scheduling
        found = list(configuration_problems(configuration.content, bound=bound))
        if number:
            found = [sentences.SECOND_CONFIGURATION.at(("kind",))]
        problems.extend(map(configuration.report, found))
        if not found and switch.enabled and switch.levels:
            seen[MANAGED] = ("OperatorConfiguration", to_topology(MANAGED, in_fixed_order(switch.levels)))
    for old in view.of(wire.ClusterTopology):
        levels = old.content.spec.levels
        take(old, *_fixed_domain_problems(levels, _LEVELS), *_level_problems(levels, _LEVELS))
    for binding in view.of(wire.ClusterTopologyBinding):
        spec = binding.content.spec
        take(
            binding,
            *_domain_name_problems(spec.levels),
            *_level_problems(spec.levels, _LEVELS),
            *_binding_problems(spec.scheduler_topology_bindings),
        )
    described = Described({name: topology for name, (_, topology) in seen.items()}, tuple(problems))
    shapes = (wire.ClusterTopology, wire.ClusterTopologyBinding, OperatorConfiguration)
    return with_assumed(view, described, shapes, _asked_for(view))


def _asked_for(view: View) -> Iterator[Asked]:
    """The domains that sets speak of. One that runs has lost a topology that is not there."""
    for stored in view.of(wire.PodCliqueSet):
        where = places(stored.content) if not stored.content.metadata.uid else {}
        named = (each.given.topology_name for each in where.values() if each.given is not None)
        name = next(filter(None, named), MANAGED)
        for domains in chains({key: each.part() for key, each in where.items()}):
            yield from asked_for(name, domains)


def asked_for(topology: str, domains: Iterable[str]) -> Iterator[Asked]:
    """Domains, each within those before it. Their labels are not known, so these are called the same.

    Which of two well-known domains lies within the other is not what a request says.
    """
    given = list(dict.fromkeys(domains))
    fixed = [domain for domain in DOMAINS if domain in given]
    agrees = fixed == [domain for domain in given if domain in fixed]
    others = [[domain] for domain in given if domain not in fixed]
    for chain in (fixed, given) if agrees else (fixed, *others):
        yield Asked(topology, tuple(Level(HOSTNAME if each == "host" else each, each) for each in chain))


def to_topology(name: str, levels: Sequence[wire.TopologyLevel]) -> Topology:
    """The hub's view of levels without problems; a domain becomes the level's name."""
    return Topology(name, tuple(Level(level.key, level.domain) for level in levels))


def in_fixed_order(levels: Sequence[wire.TopologyLevel]) -> list[wire.TopologyLevel]:
    """The levels of a configuration file, which may list them in any order, coarsest first."""
    return sorted(levels, key=lambda level: DOMAINS.index(level.domain))


def kai_names(view: View) -> dict[str, str]:
    """The names under which KAI knows topologies that somebody else looks after, by Grove's name."""
    return {name: reference for name, reference in _bound_to_kai(view) if reference}


def _bound_to_kai(view: View) -> Iterator[tuple[str, str]]:
    """The bindings to KAI: Grove's name of the topology, and the one that the binding refers to."""
    for one in view.of(wire.ClusterTopologyBinding):
        for binding in one.content.spec.scheduler_topology_bindings:
            if binding.scheduler_name == KAI_SCHEDULER:
                yield one.name, binding.topology_reference


def configuration_problems(given: OperatorConfiguration, *, bound: bool) -> Iterator[Problem]:
    """Everything for which the operator would refuse to start.

    ``bound`` is whether other objects describe topologies, which is how it is done today.
    """
    switch = given.topology_aware_scheduling
    if not switch.enabled:
        return
    if not switch.levels and (switch.levels is not None or not bound):
        yield sentences.CONFIGURED_WITHOUT_LEVELS.at(_CONFIGURED)
    levels = switch.levels or ()
    yield from _fixed_domain_problems(levels, _CONFIGURED)
    yield from _level_problems(levels, _CONFIGURED)
    for i, level in enumerate(levels):
        if level.domain == "host" and level.key != HOSTNAME:
            yield sentences.NOT_THE_HOST_LABEL.at((*_CONFIGURED, i, "key"), key=level.key, hostname=HOSTNAME)


def _fixed_domain_problems(levels: Sequence[wire.TopologyLevel], path: Path) -> Iterator[Problem]:
    """Domains that are not among the seven fixed ones."""
    code = sentences.NOT_A_FIXED_DOMAIN if path is _LEVELS else sentences.NOT_A_TOPOLOGY_DOMAIN
    for i, level in enumerate(levels):
        if level.domain not in DOMAINS:
            yield code.at((*path, i, "domain"), domain=level.domain, remedy=OneOf(level.domain, DOMAINS))


def _domain_name_problems(levels: Sequence[wire.TopologyLevel]) -> Iterator[Problem]:
    """Domains that could be no name at all."""
    for i, level in enumerate(levels):
        if not _DOMAIN.fullmatch(level.domain) or len(level.domain) > 63:
            yield sentences.NOT_A_DOMAIN_NAME.at((*_LEVELS, i, "domain"), domain=level.domain)


def _level_problems(levels: Sequence[wire.TopologyLevel], path: Path) -> Iterator[Problem]:
    if not levels and path is _LEVELS:
        yield sentences.NO_LEVELS.at(path)
    domains: dict[str, Path] = {}
    keys: dict[str, Path] = {}
    for i, level in enumerate(levels):
        here = (*path, i)
        if not _KEY.fullmatch(level.key) or len(level.key) > 63:
            yield sentences.NOT_A_LEVEL_KEY.at((*here, "key"), key=level.key)
        yield from taken_problems(level.domain, (*here, "domain"), "domain", domains)
        yield from taken_problems(level.key, (*here, "key"), "key", keys)


def _binding_problems(bindings: Sequence[wire.SchedulerTopologyBinding]) -> Iterator[Problem]:
    whole: Path = ("spec", "schedulerTopologyBindings")
    seen: dict[str, int] = {}
    for i, binding in enumerate(bindings):
        name, path = binding.scheduler_name, (*whole, i, "schedulerName")
        if (first := seen.setdefault(name, i)) != i:
            yield sentences.BOUND_TWICE.at(path, name=name, first=Field((*whole, first)))
        if name not in _BACKENDS:
            yield sentences.NO_SCHEDULER.at(path, name=name, remedy=OneOf(name, _BACKENDS))
        elif name != KAI_SCHEDULER:
            yield sentences.SCHEDULER_NOT_BINDABLE.at(path, name=name, only=KAI_SCHEDULER)
        if not binding.topology_reference:
            yield sentences.NO_TOPOLOGY_REFERENCE.at((*whole, i, "topologyReference"))


def _described_before(
    kind: str, name: str, levels: Sequence[wire.TopologyLevel], seen: Mapping[str, tuple[str, Topology]]
) -> Iterator[Problem]:
    """A topology that was described before; the operator's own object may stand beside its configuration."""
    if name not in seen:
        return
    other, topology = seen[name]
    if other != "OperatorConfiguration":
        yield sentences.TOPOLOGY_NAME_TAKEN.at(("metadata", "name"), other=other, name=name, kind=kind)
    elif to_topology(name, levels) != topology:
        yield sentences.NOT_THE_CONFIGURED_LEVELS.at(_LEVELS, name=name)


def _kai_topologies_that_differ(view: View) -> Iterator[Reported]:
    """Topologies of KAI that have the name of one of Grove's but other levels, and were not made of it.

    Grove makes KAI's topology under its own name, and does not take over what somebody else made. With a
    binding to KAI it makes none, so that nobody is in its way.
    """
    bound = {name for name, _ in _bound_to_kai(view)}
    usable = view.derive(_described).topologies
    for stored in view.of(KaiTopology):
        ours = usable.get(stored.name) if stored.name not in bound else None
        if ours is None or [level.node_label for level in stored.content.spec.levels] == list(ours.labels):
            continue
        if not any(
            names_kind(owner, "grove.io", kind)
            for owner in stored.content.metadata.owner_references
            for kind in ("ClusterTopology", "ClusterTopologyBinding")
        ):
            found = sentences.KAI_TOPOLOGY_DIFFERS.at(_LEVELS, name=stored.name, levels=ours.labels)
            yield stored.report(found)
