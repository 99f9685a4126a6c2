"""The live map beside a scheduler, in a process of its own, so that no decision waits for those who look."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from closeknit.live.log import Log

NICENESS = 15
"""How far behind the scheduler it stands where the processor is short; a map may be late."""
_REST = 5.0
"""Seconds before a map that has ended is started again."""
_GOODBYE = 5.0


async def serve_map(options: Sequence[str], log: Log) -> None:
    """Run ``closeknit web`` with these options until cancelled, and start it again where it ends by itself.

    What it complains about is seen where the complaints of this process are.
    """
    command = (sys.executable, "-c", "from closeknit.cli import main; main()", "web", *options)
    while True:
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        try:
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
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
