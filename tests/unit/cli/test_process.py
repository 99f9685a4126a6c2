"""The real process: how it ends when something breaks."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RUN = [sys.executable, "-c", "from closeknit.cli import main; main()"]
SHAPE = ["nodes", "--shape", "zone=10,block=10,rack=10,host=100"]
EXAMPLES = Path(__file__).parents[3] / "examples"


def environment(**more: str) -> dict[str, str]:
    source = str(Path(__file__).parents[3] / "src")
    return {**os.environ, "PYTHONPATH": source, "COLUMNS": "100", **more}


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    with subprocess.Popen(
        [*RUN, *SHAPE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


LOADING = """
class Told:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            ready()
            time.sleep(3600)

sys.meta_path.insert(0, Told())
"""
"""Says that it is ready in the middle of loading modules, at this one."""
LOSING = """
import weakref

class Thing:
    pass

class Told:
    def find_spec(self, name, path=None, target=None):
        if name == "closeknit.cli.app":
            thing = Thing()
            self.kept = weakref.ref(thing, self.waits)
            del thing

    def waits(self, _):
        ready()
        time.sleep(3600)

sys.meta_path.insert(0, Told())
"""
"""Says that it is ready in a callback out of which Python lets nothing be raised."""
READING = """
class Told:
    def read(self, size=-1):
        ready()
        return given.read(size)

given, sys.stdin = sys.stdin.buffer, type("Stdin", (), {"buffer": Told()})
"""
"""Says that it is ready when it begins to read."""


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(LOADING.format(module="closeknit.hub"), id="while the first modules load"),
        pytest.param(LOADING.format(module="closeknit.cli.app"), id="while modules load"),
        pytest.param(LOSING, id="while modules load, where nothing can be raised"),
        pytest.param(READING, id="while it waits for input"),
    ],
)
def test_an_interrupt_ends_it_quietly(told: str) -> None:
    # A process of a shell's background ignores interrupts, and so would all that it starts.
    run = f"""
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)

def ready():
    print("ready", flush=True)
{told}
from closeknit.cli import main
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", run, "plan", "-f", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        # One that goes on nevertheless comes to an end.
        process.stdin.close()
        assert process.wait() == 130
        assert process.stderr.read() == b""


@pytest.mark.parametrize(("debug", "lines"), [("", 1), ("0", 1), ("1", None)])
def test_an_unexpected_error_is_one_line_unless_asked_for_more(debug: str, lines: int | None) -> None:
    broken = "import closeknit.cli.validate as v; v._summary = None; from closeknit.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", broken, "validate", "-f", "-"],
        input="",
        capture_output=True,
        text=True,
        env=environment(CLOSEKNIT_DEBUG=debug),
        check=False,
    )

    assert run.returncode == 1
    if lines is None:
        assert "Traceback" in run.stderr
    else:
        assert run.stderr.count("\n") == lines
        assert run.stderr.startswith("closeknit: ")
        assert "TypeError: " in run.stderr


def test_a_terminal_that_knows_only_ascii_gets_escapes(tmp_path: Path) -> None:
    rack(tmp_path, "größe")
    run = subprocess.run(
        [*RUN, "topology", "-f", str(tmp_path)],
        capture_output=True,
        encoding="ascii",
        env=environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0"),
        check=False,
    )

    assert "gr\\xf6\\xdfe: " in run.stdout


def rack(folder: Path, name: str) -> None:
    """Write a topology, and a node in a rack of this name."""
    topology = "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\nmetadata: {name: t}\n"
    node = f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: n1, labels: {{rack: '{name}'}}}}\n"
    manifests = f"{topology}spec: {{levels: [{{nodeLabel: rack}}]}}\n{node}"
    (folder / "a.yaml").write_text(manifests, encoding="utf-8")


def on_a_terminal(*arguments: str) -> str:
    """What a person sees: the output of a run whose standard output is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*RUN, *arguments], stdout=theirs, stderr=theirs, env=environment(TERM="xterm")
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        process.wait()
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;]*m", "", seen.decode()).replace("\r\n", "\n")


def test_a_terminal_shows_names_as_they_are(tmp_path: Path) -> None:
    rack(tmp_path, "[bold]:smile:[/bold]")

    assert "[bold]:smile:[/bold]: " in on_a_terminal("topology", "-f", str(tmp_path))


def test_a_terminal_gets_trees() -> None:
    seen = on_a_terminal("plan", "-f", str(EXAMPLES / "kai"))

    assert "PodGroup default/sample1: " in seen
    assert "├── subgroup-a: " in seen
    assert "└── " in seen


def test_a_full_disk_is_told_in_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-c", "from closeknit.cli import main; main()", "nodes", "--shape", "host=1"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            check=False,
        )

    assert run.returncode == 1
    assert run.stderr.startswith("closeknit: ")
    assert run.stderr.count("\n") == 1
    assert "No space left on device" in run.stderr
