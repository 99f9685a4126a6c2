"""Every command that the documentation shows works as it is shown."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path

import pytest

from tests.planes import built_programs
from tests.scenario.commands import EXAMPLES, ROOT, run
from tests.scenario.documents import Command, File, fences, matches, steps

PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "examples/README.md")),
        *(ROOT / "docs").rglob("*.md"),
    ]
)
WITH_COMMANDS = [
    page
    for page in PAGES
    if any(isinstance(step, Command) and step.is_ours for step in steps(page.read_text(encoding="utf-8")))
]
WITH_KUBECTL = [ROOT / "docs/tutorial/embedded-cluster.md"]
"""Pages that start a cluster and go on with kubectl."""
ADVICE = {
    "3. Take the advice": (
        "job.yaml",
        "requiredTopologyLevel: topology/rack",
        "requiredTopologyLevel: topology/block",
    )
}
"""What the reader is asked to change in a file below a heading."""

AS_SUCH = (["validate"], ["plan"], ["plan", "-o", "svg"])
"""Commands without files, where a sentence speaks of the command as such."""

OF_OBJECTS = frozenset({"apply", "get", "describe", "delete"})
"""Commands that ask a cluster in any case; others do where they are told to."""

READING = frozenset({"get", "describe", "explain", "plan", "pool", "status", "topology", "validate"})
"""Commands that change nothing, so that they may be given again."""

PATIENCE = 60
"""For how many seconds a cluster may be asked again until it has come to what is shown, or take to end."""

STARTING = 300
"""For how many seconds a cluster may start, however busy the machine is."""

LONGEST = 180
"""Seconds after which a command of another program is taken for one that stands still."""

STATUSES = {"examples/pending": 3, "examples/kueue/waiting": 3, "examples/invalid": 2}
"""How a command ends that is about a folder with something wrong in it; all others end with 0."""


def folder_of(words: list[str]) -> str:
    return words[words.index("-f") + 1] if "-f" in words else ""


def asks_a_cluster(words: list[str]) -> bool:
    return words[0] in OF_OBJECTS or "--context" in words or "--kubeconfig" in words


def follow(page: Path, cluster: ExitStack, *, with_kubectl: bool = False) -> list[str]:
    """Do what a page says, from top to bottom; everything that is not as it says.

    Where it starts a cluster, that runs until the end of the page. Where it does not, readers have their own.
    Commands of other programs are given only where kubectl is there.
    """
    complaints = []
    headings: set[str] = set()
    served = False
    for step in steps(page.read_text(encoding="utf-8")):
        if isinstance(step, File):
            Path(step.name).write_text(step.text, encoding="utf-8")
            continue
        if step.heading in ADVICE and step.heading not in headings:
            name, old, new = ADVICE[step.heading]
            text = Path(name).read_text(encoding="utf-8")
            assert old in text
            Path(name).write_text(text.replace(old, new), encoding="utf-8")
        headings.add(step.heading)
        if not step.is_ours:
            complaints += settled(step, shell_complaints) if with_kubectl else []
        elif step.words[0] == "up":
            # A sentence may speak of the command as well; one cluster is enough.
            if step.shown and not served:
                cluster.enter_context(running(*step.words))
                served = True
        elif step.words[0] == "run":
            # It runs until somebody ends it; ``test_run_process.py`` does.
            continue
        elif step.words not in AS_SUCH and (served or not asks_a_cluster(step.words)):
            complaints += settled(step, complaints_about) if served else complaints_about(step)
    return complaints


@contextmanager
def running(*words: str) -> Iterator[None]:
    """``closeknit up`` in this folder, in a process of its own; it ends well at Ctrl-C."""
    command = [sys.executable, "-X", "faulthandler", "-c", "from closeknit.cli import main; main()", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with ended_after(process, STARTING):
            while not (line := process.stdout.readline()).startswith("Ctrl-C"):
                assert line, "It ended before it listened, or stood still; standard error says where."
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            with ended_after(process, PATIENCE):
                process.stdout.read()
                assert process.wait() == 0, "It did not end at Ctrl-C; standard error says where it stood."


@contextmanager
def ended_after(process: subprocess.Popen[str], seconds: float) -> Iterator[None]:
    """End a process that stands still for so long; it says where on standard error (``faulthandler``)."""
    limit = threading.Timer(seconds, process.send_signal, [signal.SIGABRT])
    limit.start()
    try:
        yield
    finally:
        limit.cancel()


def ageless(text: str) -> str:
    """The text without ages, without the widths of columns, which depend on them, and without how often an event was told.

    On a busy machine an event is told again before a reader comes to it.
    """
    aged = re.sub(r"\b(\d+m)?\d+s\b", "AGE", text)
    return re.sub(r" +", " ", re.sub(r"AGE \(x\d+ over (AGE|\d+m)\)", "AGE", aged))


def settled(step: Command, complaints: Callable[[Command], list[str]]) -> list[str]:
    """The complaints that are left when operators have had their time; a reader asks again too."""
    found = complaints(step)
    until = time.monotonic() + PATIENCE
    while found and READING.intersection(step.line.split()[:2]) and time.monotonic() < until:
        time.sleep(0.2)
        found = complaints(step)
    return found


def shell_complaints(step: Command) -> list[str]:
    """The same of a line for a shell."""
    command = ["timeout", str(LONGEST), "bash", "-o", "pipefail", "-c", step.line]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"{step.line}: ends with {done.returncode}: {done.stderr}"]
    shown, printed = (re.sub(r"\b10(\.\d+){3}\b", "IP", ageless(each)) for each in (step.shown, done.stdout))
    if step.shown and not matches(shown, printed):
        return [f"{step.line}: prints\n{done.stdout}\nand not\n{step.shown}"]
    return []


def complaints_about(step: Command) -> list[str]:
    result = run(*step.words)
    if step.target is not None:
        Path(step.target).write_text(result.stdout, encoding="utf-8")
    expected = 3 if "cannot be placed" in step.shown else STATUSES.get(folder_of(step.words), 0)
    found = []
    if result.exit_code != expected or "Usage:" in result.stderr:
        found.append(f"{step.line}: ends with {result.exit_code} instead of {expected}: {result.stderr}")
    shown, printed = step.shown, result.output
    if asks_a_cluster(step.words):
        # What is worth knowing about a cluster is said before anything is made of it.
        shown, printed = ageless(shown), ageless(result.stderr + result.stdout)
    if step.shown and not matches(shown, printed):
        found.append(f"{step.line}: prints\n{result.output}\nand not\n{step.shown}")
    if not result.output and step.target is None:
        found.append(f"{step.line}: prints nothing")
    return found


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_can_be_followed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "closeknit.kubeconfig")

    with ExitStack() as cluster:
        assert follow(page, cluster) == []


@pytest.mark.e2e
@pytest.mark.parametrize("page", WITH_KUBECTL, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_with_kubectl_can_be_followed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "closeknit.kubeconfig")
    folders = (str(built_programs().kubectl.parent), str(Path(sys.executable).parent))
    monkeypatch.setenv("PATH", os.pathsep.join((*folders, os.environ["PATH"])))

    with ExitStack() as cluster:
        assert follow(page, cluster, with_kubectl=True) == []


def test_the_pages_with_commands_are_those_that_readers_start_from() -> None:
    names = {str(page.relative_to(ROOT)) for page in WITH_COMMANDS}

    assert {"README.md", "examples/README.md", "docs/tutorial/first-plan.md"} <= names


def test_making_manifests_again_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    commands = (
        step
        for step in steps((EXAMPLES / "README.md").read_text(encoding="utf-8"))
        if isinstance(step, Command) and step.target is not None
    )
    made = {command.target: run(*command.words).stdout for command in commands}

    assert made
    assert made == {name: (ROOT / str(name)).read_text(encoding="utf-8") for name in made}


def test_every_folder_of_examples_is_told_of() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    folders = {
        str(path.parent.relative_to(EXAMPLES))
        for path in EXAMPLES.rglob("*")
        if path.suffix in {".yaml", ".json"}
    }

    assert [folder for folder in sorted(folders) if f"| `{folder}` |" not in text] == []


def test_the_library_as_the_first_page_shows_it() -> None:
    (text,) = fences(ROOT / "README.md", "python")
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(text, "README.md", "exec"), {})

    assert printed.getvalue().startswith("Placed(")


@pytest.mark.parametrize(
    ("shown", "printed", "want"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n...\nc\n", "a\nc\n", True),
        ("a\n...\nc\n", "a\nb\n", False),
        ("a\n", "a\nb\n", False),
    ],
)
def test_output_is_compared(shown: str, printed: str, want: bool) -> None:
    assert matches(shown, printed) is want
