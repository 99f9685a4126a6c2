"""Small Go programs beside the tests, by which libraries of Kubernetes are asked; or a reason to skip."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class GoModule:
    """A folder with a Go program, whose libraries are at hand."""

    folder: Path
    go: str

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run the Go command in the folder."""
        # The checksums that are pinned beside the program are what counts, and not every proxy has a database.
        env = {**os.environ, "GOFLAGS": "-mod=readonly", "GOSUMDB": "off"}
        return subprocess.run(
            [self.go, *arguments],
            cwd=self.folder,
            env=env,
            input=given,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )


def go_module(folder: Path, library: str) -> GoModule:
    """The program in a folder; the test is skipped where there is no Go or its modules cannot be had."""
    go = shutil.which("go")
    if go is None:
        pytest.skip(f"There is no go to build {library} with.")
    module = GoModule(folder, go)
    fetched = module.run("mod", "download")
    if fetched.returncode:
        pytest.skip(f"go cannot download {library}: {' '.join(fetched.stderr.split())[:300]}")
    return module
