"""Pools, the topology keys that their users may name, and the backends behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from closeknit.apis import osmo_closeknit_dev_v1alpha1 as wire
from closeknit.apis.core_v1 import Toleration
from closeknit.apis.wire import plain
from closeknit.dialects.core.node_filters import toleration
from closeknit.dialects.family import Described
from closeknit.dialects.osmo.exit_actions import ExitActions, exit_actions
from closeknit.dialects.osmo.naming import LONGEST, digest, marked, object_name
from closeknit.dialects.osmo.rules import RESOURCES, key_problems, quantity, whole
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.decoding import found as worded
from closeknit.hub.keys import Key
from closeknit.hub.many_problems import first_of
from closeknit.hub.problems import InvalidError, OneOf, Problem
from closeknit.hub.sentences import core
from closeknit.hub.sentences import osmo as sentences
from closeknit.hub.topology import Level, Topology

GROUP = "osmo.closeknit.dev"
VARIABLES = {f"USER_{field.upper()}": field for field in RESOURCES}
"""The variables by which a pool says what a task asks for that does not say itself."""
SUPPORTING = ("kai",)
"""The types of scheduler that know topology constraints."""

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ReadPool:
    """A pool as workflows see it."""

    name: str
    file: wire.PoolFile
    backend: wire.BackendFile
    queue: str
    """The queue of its workflows."""
    topology: Topology | None
    """Its levels; None where topology-aware scheduling is not enabled."""
    defaults: Mapping[str, str]
    """Quantities by resource name, for tasks that do not say."""
    exit_actions: ExitActions
    """For tasks that say nothing about a code."""
    problems: tuple[Problem, ...]
    """What is wrong with it; its topology then means nothing."""

    @property
    def keys(self) -> tuple[wire.TopologyKey, ...]:
        """The topology keys that a workflow of this pool may name, coarsest first."""
        return tuple(self.file.topology_keys)


def pool_names(view: View) -> tuple[str, ...]:
    """The pools that exist, sorted."""
    return tuple(sorted(key.name for key in view.keys(wire.Pool)))


def pool_named(view: View, name: str) -> ReadPool | None:
    """The pool of this name; None where it cannot be read."""
    stored = view.get(Key(GROUP, "Pool", "", name))
    return _read(stored, view) if stored is not None else None


def topologies(view: View) -> Described:
    """The topologies of all pools without problems."""
    pools = (view.derive(pool_named, stored.name) for stored in view.of(wire.Pool))
    sound = (pool for pool in pools if pool is not None and not pool.problems)
    return Described({pool.topology.name: pool.topology for pool in sound if pool.topology is not None})


def pool_problems(stored: Stored[wire.Pool], view: View) -> Iterator[Problem]:
    """What is wrong with a pool beyond its shape."""
    pool = view.derive(pool_named, stored.name)
    assert pool is not None
    yield from pool.problems[len(stored.problems) :]


def backend_problems(stored: Stored[wire.Backend], _: View) -> Iterator[Problem]:
    """What is wrong with a backend beyond its shape."""
    file = stored.content.spec
    yield from _two_names(file.name, stored)
    if file.k8s_namespace and not _NAMESPACE.fullmatch(file.k8s_namespace):
        path = ("spec", "k8s_namespace")
        yield sentences.NOT_A_NAMESPACE.at(path, namespace=file.k8s_namespace, most=LONGEST)


def _read(stored: Stored[wire.Pool], view: View) -> ReadPool:
    file = stored.content.spec
    found = [*key_problems(file.topology_keys), *_two_names(file.name, stored)]
    backend = _backend(file, stored.name, view, found)
    found.extend(first_of(_platform_problems(file.platforms)))
    if file.default_platform and file.platforms and file.default_platform not in file.platforms:
        remedy = OneOf.among(file.default_platform, file.platforms)
        code = sentences.UNKNOWN_DEFAULT_PLATFORM
        path = ("spec", "default_platform")
        found.append(code.at(path, platform=file.default_platform, remedy=remedy))
    try:
        share_of(file)
    except InvalidError as error:
        found.extend(error.problems)
    queue = _queue(stored.name, backend)
    return ReadPool(
        name=stored.name,
        file=file,
        backend=backend,
        queue=queue,
        topology=_topology(queue, file),
        defaults=_defaults(file, found),
        exit_actions=exit_actions(file.default_exit_actions, ("spec", "default_exit_actions"), found),
        problems=(*stored.problems, *found),
    )


def _backend(file: wire.PoolFile, pool: str, view: View, found: list[Problem]) -> wire.BackendFile:
    """The backend of a pool; where none is described at all, one with KAI is assumed."""
    name, path = object_name(file.backend), ("spec", "backend")
    known = [key.name for key in view.keys(wire.Backend)]
    stored = view.get(Key(GROUP, "Backend", "", name))
    sound = stored is not None and not stored.problems and not list(backend_problems(stored, view))
    backend: wire.BackendFile = stored.content.spec if stored is not None and sound else wire.BackendFile()
    if name in known and not sound:
        found.append(core.HAS_PROBLEMS.at(path, kind="Backend", name=name))
    elif known and name not in known:
        remedy = OneOf.among(file.backend, known)
        found.append(
            core.NOT_FOUND.at(path, kind="backend", name=file.backend, remedy=remedy)
            if file.backend
            else sentences.NO_BACKEND_NAMED.at(path, remedy=remedy)
        )
    scheduler = backend.scheduler_settings.scheduler_type
    if file.topology_keys and scheduler not in SUPPORTING:
        unsupported = sentences.KEYS_NOT_SUPPORTED.at(
            ("spec", "topology_keys"),
            pool=pool,
            backend=file.backend,
            scheduler=scheduler,
            supporting=SUPPORTING,
        )
        found.append(unsupported)
    return backend


def _two_names(written: str, stored: Stored[wire.Pool] | Stored[wire.Backend]) -> Iterator[Problem]:
    """An object that is called one thing outside and another inside."""
    if written and object_name(written) != stored.name:
        yield sentences.TWO_NAMES.at(("spec", "name"), name=written, outside=stored.name)


def _defaults(file: wire.PoolFile, found: list[Problem]) -> dict[str, str]:
    read: dict[str, str] = {}
    for variable, field in VARIABLES.items():
        value = file.common_default_variables.get(variable)
        path = ("spec", "common_default_variables", variable)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            try:
                read[RESOURCES[field]] = quantity(field, value)
            except InvalidError as error:
                found.extend(problem.under(*path) for problem in error.problems)
        elif value is not None:
            found.append(sentences.DEFAULT_NOT_A_QUANTITY.at(path, found=worded(value)))
    return read


def share_of(file: wire.PoolFile) -> dict[str, int]:
    """How many GPUs a pool is sure of, may use at most, and its weight; raises ``InvalidError``."""
    share, found = file.resources.gpu, list[Problem]()
    numbers: dict[str, int] = {}
    for field, written, least in (
        ("guarantee", share.guarantee, -1),
        ("maximum", share.maximum, -1),
        ("weight", share.weight, 0),
    ):
        path = ("spec", "resources", "gpu", field)
        try:
            numbers[field] = whole(written)
        except InvalidError as error:
            found.extend(problem.under(*path) for problem in error.problems)
            continue
        if numbers[field] < least:
            allowed = "zero or more, or -1 for no limit" if least else "zero or more"
            found.append(sentences.NEGATIVE_SHARE.at(path, value=numbers[field], allowed=allowed))
    if found:
        raise InvalidError(found)
    return numbers


def _queue(name: str, backend: wire.BackendFile) -> str:
    parts = ("osmo-pool", backend.k8s_namespace, name)
    whole = "-".join(part for part in parts if part)
    return whole if len(whole) <= LONGEST else marked(whole, digest(whole))


def _topology(queue: str, file: wire.PoolFile) -> Topology | None:
    if not file.topology_keys:
        return None
    levels = (Level(one.label, one.key if one.key != one.label else None) for one in file.topology_keys)
    return Topology(f"{queue}-topology", tuple(levels))


def platform_terms(platform: wire.Platform) -> dict[str, Any]:
    """The fields of a pod's spec that send it to nodes of a platform."""
    terms = {"nodeSelector": dict(sorted(platform.labels.items())), "tolerations": platform.tolerations}
    return {field: plain(term) for field, term in terms.items() if term}


def _platform_problems(platforms: Mapping[str, wire.Platform]) -> Iterator[Problem]:
    """Of what a platform says, only tolerations can be wrong; most platforms share a few of them."""
    sound: set[Toleration] = set()
    for name, platform in platforms.items():
        for i, given in enumerate(platform.tolerations):
            if given not in sound:
                found: list[Problem] = []
                toleration(given, ("spec", "platforms", name, "tolerations", i), found)
                yield from found
                if not found:
                    sound.add(given)
