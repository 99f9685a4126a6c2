"""Pools, the keys that their users may name, and the scheduler behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from closeknit.apis.core_v1 import PodSpec
from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Pool
from closeknit.apis.osmo_pool import BackendFile, Countable, Platform, PoolFile, TopologyKey
from closeknit.dialects.core.node_filters import node_filter
from closeknit.dialects.osmo.amounts import RESOURCES, quantity
from closeknit.dialects.osmo.backends import backends, two_names
from closeknit.dialects.osmo.naming import LONGEST, digest, marked
from closeknit.dialects.osmo.topology_keys import key_problems
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.spelling import found as worded
from closeknit.hub.paths import join, within
from closeknit.hub.problems import Problem, as_told, shown, suggestion
from closeknit.hub.topology import Level, Topology

VARIABLES = {f"USER_{field.upper()}": field for field in RESOURCES}
"""The variables by which a pool says what a task asks for that does not say itself."""


@dataclass(frozen=True, slots=True)
class ReadPool:
    """A pool as workflows see it."""

    name: str
    file: PoolFile
    backend: BackendFile
    queue: str
    """The queue of its workflows."""
    topology: Topology | None
    """Its layout; None where topology-aware scheduling is not enabled."""
    defaults: Mapping[str, str]
    """Quantities by resource name, for tasks that do not say."""
    problems: tuple[Problem, ...]
    """What is wrong with it; its topology then means nothing."""

    @property
    def keys(self) -> tuple[TopologyKey, ...]:
        """The topology keys that a workflow of this pool may name, coarsest first."""
        return tuple(self.file.topology_keys)


@dataclass(frozen=True, slots=True)
class Pools:
    """All pools by name, those with problems included."""

    read: Mapping[str, ReadPool]
    unreadable: frozenset[str]
    """Pools that exist, but could not be read at all."""
    problems: tuple[Reported, ...]


def pools(manifests: View) -> Pools:
    """Every pool, with every problem in it and in the backends."""
    return manifests.derive(_read)


def _read(manifests: View) -> Pools:
    known = backends(manifests)
    located = list(known.problems)
    read: dict[str, ReadPool] = {}
    for manifest in manifests.of(Pool):
        file = manifest.content.spec
        found = [*key_problems(file.topology_keys), *two_names(file.name, manifest)]
        backend = known.behind(file, manifest.name, found)
        for name, platform in file.platforms.items():
            found.extend(_platform_problems(within("spec.platforms", name), platform))
        if file.default_platform and file.platforms and file.default_platform not in file.platforms:
            remedy = suggestion(file.default_platform, file.platforms)
            message = f"There is no platform {shown(file.default_platform)} in this pool. {remedy}"
            found.append(as_told("spec.default_platform", message))
        found.extend(_share_problems(file.resources.gpu))
        defaults = _defaults(file, found)
        located.extend(manifest.report(problem) for problem in found)
        queue = _queue(manifest.name, backend)
        read[manifest.name] = ReadPool(
            name=manifest.name,
            file=file,
            backend=backend,
            queue=queue,
            topology=_topology(queue, file),
            defaults=defaults,
            problems=(*manifest.problems, *found),
        )
    unreadable = frozenset(one.name for one in manifests.keys(Pool)) - read.keys()
    return Pools(read, unreadable, tuple(located))


def _defaults(file: PoolFile, found: list[Problem]) -> dict[str, str]:
    read: dict[str, str] = {}
    for variable, field in VARIABLES.items():
        value = file.common_default_variables.get(variable)
        path = within("spec.common_default_variables", variable)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            try:
                read[RESOURCES[field]] = quantity(field, value)
            except ValueError as error:
                found.append(as_told(path, str(error)))
        elif value is not None:
            found.append(
                as_told(path, f"Found {worded(value)} where a quantity is expected. Write 8 or 1.5Gi.")
            )
    return read


def _share_problems(share: Countable) -> Iterator[Problem]:
    for field, value, least in (
        ("guarantee", share.guarantee, -1),
        ("maximum", share.maximum, -1),
        ("weight", share.weight, 0),
    ):
        if value < least:
            allowed = "zero or more, or -1 for no limit" if least else "zero or more"
            yield as_told(f"spec.resources.gpu.{field}", f"{value} is negative. Write {allowed}.")


def _queue(name: str, backend: BackendFile) -> str:
    parts = ("osmo-pool", backend.k8s_namespace, name)
    whole = "-".join(part for part in parts if part)
    return whole if len(whole) <= LONGEST else marked(whole, digest(whole))


def _topology(queue: str, file: PoolFile) -> Topology | None:
    if not file.topology_keys:
        return None
    levels = (Level(one.label, one.key if one.key != one.label else None) for one in file.topology_keys)
    return Topology(f"{queue}-topology", tuple(levels))


def platform_terms(platform: Platform) -> dict[str, Any]:
    """The fields of a pod's spec that send it to nodes of a platform."""
    terms = {"nodeSelector": dict(sorted(platform.labels.items())), "tolerations": platform.tolerations}
    return {field: msgspec.to_builtins(term) for field, term in terms.items() if term}


def _platform_problems(path: str, platform: Platform) -> Iterator[Problem]:
    found: list[Problem] = []
    node_filter(msgspec.convert({**platform_terms(platform), "containers": []}, PodSpec), found)
    for problem in found:
        yield as_told(join(path, problem.where.removeprefix("spec.")), problem.message)
