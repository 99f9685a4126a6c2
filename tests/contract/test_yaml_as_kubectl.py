"""YAML means to us what it means to kubectl, which reads it by sigs.k8s.io/yaml.

``kubectl_yaml/table.jsonl`` holds what that library says of thousands of texts. To add some, append lines like
``["a: 1"]`` and write the table anew in that folder: ``go run . <table.jsonl >new && mv new table.jsonl``.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from closeknit.text import yaml as yaml_text
from closeknit.text.documents import Document, Source, parse
from tests.contract.go_modules import GoModule, go_module

LIBRARY = Path(__file__).with_name("kubectl_yaml")
REFUSED = "refused"


class Difference(NamedTuple):
    reason: str
    texts: str
    """A pattern of all texts that are read differently for this reason."""
    ours: str = REFUSED
    """What we read instead, as JSON."""


DIFFERENCES = [
    Difference(
        "a key that stands twice is a mistake, of which kubectl keeps the last",
        r"(a|1|yes|01): .\n('a'|a|1|true): .|a: \{.*\b(?P<key>[pb]): .+\b(?P=key): .*\}",
    ),
    Difference(
        "a number with a fraction or an exponent is no key, since kubectl rounds it to seven digits",
        r"([-+]?[0-9.][0-9_.]*([eE][-+]?[0-9_]+)?|&x \.inf|[-+]?\.(inf|nan)|!!float 1): a",
    ),
    Difference(
        "a tag that Kubernetes has no use for may hide what a value is",
        r"(?s).*(![ab]|!<x>|!!(timestamp|binary|map|seq|set|omap|python/tuple)) .*",
    ),
    Difference(
        "a tag of a scalar on a list or mapping is a mistake, which kubectl passes over",
        r"a: !!(str|int|float|bool|null) (\[1?\]|\{\})",
    ),
    Difference("an alias that is used as a key has to stand for a string", r"a: &x (1|yes)\n\*x : c"),
    Difference(
        "what follows the first document is read as well, and kubectl's library leaves it",
        r"'a':1|(\[\]|\{\}): a",
    ),
    Difference("a file may say that it is YAML 1.2", r"%YAML 1\.2\n---\na: 1", '{"a": 1}'),
    Difference(
        "a question mark inside a word needs no quotes in braces", r"a: \{x: a\?b\}", '{"a": {"x": "a?b"}}'
    ),
]


@cache
def table() -> list[tuple[str, str]]:
    """Each text, and what kubectl reads in it."""
    return told((LIBRARY / "table.jsonl").read_text(encoding="utf-8"))


def told(lines: str) -> list[tuple[str, str]]:
    entries = [json.loads(line) for line in lines.split("\n") if line]
    return [(text, REFUSED if error else shape(value)) for text, value, *error in entries]


def shape(value: Any) -> str:
    """JSON in one spelling, without the fields that are null: to Kubernetes these are absent."""
    return json.dumps(_without_nulls(value), sort_keys=True)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def ours(text: str) -> str:
    found = list(parse(Source("f", text.encode())))
    contents = [each.content for each in found if isinstance(each, Document)]
    return REFUSED if len(contents) < len(found) else shape(contents[0] if contents else None)


def differing(entries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The texts that we read otherwise, with what we read."""
    return {text: read for text, kubectl in entries if (read := ours(text)) != kubectl}


def test_every_text_is_read_as_by_kubectl_or_differs_for_a_reason() -> None:
    reasons = [(re.compile(each.texts), each.ours) for each in DIFFERENCES]

    assert len(table()) > 5000
    assert {
        text: read
        for text, read in differing(table()).items()
        if not any(pattern.fullmatch(text) and read == want for pattern, want in reasons)
    } == {}


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.reason)
def test_a_reason_to_differ_applies_to_some_text(difference: Difference) -> None:
    entries = [entry for entry in table() if re.fullmatch(difference.texts, entry[0])]

    assert difference.ours in differing(entries).values()


def test_without_libyaml_a_text_is_read_the_same_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    by_libyaml = {text: ours(text) for text, _ in table()}
    monkeypatch.setattr(yaml_text, "Events", yaml.BaseLoader)
    in_python = {text: ours(text) for text, _ in table()}

    odd = {text for text, read in in_python.items() if read not in (by_libyaml[text], REFUSED)}
    assert odd == {"%A b\n---\na: 1"}, "Only a directive that nobody knows is passed over."
    assert sum(in_python[text] != by_libyaml[text] for text in in_python) < 20


@pytest.fixture(scope="module")
def library() -> GoModule:
    """The program that asks the library."""
    return go_module(LIBRARY, "kubectl's YAML library")


@pytest.mark.slow
@pytest.mark.xdist_group("kubectl_yaml")
def test_the_table_says_what_the_library_says(library: GoModule) -> None:
    written = (LIBRARY / "table.jsonl").read_text(encoding="utf-8")
    said = library.run("run", ".", given=written)

    assert said.returncode == 0, said.stderr
    assert said.stdout == written


@pytest.mark.slow
@pytest.mark.xdist_group("kubectl_yaml")
@pytest.mark.parametrize("seed", range(3))
def test_random_scalars_are_read_as_by_the_library(library: GoModule, seed: int) -> None:
    chance = random.Random(seed)
    texts = {
        f"a: {''.join(chance.choices('001789_.eE+-xobfnyNaiT', k=chance.randrange(1, 8)))}"
        for _ in range(30_000)
    }
    said = library.run("run", ".", given="\n".join(json.dumps([text]) for text in sorted(texts)))

    assert said.returncode == 0, said.stderr
    assert differing(told(said.stdout)) == {}
