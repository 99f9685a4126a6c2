"""Shells complete commands and options, and kubectl finds the plugin."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("closeknit simu", ["simulate"], id="a command"),
        pytest.param("closeknit simulate --merge", ["--merge-racks"], id="an option"),
    ],
)
def test_bash_is_told_how_a_word_goes_on(words: str, expected: list[str]) -> None:
    asked = {"_CLOSEKNIT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-c", "from closeknit.cli import main; main()"]

    told = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=False)

    assert told.stdout.split() == expected


def test_kubectl_finds_the_same_program_as_its_plugin() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]

    assert scripts["kubectl-closeknit"] == scripts["closeknit"]
