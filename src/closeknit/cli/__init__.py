"""The command line: one module a command, and modules for what they show.

Reads files, calls the engine, prints. No rule about placement or about any
dialect may live here; a sentence about an outcome lives nowhere else.
"""

from __future__ import annotations

import gc
import os
import sys

# The name that type checkers know. To load typing takes milliseconds in which an interrupt is a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_INTERRUPTED = 130
"""As ``ExitStatus`` has it, which is not loaded yet."""
_YOUNG = 500_000
"""After how many new objects to look for circles among them; to look takes half a second for a million."""


def collect_seldom() -> None:
    """Look for garbage seldom from now on, and never among the objects that there are.

    A command makes objects by the million that live until it ends. Looking for circles among them
    as often as by default takes half of its time.
    """
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)


def main() -> NoReturn:
    """Run the command line and end the process."""
    try:
        # Imported only here, so that an interrupt while modules load ends as quietly as a later one.
        import signal

        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if usual:
            # What is raised while modules load may be lost in a callback of the import system.
            signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
        from closeknit.cli import app

        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        collect_seldom()
        app.run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
