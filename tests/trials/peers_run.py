"""Reads and translates other projects' own manifests, and lists what is refused, and why.

Takes files and folders with YAML and JSON, and with Markdown whose fenced blocks of YAML are read one by one.
Nothing of them is kept here: fetch a repository, and name its folders. Each file, and each block, is read by
itself; where it is refused then, once more with what it takes for granted: the files that ``--with`` names, and of
a page the blocks before it.

A refusal is right where the file is a fragment or a template: it has placeholders (``<name>``, ``...``,
``{{ }}``, ``${NAME}``), no object in it, or is a block without a field that every object of its kind has. Ends with
status 1 if less than ``--share`` of the others is accepted.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from closeknit.cli.templates import with_templates_filled
from closeknit.dialects import TARGETS, Located, Source, read, translate
from tests.trials.runs import say

_BLOCK = re.compile(r"^([ \t]*)```[ \t]*ya?ml[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_PLACEHOLDER = re.compile(
    r"<[a-zA-Z][\w .,/|-]*>|\{\{|\$\{\w+|\$\w+|^[ \t]*(-[ \t]*|[\w.-]+:[ \t]*)?\.\.\.", re.MULTILINE
)
_OBJECT = re.compile(
    r"^[\s-]*(\"?kind\"?|workflow|topology_keys|pools|backends|configuration):", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one file or block."""

    source: Source
    problems: tuple[Located, ...]
    workloads: int
    skipped: tuple[str, ...]
    """Kinds that nobody reads."""
    notes: tuple[str, ...]
    reviewed: bool = False
    """Whether somebody has looked at it and found that it must be refused."""

    @property
    def rightly(self) -> bool:
        """Whether nobody could take it as it stands."""
        text = re.sub(r"(^|\s)#.*", "", self.source.content.decode(errors="replace"))
        block = "#" in Path(self.source.name).name
        cut = block and any(each.problem.code.name == "missing-field" for each in self.problems)
        return self.reviewed or cut or _PLACEHOLDER.search(text) is not None or _OBJECT.search(text) is None


def main(arguments: Sequence[str] | None = None) -> int:
    """Try all; returns the exit status."""
    parser = argparse.ArgumentParser(prog="peers_run", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, help="files and folders")
    parser.add_argument("--to", default="kai", choices=TARGETS, help="what to translate to (kai)")
    parser.add_argument(
        "--with", dest="beside", nargs="*", default=[], type=Path, help="files read with each"
    )
    parser.add_argument("--only", default="", help="only what has this text in it, such as 'kind: Job'")
    parser.add_argument("--lenient", action="store_true", help="as the option of the command line")
    parser.add_argument("--share", type=float, default=0.98, help="how much must be accepted (0.98)")
    parser.add_argument(
        "--rightly", nargs="*", default=[], help="ends of names that somebody found rightly refused"
    )
    parser.add_argument("--notes", action="store_true", help="list the notes too")
    chosen = parser.parse_args(arguments)
    beside = [source for path in chosen.beside for source in sources(path)]
    every = [
        tried(each, [*beside, *before], chosen.to, lenient=chosen.lenient)
        for path in chosen.paths
        for each, before in with_page(with_templates_filled(list(sources(path)), {}))
        if chosen.only.encode() in each.content
    ]
    ends = tuple(chosen.rightly)
    every = [replace(each, reviewed=each.source.name.endswith(ends)) for each in every]
    return _told(every, chosen.share, notes=chosen.notes)


def sources(path: Path) -> Iterator[Source]:
    """The files of a folder, and the blocks of its pages, in the order of their names."""
    for file in sorted(path.rglob("*")) if path.is_dir() else (path,):
        if file.suffix in (".yaml", ".yml", ".json") and file.is_file():
            yield Source(str(file), file.read_bytes())
        elif file.suffix == ".md" and file.is_file():
            text = file.read_text(errors="replace")
            for number, block in enumerate(_BLOCK.finditer(text), 1):
                plain = re.sub(rf"^{block[1]}", "", block[2], flags=re.MULTILINE)
                yield Source(f"{file}#{number}", plain.encode())


def with_page(given: Iterable[Source]) -> Iterator[tuple[Source, list[Source]]]:
    """Each source with the blocks before it on its page."""
    before: list[Source] = []
    for source in given:
        page = source.name.rpartition("#")[0]
        before = [each for each in before if page and each.name.startswith(f"{page}#")]
        yield source, list(before)
        before.append(source)


def tried(source: Source, beside: Sequence[Source], target: str, *, lenient: bool) -> Tried:
    """Read and translate one file, alone or with what it takes for granted."""
    alone = _tried(source, [], target, lenient=lenient)
    if not alone.problems or not beside:
        return alone
    plain = [each for each in beside if "#" not in each.name]
    ways = (beside, plain, *([*plain, each] for each in beside if "#" in each.name))
    others = (_tried(source, way, target, lenient=lenient) for way in ways)
    return min((alone, *others), key=lambda each: len(each.problems))


def _tried(source: Source, beside: Sequence[Source], target: str, *, lenient: bool) -> Tried:
    reading = read([*beside, source], lenient=lenient)
    translation = translate([*beside, source], target, lenient=lenient)
    problems = dict.fromkeys((*reading.problems, *translation.problems))
    notes = [*map(str, reading.notes)]
    for each in reading.workloads:
        notes += (f"{each.object.kind} {each.object.name}: {note}" for note in each.notes)
    return Tried(
        source,
        tuple(each for each in problems if each.source == source.name),
        sum(workload.object.name != "" for workload in reading.workloads),
        tuple(each.kind for each in reading.skipped if each.source == source.name),
        tuple(notes),
    )


def _told(every: Sequence[Tried], share: float, *, notes: bool) -> int:
    refused = [each for each in every if each.problems]
    wrongly = [each for each in refused if not each.rightly]
    for title, listed in (("refused", wrongly), ("rightly refused", [e for e in refused if e.rightly])):
        for each in listed:
            say(f"{title}: {each.source.name}")
            for problem in each.problems[:8]:
                say(f"    {problem.problem.code.name}: {str(problem).removeprefix(each.source.name)[:300]}")
    if notes:
        for each in every:
            for note in each.notes:
                say(f"note: {each.source.name}: {note[:300]}")
    codes = Counter(code for each in wrongly for code in {p.problem.code.name for p in each.problems})
    passed_over = Counter(kind for each in every for kind in each.skipped)
    say(f"kinds that are passed over: {dict(passed_over.most_common())}")
    say(f"reasons of refusals: {dict(codes.most_common())}")
    counted = len(every) - len(refused) + len(wrongly)
    accepted = (counted - len(wrongly)) / max(counted, 1)
    say(
        f"{len(every)} files and blocks, {sum(each.workloads for each in every)} workloads, "
        f"{len(refused) - len(wrongly)} rightly refused, {len(wrongly)} refused: {accepted:.1%} accepted"
    )
    return int(accepted < share)


if __name__ == "__main__":
    sys.exit(main())
