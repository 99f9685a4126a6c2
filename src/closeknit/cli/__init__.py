"""The command line: one module a command, and modules for what they show.

Reads files, calls the engine, prints. No rule about placement or about any
dialect may live here; a sentence about an outcome lives nowhere else.
"""

from closeknit.cli.app import main

__all__ = ["main"]
