"""The map's process stands behind all others of its machine, and ends with the one that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from closeknit.cli.map_process import NICENESS

_STANDS_BACK = """
import os
from pathlib import Path
from closeknit.cli.map_process import step_back
step_back(15)
group = Path("/proc/self/autogroup")
print(os.getpriority(os.PRIO_PROCESS, 0), os.getsid(0) == os.getpid(), os.sched_getscheduler(0))
print(group.read_text().split()[-1] if group.exists() else "none")
"""
_WAITS = """
import time
import closeknit.cli
closeknit.cli.main = lambda: print("runs", flush=True) or time.sleep(600)
from closeknit.cli.map_process import main
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux has what is asked for here.")
def test_it_stands_behind_other_sessions_too() -> None:
    told = subprocess.run([sys.executable, "-c", _STANDS_BACK], check=True, capture_output=True, text=True)
    own, group = told.stdout.splitlines()
    assert own == f"{NICENESS} True {os.SCHED_BATCH}"
    # Others than root may not set it at any moment.
    if Path("/proc/self/autogroup").exists() and os.geteuid() == 0:
        assert group == str(NICENESS)


def test_it_ends_when_the_process_that_started_it_was_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"runs\n"
            process.stdin.close()
            assert process.wait(60) == -signal.SIGTERM
        finally:
            process.kill()
