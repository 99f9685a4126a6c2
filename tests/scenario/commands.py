"""The command line as scenarios use it: files in, what it printed out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from typer.testing import CliRunner, Result

from closeknit.cli.app import app

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SCHEMA = json.loads((ROOT / "tests/unit/cli/outcomes.schema.json").read_text(encoding="utf-8"))

Json = dict[str, Any]


def run(*words: str | Path, given: str | None = None) -> Result:
    """What a command did; an exception other than its own end is not swallowed."""
    return CliRunner().invoke(app, [str(word) for word in words], input=given, catch_exceptions=False)


def of(*files: str | Path) -> list[str | Path]:
    """The arguments that name files."""
    return [word for file in files for word in ("-f", file)]


def planned(*files: str | Path, given: str | None = None) -> tuple[int, dict[str, Json]]:
    """The exit status of a plan, and its outcomes by the name of the workload."""
    result = run("plan", *of(*files), "-o", "json", given=given)
    output = json.loads(result.stdout)
    jsonschema.validate(output, SCHEMA)
    return result.exit_code, {outcome["workload"]["name"]: outcome for outcome in output["outcomes"]}


def translated(target: str, *files: str | Path, options: tuple[str, ...] = (), noted: str = "") -> list[Json]:
    """The objects that the files become; there must be no problem, and nothing but ``noted`` to be told."""
    result = run("translate", *of(*files), "--to", target, *options)
    objects = [each for each in yaml.safe_load_all(result.stdout) if each is not None]
    notes = result.stderr.splitlines(keepends=True)
    without_queue = [
        each["metadata"]["name"]
        for each in objects
        if target == "kai" and each["kind"] == "PodGroup" and not each["spec"].get("queue")
    ]
    if without_queue:
        # KAI passes over such a PodGroup, so the last note lists them.
        last = notes.pop()
        assert all(name in last for name in without_queue[:5]), last
    assert (result.exit_code, "".join(notes)) == (0, noted)
    return objects


def refused(*files: str | Path, given: str | None = None) -> list[str]:
    """The problems that ``validate`` tells, each without the name of its file."""
    result = run("validate", *of(*files), given=given)
    assert (result.exit_code, result.stdout) == (2, "")
    *problems, count = result.stderr.splitlines()
    assert count.split()[0] == str(len(problems))
    return [_without_file(problem) for problem in problems]


@dataclass(frozen=True)
class Journey:
    """One workload on its way through ``validate``, ``translate`` and ``plan``."""

    objects: list[Json]
    status: int
    outcome: Json

    def made(self, kind: str) -> list[Json]:
        """The objects of one kind, in the order in which they were written."""
        return [each for each in self.objects if each["kind"] == kind]

    def pods(self, prefix: str = "") -> list[Json]:
        """The pods whose pod set starts like this."""
        return [pod for pod in self.outcome["pods"] if pod["podSet"].startswith(prefix)]

    def domains(self, depth: int, prefix: str = "") -> set[tuple[str, ...]]:
        """The domains that many levels deep in which those pods lie."""
        return {tuple(pod["domain"][:depth]) for pod in self.pods(prefix)}

    def group(self, name: str) -> Json:
        """What became of the group of this name."""
        (found,) = (group for group in self.outcome["groups"] if group["name"] == name)
        return dict(found)

    @property
    def placed(self) -> bool:
        """Whether it was placed, and the command ended accordingly."""
        return (self.status, self.outcome["status"]) == (0, "placed")


def journey(*files: str | Path, to: str, nodes: Path | None = None, noted: str = "") -> Journey:
    """Files with one workload in them, through all three commands: they are valid, and can be translated.

    Nodes may stand among the files, or beside them for the plan alone. ``noted`` is what is told
    of a workload that is valid nevertheless.
    """
    checked = run("validate", *of(*files))
    assert (checked.exit_code, checked.stderr) == (0, noted)
    objects = translated(to, *files, noted=noted)
    status, outcomes = planned(*files, *([nodes] if nodes else []))
    (outcome,) = outcomes.values()
    return Journey(objects, status, outcome)


def _without_file(problem: str) -> str:
    _, document, rest = problem.split(":", 2)
    assert document.isdigit(), problem
    return rest
