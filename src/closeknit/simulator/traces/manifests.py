"""Workloads of a trace that are manifests of any family: checked when they are read, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path as File
from typing import Any

import msgspec

from closeknit import dialects
from closeknit.dialects.wire.registry import with_name
from closeknit.hub.paths import Path, Verbatim
from closeknit.hub.problems import Problem
from closeknit.hub.request import Group, PodSet
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import simulator as sentences
from closeknit.hub.workload import PlaceableWorkload
from closeknit.simulator.objects import site_topology
from closeknit.simulator.scenario import Ask, Site
from closeknit.text.documents import Located, Source

Manifest = Mapping[str, Any]
_MANIFEST = "manifest"
"""The source of the objects of one submission, beside those that all of them find there."""
_EXAMPLE = "an object, a list of objects, or the name of a file"


def written(value: object, path: Path, folder: File, problems: list[Problem]) -> tuple[Manifest, ...]:
    """The objects that stand in a field, or in the file that it names; every problem is noted.

    Lists are taken apart, and a file in a format of its own, such as an OSMO workflow, is the object that
    carries it.
    """
    if isinstance(value, str):
        file = folder / value
        try:
            return tuple(_objects(Source(str(file), file.read_bytes()), path, problems))
        except OSError as error:
            reason = error.strerror or str(error)
            problems.append(sentences.NO_MANIFEST_FILE.at(path, file=str(file), reason=reason))
            return ()
    listed: list[Any] = value if isinstance(value, list) else [value]
    if not listed or not all(isinstance(each, dict) for each in listed):
        problems.append(sentences.NOT_A_MAPPING.at(path, found="no object", example=_EXAMPLE))
        return ()
    return tuple(_objects(_source("manifest", listed), path, problems))


def _objects(source: Source, path: Path, problems: list[Problem]) -> Iterator[Manifest]:
    generated: Counter[str] = Counter()
    for each in dialects.written([source]):
        match each:
            case Located(is_note=True):
                pass
            case Located(problem=problem):
                problems.append(problem.under(*path, Verbatim(f": {source.name}:")))
            case _, dict() as content:
                yield with_name(content, generated)
            case _:
                problems.append(sentences.NOT_A_MAPPING.at(path, found="no object", example=_EXAMPLE))


def object_name(manifest: Manifest) -> str:
    """What messages call an object."""
    metadata = manifest.get("metadata") or {}
    return f"{manifest.get('kind')} {metadata.get('namespace') or 'default'}/{metadata.get('name')}"


def asked_by(
    objects: Sequence[Manifest], setup: Sequence[Manifest], site: Site, path: Path, problems: list[Problem]
) -> Ask | None:
    """What the workloads of some objects ask for in all; None where something is wrong with them."""
    before = len(problems)
    reading = dialects.read([_setup(setup, site), _source(_MANIFEST, objects)])
    problems.extend(_placed(each, path, objects) for each in reading.problems if each.source == _MANIFEST)
    for number, each in enumerate(objects):
        metadata = each.get("metadata")
        if len(problems) == before and not (isinstance(metadata, dict) and metadata.get("name")):
            problems.append(sentences.MISSING_FIELD.at((*path, number, "metadata", "name"), example="a name"))
    roots = [each.request.root for each in reading.workloads if isinstance(each, PlaceableWorkload)]
    sets = [pods for root in roots for pods in root.pod_sets()]
    if len(problems) == before and not any(pods.count for pods in sets):
        problems.append(sentences.NO_PODS_ASKED.at(path))
    return _ask(roots, sets, site) if len(problems) == before else None


def check_setup(setup: Sequence[Manifest], site: Site, path: Path, problems: list[Problem]) -> None:
    """Note what is wrong with the objects that all workloads find there."""
    if setup:
        problems.extend(_placed(each, path, setup) for each in dialects.read([_setup(setup, site)]).problems)


def _setup(setup: Sequence[Manifest], site: Site) -> Source:
    return _source("setup", [*setup, site_topology(site)])


def _placed(found: Located, path: Path, objects: Sequence[Manifest]) -> Problem:
    """A problem under the field of the trace; of several objects with the number of its own."""
    number = (found.document - 1,) if found.document and len(objects) > 1 else ()
    return found.problem.under(*path, *number)


def _source(name: str, objects: Iterable[Manifest]) -> Source:
    return Source(name, b"\n---\n".join(msgspec.json.encode(each) for each in objects))


def _ask(roots: Sequence[Group], sets: Sequence[PodSet], site: Site) -> Ask:
    """All pods as one gang; levels are those of the whole, where there is one."""
    whole = roots[0] if len(roots) == 1 else None
    known = site.topology.labels
    return Ask(
        pods=sum(pods.count for pods in sets),
        resources=Resources(),
        required=whole.required if whole is not None and whole.required in known else None,
        preferred=whole.preferred if whole is not None and whole.preferred in known else None,
        units=sum(pods.count * pods.resources.get(site.resource, 0) for pods in sets),
    )
