"""What ``closeknit web`` refuses before it asks a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.hub.sentences import cli
from tests.kit.problems import line
from tests.unit.cli.running import Run


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        pytest.param(
            ["--token-file", "gone"],
            b"",
            line(cli.UNREADABLE_FILE, "--token-file gone", reason="No such file or directory"),
            id="a token file that is not there",
        ),
        pytest.param(
            ["--token-file", "file"],
            b"\xff",
            line(cli.UNREADABLE_FILE, "--token-file file", reason="it holds no UTF-8 text"),
            id="a token that is no text",
        ),
        pytest.param(
            ["--token-file", "file"],
            b"\n",
            line(cli.NO_TOKEN, "--token-file file"),
            id="an empty token, which would let everybody in",
        ),
        pytest.param(
            ["--certificate", "file", "--key", "gone"],
            b"no certificate",
            line(
                cli.UNREADABLE_FILE,
                "--certificate file --key gone",
                reason="there is no certificate in PEM with its key",
            ),
            id="a certificate that is none",
        ),
        pytest.param(
            ["--key", "file"],
            b"",
            line(cli.KEY_ALONE, "--key"),
            id="a key without its certificate",
        ),
        pytest.param(
            ["--host", "0.0.0.0"],
            b"",
            line(cli.OPEN_TO_OTHERS, "--host", host="0.0.0.0"),
            id="a map that everybody could read",
        ),
        pytest.param(
            ["--scheduler-name", "No Name"],
            b"",
            line(cli.NO_SCHEDULER_NAME, "--scheduler-name", name="No Name"),
            id="a scheduler that no pod could name",
        ),
    ],
)
def test_wrong_options_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], content: bytes, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(content)

    run = Run("web", *arguments)

    assert (run.status, run.out) == (2, "")
    assert run.err == f"{message}\n"
    assert "Errno" not in run.err
