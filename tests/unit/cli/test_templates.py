"""Templates of workflows: filled in as OSMO does it, at a bounded cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from typer.testing import CliRunner

from closeknit.cli.app import app
from closeknit.cli.templates import values_of, with_templates_filled
from closeknit.dialects import Source
from closeknit.hub.copying import replace
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli, osmo
from tests.kit.problems import Finding, finding, findings


class Case(NamedTuple):
    text: str
    expected: list[Any] | Finding
    """The documents that it becomes, or the problem."""


TASK = "  tasks: [{name: a, image: i}]\n"


def failed(where: str, reason: str) -> Finding:
    """A template that cannot be filled in."""
    return finding(osmo.TEMPLATE_FAILED, where, reason=reason)


CASES = {
    "default-values give a value": Case(
        "workflow:\n  name: {{ n }}\ndefault-values:\n  n: x\n",
        [{"workflow": {"name": "x"}, "default-values": {"n": "x"}}],
    ),
    "what is set goes before default-values": Case(
        "workflow: {gpu: {{ gpus }}}\ndefault-values: {gpus: 1}\n",
        [{"workflow": {"gpu": 8}, "default-values": {"gpus": 1}}],
    ),
    "loops, conditions and filters": Case(
        "workflow:\n  {% for i in range(2) %}\n  t{{ i }}: {{ (i + 1) * 2 }}\n  {% endfor %}\n"
        "  {% if quiet %}\n  x: 1\n  {% endif %}\n  y: {{ absent | default('d') }}\ndefault-values: {quiet: false}\n",
        [{"workflow": {"t0": 2, "t1": 4, "y": "d"}, "default-values": {"quiet": False}}],
    ),
    "null in default-values is a value": Case(
        "workflow:\n  {% if not quiet %}\n  x: 1\n  {% endif %}\ndefault-values: {quiet: null}\n",
        [{"workflow": {"x": 1}, "default-values": {"quiet": None}}],
    ),
    "OSMO's own tokens stay as they are": Case(
        'workflow: {a: "{{output}} {{input:0}} {{host:w}} {{output}}", b: {{ gpus }}}\n',
        [{"workflow": {"a": "{{output}} {{input:0}} {{host:w}} {{output}}", "b": 8}}],
    ),
    "default-values are taken as they are written": Case(
        """workflow: {a: "{{ x }}"}\ndefault-values: {x: "{{ gpus }}"}\n""",
        [{"workflow": {"a": "{{ gpus }}"}, "default-values": {"x": "{{ gpus }}"}}],
    ),
    "a raw block keeps what it holds": Case(
        "workflow: {a: '{% raw %}{{ x }}{% endraw %}'}\n", [{"workflow": {"a": "{{ x }}"}}]
    ),
    "only the documents of workflows are templates": Case(
        "# {{ a comment }}\n---\nkind: Job\nworkflow: '{{ gpus }}'\n---\nworkflow: {a: {{ gpus }}}\n",
        [{"kind": "Job", "workflow": "{{ gpus }}"}, {"workflow": {"a": 8}}],
    ),
    "resources beside the workflow are filled in as well": Case(
        "version: 2\nresources: {gpu: {{ gpus }}}\nworkflow: {a: 1}\n",
        [{"version": 2, "resources": {"gpu": 8}, "workflow": {"a": 1}}],
    ),
    "a variable without a value is written as its name, which is told": Case(
        "workflow: {a: {{ url }}/x}\n",
        finding(osmo.VALUE_MISSING, "1:", name="url"),
    ),
    "a variable without a value decides nothing": Case(
        "workflow:\n  {% if missing %}\n  a: 1\n  {% endif %}\n",
        failed("1:line 2", "'missing' is undefined."),
    ),
    "a mistake in the template, with its line": Case(
        "a: 1\n---\n\nworkflow:\n  a: {{ x + }}\n",
        failed("2:line 5", "unexpected 'end of print statement'."),
    ),
    "what is unsafe is out of reach": Case(
        "workflow: {a: {{ ''.__class__.__mro__ }}}\n",
        failed("1:line 1", "access to attribute '__class__' of 'str' object is unsafe."),
    ),
    "more text than is taken": Case(
        "workflow: {a: {% for i in range(90000) %}{{ 'x' * 99 }}{% endfor %}}\n",
        failed("1:", "TooLargeError: more than 4194304 characters would come of it."),
    ),
    "more memory than is given": Case(
        "workflow: {a: {{ 'x' * 10**11 }}}\n", failed("1:", "it needs more than 256 MiB of memory.")
    ),
    "default-values that are no YAML": Case(
        "workflow: {a: {{ x }}}\ndefault-values: [\n", failed("1:", "default-values are not YAML.")
    ),
    "default-values that are a list": Case(
        "workflow: {a: {{ x }}}\ndefault-values: [1]\n",
        failed("1:", "TypeError: 'list' object is not a mapping."),
    ),
}


@pytest.fixture(scope="module")
def filled() -> dict[str, Source]:
    """All at once, in one process."""
    sources = [Source(name, case.text.encode()) for name, case in CASES.items()]
    return {each.name: each for each in with_templates_filled(sources, {"gpus": 8})}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_a_template(name: str, filled: dict[str, Source]) -> None:
    source, expected = filled[name], CASES[name].expected
    located = [
        replace(reported, where=f"{document}:{reported.where}")
        for document, problem in source.told
        for reported in findings([problem])
    ]
    if isinstance(expected, Finding):
        assert located == [expected]
    else:
        assert (list(yaml.safe_load_all(source.content)), located) == (expected, [])


def test_a_document_that_cannot_be_filled_in_leaves_the_others_their_numbers() -> None:
    text = "a: 1\n---\nworkflow: {{ x + }}\n---\nb: 2\n"
    (source,) = with_templates_filled([Source("f", text.encode())], {})
    assert list(yaml.safe_load_all(source.content)) == [{"a": 1}, None, {"b": 2}]
    assert [number for number, _ in source.told] == [2]


def test_a_file_that_is_no_template_is_the_same_object() -> None:
    plain = [Source("f", b"workflow: {name: '{{output}}'}\n"), Source("g", b"\xff workflow: {{ x }}")]
    assert [one is other for one, other in zip(with_templates_filled(plain, {}), plain, strict=True)] == [
        True
    ] * 2


@pytest.mark.slow
def test_a_template_that_never_ends_is_stopped_and_the_next_one_filled_in() -> None:
    loops = "{% for i in range(99999) %}" * 3 + "{% endfor %}" * 3
    texts = (f"workflow: {{a: {loops}}}\n", "workflow: {a: {{ 1 + 1 }}}\n")
    endless, other = with_templates_filled([Source("f", text.encode()) for text in texts], {})
    (problem,) = findings(problem for _, problem in endless.told)
    assert problem == failed(problem.where, "it takes more than 2 seconds or 256 MiB.")
    assert yaml.safe_load(other.content) == {"workflow": {"a": 2}}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("n=8", 8, id="a whole number"),
        pytest.param("n=0.5", 0.5, id="a number"),
        pytest.param("n=a=b", "a=b", id="text, with an equals sign in it"),
        pytest.param("n=", "", id="nothing"),
    ],
)
def test_what_set_says(written: str, value: object) -> None:
    assert values_of([written]) == {"n": value}


def test_a_setting_without_an_equals_sign_is_refused() -> None:
    with pytest.raises(InvalidError) as error:
        values_of(["gpus"])

    assert findings(error.value.problems) == [finding(cli.NOT_A_SETTING, "--set", setting="gpus")]


@pytest.mark.parametrize(
    "command", [("validate",), ("plan",), ("translate", "--to", "kai"), ("explain", "w")]
)
def test_commands_take_settings(command: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("workflow:\n  name: {{ n }}\n  resources: {default: {gpu: '{{ gpus }}'}}\n" + TASK)
    first, *rest = command
    result = CliRunner().invoke(app, [first, "-f", str(file), "--set", "n=w", "--set", "gpus=2", *rest])
    assert result.exit_code in (0, 3), result.output
    if first == "translate":
        pod = next(each for each in yaml.safe_load_all(result.stdout) if each["kind"] == "Pod")
        assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] in ("2", 2)
