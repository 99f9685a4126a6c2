"""Closeknit's own traces: ``workloads`` one by one, ``generate`` by distributions, or both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as File
from typing import Any

from closeknit.hub.paths import Path, Verbatim
from closeknit.hub.problems import InvalidError, OneOf, Problem
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import simulator as sentences
from closeknit.simulator.generated import TRAINING_SIZES, Mix, generate
from closeknit.simulator.scenario import Ask, Manifests, Site, Submission
from closeknit.simulator.traces.fields import Fields
from closeknit.simulator.traces.manifests import Manifest, asked_by, check_setup, object_name, written
from closeknit.text.documents import Document, Located, Source, parse

FIELDS = ("name", "at", "runs", "pods", "resources", "required", "preferred", "priority", "nodeSelector")
COLUMNS = ("name", "at", "runs", "pods", "gpus", "cpu", "memory", "required", "preferred", "priority")
"""Of a trace as CSV; the first three are needed."""
MIX_FIELDS = (
    "workloads",
    "sizes",
    "podSize",
    "median",
    "sigma",
    "longest",
    "load",
    "requiredShare",
    "burstShare",
    "burstSize",
    "priorities",
)
MOST_PROBLEMS = 100
_NEEDED = {
    "name": "a name",
    "at": "when it arrives, such as 90s",
    "runs": "how long it runs, such as 2h",
}
"""What every workload says, and how."""


def read(source: Source, site: Site, seed: int, limit: int) -> tuple[Submission, ...]:
    """The workloads of a trace, in the order of their times; raises ``InvalidError`` with every problem."""
    problems: list[Problem] = []
    found: list[Submission] = []
    for document in parse(source):
        if isinstance(document, Located):
            problems.append(document.problem.under(Verbatim(f"{source.name}:")))
            continue
        found.extend(_document(document, source.name, site, seed, problems))
        if len(found) > limit:
            raise InvalidError([sentences.TOO_MANY_WORKLOADS.at((Verbatim(source.name),), most=limit)])
    return checked(found, problems, source.name)


def checked(found: Sequence[Submission], problems: list[Problem], name: str) -> tuple[Submission, ...]:
    """Workloads in the order of their times, if nothing is wrong with them."""
    seen: set[str] = set()
    objects: set[str] = {f"PodGroup default/{each.name}" for each in found if each.manifests is None}
    for each in found:
        if each.name in seen:
            problems.append(sentences.NAME_TWICE.at((Verbatim(name),), name=each.name))
        seen.add(each.name)
        for made in map(object_name, each.manifests.objects if each.manifests is not None else ()):
            if made in objects:
                problems.append(sentences.OBJECT_TWICE.at((Verbatim(name),), object=made))
            objects.add(made)
    if not found and not problems:
        problems.append(sentences.EMPTY_TRACE.at((Verbatim(name),)))
    if problems:
        more = [sentences.MANY_PROBLEMS.at((Verbatim(name),), number=MOST_PROBLEMS)]
        raise InvalidError([*problems[:MOST_PROBLEMS], *(more if len(problems) > MOST_PROBLEMS else [])])
    return tuple(sorted(found, key=lambda each: each.at))


def _document(
    document: Document, name: str, site: Site, seed: int, problems: list[Problem]
) -> Iterator[Submission]:
    top: Path = (Verbatim(f"{name}:"),)
    content = document.content
    if not isinstance(content, dict):
        example = "workloads: with a list below it"
        problems.append(sentences.NOT_A_MAPPING.at((Verbatim(name),), found="no mapping", example=example))
        return
    fields = Fields(content, top, problems)
    fields.known(("workloads", "generate", "setup"))
    folder = File(name).parent
    setup = written(content["setup"], (*top, "setup"), folder, problems) if fields.has("setup") else ()
    check_setup(setup, site, (*top, "setup"), problems)
    if fields.has("generate"):
        yield from generate(
            mix_of(fields.mapping("generate", "{workloads: 100}"), (*top, "generate"), problems), site, seed
        )
    listed = content.get("workloads")
    if listed is None:
        return
    if not isinstance(listed, list):
        example = "a list of workloads"
        problems.append(sentences.NOT_A_MAPPING.at((*top, "workloads"), found="no list", example=example))
        return
    for number, each in enumerate(listed):
        path = (*top, "workloads", number)
        if not isinstance(each, dict):
            example = "{name: a, at: 0, runs: 1h, pods: 4}"
            problems.append(sentences.NOT_A_MAPPING.at(path, found="no mapping", example=example))
        elif "manifest" in each:
            fields = Fields(each, path, problems)
            yield from _of_manifests(fields, each["manifest"], (folder, setup), site)
        elif (made := submission_of(each, path, site, problems)) is not None:
            yield made


def _of_manifests(
    fields: Fields, manifest: object, given: tuple[File, tuple[Manifest, ...]], site: Site
) -> Iterator[Submission]:
    """A workload that is written as its users write it; nothing where something is wrong with it.

    ``given`` are the folder of the trace, and what its workloads find there.
    """
    (folder, setup), problems, here = given, fields.problems, (*fields.path, "manifest")
    fields.known((*_NEEDED, "manifest"))
    _require(fields)
    name = fields.name("name") if fields.has("name") else ""
    at, runs = fields.seconds("at"), fields.seconds("runs")
    before = len(problems)
    objects = written(manifest, here, folder, problems)
    ask = asked_by(objects, setup, site, here, problems) if len(problems) == before else None
    if ask is not None and len(problems) == fields.before:
        yield Submission(name, at, runs, ask, manifests=Manifests(objects, setup))


def submission_of(
    written: Mapping[str, Any], path: Path, site: Site, problems: list[Problem]
) -> Submission | None:
    """One workload; None where something is wrong with it."""
    fields = Fields(written, path, problems)
    fields.known(FIELDS)
    _require(fields)
    resources = fields.amounts("resources") or Resources({site.resource: site.scale})
    selector = fields.mapping("nodeSelector", "labels and their values")
    made = Submission(
        name=fields.name("name") if fields.has("name") else "",
        at=fields.seconds("at"),
        runs=fields.seconds("runs"),
        ask=Ask(
            pods=fields.whole("pods", 1, least=1, most=100_000),
            resources=resources,
            required=_level(fields, "required", path, site),
            preferred=_level(fields, "preferred", path, site),
            selector=tuple(sorted((key, _values(value)) for key, value in selector.items())),
        ),
        priority=fields.whole("priority", 0, least=-1_000_000_000, most=1_000_000_000),
    )
    labels = site.topology.labels
    required, preferred = made.ask.required, made.ask.preferred
    if required is not None and preferred is not None and labels.index(preferred) < labels.index(required):
        facts = {"preferred": site.word(preferred), "required": site.word(required)}
        problems.append(sentences.REQUIRED_COARSER.at((*path, "preferred"), **facts))
    return made if len(problems) == fields.before else None


def _require(fields: Fields) -> None:
    for name, example in _NEEDED.items():
        fields.require(name, example)


def _values(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def _level(fields: Fields, name: str, path: Path, site: Site) -> str | None:
    word = fields.text(name)
    if word is None:
        return None
    label = site.level(word)
    if label is None:
        known = OneOf.among(word, [site.word(each) for each in site.topology.labels])
        fields.problems.append(sentences.NO_SUCH_LEVEL.at((*path, name), level=word, known=known))
    return label


def mix_of(written: Mapping[str, Any], path: Path, problems: list[Problem]) -> Mix:
    """How workloads are drawn; what is not written is as usual."""
    fields = Fields(written, path, problems)
    fields.known(MIX_FIELDS)
    usual = Mix(workloads=100)
    return Mix(
        workloads=fields.whole("workloads", usual.workloads, least=1),
        sizes=fields.weights("sizes", TRAINING_SIZES, 1),
        pod=fields.whole("podSize", usual.pod, least=1),
        median=fields.seconds("median", usual.median),
        sigma=fields.number("sigma", usual.sigma, 0.0, 5.0),
        longest=fields.seconds("longest", usual.longest),
        load=fields.number("load", usual.load, 0.01, 100.0),
        required=fields.number("requiredShare", usual.required, 0.0, 1.0),
        burst_share=fields.number("burstShare", usual.burst_share, 0.0, 1.0),
        burst_size=fields.whole("burstSize", usual.burst_size, least=1),
        priorities=fields.weights("priorities", usual.priorities, -1_000_000_000),
    )
