"""Pools, the keys that their users may name, and the scheduler behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from closeknit.apis.core_v1 import PodSpec
from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Backend, Pool
from closeknit.apis.osmo_pool import BackendFile, Platform, PoolFile, TopologyKey
from closeknit.dialects.filters import node_filter
from closeknit.dialects.manifests import Manifest, Manifests
from closeknit.dialects.osmo.naming import LONGEST, digest, folded, marked, object_name
from closeknit.dialects.paths import join, within
from closeknit.dialects.places import Located
from closeknit.dialects.spelling import found as worded
from closeknit.hub import quantities
from closeknit.hub.problems import Problem, shown, suggestion
from closeknit.hub.topology import Level, Topology

HOSTNAME = "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"
VARIABLES = {
    "USER_CPU": "cpu",
    "USER_GPU": GPU,
    "USER_MEMORY": "memory",
    "USER_STORAGE": "ephemeral-storage",
}
"""The variables by which a pool says what a task asks for that does not say itself."""
SUPPORTING = ("kai",)
"""The types of scheduler that know topology constraints."""
MOST_KEYS = 16
"""As many levels as a KAI Topology has."""

_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
    re.ASCII,
)


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
    problems: tuple[Located, ...]


def pools(manifests: Manifests) -> Pools:
    """Read every pool, with every problem in it and in the backends."""
    backends = {one.name: one for one in manifests.of(Backend)}
    known = {one.name for one in manifests.named(Backend)}
    located: list[Located] = []
    for backend in backends.values():
        named = Problem("spec.name", _two_names(backend.content.spec.name, backend))
        located.extend([backend.located(named)] if named.message else [])
    read: dict[str, ReadPool] = {}
    for manifest in manifests.of(Pool):
        file = manifest.content.spec
        found = list(_key_problems(file.topology_keys))
        if message := _two_names(file.name, manifest):
            found.append(Problem("spec.name", message))
        backend_name = object_name(file.backend)
        if known and backend_name not in known:
            what = (
                f"There is no backend {shown(file.backend)}."
                if file.backend
                else "The pool names no backend."
            )
            found.append(Problem("spec.backend", f"{what} {suggestion(file.backend, known)}"))
        behind = backends[backend_name].content.spec if backend_name in backends else BackendFile()
        found.extend(_support_problems(manifest.name, file, behind))
        for name, platform in file.platforms.items():
            found.extend(_platform_problems(within("spec.platforms", name), platform))
        defaults = _defaults(file, found)
        located.extend(manifest.located(problem) for problem in found)
        problems = (*manifest.problems, *(manifest.seen(problem) for problem in found))
        queue = _queue(manifest.name, behind)
        topology = _topology(queue, file)
        read[manifest.name] = ReadPool(manifest.name, file, behind, queue, topology, defaults, problems)
    unreadable = frozenset(one.name for one in manifests.named(Pool)) - read.keys()
    return Pools(read, unreadable, tuple(located))


def _defaults(file: PoolFile, found: list[Problem]) -> dict[str, str]:
    read: dict[str, str] = {}
    for variable, name in VARIABLES.items():
        value = file.common_default_variables.get(variable)
        path = within("spec.common_default_variables", variable)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            try:
                quantities.amount(name, value)
                read[name] = str(value)
            except ValueError as error:
                found.append(Problem(path, str(error)))
        elif value is not None:
            found.append(
                Problem(path, f"Found {worded(value)} where a quantity is expected. Write 8 or 1.5Gi.")
            )
    return read


def _queue(name: str, backend: BackendFile) -> str:
    parts = ("osmo-pool", folded(backend.k8s_namespace), name)
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
        yield Problem(join(path, problem.path.removeprefix("spec.")), problem.message)


def _two_names(written: str, manifest: Manifest[Pool] | Manifest[Backend]) -> str:
    """What to say of an object that is called one thing outside and another inside."""
    if not written or object_name(written) == manifest.name:
        return ""
    outside = f"{shown(manifest.name)}, which metadata.name says"
    return f"{shown(written)} is not {outside}. Leave it out, or write the same."


def _support_problems(name: str, file: PoolFile, backend: BackendFile) -> Iterator[Problem]:
    scheduler = backend.scheduler_settings.scheduler_type
    if file.topology_keys and scheduler not in SUPPORTING:
        yield Problem(
            "spec.topology_keys",
            f"Topology keys cannot be set for pool {shown(name)}: the scheduler of its backend"
            f" {shown(file.backend)} is {shown(scheduler)}, which does not support them. Empty the list, or"
            f" choose a backend with {' or '.join(shown(each) for each in SUPPORTING)}.",
        )


def _key_problems(keys: Sequence[TopologyKey]) -> Iterator[Problem]:
    """Everything about the keys that users would stumble over, or that KAI would refuse in the Topology."""
    if len(keys) > MOST_KEYS:
        yield Problem("spec.topology_keys", f"There are {len(keys)} keys. Allowed are at most {MOST_KEYS}.")
    words: dict[str, int] = {}
    labels: dict[str, int] = {}
    first_labels = {one.label: i for i, one in reversed(list(enumerate(keys)))}
    for i, one in enumerate(keys):
        path = f"spec.topology_keys[{i}]"
        for field, text in (("key", one.key), ("label", one.label)):
            if not _is_label_key(text):
                yield Problem(
                    f"{path}.{field}",
                    f"{shown(text)} is not possible. Write at most 63 letters, digits, '-', '_' and '.',"
                    " such as rack, with an optional domain before a slash, such as example.com/rack.",
                )
        if (first := words.setdefault(one.key, i)) != i:
            message = f"{shown(one.key)} is already the key of topology_keys[{first}]. Each has its own."
            yield Problem(f"{path}.key", message)
        elif first_labels.get(one.key, i) != i:
            message = f"{shown(one.key)} is the label of topology_keys[{first_labels[one.key]}]."
            yield Problem(f"{path}.key", f"{message} Choose another word.")
        if (first := labels.setdefault(one.label, i)) != i:
            message = f"{shown(one.label)} is already the label of topology_keys[{first}]. Each has its own."
            yield Problem(f"{path}.label", message)
        if one.label == HOSTNAME and i != len(keys) - 1:
            message = (
                f"{shown(HOSTNAME)} is the finest there is. Move it to the end: keys go from coarse to fine."
            )
            yield Problem(f"{path}.label", message)


def _is_label_key(text: str) -> bool:
    prefix, _, name = text.rpartition("/")
    return len(prefix) <= 253 and len(name) <= 63 and _LABEL_KEY.fullmatch(text) is not None
