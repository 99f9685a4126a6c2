"""No code decides by a message: neither by its code, nor by its facts, nor by its text.

A function that has something to decide returns a type; a problem carries a ``Category``. Otherwise rewording
or splitting a message would change what the program does.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

import closeknit
from tests.kit.message_lint import Rule, violations

SOURCES = Path(closeknit.__file__).parent

ALLOWED: dict[Rule, dict[str, str]] = {
    Rule.CODE_COMPARED: {},
    Rule.CODE_LOOKED_UP: {},
    Rule.PROBLEM_READ: {
        "admission/requests.py": "writes the denial of an admission webhook",
        "dialects/kueue/flavor_messages.py": "lists in one message why each flavor is refused",
        "text/documents.py": "writes a problem behind its file, document and field",
        "hub/problems.py": "defines problems, and renders them",
        "kube/errors.py": "the code is a number of HTTP",
        "scheduler/outcome_json.py": "writes problems as JSON",
        "server/explaining.py": "writes problems as JSON",
    },
    Rule.TEXT_SEARCHED: {
        "cli/run.py": "does not print the same line again",
        "dialects/grove/status.py": "Grove reports domains in no other field, and they are only shown again",
        "kube/leases.py": "does not log the same line again",
        "scheduler/status/reports.py": "joins messages, and does not write the same report again",
    },
}
"""Modules that may break a rule, and why: they render messages, or the rule mistakes something for one."""


def modules() -> list[str]:
    """Every module except the catalogue itself."""
    paths = (path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py"))
    return sorted(path for path in paths if not path.startswith("hub/sentences/"))


def test_no_module_decides_by_a_message() -> None:
    broken = [
        f"src/closeknit/{path}:{violation}"
        for path in modules()
        for violation in violations((SOURCES / path).read_text())
        if path not in ALLOWED[violation.rule]
    ]

    assert broken == []


def test_every_exception_is_needed() -> None:
    unneeded = [
        (path, rule)
        for rule, paths in ALLOWED.items()
        for path in paths
        if rule not in {violation.rule for violation in violations((SOURCES / path).read_text())}
    ]

    assert unneeded == []


IMPORTS = """
import closeknit.hub.sentences.kueue as words
from closeknit.hub.sentences import core, kai as sentences
from closeknit.hub.sentences.grove import NO_BINDING
"""


def rules(snippet: str) -> list[Rule]:
    return [violation.rule for violation in violations(IMPORTS + dedent(snippet))]


@pytest.mark.parametrize(
    "snippet",
    [
        pytest.param("same = code is sentences.TOO_FEW_PODS", id="identity"),
        pytest.param("other = code is not core.NOT_FOUND", id="no identity"),
        pytest.param("same = words.NO_QUOTA == code", id="equality, the code first"),
        pytest.param("same = code == NO_BINDING", id="a code imported by its name"),
        pytest.param("among = code in (core.NOT_FOUND, core.HAS_PROBLEMS)", id="membership in a tuple"),
        pytest.param(
            """
            WAITING = (sentences.TOO_FEW_PODS, sentences.PODS_MISSING)
            among = code in WAITING
            """,
            id="membership in a named tuple",
        ),
        pytest.param(
            """
            def same(code):
                expected = core.NOT_FOUND
                return code is expected
            """,
            id="a code behind a local name",
        ),
        pytest.param(
            """
            match code:
                case core.NOT_FOUND:
                    pass
            """,
            id="match",
        ),
        pytest.param(
            """
            match code:
                case core.HAS_PROBLEMS | core.NOT_FOUND:
                    pass
            """,
            id="match of alternatives",
        ),
    ],
)
def test_a_message_code_is_not_compared(snippet: str) -> None:
    assert set(rules(snippet)) == {Rule.CODE_COMPARED}


@pytest.mark.parametrize(
    "snippet",
    [
        pytest.param("TEXTS = {core.NOT_FOUND: 'missing'}", id="a key of a dict"),
        pytest.param("text = texts[core.NOT_FOUND]", id="a lookup"),
        pytest.param("text = texts.get(core.NOT_FOUND, '')", id="a lookup with a default"),
        pytest.param("WAITING = {core.NOT_FOUND, NO_BINDING}", id="a set"),
        pytest.param("WAITING = frozenset([core.NOT_FOUND])", id="a frozenset"),
        pytest.param("waiting.add(core.NOT_FOUND)", id="an element that is added"),
        pytest.param("texts[sentences.TOO_FEW_PODS] = ''", id="an item that is set"),
    ],
)
def test_a_message_code_is_no_key_and_no_element(snippet: str) -> None:
    assert set(rules(snippet)) == {Rule.CODE_LOOKED_UP}


@pytest.mark.parametrize(
    "snippet",
    [
        pytest.param("code = problem.code", id="the code"),
        pytest.param("name = located.problem.code.name", id="the name of the code"),
        pytest.param(
            "codes = [item.code for item in reported]", id="the code, whatever the variable is called"
        ),
        pytest.param("missing = dict(reported.facts)['missing']", id="the facts"),
        pytest.param("template = code.sentence", id="the template"),
        pytest.param("needed = core.NOT_FOUND.fields", id="what the template needs"),
        pytest.param("text = problem.message", id="the message"),
        pytest.param("texts = [item.message for item in workload.problems[:8]]", id="the message in a loop"),
        pytest.param(
            """
            for item in sorted(problems):
                print(item.message)
            """,
            id="the message in a statement",
        ),
        pytest.param("text = core.NOT_FOUND.at(path).message", id="the message of a new problem"),
        pytest.param("facts = getattr(reported, 'facts')", id="by its name"),
    ],
)
def test_a_problem_is_not_read_apart(snippet: str) -> None:
    assert set(rules(snippet)) == {Rule.PROBLEM_READ}


@pytest.mark.parametrize(
    "snippet",
    [
        pytest.param("same = condition.message == 'All is well'", id="equality"),
        pytest.param("lost = 'not found' in condition.message", id="containment"),
        pytest.param("same = report.brief != before.brief", id="two texts"),
        pytest.param("same = (one.state, one.brief) == (other.state, other.brief)", id="within tuples"),
        pytest.param("lost = cause.message.startswith('There is no')", id="the beginning"),
        pytest.param("first = cause.message.partition(':')[0]", id="a part"),
        pytest.param("words = cause.message.split(',')", id="the parts"),
        pytest.param("listed = re.search('x', condition.message)", id="a pattern"),
        pytest.param("listed = PATTERN.fullmatch(condition['message'])", id="the message of a plain object"),
        pytest.param(
            "listed = 'x' in condition.get('message', '')", id="the message of one that may have none"
        ),
        pytest.param("busy = 'locked' in str(error)", id="the text of an error"),
        pytest.param("busy = 'locked' in str(problem)", id="the text of a problem"),
        pytest.param("text = TEXTS.get(condition.message)", id="a lookup"),
        pytest.param("text = TEXTS[condition.message]", id="an item"),
        pytest.param(
            """
            match condition.message:
                case "All is well":
                    pass
            """,
            id="match",
        ),
        pytest.param(
            """
            def domains(message):
                return message.rpartition("[")
            """,
            id="a parameter",
        ),
        pytest.param(
            """
            def is_busy(error):
                text = str(error)
                return "locked" in text
            """,
            id="a local name",
        ),
    ],
)
def test_a_rendered_text_is_neither_compared_nor_searched(snippet: str) -> None:
    assert set(rules(snippet)) == {Rule.TEXT_SEARCHED}


@pytest.mark.parametrize(
    "snippet",
    [
        pytest.param("code = core.NOT_FOUND if name else core.HAS_PROBLEMS", id="the choice of a code"),
        pytest.param("problem = core.NOT_FOUND.at(path, kind='Queue', name=name)", id="a new problem"),
        pytest.param("problems.append(core.NOT_FOUND.at(path))", id="a list of problems"),
        pytest.param("refuse(core.NOT_FOUND, path)", id="a code that is passed on"),
        pytest.param("waits = problem.category is Category.WAITING", id="the category of a problem"),
        pytest.param("notes = [p for p in problems if p.severity is Severity.NOTE]", id="the severity"),
        pytest.param("missing = error.status.code == 404", id="the status of an API error"),
        pytest.param("code = TooManyRequestsError.code", id="the status of a class of API errors"),
        pytest.param("number = column.code(value)", id="a method of another object"),
        pytest.param("event = Event('Warning', reason, condition.message)", id="a message that is passed on"),
        pytest.param("text = '; '.join(map(str, problems))", id="texts that are joined"),
        pytest.param("text = ' '.join(str(error).split())", id="a text that is laid out"),
        pytest.param("text = f'{str(error).rstrip(\".\")}.'", id="the end of a text"),
        pytest.param("cut = condition.message[:1024]", id="a text that is cut"),
        pytest.param("absent = condition.message is None", id="whether there is one"),
        pytest.param("reserved = condition.reason == 'QuotaReserved'", id="the reason of a condition"),
    ],
)
def test_what_decides_nothing_is_allowed(snippet: str) -> None:
    assert rules(snippet) == []
