"""The live map beside a scheduler, in a process of its own, so that no decision waits for those who look."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from closeknit.live.log import Log

NICENESS = 15
"""How far behind others it stands where the processor is short: it keeps a thirtieth, and may be late."""
_AUTOGROUP = Path("/proc/self/autogroup")
_REST = 5.0
"""Seconds before a map that has ended is started again."""
_GOODBYE = 5.0


async def serve_map(options: Sequence[str], log: Log) -> None:
    """Run ``closeknit web`` with these options until cancelled, and start it again where it ends by itself.

    What it complains about is seen where the complaints of this process are.
    """
    command = (sys.executable, "-c", "from closeknit.cli.map_process import main; main()", "web", *options)
    while True:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            if first := await process.stdout.readline():
                sys.stdout.write(first.decode())
                sys.stdout.flush()
            await process.stdout.read()
            log.warning("map ended", status=await process.wait(), again_in_seconds=_REST)
        finally:
            await _end(process)
        await asyncio.sleep(_REST)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(_GOODBYE):
            await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()


def main() -> None:
    """Run ``closeknit`` with the arguments of this process, behind all others, until its stdin ends."""
    step_back(NICENESS)
    # It has a session of its own, so nothing else tells it that the process that started it was killed.
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    from closeknit.cli import main as closeknit

    closeknit()


def _end_with_stdin() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def step_back(niceness: int) -> None:
    """Let this process stand behind all others of the machine, and not only behind those of its session.

    Where Linux groups processes by session, it divides the processor between sessions first, and looks at the
    niceness of a process within its own only. So this one gets a session of its own, which is as nice.
    """
    os.setpriority(os.PRIO_PROCESS, 0, niceness)
    # What it does not have, or who leads a session already, is as nice as it can be.
    with suppress(OSError):
        os.setsid()
        _AUTOGROUP.write_text(str(niceness), encoding="ascii")
    if hasattr(os, "SCHED_BATCH"):
        # Nobody who runs is interrupted because this process wakes up.
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
