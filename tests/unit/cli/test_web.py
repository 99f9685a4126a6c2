"""What ``closeknit web`` refuses before it asks a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.running import Run


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        pytest.param(
            ["--token-file", "gone"],
            b"",
            "--token-file gone: The file cannot be read: No such file or directory.",
            id="a token file that is not there",
        ),
        pytest.param(
            ["--token-file", "file"],
            b"\xff",
            "--token-file file: The file cannot be read: it holds no UTF-8 text.",
            id="a token that is no text",
        ),
        pytest.param(
            ["--token-file", "file"],
            b"\n",
            "--token-file file: The file is empty, and would ask nobody for a token. Write one into it.",
            id="an empty token, which would let everybody in",
        ),
        pytest.param(
            ["--certificate", "file", "--key", "gone"],
            b"no certificate",
            "--certificate file --key gone: The file cannot be read: ",
            id="a certificate that is none",
        ),
        pytest.param(
            ["--key", "file"],
            b"",
            "--key: A key alone does not speak TLS. Name its certificate with --certificate as well.",
            id="a key without its certificate",
        ),
        pytest.param(
            ["--host", "0.0.0.0"],
            b"",
            '--host: Others can reach "0.0.0.0". Give --token-file, --certificate and --key, or listen on',
            id="a map that everybody could read",
        ),
        pytest.param(
            ["--scheduler-name", "No Name"],
            b"",
            '--scheduler-name: "No Name" is no name that a pod\'s schedulerName could have.',
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
    assert run.err.startswith(message)
    assert "Errno" not in run.err
