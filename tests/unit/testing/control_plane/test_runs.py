from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from closeknit.testing.control_plane.programs import ProgramError
from closeknit.testing.control_plane.runs import PortTakenError, Process, free_ports, run_folder, sweep


def sleeper(folder: Path) -> list[str]:
    return [sys.executable, "-c", "import time; time.sleep(100)", str(folder)]


def alive(process: Process) -> bool:
    return process._process.poll() is None


def test_a_folder_is_gone_after_its_run(tmp_path: Path) -> None:
    with run_folder(tmp_path) as folder:
        (folder / "secret").write_text("x", encoding="utf-8")

    assert list(tmp_path.glob("run-*")) == []


def test_a_folder_is_gone_after_a_run_that_failed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="oops"), run_folder(tmp_path):
        raise ValueError("oops")

    assert list(tmp_path.glob("run-*")) == []


def test_a_process_that_ends_before_it_is_ready_is_told_with_its_log(tmp_path: Path) -> None:
    process = Process(tmp_path, "program", [sys.executable, "-c", "import sys; sys.exit('bad flag')"])

    with pytest.raises(ProgramError, match="program ended with status 1:\nbad flag"):
        process.wait_until(lambda: False, 30)


def test_a_process_that_is_never_ready_is_told(tmp_path: Path) -> None:
    process = Process(tmp_path, "program", sleeper(tmp_path))

    with pytest.raises(ProgramError, match=r"program was not ready within 0\.2 s"):
        process.wait_until(lambda: False, 0.2)
    process.end()
    assert not alive(process)


def test_a_port_that_is_taken_is_told_apart(tmp_path: Path) -> None:
    process = Process(
        tmp_path, "p", [sys.executable, "-c", "import sys; sys.exit('bind: address already in use')"]
    )

    with pytest.raises(PortTakenError):
        process.wait_until(lambda: False, 30)


def test_what_a_killed_owner_left_is_ended_by_the_next_run(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from closeknit.testing.control_plane.runs import Process, run_folder\n"
        f"with run_folder(Path({str(tmp_path)!r})) as folder:\n"
        "    Process(folder, 'program', [sys.executable, '-c', 'import time; time.sleep(100)', str(folder)])\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    owner = subprocess.run([sys.executable, "-c", script], check=False)
    assert owner.returncode == -signal.SIGKILL
    (left,) = tmp_path.glob("run-*")
    number = (left / "processes").read_text(encoding="ascii").strip()

    with run_folder(tmp_path):
        assert not left.exists()
        # The process may still be a zombie, which has no command line any more.
        cmdline = Path(f"/proc/{number}/cmdline")
        assert not cmdline.exists() or cmdline.read_bytes() == b""


def test_a_run_whose_owner_lives_is_left_alone(tmp_path: Path) -> None:
    with run_folder(tmp_path) as folder:
        process = Process(folder, "program", sleeper(folder))
        sweep(tmp_path)
        assert folder.exists()
        assert alive(process)
        process.kill()


def test_a_stranger_with_the_same_number_is_left_alone(tmp_path: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    left = tmp_path / "run-left"
    left.mkdir()
    (left / "owner").touch()
    (left / "processes").write_text(f"{stranger.pid}\n", encoding="ascii")

    sweep(tmp_path)

    assert not left.exists()
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_ports_are_free_and_different() -> None:
    ports = free_ports(20)

    assert len(set(ports)) == 20
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", ports[0]))
