"""Lines of the log, as programs read them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.cli.logs import LogFormat, logger


@pytest.mark.parametrize(
    ("fact", "want"),
    [
        pytest.param("größer", "größer", id="a text in its own script"),
        pytest.param({"gang": ["z0/r1"]}, {"gang": ["z0/r1"]}, id="what has parts"),
        pytest.param(2**70, 2**70, id="a large number"),
        pytest.param(KeyError, repr(KeyError), id="what JSON has no form for is shown"),
        pytest.param("/tmp/\udcff", "/tmp/\udcff", id="a file name whose bytes are no text"),
    ],
)
def test_a_line_is_one_json_object(capfd: pytest.CaptureFixture[str], fact: Any, want: Any) -> None:
    logger(LogFormat.JSON).warning("not bound", why=fact)

    (line,) = capfd.readouterr().err.splitlines()
    read = json.loads(line)
    assert (read["event"], read["level"], read["why"]) == ("not bound", "warning", want)


def test_a_person_reads_words(capfd: pytest.CaptureFixture[str]) -> None:
    logger(LogFormat.TEXT).info("decided", unit="PodGroup a/b")

    assert "decided" in (text := capfd.readouterr().err)
    assert "unit='PodGroup a/b'" in text
