"""Folders and processes that end with whoever started them.

A run is a folder that holds its owner's lock. When the owner ends without cleaning up, even by SIGKILL,
the lock is free, and the next run ends what is left of it. Processes are told apart from strangers that
got the same number by their command line, which names the folder; where the system has no /proc,
processes whose owner was killed stay.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from closeknit.testing.control_plane.programs import ProgramError

_OWNER = "owner"
_PROCESSES = "processes"
_PATIENCE = 20.0
"""Seconds that a process has to end by itself before it is killed."""
_PAUSE = 0.1


class PortTakenError(ProgramError):
    """Somebody else took a port between the moment it was chosen and the moment it was used."""


class Process:
    """One program that runs in the background and logs into a file."""

    def __init__(self, run: Path, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.log = run / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=run,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for the owner alone, which ends the programs in order.
                start_new_session=True,
            )
        with (run / _PROCESSES).open("a", encoding="ascii") as noted:
            noted.write(f"{self._process.pid}\n")

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Return when the program is ready; where it ends or takes longer, raise with the end of its log."""
        until = time.monotonic() + seconds
        while not ready():
            if (status := self._process.poll()) is not None:
                last = self._last_lines()
                if "address already in use" in last:
                    raise PortTakenError(f"{self.name} found its port taken.")
                raise ProgramError(f"{self.name} ended with status {status}:\n{last}")
            if time.monotonic() > until:
                raise ProgramError(f"{self.name} was not ready within {seconds:g} s:\n{self._last_lines()}")
            time.sleep(_PAUSE)

    def end(self) -> None:
        """End the program, and return when it has ended."""
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the program at once, as a crash would."""
        self._process.kill()
        self._process.wait()

    def _last_lines(self) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])


@contextmanager
def run_folder(runs: Path) -> Iterator[Path]:
    """A new folder that is removed at the end, after what earlier runs left behind."""
    runs.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Between a folder's making and its locking, another's sweep would take it for one that was left.
    with ExitStack() as held, (runs / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sweep(runs)
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=runs))
        owner = held.enter_context((folder / _OWNER).open("w"))
        fcntl.flock(owner, fcntl.LOCK_EX)
        lock.close()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def sweep(runs: Path) -> None:
    """End the processes and remove the folders of runs whose owner is gone."""
    for folder in runs.glob("run-*"):
        with suppress(FileNotFoundError), (folder / _OWNER).open("r+") as owner:
            try:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            while left := list(_left_behind(folder)):
                for process in left:
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                time.sleep(_PAUSE)
            shutil.rmtree(folder, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Different ports of loopback that nobody listens on now."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def _left_behind(folder: Path) -> Iterator[int]:
    with suppress(FileNotFoundError):
        for line in (folder / _PROCESSES).read_text(encoding="ascii").split():
            with suppress(OSError):
                if os.fsencode(folder) in Path(f"/proc/{line}/cmdline").read_bytes():
                    yield int(line)
