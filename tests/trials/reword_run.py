"""Change the wording of every message in a copy of the tree, and list the tests that notice.

``make reword`` appends a word to every message: to the templates of the catalogues, to what the functions
return that render outcomes and reports, and to the messages of conditions and events. Only the message
tables and executed documentation may fail then; any other failing test asserts wording, and any change of
behaviour would show as a failing test as well.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPY = ROOT / "build" / "reworded" / "tree"
WORD = " Reworded."
RENDERERS = ("scheduler/wording.py", "scheduler/status/reports.py")
"""Modules under ``src/closeknit`` whose functions return messages."""
NOT_MESSAGES = frozenset(
    ("printable", "counted", "listed", "title", "place", "quantity", "known_as", "bounded", "status")
)
"""Functions of the renderers that return names and numbers. Private functions return parts of messages."""
POSITIONS = {"Condition": 3, "Event": 2, "Tell": 2}
"""Which argument of these calls is the message."""
_RENDERING: dict[str, type[ast.Return | ast.Yield]] = {"str": ast.Return, "Iterator[str]": ast.Yield}
"""Where a function that renders messages returns them, by its annotation."""
ALLOWED = re.compile(
    r"tests/(messages/"
    r"|scenario/test_documented_commands\.py"
    r"|scenario/test_kueue_itself\.py"
    # Dynamo's proposal shows a whole condition, and ours must equal it.
    r"|scenario/test_dynamo_proposal\.py::test_status_and_observability_the_condition\[a level is gone\])"
)
"""Tests that may fail: message tables, executed documentation, comparisons with recorded texts of others."""


def templates(tree: ast.AST) -> Iterator[ast.expr]:
    """The template of every message code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Code" and len(node.args) > 1:
            yield node.args[1]


def rendered(tree: ast.AST) -> Iterator[ast.expr]:
    """What the public functions of a renderer return or yield."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.returns is None:
            continue
        if function.name.startswith("_") or function.name in NOT_MESSAGES:
            continue
        kind = _RENDERING.get(ast.unparse(function.returns))
        for node in ast.walk(function):
            if kind is not None and isinstance(node, kind) and node.value is not None:
                yield node.value


def statuses(tree: ast.AST) -> Iterator[ast.expr]:
    """The messages of conditions and events."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in POSITIONS:
            yield from node.args[POSITIONS[node.func.id] :][:1]


def reword(path: Path, messages: Callable[[ast.AST], Iterator[ast.expr]]) -> int:
    """Append a word to the messages of a module; how many there are."""
    lines = path.read_bytes().splitlines(keepends=True)
    insertions: list[tuple[int, int, bytes]] = []
    for message in messages(ast.parse(b"".join(lines))):
        assert message.end_lineno is not None
        assert message.end_col_offset is not None
        insertions.append((message.lineno, message.col_offset, b"("))
        insertions.append((message.end_lineno, message.end_col_offset, f") + {WORD!r}".encode()))
    # From the end, so that earlier positions stay valid.
    for line, column, text in sorted(insertions, key=lambda each: each[:2], reverse=True):
        lines[line - 1] = lines[line - 1][:column] + text + lines[line - 1][column:]
    path.write_bytes(b"".join(lines))
    return len(insertions) // 2


def reworded_copy() -> int:
    """Make the copy; how many messages were changed."""
    shutil.rmtree(COPY.parent, ignore_errors=True)
    COPY.mkdir(parents=True)
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    for name in filter(None, tracked.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)
    shared = ROOT.parent / "shared"
    if shared.is_dir():
        (COPY.parent / "shared").symlink_to(shared)
    source = COPY / "src" / "closeknit"
    changed = sum(reword(path, templates) for path in sorted((source / "hub" / "sentences").glob("*.py")))
    changed += sum(reword(source / name, rendered) for name in RENDERERS)
    for package in ("dialects", "controllers"):
        changed += sum(reword(path, statuses) for path in sorted((source / package).rglob("*.py")))
    return changed


def main() -> int:
    """Run the tests on a reworded copy."""
    parser = argparse.ArgumentParser(prog="make reword", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", default="2", help="Test processes. [default: 2]")
    parser.add_argument(
        "tests", nargs="*", default=["tests"], help="What to run. [default: all but slow tests]"
    )
    arguments = parser.parse_args()
    report = sys.stdout.write
    report(f"{reworded_copy()} messages end with another word now; running the tests on that copy.\n")
    sys.stdout.flush()
    marks = "not slow and not long and not e2e and not browser"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=no",
        "-n",
        arguments.workers,
        "--dist",
        "worksteal",
    ]
    run = subprocess.run(
        [*command, "-m", marks, *arguments.tests], cwd=COPY, check=False, capture_output=True, text=True
    )
    failed = re.findall(r"^(?:FAILED|ERROR) (\S.*)$", run.stdout, re.MULTILINE)
    unexpected = [test for test in failed if not ALLOWED.match(test)]
    report(run.stdout.rstrip().rpartition("\n")[2] + "\n")
    report(f"{len(failed) - len(unexpected)} failures are message tables and executed documentation.\n")
    report("".join(f"depends on wording: {test}\n" for test in unexpected))
    if run.returncode not in (0, 1):
        report(run.stdout + run.stderr)
    return 1 if unexpected or run.returncode not in (0, 1) else 0


if __name__ == "__main__":
    sys.exit(main())
