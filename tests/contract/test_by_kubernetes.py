"""What we write, judged by the code of the Kubernetes API server itself.

The server's checks of definitions and of custom resources come as Go modules; a small program beside
this file puts them to use. Schemas are judged elsewhere as well, faster; rules in CEL only here.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.dialects.definitions import FAMILIES
from tests.contract.definitions import PROJECTS, published_texts
from tests.contract.go_modules import go_module
from tests.contract.test_every_object import (
    A_FEW,
    FOLDERS,
    MANY,
    WAYS,
    requests,
    said,
    sources_of,
    translated,
)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("judge")]

JUDGE = Path(__file__).with_name("judge")
TODAY = sorted({*PROJECTS.values()})
EARLIER = [*TODAY, "grove-alpha8"]
"""Of what has not changed since, only today's definition is at hand; the later one of a kind counts."""
BUILT_IN = ("kubernetes", "pods")
"""Ways to write that use kinds of Kubernetes itself alone, which have no definition."""


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built once; skipped where there is no Go or its modules cannot be had."""
    program = tmp_path_factory.mktemp("judge") / "judge"
    built = go_module(JUDGE, "the API server's checks").run("build", "-o", str(program), ".")
    assert built.returncode == 0, built.stderr
    return program


def refused(judge: Path, documents: Iterable[str]) -> tuple[list[str], int]:
    """What the server would refuse, and how many documents it looked at."""
    text = "\n---\n".join(documents)
    told = subprocess.run([judge], input=text, capture_output=True, text=True, check=False)
    assert told.returncode in (0, 1), told.stderr
    return told.stdout.splitlines(), int(told.stderr.split()[-1])


def custom(written: Iterable[dict[str, Any]]) -> list[str]:
    """Of what is written, the custom resources: pods and jobs have no definition."""
    return [json.dumps(each) for each in written if each["apiVersion"].rpartition("/")[0] in PROJECTS]


def published(way: str) -> list[str]:
    projects = EARLIER if way == "alpha8" else TODAY
    return [text for project in projects for text in published_texts(project)]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_definitions_of_a_family_are_accepted(judge: Path, family: str) -> None:
    documents = [json.dumps(definition.written()) for definition in FAMILIES[family]]

    assert refused(judge, documents) == ([], len(documents))


@pytest.mark.parametrize("way", WAYS)
def test_what_the_examples_become_is_accepted(judge: Path, way: str) -> None:
    written = [text for folder in FOLDERS for text in custom(translated(sources_of(folder), way))]

    problems, judged = refused(judge, [*published(way), *written])

    assert problems == []
    assert judged == len(published(way)) + len(written)
    assert bool(written) == (way not in BUILT_IN)


@pytest.mark.parametrize("way", [way for way in WAYS if way not in BUILT_IN])
def test_what_many_random_requests_become_is_accepted(judge: Path, way: str) -> None:
    seeds = range(A_FEW, A_FEW + MANY)
    written = [
        text for workload, topologies in requests(seeds) for text in custom(said(way, workload, topologies))
    ]

    problems, judged = refused(judge, [*published(way), *written])

    assert problems == []
    assert judged == len(published(way)) + len(written)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        pytest.param({"levels": [{"nodeLabel": "a"}, {"nodeLabel": "a"}]}, "nodeLabel", id="a rule in CEL"),
        pytest.param({"levels": [{"nodeLabel": "a", "color": "b"}]}, "color: unknown field", id="a field"),
        pytest.param({"levels": []}, "spec.levels: Invalid value", id="a limit"),
    ],
)
def test_the_judge_refuses_what_breaks(judge: Path, spec: dict[str, Any], told: str) -> None:
    written = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "a"},
        "spec": spec,
    }

    problems, _ = refused(judge, [*published_texts("kai"), *custom([written])])

    assert len(problems) == 1
    assert told in problems[0]


def test_the_judge_refuses_a_definition_that_is_not_structural(judge: Path) -> None:
    (definition, *_) = FAMILIES["kai"]
    broken = yaml.safe_load(json.dumps(definition.written()))
    del broken["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["type"]

    problems, _ = refused(judge, [json.dumps(broken)])

    assert any("type" in problem for problem in problems)
