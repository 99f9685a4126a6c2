"""Validates and translates other projects' own manifests, and lists what is refused, why, and whether rightly.

Takes a folder with a checkout of each project under the name of ``PROJECTS``. Nothing of them is kept here. Files
are YAML and JSON, and the fenced blocks of YAML on pages of Markdown; each is read by itself, as ``closeknit
validate`` and ``closeknit translate`` do. ``RULES`` say which refusals are right; files that no rule can judge stand in
``peers_reviewed.txt`` with the reason. An object of a kind that is read must become a workload, or be
named in a note or a problem: any other is lost, and counted.

Ends with status 1 if less than ``--share`` of the files that are not rightly refused is accepted, or if an object is lost.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from closeknit.apis.kai_keys import GROUP_ANNOTATION
from closeknit.cli.templates import with_templates_filled
from closeknit.dialects import DIALECTS, KINDS, TARGETS, Located, Reading, Source, read, translate, written
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.request import PodSet
from closeknit.hub.workload import PlaceableWorkload
from tests.trials.runs import say

_BLOCK = re.compile(r"^([ \t]*)```[ \t]*ya?ml[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_PLACEHOLDER = re.compile(
    r"<[a-zA-Z][\w .,/|-]*>|\{\{|\$\{\w+|\$\w+:?|^[ \t]*(-[ \t]*|[\w.-]+:[ \t]*)?\.\.\.", re.MULTILINE
)
_REVIEWED = Path(__file__).with_name("peers_reviewed.txt")
_OTHER_TARGET = ("not-for-grove", "kueue")
"""A deployment that says itself who runs it is translated to what its refusal names."""


@dataclass(frozen=True, slots=True)
class Project:
    """Which files of a checkout are tried."""

    name: str
    folders: tuple[str, ...] = ("",)
    holding: str = ""
    """A pattern that the files have in common; empty for all."""
    pages: bool = False
    """Whether blocks of its pages are tried too."""


PROJECTS = (
    Project("dynamo", holding=r"^\s*kind: *\"?DynamoGraphDeployment\"?\s*$"),
    Project("grove", ("operator/e2e/yaml", "operator/samples")),
    Project("osmo", holding=r"^workflow:"),
    Project("kueue", ("site/static/examples",)),
    Project("kai", ("docs", "examples"), pages=True),
)


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one file or block."""

    source: Source
    """Under its path in the checkout."""
    problems: tuple[Located, ...]
    workloads: int
    noted: int
    """How many notes were told."""
    lost: tuple[str, ...]
    right: str = ""
    """The rule by which its refusal is right; empty where it is not."""

    @property
    def wrong(self) -> bool:
        """Whether it is refused, and no rule says that it should be."""
        return bool(self.problems) and not self.right


def _text(tried: Tried) -> str:
    return re.sub(r"(^|\s)#.*", "", tried.source.content.decode(errors="replace"))


def _codes(tried: Tried) -> set[str]:
    return {each.problem.code.name for each in tried.problems}


RULES: Mapping[str, Callable[[Tried], bool]] = {
    "no object": lambda tried: _codes(tried) <= {"untyped-object", "no-object"},
    "placeholder": lambda tried: (
        all(_PLACEHOLDER.search(str(each.problem)) for each in tried.problems)
        or ("not-yaml" in _codes(tried) and _PLACEHOLDER.search(_text(tried)) is not None)
    ),
    "fragment": lambda tried: (
        "#" in tried.source.name and bool(_codes(tried) & {"missing-field", "not-yaml", "untyped-object"})
    ),
    "proposal": lambda tried: (
        "/designs/" in tried.source.name and bool(_codes(tried) & {"unknown-kind", "unknown-version"})
    ),
}
"""By name, when a refusal is right. What each means stands in ``_MEANINGS``."""
_MEANINGS = {
    "no object": "It holds no Kubernetes object and no workflow: settings of a chart, a dashboard, a list of results.",
    "placeholder": "What is refused is a placeholder, such as a name in angle brackets, a variable of a shell or of a template"
    " without a value.",
    "fragment": "It is a block of a page that shows a part of an object.",
    "proposal": "It is a block of a design document with a kind or version that the project does not publish.",
    "reviewed": "Somebody looked at it; the reason is given.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Try all; returns the exit status."""
    parser = argparse.ArgumentParser(prog="peers_run", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder with the checkouts")
    parser.add_argument("--to", default="kai", choices=TARGETS, help="what to translate to (kai)")
    parser.add_argument("--project", choices=[each.name for each in PROJECTS], help="only this one")
    parser.add_argument("--share", type=float, default=0.98, help="how much must be accepted (0.98)")
    parser.add_argument("--page", type=Path, help="write the page of the reference to this file")
    parser.add_argument("--at", nargs="*", default=[], metavar="PROJECT=COMMIT", help="commits for the page")
    chosen = parser.parse_args(arguments)
    reviewed = dict(line.split(": ", 1) for line in _REVIEWED.read_text().splitlines() if line)
    found: dict[str, list[Tried]] = {}
    for project in PROJECTS:
        if chosen.project in (None, project.name):
            every = [tried(each, chosen.to) for each in sources(chosen.folder, project)]
            found[project.name] = [judged(each, reviewed) for each in every]
    if not any(found.values()):
        parser.error(f"no file of any project is in {chosen.folder}")
    for line in (*_refusals(found), "", *_table(found)):
        say(line)
    if chosen.page is not None:
        chosen.page.write_text(
            "\n".join(_page(found, chosen.to, dict(each.split("=") for each in chosen.at)))
        )
    every = [each for tried_ones in found.values() for each in tried_ones]
    good = all(_share(each) >= chosen.share for each in found.values())
    return int(not good or any(each.lost for each in every))


def sources(folder: Path, project: Project) -> Iterator[Source]:
    """The files of a project, and the blocks of its pages, in the order of their names; templates are filled."""
    top = folder / project.name
    given = [
        Source(f"{project.name}/{each.name}", each.content)
        for inner in project.folders
        for each in _within(top, top / inner, pages=project.pages)
        if re.search(project.holding, each.content.decode(errors="replace"), re.MULTILINE)
    ]
    return iter(with_templates_filled(given, {}))


def _within(top: Path, folder: Path, *, pages: bool) -> Iterator[Source]:
    for file in sorted(folder.rglob("*")):
        name = str(file.relative_to(top))
        if file.suffix in (".yaml", ".yml", ".json") and file.is_file():
            yield Source(name, file.read_bytes())
        elif pages and file.suffix == ".md" and file.is_file():
            for number, block in enumerate(_BLOCK.finditer(file.read_text(errors="replace")), 1):
                plain = re.sub(rf"^{block[1]}", "", block[2], flags=re.MULTILINE)
                yield Source(f"{name}#{number}", plain.encode())


def tried(source: Source, target: str) -> Tried:
    """Validate and translate one file by itself."""
    reading = read([source], partial=True)
    translation = translate([source], target)
    code, other = _OTHER_TARGET
    if translation.problems and {each.problem.code.name for each in translation.problems} == {code}:
        translation = translate([source], other)
    problems = dict.fromkeys((*reading.problems, *translation.problems))
    notes = len(reading.notes) + sum(len(each.notes) for each in reading.workloads)
    workloads = sum(workload.object.name != "" for workload in reading.workloads)
    return Tried(source, tuple(problems), workloads, notes, tuple(_lost(source, reading)))


def judged(tried: Tried, reviewed: Mapping[str, str]) -> Tried:
    """The same with the rule by which its refusal is right."""
    if not tried.problems:
        return tried
    if (reason := reviewed.get(tried.source.name)) is not None:
        return replace(tried, right=f"reviewed: {reason}")
    return replace(tried, right=next((name for name, applies in RULES.items() if applies(tried)), ""))


def _lost(source: Source, reading: Reading) -> Iterator[str]:
    """The objects of which nothing was made and nothing said.

    What workloads are measured by, such as nodes and queues, is looked up by those that name it, and is
    never lost.
    """
    told = {each.document for each in (*reading.problems, *reading.notes)}
    told |= {each.document for each in reading.skipped}
    asks = {shape for family in DIALECTS for shape in family.compile}
    kinds = {(kind.group, kind.kind) for kind in KINDS if kind.shape in asks}
    known = {each.key for each in reading.workloads} | {each.object.key for each in reading.workloads}
    holds = {holding.workload for holding in reading.cluster.holdings}
    for each in reading.workloads:
        for member, _ in each.request.root.walk() if isinstance(each, PlaceableWorkload) else ():
            known.update(
                Key("", "Pod", each.object.namespace, pod)
                for pod in (member.pods if isinstance(member, PodSet) else ())
            )
    for found in written([source]):
        if isinstance(found, Located) or found[0].document in told:
            continue
        made = found[1]
        group, name = made["apiVersion"].rpartition("/")[0], made["metadata"].get("name", "")
        if (group, made["kind"]) not in kinds:
            continue
        key = Key(group, made["kind"], made["metadata"].get("namespace", "default"), name)
        bound = made["kind"] == "Pod" and bool(made.get("spec", {}).get("nodeName")) and bool(holds)
        generated = not name and any(each.kind == made["kind"] for each in known)
        joined = _groups_named(made) & {each.name for each in known if each.kind == "PodGroup"}
        if not (bound or generated or joined or key in known):
            yield f"{made['kind']} {name}"


def _groups_named(made: Any) -> set[str]:
    """The PodGroups that pod templates within an object name: its pods are theirs."""
    if isinstance(made, list):
        return {name for each in made for name in _groups_named(each)}
    if not isinstance(made, dict):
        return set()
    own = (made.get("metadata") or {}).get("annotations") or {} if "metadata" in made else {}
    inner = {name for each in made.values() for name in _groups_named(each)}
    return inner | ({own[GROUP_ANNOTATION]} if GROUP_ANNOTATION in own else set())


def _share(every: Sequence[Tried]) -> float:
    counted = [each for each in every if not each.right]
    return sum(not each.problems for each in counted) / max(len(counted), 1)


def _refusals(found: Mapping[str, Sequence[Tried]]) -> Iterator[str]:
    for every in found.values():
        for each in sorted(every, key=lambda tried: not tried.wrong):
            if each.problems:
                yield f"{'refused' if each.wrong else 'rightly refused'}: {each.source.name} ({each.right or 'no rule'})"
                for problem in each.problems[:8]:
                    at = str(problem).removeprefix(each.source.name)
                    yield f"    {problem.problem.code.name}: {at[:300]}"
            yield from (f"lost: {each.source.name}: {lost}" for lost in each.lost)


def _table(found: Mapping[str, Sequence[Tried]]) -> Iterator[str]:
    yield "| project | files and blocks | workloads | accepted | with notes | rightly refused | wrongly refused | accepted of those not rightly refused | objects lost |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, every in found.items():
        accepted = [each for each in every if not each.problems]
        figures: tuple[object, ...] = (
            len(every),
            sum(each.workloads for each in every),
            len(accepted),
            sum(each.noted > 0 for each in accepted),
            sum(bool(each.right) for each in every),
            sum(each.wrong for each in every),
            f"{_share(every):.1%}",
            sum(len(each.lost) for each in every),
        )
        yield f"| {name} | {' | '.join(map(str, figures))} |"


def _page(found: Mapping[str, Sequence[Tried]], target: str, commits: Mapping[str, str]) -> Iterator[str]:
    yield "# Manifests of other projects"
    yield ""
    yield (
        "Written by `make peers`, which validates the manifests that other projects keep in their own repositories, as"
        f" they stand there and each by itself, and translates them to `{target}` (a deployment whose annotation switches"
        " Grove off: to `kueue`). They are fetched for the run; nothing of them is kept here."
    )
    yield ""
    yield from _table(found)
    yield ""
    if commits:
        named = ", ".join(f"{name} {commit}" for name, commit in commits.items())
        yield f"The checkouts are of these commits: {named}."
        yield ""
    yield (
        "A file with notes names objects that are not in it, such as its queue or its topology, or asks for what is not"
        " counted; [what is read](manifests.md#objects-that-are-elsewhere) says more. An object is lost if it is of a kind that is read and"
        " neither becomes a workload nor is named in a note or a problem."
    )
    yield ""
    yield "## What is refused"
    yield ""
    yield "A refusal is right by one of these rules:"
    yield ""
    yield from (f"- **{name}**: {meaning}" for name, meaning in _MEANINGS.items())
    yield ""
    yield "| file | refused for | rule |"
    yield "|---|---|---|"
    for every in found.values():
        for each in every:
            if each.problems:
                codes = ", ".join(f"`{code}`" for code in sorted(_codes(each)))
                yield f"| {each.source.name} | {codes} | {each.right or 'none: wrongly refused'} |"
    yield ""


if __name__ == "__main__":
    sys.exit(main())
