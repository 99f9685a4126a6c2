"""The clusters behind pools, and what their schedulers support."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Backend, Pool
from closeknit.apis.osmo_pool import BackendFile, PoolFile
from closeknit.dialects.osmo.naming import LONGEST, object_name
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem, as_told, shown, suggestion

SUPPORTING = ("kai",)
"""The types of scheduler that know topology constraints."""

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Backends:
    """The backends that could be read, and the names of all that exist."""

    read: Mapping[str, BackendFile]
    known: AbstractSet[str]
    problems: tuple[Reported, ...]

    def behind(self, file: PoolFile, pool: str, found: list[Problem]) -> BackendFile:
        """The backend of a pool; where none is described at all, one with KAI is assumed."""
        name = object_name(file.backend)
        backend = self.read.get(name, BackendFile())
        if name in self.known and name not in self.read:
            message = f"Backend {shown(name)} has problems of its own. Correct them first."
            found.append(as_told("spec.backend", message))
        elif self.known and name not in self.known:
            missing = (
                f"There is no backend {shown(file.backend)}."
                if file.backend
                else "The pool names no backend."
            )
            found.append(as_told("spec.backend", f"{missing} {suggestion(file.backend, self.known)}"))
        scheduler = backend.scheduler_settings.scheduler_type
        if file.topology_keys and scheduler not in SUPPORTING:
            message = (
                f"Topology keys cannot be set for pool {shown(pool)}: the scheduler of its backend"
                f" {shown(file.backend)} is {shown(scheduler)}, which does not support them. Empty the list,"
                f" or choose a backend with {' or '.join(shown(each) for each in SUPPORTING)}."
            )
            found.append(as_told("spec.topology_keys", message))
        return backend


def backends(manifests: View) -> Backends:
    """Read every backend, with every problem in it."""
    read: dict[str, BackendFile] = {}
    located: list[Reported] = []
    for manifest in manifests.of(Backend):
        found = list(_problems(manifest))
        located.extend(manifest.report(problem) for problem in found)
        if not found and not manifest.problems:
            read[manifest.name] = manifest.content.spec
    return Backends(read, {one.name for one in manifests.keys(Backend)}, tuple(located))


def _problems(manifest: Stored[Backend]) -> Iterator[Problem]:
    file = manifest.content.spec
    yield from two_names(file.name, manifest)
    if file.k8s_namespace and not _NAMESPACE.fullmatch(file.k8s_namespace):
        yield as_told(
            "spec.k8s_namespace",
            f"{shown(file.k8s_namespace)} is not a namespace. Allowed are at most {LONGEST} lower-case"
            " letters, digits and dashes, with a letter or digit at both ends.",
        )


def two_names(written: str, manifest: Stored[Pool] | Stored[Backend]) -> Iterator[Problem]:
    """What to say of an object that is called one thing outside and another inside."""
    if written and object_name(written) != manifest.name:
        outside = f"{shown(manifest.name)}, which metadata.name says"
        yield as_told("spec.name", f"{shown(written)} is not {outside}. Leave it out, or write the same.")
