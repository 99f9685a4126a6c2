"""The command line: one module a command, and modules for what they show.

Reads files, calls the engine, prints. No rule about placement or about any
dialect may live here; a sentence about an outcome lives nowhere else.
"""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process."""
    try:
        # Imported only here, so that an interrupt while modules load ends as quietly as a later one.
        from closeknit.cli import app

        app.run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
