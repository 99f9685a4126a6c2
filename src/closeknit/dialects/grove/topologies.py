"""Grove's topologies, from an OperatorConfiguration, a ClusterTopology or a ClusterTopologyBinding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem, as_told, shown, suggestion
from closeknit.hub.topology import HOSTNAME, Level, Topology

MANAGED = "grove-topology"
"""The topology that an OperatorConfiguration describes, and the one meant where none is named."""

DOMAINS = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""The domains of v0.1.0-alpha.8 and before, by falling distance in the network."""

_BACKENDS = ("kai-scheduler", "default-scheduler", "volcano", "lpx-scheduler")
_TOPOLOGY_AWARE = "kai-scheduler"

_DOMAIN = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
_KEY = re.compile(
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Known:
    """What PodCliqueSets are read against."""

    topologies: Mapping[str, Topology]
    unusable: AbstractSet[str] = frozenset()
    """Those that exist but have problems of their own."""
    enabled: bool = True
    """Whether topology aware scheduling is switched on."""


def known(manifests: View) -> Known:
    """The topologies of Grove that were read, without what is wrong with them."""
    usable = {one.name: one for one in read_topologies(manifests) if isinstance(one, Topology)}
    names = {
        one.name
        for shape in (wire.ClusterTopology, wire.ClusterTopologyBinding)
        for one in manifests.keys(shape)
    }
    configurations = manifests.of(OperatorConfiguration)
    switches = [one.content.topology_aware_scheduling for one in configurations]
    if any(switch.levels is not None for switch in switches):
        names.add(MANAGED)
    return Known(usable, names - usable.keys(), enabled=not switches or any(one.enabled for one in switches))


def read_topologies(manifests: View) -> Iterator[Topology | Reported]:
    """All topologies, and all problems with them. Of two with one name, the configured or first counts."""
    seen: dict[str, tuple[str, Topology]] = {}
    for one in _configured(manifests):
        if isinstance(one, Topology):
            seen[one.name] = ("the OperatorConfiguration", one)
        yield one
    for old in manifests.of(wire.ClusterTopology):
        found = [
            *_fixed_domain_problems("spec.levels", old.content.spec.levels),
            *_level_problems(old.content.spec.levels),
        ]
        found.extend(_again("ClusterTopology", old.name, old.content.spec.levels, seen))
        yield from (old.report(problem) for problem in found)
        if not found and old.name not in seen:
            topology = to_topology(old.name, old.content.spec.levels)
            seen[old.name] = ("a ClusterTopology", topology)
            yield topology
    for binding in manifests.of(wire.ClusterTopologyBinding):
        spec = binding.content.spec
        found = [*_free_domain_problems(spec.levels), *_level_problems(spec.levels)]
        found.extend(_binding_problems(spec.scheduler_topology_bindings))
        found.extend(_again("ClusterTopologyBinding", binding.name, spec.levels, seen))
        yield from (binding.report(problem) for problem in found)
        if not found and binding.name not in seen:
            topology = to_topology(binding.name, spec.levels)
            seen[binding.name] = ("a ClusterTopologyBinding", topology)
            yield topology


def to_topology(name: str, levels: Sequence[wire.TopologyLevel]) -> Topology:
    """The hub's view of levels without problems; a domain becomes the level's name."""
    return Topology(name, tuple(Level(level.key, level.domain) for level in levels))


def in_fixed_order(levels: Sequence[wire.TopologyLevel]) -> list[wire.TopologyLevel]:
    """The levels of a configuration file, which may list them in any order, coarsest first."""
    return sorted(levels, key=lambda level: DOMAINS.index(level.domain))


def configuration_problems(given: OperatorConfiguration, *, bound: bool) -> Iterator[Problem]:
    """Everything for which the operator would refuse to start.

    ``bound`` says that topologies are described elsewhere, which is how it is done today.
    """
    switch, path = given.topology_aware_scheduling, "topologyAwareScheduling.levels"
    if not switch.enabled:
        return
    if not switch.levels and (switch.levels is not None or not bound):
        yield as_told(
            path,
            "Topology aware scheduling is enabled, but there are no levels."
            " List at least one with its domain and key, or switch it off.",
        )
    levels = switch.levels or []
    yield from _fixed_domain_problems(path, levels)
    yield from _level_problems(levels, path)
    for i, level in enumerate(levels):
        if level.domain == "host" and level.key != HOSTNAME:
            yield as_told(
                f"{path}[{i}].key",
                f"{shown(level.key)} is not the label of hosts. Kubelets set {shown(HOSTNAME)}; write that.",
            )


def _configured(manifests: View) -> Iterator[Topology | Reported]:
    bound = any(
        True for shape in (wire.ClusterTopology, wire.ClusterTopologyBinding) for _ in manifests.keys(shape)
    )
    for number, configuration in enumerate(manifests.of(OperatorConfiguration)):
        if number:
            message = "There is already an OperatorConfiguration. An operator has one; remove the other."
            yield configuration.report(as_told("kind", message))
            continue
        found = list(configuration_problems(configuration.content, bound=bound))
        yield from (configuration.report(problem) for problem in found)
        switch = configuration.content.topology_aware_scheduling
        if not found and switch.enabled and switch.levels:
            yield to_topology(MANAGED, in_fixed_order(switch.levels))


def _fixed_domain_problems(path: str, levels: Sequence[wire.TopologyLevel]) -> Iterator[Problem]:
    """Domains that are not among the seven fixed ones."""
    for i, level in enumerate(levels):
        if level.domain not in DOMAINS:
            message = f"{shown(level.domain)} is not a topology domain. {suggestion(level.domain, DOMAINS)}"
            if path.startswith("spec"):
                message += " A ClusterTopologyBinding can have domains of any name."
            yield as_told(f"{path}[{i}].domain", message)


def _free_domain_problems(levels: Sequence[wire.TopologyLevel]) -> Iterator[Problem]:
    """Domains that could be no name at all."""
    for i, level in enumerate(levels):
        if not _DOMAIN.fullmatch(level.domain) or len(level.domain) > 63:
            yield as_told(
                f"spec.levels[{i}].domain",
                f"{shown(level.domain)} is not a domain. Write at most 63 lower-case letters, digits and"
                " dashes that start with a letter, such as rack.",
            )


def _level_problems(levels: Sequence[wire.TopologyLevel], path: str = "spec.levels") -> Iterator[Problem]:
    if not levels and path == "spec.levels":
        yield as_told(path, "There are no levels. List at least one with its domain and key.")
    domains: dict[str, int] = {}
    keys: dict[str, int] = {}
    for i, level in enumerate(levels):
        here = f"{path}[{i}]"
        if not _KEY.fullmatch(level.key) or len(level.key) > 63:
            yield as_told(
                f"{here}.key",
                f"{shown(level.key)} is not a label key that Grove takes. Write at most 63 letters, digits,"
                " '-', '_' and '.', with an optional domain before a slash, such as example.com/rack.",
            )
        for field, value, seen in (("domain", level.domain, domains), ("key", level.key, keys)):
            if (first := seen.setdefault(value, i)) != i:
                message = f"{shown(value)} is already the {field} of {path}[{first}]. Each level has its own."
                yield as_told(f"{here}.{field}", message)


def _binding_problems(bindings: Sequence[wire.SchedulerTopologyBinding]) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for i, binding in enumerate(bindings):
        path = f"spec.schedulerTopologyBindings[{i}]"
        name = binding.scheduler_name
        if (first := seen.setdefault(name, i)) != i:
            message = (
                f"{shown(name)} is already bound by spec.schedulerTopologyBindings[{first}]. Bind each once."
            )
            yield as_told(f"{path}.schedulerName", message)
        if name not in _BACKENDS:
            message = f"Grove has no scheduler {shown(name)}. {suggestion(name, _BACKENDS)}"
            yield as_told(f"{path}.schedulerName", message)
        elif name != _TOPOLOGY_AWARE:
            message = (
                f"{shown(name)} has no topologies of its own. Only {shown(_TOPOLOGY_AWARE)} can be bound."
            )
            yield as_told(f"{path}.schedulerName", message)
        if not binding.topology_reference:
            message = "The name of the scheduler's topology is missing. Write it, or remove the binding."
            yield as_told(f"{path}.topologyReference", message)


def _again(
    kind: str, name: str, levels: Sequence[wire.TopologyLevel], seen: Mapping[str, tuple[str, Topology]]
) -> Iterator[Problem]:
    """A topology that was described before; the operator's own object may stand beside its configuration."""
    if name not in seen:
        return
    by, topology = seen[name]
    if not by.startswith("the "):
        message = (
            f"{by[0].upper()}{by[1:]} has the name {shown(name)} already. Remove this {kind}, or rename it."
        )
        yield as_told("metadata.name", message)
    elif to_topology(name, levels) != topology:
        message = f"These are not the levels of {by}, which {shown(name)} is made from. Change them there."
        yield as_told("spec.levels", message)
